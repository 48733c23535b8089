//! Labs from outside: bring one up, find one, go into a host, end it.

mod error;
pub(crate) mod runtime;
mod up;

use std::{
    io::{self, ErrorKind},
    os::unix::net::UnixStream,
    process::{Child, ChildStdin, Command},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

pub use error::LabError;
pub use runtime::RUNTIME_VARIABLE;
use runtime::{Entry, ID_VARIABLE};
pub use up::UpOptions;

use crate::{
    file::{HostInfo, LabChange},
    host::{Entrance, sys},
    wire::{Answer, Channel, Introduction, Request, Status},
};

/// The daemon answers at once, unless the machine stands still.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an end may take: programs get time to end by themselves.
const END: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(2);

/// A lab that runs.
///
/// One that [`up`](Self::up) has made ends when this is dropped, or when this process ends in any
/// way, unless [`keep`](Self::keep) was called. One that was [`open`](Self::open)ed stays.
#[derive(Debug)]
pub struct Lab {
    entry: Entry,
    introduction: Introduction,
    channel: Mutex<Channel>,
    /// The string that the lab hangs on, and its daemon.
    tie: Option<(ChildStdin, Child)>,
}

/// A lab in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its daemon.
    pub process: Option<u32>,
    /// Whether that lives.
    pub alive: bool,
}

impl Lab {
    /// Finds a lab that runs.
    pub fn open(name: &str) -> Result<Self, LabError> {
        let entry = Entry::of(name)?;
        if !entry.exists() {
            return Err(LabError::Unknown { name: name.to_owned(), known: known() });
        }
        let (channel, introduction) = meet(&entry, name)?;
        Ok(Self { entry, introduction, channel: Mutex::new(channel), tie: None })
    }

    /// All labs of this user, those included whose daemon died.
    pub fn list() -> Vec<Listed> {
        let listed = |name: String| {
            let entry = Entry::of(&name).ok()?;
            let alive = meet(&entry, &name).is_ok();
            Some(Listed { process: entry.record().map(|record| record.process), alive, name })
        };
        Entry::names().into_iter().filter_map(listed).collect()
    }

