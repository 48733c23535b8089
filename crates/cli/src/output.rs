//! Results: a table for people, JSON for programs.

use std::{
    fs,
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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let outcome = match fs::metadata(folder.unwrap_or_else(|| Path::new("."))) {
        Ok(about) if !about.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        Ok(_) if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    outcome.explain(
        format!("cannot write `{}`", path.display()),
        "check that the folder exists and can be written to",
    )
}

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
