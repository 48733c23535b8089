//! Key files: choosing, reading and writing them.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};
use laxity_endpoint::Key;

use crate::{
    failure::{Explain, usage},
    sys::random,
};

/// Names the key file where no flag does.
const VARIABLE: &str = "LAXITY_KEY_FILE";
/// A key file is one short line; whatever is longer was named by mistake.
const LARGEST: u64 = 4096;
const WRITABLE: &str = "check that the folder exists and can be written to";

/// Who may talk to us.
#[derive(Clone, Debug)]
pub(crate) enum Protection {
    /// Holders of this key.
    Key(Key),
    /// Everybody.
    Insecure,
}

/// The key file that the environment names.
pub(crate) fn from_environment() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// What the flags say goes before what the environment says; saying nothing is refused.
pub(crate) fn choose(key_file: Option<&Path>, insecure: bool) -> Result<Protection> {
    if insecure {
        return Ok(Protection::Insecure);
    }
    if let Some(file) = key_file {
        return Ok(Protection::Key(read(file)?));
    }
    match from_environment() {
        // Who gave no file does not know of one.
        Some(file) => Ok(Protection::Key(
            read(&file).with_context(|| format!("the key file that {VARIABLE} names"))?,
        )),
        None => Err(usage(format!(
            "no key was given\n  \
             try:     make one with `laxity keygen laxity.key`, copy it to the other side and give \
             both `--key-file laxity.key` (or set {VARIABLE}); `--insecure` does without protection"
        ))),
    }
}

/// Reads a key file.
pub(crate) fn read(path: &Path) -> Result<Key> {
    let what = format!("cannot use key file `{}`", path.display());
    let remedy = "make one with `laxity keygen FILE`, or copy it from the other side";
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_string(&mut text))
        .explain(what.clone(), remedy)?;
    text.parse::<Key>().explain(what, remedy)
}

/// A new key from the operating system's randomness.
pub(crate) fn generate() -> Result<Key> {
    let mut bytes = [0; 32];
    random::fill(&mut bytes).context("cannot get random bytes from the operating system")?;
    Ok(Key::new(bytes))
}

/// Writes a key file that only its owner can read. An existing file is replaced only with `force`.
pub(crate) fn write(path: &Path, key: &Key, force: bool) -> Result<()> {
    let create = |path: &Path| {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        write_out(file, key)
    };
    if !force {
        return create(path).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    "give another name, or --force to replace it: whoever has the old key is then locked out"
                }
                _ => WRITABLE,
            };
            let what = format!("cannot write key file `{}`", path.display());
            Err::<(), _>(error).explain(what, remedy).unwrap_err()
        });
    }
    // What takes the place of a device is no longer that for anybody.
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err(anyhow!("it is there and no file")).explain(
            format!("cannot replace `{}`", path.display()),
            "give the name of a file; `-` prints the key",
        );
    }
    // A new file with the right mode takes the old one's place: at no time can others read it.
    let mut draft = OsString::from(path);
    draft.push(format!(".new-{}", std::process::id()));
    let draft = PathBuf::from(draft);
    let outcome = create(&draft).and_then(|()| fs::rename(&draft, path));
    if outcome.is_err() {
        // It is of no use; that it may not exist is no matter.
        let _ = fs::remove_file(&draft);
    }
    outcome.explain(format!("cannot replace key file `{}`", path.display()), WRITABLE)
}

fn write_out(mut file: File, key: &Key) -> io::Result<()> {
    writeln!(file, "{}", key.to_text())?;
    file.sync_all()
}

/// The key's public name, for comparing two machines without showing the key.
pub(crate) fn id_text(key: &Key) -> String {
    key.id().iter().map(|byte| format!("{byte:02x}")).collect()
}
