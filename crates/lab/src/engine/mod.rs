//! The fabric on real frames: one thread between network interfaces.
//!
//! Each host-facing interface has a packet socket with a ring that the kernel fills; a frame enters
//! the [`Fabric`] at the time at which the kernel saw it, and leaves when the fabric says it is due.
//! Due times are exact virtual times: a thread that wakes up late sends what is due and the schedule
//! of everything behind it stays what it was.
//!
//! The engine measures its own lateness ([`Health`]). A run whose engine was late is repeated, not
//! believed.

mod clock;
mod health;
mod offload;
mod pace;
mod ring;
mod schedule;
mod transmit;
mod work;

use std::{
    fmt, io,
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use laxity_interface::Span;
use laxity_switch::{Change, Counters, Fabric, HostId};
use serde::{Deserialize, Serialize};

pub use health::{Health, LateTimes};

use work::Worker;

/// Whether the engine's thread asks for a real-time priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Realtime {
    /// Where the system allows it: SCHED_FIFO, priority 50, on the last core.
    #[default]
    Auto,
    /// An ordinary thread on any core.
    Off,
}

/// How the engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// Whether to ask for a real-time priority.
    pub realtime: Realtime,
    /// How long before a frame is due the thread stops sleeping and waits in a loop. It stops doing
    /// so while that takes too much of the core.
    pub spin: Span,
    /// While frames come in quick succession, those of such a time go out together, half of them a
    /// little late and half a little early, as network cards do: each time it wakes a host costs the
    /// machine more than a frame.
    pub gather: Span,
    /// How many bytes of memory each interface's ring has.
    pub ring: usize,
    /// Whether packets of one flow that leave together for one host are joined, as network cards do.
    /// What hosts send in one piece is cut in any case.
    pub join: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            realtime: Realtime::Auto,
            spin: Span::from_us(40),
            gather: Span::from_us(100),
            ring: 8 << 20,
            join: true,
        }
    }
}

/// Why an engine cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The kernel refused something for an interface.
    #[error(
        "cannot {what} for interface `{interface}`: {source}; packet sockets need CAP_NET_RAW in the \
         namespace that holds the interface"
    )]
    Interface {
        /// What was tried.
        what: &'static str,
        /// For which interface.
        interface: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused something that is not about one interface.
    #[error("cannot {what} for the lab's switch: {source}; check the limits on files and threads")]
    Start {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// Interfaces and hosts do not match.
    #[error("{host} has {count} interfaces: every host of the fabric needs exactly one")]
    Hosts {
        /// The host.
        host: HostId,
        /// How many interfaces were given for it.
        count: usize,
    },
}

/// What the fabric has done, and how well the engine kept time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Snapshot {
    /// The fabric's counters since the start.
    pub counters: Counters,
    /// The engine's health since the start or since it was taken.
    pub health: Health,
}

/// What the thread is asked to do.
enum Request {
    Change(Change),
    Snapshot { reset: bool, answer: Sender<Snapshot> },
    Stop,
}

/// A fabric that runs. Stops when dropped.
pub struct Engine {
    requests: Sender<Request>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Puts `fabric` between interfaces of the calling thread's network namespace: one for each host,
    /// by name. Frames that a host sends come in at its interface.
    ///
    /// The engine's thread may run on the cores on which the caller may, and takes the last of them.
    /// A host's interface may leave checksums, and the cutting of TCP and UDP, to the engine, but nothing
    /// else: no SCTP, no tunnels.
    pub fn start(
        ports: Vec<(HostId, String)>,
        fabric: Fabric,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        for host in (0..fabric.hosts() as u32).map(HostId::new) {
            let count = ports.iter().filter(|(port, _)| *port == host).count();
            if count != 1 {
                return Err(EngineError::Hosts { host, count });
            }
        }
        let bell = Arc::new(work::bell().map_err(start("make an eventfd"))?);
        let (requests, inbox): (_, Receiver<Request>) = channel();
        let worker = Worker::new(ports, fabric, options, Arc::clone(&bell), inbox)?;
        let thread = std::thread::Builder::new()
            .name("laxity-switch".into())
            .spawn(move || worker.run())
            .map_err(start("start a thread"))?;
        Ok(Self { requests, bell, thread: Some(thread) })
    }

    /// Changes the network from now on.
    pub fn change(&self, change: Change) {
        self.request(Request::Change(change));
    }

    /// What it has done so far.
    pub fn snapshot(&self) -> Snapshot {
        self.ask(false)
    }

    /// The health since the last time it was taken; the next one begins now.
    pub fn take_health(&self) -> Health {
        self.ask(true).health
    }

    /// Stops it; frames that are on their way are lost.
    pub fn stop(mut self) {
        self.end();
    }

    fn ask(&self, reset: bool) -> Snapshot {
        let (answer, answers) = channel();
        self.request(Request::Snapshot { reset, answer });
        answers.recv().expect("the engine's thread lives as long as the engine")
    }

    fn request(&self, request: Request) {
        self.requests.send(request).expect("the engine's thread lives as long as the engine");
        work::ring_bell(self.bell.as_fd());
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        // A thread that has panicked has no inbox any more.
        let _ = self.requests.send(Request::Stop);
        work::ring_bell(self.bell.as_fd());
        if let Err(panic) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

fn start(what: &'static str) -> impl Fn(io::Error) -> EngineError {
    move |source| EngineError::Start { what, source }
}
