//! Programs that the loader calls.

use std::{
    ffi::OsStr,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use super::{DctcpError, system};

/// Where administrators' tools are, though not always in a user's search path.
const ALSO: [&str; 2] = ["/usr/sbin", "/sbin"];
/// As much of a program's complaint as is worth repeating.
const COMPLAINT: usize = 400;

/// An installed program.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    name: &'static str,
    path: PathBuf,
}

impl Tool {
    pub(super) fn find(name: &'static str, package: &'static str) -> Result<Self, DctcpError> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search)
            .chain(ALSO.map(PathBuf::from))
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
            .map(|path| Self { name, path })
            .ok_or(DctcpError::Missing { tool: name, package })
    }

    /// Runs it to its end; what it says becomes part of the error.
    pub(super) fn run<'a>(
        &self,
        what: &'static str,
        words: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<(), DctcpError> {
        let mut command = Command::new(&self.path);
        let output = command.args(words).stdin(Stdio::null()).output().map_err(system(what))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8_lossy(&said);
        // The end of it is where the reason stands, after the listing that the kernel makes.
        let skip = said.chars().count().saturating_sub(COMPLAINT);
        let output = said.chars().skip(skip).collect::<String>().trim().to_owned();
        Err(DctcpError::Refused { tool: self.name, what, output })
    }
}

/// Whether this process is root, and not merely called so inside a user namespace.
pub(super) fn is_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let real = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // Real, effective, saved, file system: the effective one counts.
    real && user.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}
