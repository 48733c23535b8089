//! Where labs leave their traces while they run: a folder each, with a lock that dies with the daemon.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::LabError;
use crate::host::{Number, processes, sys};

/// The variable that says where labs leave their traces, before all other places.
pub const RUNTIME_VARIABLE: &str = "LAXITY_RUNTIME_DIR";
/// The variable that every program inside a lab has, with the lab's id.
pub(crate) const ID_VARIABLE: &str = "LAXITY_LAB_ID";

/// The longest path of a socket, with its closing zero, is 108 bytes.
const LONGEST_SOCKET: usize = 107;
/// How long the kernel may take to close the files of a process that was killed.
const DYING: Duration = Duration::from_secs(4);

/// The folder of all labs of this user.
pub(crate) fn base() -> PathBuf {
    let folder = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let (user, _) = sys::ids();
    if let Some(folder) = folder(RUNTIME_VARIABLE) {
        folder
    } else if user == 0 {
        // Root has one place, whether it logged in or came by sudo.
        PathBuf::from("/run/laxity")
    } else if let Some(folder) = folder("XDG_RUNTIME_DIR").filter(|folder| folder.is_dir()) {
        folder.join("laxity")
    } else {
        env::temp_dir().join(format!("laxity-{user}"))
    }
}

/// Where one lab leaves its traces.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    folder: PathBuf,
}

/// What a daemon writes down for those who come after it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// What programs of the lab have in their environment.
    pub(crate) id: String,
    /// The daemon.
    pub(crate) process: u32,
    /// The hosts' networks.
    pub(crate) networks: Vec<Number>,
}

impl Entry {
    /// The place for a lab of this name, whether it is there or not.
    pub(crate) fn of(name: &str) -> Result<Self, LabError> {
        let good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            && name.len() <= 64;
        if !good {
            return Err(LabError::Name { name: name.to_owned() });
        }
        Ok(Self { folder: base().join(name) })
    }

    /// That of a daemon, which was told where.
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The names of all labs that left traces, running or not.
    pub(crate) fn names() -> Vec<String> {
        let entries = fs::read_dir(base()).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries
            .filter(|entry| entry.path().join("lock").exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the daemon listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("control")
    }

    /// What hosts read as `/etc/hosts`.
    pub(crate) fn names_file(&self) -> PathBuf {
        self.folder.join("hosts")
    }

    /// What the daemon says that nobody hears.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Whether there are traces.
    pub(crate) fn exists(&self) -> bool {
        self.folder.join("lock").exists()
    }

    /// Takes the place, and makes it if need be. `None` if a running lab has it.
    ///
    /// Whoever has the lock may do anything in the folder. It passes to the daemon as an open file.
    pub(crate) fn take(&self) -> Result<Option<File>, LabError> {
        let length = self.socket().as_os_str().len();
        if length > LONGEST_SOCKET {
            return Err(LabError::LongPath { path: self.socket(), length, most: LONGEST_SOCKET });
        }
        let trouble = |source| LabError::Folder { path: self.folder.clone(), source };
        private_folder(&base()).map_err(|source| LabError::Folder { path: base(), source })?;
        loop {
            private_folder(&self.folder).map_err(trouble)?;
            let path = self.folder.join("lock");
            let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
            let lock = match lock {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock.map_err(trouble)?,
            };
            if !sys::try_lock(&lock).map_err(trouble)? {
                return Ok(None);
            }
            // A daemon that just ended may have removed the file between opening and locking it.
            if lock.metadata().map_err(trouble)?.nlink() > 0 {
                return Ok(Some(lock));
            }
        }
    }

    /// Takes the place, as [`take`](Self::take), and waits a little while nobody answers there: the
    /// daemon has just been killed and the kernel is still busy with its files, or one is coming up.
    pub(crate) fn take_when_free(
        &self,
        answers: impl Fn() -> bool,
    ) -> Result<Option<File>, LabError> {
        let start = Instant::now();
        loop {
            let taken = self.take()?;
            if taken.is_some() || answers() || start.elapsed() > DYING {
                return Ok(taken);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends what a dead daemon has left: programs in its networks, and its files except the lock.
    ///
    /// PRECONDITION: the caller has the lock.
    pub(crate) fn clean(&self) -> Result<(), LabError> {
        if let Some(record) = self.record() {
            // The numbers of namespaces are given out again when they are gone; what the program
            // was started with is not.
            let setting = format!("{ID_VARIABLE}={}", record.id);
            let networks = record.networks.into_iter().collect();
            processes::end_all(&networks, |process| processes::has_setting(process, &setting));
        }
        let trouble = |source| LabError::Folder { path: self.folder.clone(), source };
        for entry in fs::read_dir(&self.folder).map_err(trouble)? {
            let entry = entry.map_err(trouble)?;
            if entry.file_name() != "lock" {
                fs::remove_file(entry.path()).map_err(trouble)?;
            }
        }
        Ok(())
    }

    /// Removes all traces.
    ///
    /// PRECONDITION: the caller has the lock.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)?;
        // The last one switches off the light, but not in somebody else's room.
        if env::var_os(RUNTIME_VARIABLE).is_none() {
            let _ = fs::remove_dir(base());
        }
        Ok(())
    }

    /// What the daemon wrote down, if it got so far.
    pub(crate) fn record(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.folder.join("record")).ok()?).ok()
    }

    /// Writes it down.
    pub(crate) fn write_record(&self, record: &Record) -> io::Result<()> {
        fs::write(self.folder.join("record"), serde_json::to_vec(record)?)
    }
}

/// A folder that only its owner can look into.
fn private_folder(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).recursive(false).create(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().ok_or(error)?;
            fs::create_dir_all(parent)?;
            fs::DirBuilder::new().mode(0o700).create(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // In /tmp somebody else may have put it there, or a link.
            let meta = fs::symlink_metadata(path)?;
            let (user, _) = sys::ids();
            if meta.is_dir() && meta.uid() == user {
                return Ok(());
            }
            Err(io::Error::other("it belongs to somebody else or is no folder"))
        }
        outcome => outcome,
    }
}

/// A name that no lab had before and none will have again.
pub(crate) fn fresh_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
