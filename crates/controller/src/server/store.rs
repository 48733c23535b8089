//! The state on disk: one file of records that only grows, replaced by its sum when it has grown enough.
//!
//! A line is a checksum and a record. The last line may be torn by a sudden end and is then cut off;
//! damage anywhere else is an error. The file is replaced by writing another one beside it, bringing
//! that to the disk and renaming it, so at any moment one of them is whole. Each training job's
//! scheduler has a file of its own, written in the same way.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    path::{Path, PathBuf},
};

use crate::{
    auth::{hex, unhex},
    core::{Record, Saved},
};

/// A file of records is replaced when it is larger than this and has doubled.
const SMALLEST: u64 = 256 * 1024;
const STATE: &str = "state";
const CREW: &str = "crew-";

/// Why a state cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system says no.
    #[error("cannot {what} `{path}`: {source}; check that the folder exists and can be written to")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something in it is not as it was written.
    #[error(
        "line {line} of `{path}` is damaged: restore the file from a copy, or move it away to begin \
         anew (hosts and jobs come back by themselves)"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// Another process has it.
    #[error(
        "the state in `{path}` is in use by another controller: end it, or give another folder"
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io { what, path: path.to_owned(), source }
}

/// A state on disk.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    file: File,
    bytes: u64,
    /// Its size when it was written anew.
    base: u64,
    /// Held while the process lives: a name that the kernel frees with it.
    _lock: UnixListener,
}

/// What was found on disk.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) saved: Saved,
    /// Names and states of training jobs' schedulers.
    pub(crate) crews: Vec<(String, Vec<u8>)>,
}

impl Store {
    /// Opens the state in a folder, which is made if need be.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Found), StoreError> {
        fs::create_dir_all(folder).map_err(io_error("make", folder))?;
        let folder = folder.canonicalize().map_err(io_error("open", folder))?;
        let lock = lock(&folder)?;
        let path = folder.join(STATE);
        let (saved, good) = match fs::read(&path) {
            Ok(bytes) => {
                read(&bytes).map_err(|line| StoreError::Damaged { path: path.clone(), line })?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Saved::default(), 0),
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        let crews = read_crews(&folder)?;
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.map_err(io_error("open", &path))?;
        // What a sudden end has torn is not continued.
        file.set_len(good).map_err(io_error("write", &path))?;
        let store = Self { folder, file, bytes: good, base: good, _lock: lock };
        Ok((store, Found { saved, crews }))
    }

    /// Adds records; when this returns they survive the end of the process and of the machine.
    pub(crate) fn append(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let text: String = records.iter().map(line).collect();
        let path = self.folder.join(STATE);
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(io_error("write", &path))?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Whether it is time to write everything anew.
    pub(crate) fn has_grown(&self) -> bool {
        self.bytes > SMALLEST && self.bytes > self.base * 2
    }

    /// Puts everything in the place of what was there.
    pub(crate) fn replace(&mut self, saved: &Saved) -> Result<(), StoreError> {
        let text: String = saved.records().iter().map(line).collect();
        let path = self.folder.join(STATE);
        self.file = self.write_whole(&path, text.as_bytes())?;
        (self.bytes, self.base) = (text.len() as u64, text.len() as u64);
        Ok(())
    }

    /// Keeps a crew's state.
    pub(crate) fn save_crew(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_whole(&self.crew_path(name), &crew_file(name, bytes)).map(|_| ())
    }

    /// Forgets a crew's state.
    pub(crate) fn forget_crew(&self, name: &str) {
        // That it may not exist is no matter.
        let _ = fs::remove_file(self.crew_path(name));
    }

    fn crew_path(&self, name: &str) -> PathBuf {
        // Names may hold anything; file names may not, and are at most 255 bytes long.
        let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
        self.folder.join(format!("{CREW}{}", &hex(digest.as_ref())[..32]))
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> Result<File, StoreError> {
        let draft = path.with_extension("new");
        let write = || {
            // A draft of an earlier run is of no use.
            let _ = fs::remove_file(&draft);
            let mut file = OpenOptions::new().append(true).create_new(true).open(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, path)?;
            // The name itself is part of the folder.
            File::open(&self.folder)?.sync_all()?;
            Ok(file)
        };
        write().map_err(io_error("write", path))
    }
}

fn lock(folder: &Path) -> Result<UnixListener, StoreError> {
    let digest = ring::digest::digest(&ring::digest::SHA256, folder.as_os_str().as_encoded_bytes());
    let name = format!("laxity-controller-{}", &hex(digest.as_ref())[..32]);
    let address =
        SocketAddr::from_abstract_name(name.as_bytes()).map_err(io_error("lock", folder))?;
    UnixListener::bind_addr(&address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StoreError::InUse { path: folder.to_owned() },
        _ => io_error("lock", folder)(error),
    })
}

fn line(record: &Record) -> String {
    let text = serde_json::to_string(record).expect("every record can be written");
    format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes()))
}

