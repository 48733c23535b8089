//! Results: a table for people, JSON for programs.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
    time::Instant,
};

use anyhow::{Context, Result};
use laxity_report::{Meta, Report};

use crate::{
    failure::{Explain, NobodyReads},
    sys::terminal,
};

/// Where results go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    /// The usual place.
    Stdout,
    /// Stdout carries data.
    Stderr,
}

/// An empty report of this run.
pub(crate) fn report(started: Instant) -> Report {
    let mut command = String::from("laxity");
    for word in std::env::args_os().skip(1) {
        command.push(' ');
        command += &word.to_string_lossy();
    }
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let meta = Meta::new(command, env!("CARGO_PKG_VERSION"));
    Report::new(meta.cores(cores).seconds(started.elapsed().as_secs_f64()))
}

/// Prints a report: these columns of it as a table, or everything as JSON.
pub(crate) fn emit(report: &Report, json: bool, to: To, columns: &[&str]) -> Result<()> {
    let text = if json {
        report.to_json_string()
    } else {
        let table = report.table().columns(columns.iter().copied());
        match width(to) {
            Some(width) => table.max_width(width).to_string(),
            None => table.to_string(),
        }
    };
    print(&text, to)
}

/// How wide the terminal is, if it is one.
fn width(to: To) -> Option<u16> {
    match to {
        To::Stdout => terminal::width(&io::stdout()),
        To::Stderr => terminal::width(&io::stderr()),
    }
}

/// Prints text. A reader that went away is an error here and none for `main`.
pub(crate) fn print(text: &str, to: To) -> Result<()> {
    match to {
        To::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
        To::Stderr => io::stderr().write_all(text.as_bytes()),
    }
    .map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => NobodyReads.into(),
        _ => anyhow::Error::new(error),
    })
    .context("cannot print the result")
}

/// Refuses a file that could not be written in the end, before anything runs for minutes.
pub(crate) fn check_file(path: &Path) -> Result<()> {
    let outcome = match fs::metadata(path) {
        Ok(about) if about.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // Not of a pipe: opening one may wait for whoever reads.
        Ok(about) if !about.is_file() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        Err(_) => try_out(path),
    };
    outcome.explain(format!("cannot write `{}`", path.display()), WRITABLE)
}

/// The same of a file that is written as a draft, which then takes its place.
pub(crate) fn check_replaced(path: &Path, draft: &Path) -> Result<()> {
    let outcome = match path.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => try_out(draft),
    };
    outcome.explain(format!("cannot write `{}`", path.display()), WRITABLE)
}

/// Rights, read-only disks, names that are too long: whoever makes a file knows.
fn try_out(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => fs::remove_file(path),
        // What is left over is whoever writes' matter.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

const WRITABLE: &str = "check that the folder exists and can be written to";

/// Makes a folder for results, before anything runs for minutes.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).explain(
        format!("cannot make the folder `{}`", folder.display()),
        "choose a folder that you may write to",
    )
}

/// Writes a report to a file, as JSON.
pub(crate) fn save(report: &Report, path: &Path) -> Result<()> {
    fs::write(path, report.to_json_string()).explain(
        format!("cannot write `{}`", path.display()),
        "check that the folder exists and can be written to",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_checks_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["new", "old"].map(|name| folder.path().join(name));
        fs::write(&old, "kept").unwrap();
        check_file(&new).unwrap();
        check_file(&old).unwrap();
        assert!(!new.exists());
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        check_file(Path::new("/dev/full")).unwrap();
        check_replaced(&old, &new).unwrap();
        assert!(!new.exists());
        assert!(check_replaced(folder.path(), &new).is_err());
        let long = "x".repeat(300);
        for bad in [folder.path(), &folder.path().join(long), &old.join("a"), &new.join("a")] {
            let error = check_file(bad).unwrap_err().to_string();
            assert!(error.contains("cannot write"), "{error}");
            assert!(check_replaced(&new, bad).is_err() || bad.is_dir(), "{}", bad.display());
        }
    }
}