    /// Ends a lab by its name, and clears away what a dead one left. Programs inside are ended.
    pub fn end(name: &str) -> Result<(), LabError> {
        match Self::open(name).and_then(Self::down) {
            Err(LabError::Dead { .. }) => clear(name, false),
            // It lives and does not listen: it gets no second chance.
            Err(LabError::Silent { .. }) => clear(name, true),
            outcome => outcome,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.introduction.name
    }

    /// The process that holds it.
    pub fn process(&self) -> u32 {
        self.introduction.process
    }

    /// Its hosts.
    pub fn hosts(&self) -> &[HostInfo] {
        &self.introduction.hosts
    }

    /// The same command, changed so that it runs inside a host: in its network, with its name, with
    /// all hosts' names in `/etc/hosts`.
    ///
    /// `LAXITY_LAB`, `LAXITY_LAB_HOST` and `LAXITY_LAB_ID` are added to its environment.
    pub fn enter(&self, host: &str, mut command: Command) -> Result<Command, LabError> {
        let Some(info) = self.hosts().iter().find(|info| info.name == host) else {
            let names: Vec<_> = self.hosts().iter().map(|info| info.name.as_str()).collect();
            return Err(LabError::Host {
                lab: self.name().to_owned(),
                host: host.to_owned(),
                known: names.join("`, `"),
            });
        };
        let request = Request::Enter { host: host.to_owned() };
        let (answer, mut files) = self.ask_with_files(&request)?;
        let Answer::Enter { user } = answer else { return Err(self.unexpected(&answer)) };
        let (network, user) = match (files.pop(), files.pop()) {
            (Some(network), around) if around.is_some() == user => (network, around),
            _ => return Err(self.silent(io::Error::other("the way in did not come along"))),
        };
        let names = self.entry.names_file();
        let entrance = Entrance::new(user, network, info.name.clone(), &names);
        entrance.map_err(|error| self.silent(error))?.lead(&mut command);
        command
            .env("LAXITY_LAB", self.name())
            .env("LAXITY_LAB_HOST", host)
            .env(ID_VARIABLE, &self.introduction.id);
        Ok(command)
    }

    /// How it is going: counters of every queue, how late the switch is, traffic, changes.
    pub fn status(&self) -> Result<Status, LabError> {
        match self.ask(&Request::Status)? {
            Answer::Status(status) => Ok(*status),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Changes the network.
    pub fn change(&self, change: LabChange) -> Result<(), LabError> {
        self.ask_to(&Request::Change { change })
    }

    /// Begins to count anew how late the switch is.
    pub fn reset_health(&self) -> Result<(), LabError> {
        self.ask_to(&Request::ResetHealth)
    }

    /// Lets the lab live on when this is dropped.
    pub fn keep(&mut self) -> Result<(), LabError> {
        use std::io::Write;
        if let Some((mut tie, _)) = self.tie.take() {
            writeln!(tie, "{}", crate::wire::KEEP).map_err(|error| self.silent(error))?;
        }
        Ok(())
    }

    /// Ends it, and every program inside. Returns when the kernel has closed all that it held.
    pub fn down(mut self) -> Result<(), LabError> {
        let outcome = self.ask_to(&Request::Down);
        if outcome.is_ok() {
            let channel = self.channel.get_mut().unwrap_or_else(PoisonError::into_inner);
            // The answer comes when programs and files are gone, the end of the conversation with
            // the end of the process. A large lab may take longer than our patience; it goes anyway.
            let _ = channel.set_patience(END);
            while let Ok(Some(_)) = channel.receive::<Answer>() {}
        }
        if let Some((_, mut child)) = self.tie.take() {
            // It is our child: it is gone when we have looked.
            let _ = child.wait();
        }
        outcome
    }

    fn ask_to(&self, request: &Request) -> Result<(), LabError> {
        match self.ask(request)? {
            Answer::Done => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    fn ask(&self, request: &Request) -> Result<Answer, LabError> {
        self.ask_with_files(request).map(|(answer, _)| answer)
    }

    fn ask_with_files(
        &self,
        request: &Request,
    ) -> Result<(Answer, Vec<std::os::fd::OwnedFd>), LabError> {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(request).map_err(|error| self.silent(error))?;
        match channel.receive().map_err(|error| self.silent(error))? {
            Some((Answer::Refused { reason }, _)) => Err(LabError::Refused { reason }),
            Some(answer) => Ok(answer),
            None => Err(LabError::Dead { name: self.name().to_owned() }),
        }
    }

    fn silent(&self, source: io::Error) -> LabError {
        let name = self.name().to_owned();
        match source.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => LabError::Dead { name },
            _ => LabError::Silent { name, source },
        }
    }

    fn unexpected(&self, answer: &Answer) -> LabError {
        self.silent(io::Error::other(format!("it answered {answer:?}")))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some((tie, mut child)) = self.tie.take() {
            drop(tie);
            let _ = child.wait();
        }
    }
}

/// Connects to a lab's daemon.
fn meet(entry: &Entry, name: &str) -> Result<(Channel, Introduction), LabError> {
    let silent = |source: io::Error| LabError::Silent { name: name.to_owned(), source };
    let stream = UnixStream::connect(entry.socket()).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => {
            LabError::Dead { name: name.to_owned() }
        }
        _ => silent(error),
    })?;
    let mut channel = Channel::new(stream);
    channel.set_patience(PATIENCE).map_err(silent)?;
    channel.send(&Request::Introduce).map_err(silent)?;
    match channel.receive().map_err(silent)? {
        Some((Answer::Introduction(introduction), _)) => Ok((channel, introduction)),
        Some((other, _)) => Err(silent(io::Error::other(format!("it answered {other:?}")))),
        None => Err(LabError::Dead { name: name.to_owned() }),
    }
}

/// Clears away what a dead daemon left, or ends one that does not answer first.
fn clear(name: &str, by_force: bool) -> Result<(), LabError> {
    let entry = Entry::of(name)?;
    if by_force && let Some(record) = entry.record() {
        // The lock says that whoever wrote this down still lives; then this is its number.
        if entry.take()?.is_none() {
            let _ = sys::kill(record.process, libc::SIGKILL);
        }
    }
    let start = Instant::now();
    loop {
        if let Some(lock) = entry.take()? {
            entry.clean()?;
            let removed = entry.remove();
            drop(lock);
            return removed
                .map_err(|source| LabError::Folder { path: entry.folder().to_owned(), source });
        }
        // One that was killed takes a moment to go, one that is coming up will listen.
        if start.elapsed() > END {
            let source = io::Error::other("something holds the lock of its folder");
            return Err(LabError::Silent { name: name.to_owned(), source });
        }
        thread::sleep(LOOK * 10);
    }
}

fn known() -> String {
    let names: Vec<_> =
        Lab::list().into_iter().filter(|lab| lab.alive).map(|lab| lab.name).collect();
    if names.is_empty() {
        "bring one up with `laxity lab up FILE`".to_owned()
    } else {
        format!("there is `{}`", names.join("`, `"))
    }
}