fn read_line(line: &[u8]) -> Option<Record> {
    let (sum, text) = line.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    (crc32fast::hash(text) == sum).then(|| serde_json::from_slice(text).ok())?
}

/// The sum of all records and how many bytes of them are good, or the number of the damaged line.
fn read(bytes: &[u8]) -> Result<(Saved, u64), usize> {
    let mut saved = Saved::default();
    let mut good = 0;
    let mut rest = bytes;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let Some(end) = end else { break }; // Torn.
        match read_line(&rest[..end]) {
            Some(record) => saved.add(record),
            // The last line may be torn in its middle, if the disk wrote its end first.
            None if end + 1 == rest.len() => break,
            None => return Err(number),
        }
        good += end as u64 + 1;
        rest = &rest[end + 1..];
    }
    // What is cut off is gone, so somebody else's file of this name must not look torn.
    if good == 0 && !begins_like_a_line(rest) {
        return Err(1);
    }
    Ok((saved, good))
}

/// Whether these bytes, of which more may be missing, could have become a line.
fn begins_like_a_line(bytes: &[u8]) -> bool {
    bytes.iter().take(10).enumerate().all(|(at, byte)| match at {
        0..8 => byte.is_ascii_hexdigit(),
        8 => *byte == b' ',
        _ => *byte == b'{',
    })
}

fn read_crews(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(io_error("read", folder))? {
        let path = entry.map_err(io_error("read", folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(CREW) && !name.ends_with(".new") {
            let bytes = fs::read(&path).map_err(io_error("read", &path))?;
            // A damaged one is left: its scheduler measures anew.
            if let Some((name, state)) = read_crew(&bytes) {
                found.push((name, state));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A crew's file: a checksum, its name in hexadecimal digits, a line's end, and the state.
fn crew_file(name: &str, state: &[u8]) -> Vec<u8> {
    let body = [hex(name.as_bytes()).as_bytes(), b"\n", state].concat();
    [format!("{:08x} ", crc32fast::hash(&body)).as_bytes(), &body].concat()
}

fn read_crew(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let (sum, rest) = bytes.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    if crc32fast::hash(rest) != sum {
        return None;
    }
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let name = unhex(std::str::from_utf8(&rest[..end]).ok()?)?;
    Some((String::from_utf8(name).ok()?, rest[end + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(incarnation: u64) -> Record {
        Record::Began { zero_unix_ms: 1, incarnation, rounds: 0 }
    }

    #[test]
    fn what_was_added_is_found_and_a_torn_end_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, found) = Store::open(folder.path()).unwrap();
        assert_eq!(found.saved, Saved::default());
        store.append(&[began(1), began(2)]).unwrap();
        store.save_crew("a/b c", b"state").unwrap();
        drop(store);
        let path = folder.path().join(STATE);
        let whole = fs::read(&path).unwrap();
        // However a sudden end cuts the file, the next process goes on from what was whole.
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut store, found) = Store::open(folder.path()).unwrap();
            let first = line(&began(1)).len();
            let expected = if cut == whole.len() { 2 } else { u64::from(cut >= first) };
            assert_eq!(found.saved.incarnation, expected, "cut at {cut}");
            assert_eq!(found.crews, [("a/b c".to_owned(), b"state".to_vec())]);
            store.append(&[began(9)]).unwrap();
            drop(store);
            let (store, found) = Store::open(folder.path()).unwrap();
            assert_eq!(found.saved.incarnation, 9);
            drop(store);
        }
    }

    #[test]
    fn damage_in_the_middle_is_an_error_that_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(STATE);
        let text = format!("{}{}{}", line(&began(1)), line(&began(2)), line(&began(3)));
        let mut bytes = text.into_bytes();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
        let error = Store::open(folder.path()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { line: 2, .. }), "{error}");
    }

    /// It was cut to nothing, and written anew.
    #[test]
    fn a_file_of_somebody_else_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(STATE);
        for text in ["notes to myself", "notes to myself\n"] {
            fs::write(&path, text).unwrap();
            let error = Store::open(folder.path()).unwrap_err();
            assert!(matches!(error, StoreError::Damaged { line: 1, .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_state_is_replaced_whole_and_used_by_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(folder.path()).unwrap();
        store.append(&[began(1)]).unwrap();
        store.replace(&Saved { incarnation: 7, ..Saved::default() }).unwrap();
        store.append(&[Record::HostGone { name: "x".parse().unwrap() }]).unwrap();
        let error = Store::open(folder.path()).unwrap_err();
        assert!(matches!(error, StoreError::InUse { .. }), "{error}");
        drop(store);
        assert_eq!(Store::open(folder.path()).unwrap().1.saved.incarnation, 7);
    }
}
