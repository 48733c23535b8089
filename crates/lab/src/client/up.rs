//! Bringing a lab up: a daemon of its own, which holds it.
#![allow(unsafe_code)] // A hook that runs in the new process.

use std::{
    fs::OpenOptions,
    io::{self, BufRead, BufReader, Write},
    os::{
        fd::AsRawFd,
        unix::{fs::OpenOptionsExt, process::CommandExt},
    },
    process::{Command, Stdio},
    sync::Mutex,
};

use super::{Lab, LabError, meet, runtime};
use crate::{
    client::runtime::Entry,
    file::LabFile,
    host::sys,
    wire::{Ready, Start},
};

/// How a lab is brought up.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UpOptions {
    /// Whether the switch takes real-time priority where it is allowed to. Yes, unless said otherwise.
    pub realtime: bool,
}

impl Default for UpOptions {
    fn default() -> Self {
        Self { realtime: true }
    }
}

impl Lab {
    /// Brings a lab up. `daemon` is a program that ends in [`daemon::main`](crate::daemon::main).
    pub fn up(file: &LabFile, name: &str, daemon: Command) -> Result<Self, LabError> {
        Self::up_with(file, name, daemon, &UpOptions::default())
    }

    /// Brings a lab up in a given way.
    pub fn up_with(
        file: &LabFile,
        name: &str,
        mut daemon: Command,
        options: &UpOptions,
    ) -> Result<Self, LabError> {
        let entry = Entry::of(name)?;
        let Some(lock) = entry.take_when_free(|| meet(&entry, name).is_ok())? else {
            let process = entry.record().map(|record| record.process.to_string());
            let process = process.unwrap_or_else(|| "unknown".into());
            return Err(LabError::Taken { name: name.to_owned(), process });
        };
        entry.clean()?;
        let folder_trouble = |source| LabError::Folder { path: entry.folder().to_owned(), source };
        let start = Start {
            name: name.to_owned(),
            folder: std::path::absolute(entry.folder()).map_err(folder_trouble)?,
            id: runtime::fresh_id().map_err(folder_trouble)?,
            file: file.clone(),
            realtime: options.realtime,
            lock: lock.as_raw_fd(),
        };
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(entry.log());
        daemon.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.map_err(folder_trouble)?);
        let number = lock.as_raw_fd();
        // SAFETY: only system calls with numbers are made between fork and exec.
        unsafe {
            daemon.pre_exec(move || {
                // The terminal's Ctrl-C is for whoever sits there; the daemon ends when told to.
                sys::own_session()?;
                sys::pass_on(number)
            });
        }
        let program = daemon.get_program().to_string_lossy().into_owned();
        let trouble = |source| LabError::Start { program: program.clone(), source };
        let spawned = daemon.spawn().map_err(trouble);
        let outcome = spawned.and_then(|mut child| {
            let stdin = child.stdin.take();
            let outcome = stdin.ok_or_else(|| trouble(io::ErrorKind::BrokenPipe.into())).and_then(
                |mut tie| {
                    speak(&mut tie, &start).map_err(trouble)?;
                    hear(child.stdout.take(), &entry)?;
                    Ok(tie)
                },
            );
            match outcome {
                Ok(tie) => Ok((tie, child)),
                Err(error) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    Err(error)
                }
            }
        });
        let tie = match outcome {
            Ok(tie) => tie,
            Err(error) => {
                // We still have the lock, so these traces are ours.
                let _ = entry.remove();
                return Err(error);
            }
        };
        drop(lock);
        let (channel, introduction) = meet(&entry, name)?;
        Ok(Self { entry, introduction, channel: Mutex::new(channel), tie: Some(tie) })
    }
}

fn speak(to: &mut impl Write, start: &Start) -> io::Result<()> {
    let mut line = serde_json::to_vec(start)?;
    line.push(b'\n');
    to.write_all(&line)
}

fn hear(from: Option<impl io::Read>, entry: &Entry) -> Result<(), LabError> {
    let mut line = String::new();
    if let Some(from) = from {
        // What cannot be read is treated like nothing at all, below.
        let _ = BufReader::new(from).read_line(&mut line);
    }
    match serde_json::from_str(&line) {
        Ok(Ready::Up) => Ok(()),
        Ok(Ready::Failed(reason)) => Err(LabError::Refused { reason }),
        Err(_) => {
            let said = std::fs::read_to_string(entry.log()).unwrap_or_default();
            let said = said.trim();
            let reason = format!("the lab's daemon ended before the lab was up. It said: {said:?}");
            Err(LabError::Refused { reason })
        }
    }
}
