//! Where received bytes go: a file, a folder, or a stream such as stdout.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    failure::{Explain, usage},
    label::{self, Label, No},
    output,
};

/// What the command line said.
pub(crate) enum Destination {
    /// This file, whatever the sender calls it.
    File(PathBuf),
    /// Files in this folder, named by senders.
    Folder { path: PathBuf, force: bool },
    /// Bytes in order.
    Stream { out: Box<dyn Write>, stdout: bool },
}

/// Why a transfer is not taken.
#[derive(Debug)]
pub(crate) struct Refused {
    /// For the sender.
    pub(crate) no: No,
    /// For the user.
    pub(crate) error: anyhow::Error,
}

impl Destination {
    /// Looks at what is there.
    pub(crate) fn open(file: Option<&Path>, force: bool, several: bool) -> Result<Self> {
        let Some(path) = file.filter(|path| *path != Path::new("-")) else {
            if file.is_none() && io::stdout().is_terminal() {
                return Err(usage("nowhere to write: give a FILE or a folder, or pipe stdout"));
            }
            return Ok(Self::Stream { out: Box::new(io::stdout()), stdout: true });
        };
        let shown = path.display();
        match fs::metadata(path) {
            Ok(about) if about.is_dir() => Ok(Self::Folder { path: path.into(), force }),
            Ok(about) if !about.is_file() => {
                let out = OpenOptions::new().write(true).open(path);
                let out = out.explain(format!("cannot write to `{shown}`"), "")?;
                Ok(Self::Stream { out: Box::new(out), stdout: false })
            }
            Err(_) if shown.to_string().ends_with('/') => {
                Err(usage(format!("there is no folder `{shown}`; make it with `mkdir -p {shown}`")))
            }
            _ if several => Err(usage(format!(
                "`{shown}` has room for one transfer; give a folder, or `-`, for more"
            ))),
            _ => {
                // Now, and not when somebody has sent everything.
                output::check_replaced(path, &draft_path(path))?;
                Ok(Self::File(path.into()))
            }
        }
    }

    /// Whether stdout is taken by data.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stream { stdout: true, .. })
    }

    /// Whether senders name the files.
    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// The stream, if it is one.
    pub(crate) fn stream(&mut self) -> Option<&mut dyn Write> {
        match self {
            Self::Stream { out, .. } => Some(out),
            _ => None,
        }
    }

    /// Hands on what was written.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.stream().map_or(Ok(()), Write::flush).context("cannot pass the data on")
    }

    /// A place for a transfer of this name.
    pub(crate) fn prepare(&self, label: &Label) -> Result<Draft, Refused> {
        let goal = match self {
            Self::File(path) => Some(path.clone()),
            Self::Folder { path, force } => Some(in_folder(path, *force, label)?),
            Self::Stream { .. } => None,
        };
        let draft = match &goal {
            Some(goal) => draft_path(goal),
            None => std::env::temp_dir().join(format!("laxity-recv-{}", std::process::id())),
        };
        // Never through a link, never over something that is there.
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&draft).explain(
            format!("cannot write `{}`", draft.display()),
            "check that the folder exists, can be written to and holds no left-over of that name",
        );
        let file = file.map_err(|error| Refused { no: No::Disk, error })?;
        let mut place = Draft { file, path: Some(draft), goal };
        if place.goal.is_none() {
            // Scratch space has no name: whatever happens to us, it is gone.
            place.discard();
        }
        Ok(place)
    }
}

fn in_folder(folder: &Path, force: bool, label: &Label) -> Result<PathBuf, Refused> {
    let name = label::file_name(&label.name).map_err(|why| Refused {
        no: No::Name,
        error: anyhow::anyhow!("the name `{}` was refused: {why}", label.shown()),
    })?;
    let path = folder.join(name);
    if !force && path.symlink_metadata().is_ok() {
        let error = anyhow::anyhow!("`{}` exists; --force replaces it", path.display());
        return Err(Refused { no: No::Exists, error });
    }
    Ok(path)
}

/// In the same folder, so that giving it its name is one step.
fn draft_path(goal: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(goal.file_name().unwrap_or_default());
    name.push(format!(".part-{}", std::process::id()));
    goal.with_file_name(name)
}

/// A file in the making; gone unless it is [kept](Self::keep).
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) file: File,
    path: Option<PathBuf>,
    goal: Option<PathBuf>,
}

impl Draft {
    /// Whether it only passes bytes on to a stream.
    pub(crate) fn is_scratch(&self) -> bool {
        self.goal.is_none()
    }

    /// Gives it its name.
    pub(crate) fn keep(mut self) -> Result<()> {
        if let (Some(path), Some(goal)) = (&self.path, &self.goal) {
            fs::rename(path, goal)
                .explain(format!("cannot write `{}`", goal.display()), "is it a folder?")?;
            self.path = None;
        }
        Ok(())
    }

    fn discard(&mut self) {
        if let Some(path) = self.path.take() {
            // If it cannot be removed, that must not hide what went wrong before.
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Label {
        Label { name: name.into(), part: None }
    }

    #[test]
    fn files_appear_when_finished_and_only_then() {
        let folder = tempfile::tempdir().unwrap();
        let to = Destination::open(Some(folder.path()), false, true).unwrap();
        let entries = || fs::read_dir(folder.path()).unwrap().count();
        drop(to.prepare(&named("a")).unwrap());
        assert_eq!(entries(), 0, "nothing is left of what failed");
        let draft = to.prepare(&named("a")).unwrap();
        assert!(!folder.path().join("a").exists());
        draft.keep().unwrap();
        assert!(folder.path().join("a").exists());
        assert_eq!(entries(), 1);
        assert_eq!(to.prepare(&named("a")).unwrap_err().no, No::Exists);
        let forced = Destination::open(Some(folder.path()), true, true).unwrap();
        forced.prepare(&named("a")).unwrap().keep().unwrap();
    }

    #[test]
    fn names_do_not_leave_the_folder() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("in");
        fs::create_dir(&inner).unwrap();
        let to = Destination::open(Some(&inner), true, true).unwrap();
        let absolute = outer.path().join("x").display().to_string();
        for name in ["../x", "..", "/tmp/x", "a/../../x", &absolute, "in/../../x", ""] {
            assert_eq!(to.prepare(&named(name)).unwrap_err().no, No::Name, "{name}");
        }
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_file_has_room_for_one_transfer() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        assert!(Destination::open(Some(&file), false, true).is_err());
        assert!(Destination::open(Some(&folder.path().join("no/")), false, false).is_err());
        assert!(Destination::open(Some(&folder.path().join("no/a")), false, false).is_err());
        let stream = Destination::open(Some(Path::new("/dev/null")), false, true).unwrap();
        assert!(stream.prepare(&named("a")).unwrap().is_scratch());
    }
}
