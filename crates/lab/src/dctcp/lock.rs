//! Who uses DCTCP right now, over all processes of the machine.
#![allow(unsafe_code)] // Locks of files have no safe call in the Rust version that we promise.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
};

/// Only root can write here, so nobody can put anything in its place.
const PATH: &str = "/run/laxity-dctcp.lock";

/// Held exclusively while it is loaded or taken away, and shared while it is used. The kernel lets go of
/// it when a process ends, however that happens.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Waits for its turn: loading takes a fraction of a second, but users hold it for long, and those do
    /// not keep a second one from using it too.
    pub(super) fn exclusive() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(PATH)?;
        let lock = Self { file };
        if !lock.try_exclusive() {
            // Somebody uses it: then it is loaded, or will be in a moment.
            lock.flock(libc::LOCK_SH)?;
        }
        Ok(lock)
    }

    pub(super) fn share(&self) -> io::Result<()> {
        self.flock(libc::LOCK_SH)
    }

    /// Whether nobody else holds it.
    pub(super) fn try_exclusive(&self) -> bool {
        self.flock(libc::LOCK_EX | libc::LOCK_NB).is_ok()
    }

    fn flock(&self, operation: libc::c_int) -> io::Result<()> {
        // SAFETY: the descriptor is open; the call touches no memory.
        match unsafe { libc::flock(self.file.as_raw_fd(), operation) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
