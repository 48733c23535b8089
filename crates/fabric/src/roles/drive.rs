//! Runs the roles of a rank over any carrier, blocking.
//!
//! A [`Driver`] belongs to one thread, which waits for what happens and does what is due. Threads that
//! compute talk to it through a [`Handle`]: [`spawn`] gives both.

use std::{
    ops::ControlFlow,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel},
    thread::JoinHandle,
    time::Duration,
};

use laxity_interface::{Span, Time};

use super::{
    ids::{UpdateId, Version},
    node::Node,
    notice::Notice,
    push::{Push, PushError},
    reason::Reason,
    worker::Worker,
};
use crate::{
    carrier::{Bell, Carrier},
    rank::Rank,
};

/// How often a driver with a handle looks for commands where its carrier cannot be woken from outside.
const TICK: Span = Span::from_us(500);

/// The most notices that wait for a handle's owner; more are dropped.
const MOST_NOTICES: usize = 65_536;

/// The roles of a rank and what carries their parcels.
#[derive(Debug)]
pub struct Driver<C> {
    carrier: C,
    node: Node,
}

impl<C: Carrier> Driver<C> {
    /// Runs a node over a carrier.
    ///
    /// # Panics
    /// If they are of different ranks.
    pub fn new(carrier: C, node: Node) -> Self {
        assert_eq!(carrier.rank(), node.rank(), "a node runs over the carrier of its own rank");
        Self { carrier, node }
    }

    /// The time, by the carrier's clock.
    pub fn now(&self) -> Time {
        self.carrier.now()
    }

    /// The roles.
    pub fn node(&mut self) -> &mut Node {
        &mut self.node
    }

    /// Does what is due, waits for one event, but not beyond `until`, and handles it. It does not wait while there are
    /// notices to be taken.
    pub fn step(&mut self, until: Option<Time>) {
        let now = self.carrier.now();
        if self.node.poll_timeout().is_some_and(|due| due <= now) {
            self.node.handle_timeout(now);
        }
        self.submit();
        // What was due may have made some, or what went from one role of the node to another.
        let told = self.node.has_notice().then(|| self.carrier.now());
        let until = super::earliest([until, told, self.node.poll_timeout()]);
        if let Some(event) = self.carrier.wait_event(until) {
            let now = self.carrier.now();
            self.node.handle_event(now, event);
            self.submit();
        }
    }

    fn submit(&mut self) {
        let now = self.carrier.now();
        while let Some(parcel) = self.node.poll_parcel(now) {
            self.carrier.submit(parcel);
        }
    }

    /// Runs until `on_notice` has what it wants, or until the time has come.
    pub fn run<T>(
        &mut self,
        until: Option<Time>,
        mut on_notice: impl FnMut(Notice) -> ControlFlow<T>,
    ) -> Option<T> {
        loop {
            while let Some(notice) = self.node.poll_notice() {
                if let ControlFlow::Break(found) = on_notice(notice) {
                    self.submit();
                    return Some(found);
                }
            }
            if until.is_some_and(|until| until <= self.carrier.now()) {
                return None;
            }
            self.step(until);
        }
    }

    /// Takes the driver apart.
    pub fn into_parts(self) -> (C, Node) {
        (self.carrier, self.node)
    }
}

/// Why a call on a [`Handle`] gave no result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The driver's thread has ended.
    #[error("{rank} is not driven any more: its thread has ended")]
    Ended {
        /// The rank.
        rank: Rank,
    },
    /// The rank has no worker.
    #[error("{rank} has no worker role")]
    NoWorker {
        /// The rank.
        rank: Rank,
    },
    /// The update was not taken.
    #[error(transparent)]
    Push(#[from] PushError),
    /// There is no model to be had.
    #[error("{rank} gets no model: {reason}")]
    NoModel {
        /// The rank.
        rank: Rank,
        /// Why.
        reason: Reason,
    },
    /// Nothing came in time.
    #[error("{rank} waited {waited} for {what} of {server} in vain; is the server overloaded?")]
    Late {
        /// The rank.
        rank: Rank,
        /// For what.
        what: &'static str,
        /// Of whom.
        server: Rank,
        /// How long.
        waited: Span,
    },
}

type Command = Box<dyn FnOnce(&mut Node, Time) + Send>;

/// What a handle wakes its driver with; with its end, too.
#[derive(Debug)]
struct Commands {
    queue: Option<Sender<Command>>,
    bell: Option<Bell>,
}

impl Commands {
    /// False if the driver has ended.
    fn send(&self, command: Command) -> bool {
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(command).is_ok());
        self.ring();
        sent
    }

    fn ring(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // First, so that the driver finds it when it is woken.
        self.queue = None;
        self.ring();
    }
}

/// Talks to a driver in another thread.
#[derive(Debug)]
pub struct Handle {
    rank: Rank,
    commands: Option<Commands>,
    notices: Receiver<Notice>,
    /// Notices that came while something else was waited for.
    kept: Vec<Notice>,
    thread: Option<JoinHandle<()>>,
}

/// Runs a driver in a thread of its own, until its handle is dropped.
pub fn spawn<C: Carrier + Send + 'static>(driver: Driver<C>) -> std::io::Result<Handle> {
    spawn_with(driver, drop)
}

/// The same; at its end `goodbye` gets the carrier, to take leave of the others.
pub fn spawn_with<C: Carrier + Send + 'static>(
    mut driver: Driver<C>,
    goodbye: impl FnOnce(C) + Send + 'static,
) -> std::io::Result<Handle> {
    let (commands, inbox) = channel::<Command>();
    let (outbox, notices) = sync_channel(MOST_NOTICES);
    let rank = driver.node.rank();
    let bell = driver.carrier.bell();
    let tick = bell.is_none().then_some(TICK);
    let run = move || loop {
        loop {
            use std::sync::mpsc::TryRecvError;
            match inbox.try_recv() {
                Ok(command) => command(&mut driver.node, driver.carrier.now()),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    driver.submit();
                    return goodbye(driver.carrier);
                }
            }
        }
        while let Some(notice) = driver.node.poll_notice() {
            // If nobody has listened for so long, or does any more, it is not missed.
            let _ = outbox.try_send(notice);
        }
        driver.step(tick.map(|tick| driver.carrier.now() + tick));
    };
    let thread = std::thread::Builder::new().name(format!("roles of {rank}")).spawn(run)?;
    let commands = Some(Commands { queue: Some(commands), bell });
    let thread = Some(thread);
    Ok(Handle { rank, commands, notices, kept: Vec::new(), thread })
}

impl Handle {
    /// Runs something with the node, in the driver's thread, and waits for its result.
    pub fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Node, Time) -> T + Send + 'static,
    ) -> Result<T, HandleError> {
        let ended = HandleError::Ended { rank: self.rank };
        let (answer, result) = channel();
        let command: Command = Box::new(move |node, now| {
            let _ = answer.send(run(node, now));
        });
        let commands = self.commands.as_ref().ok_or_else(|| ended.clone())?;
        if !commands.send(command) {
            return Err(ended);
        }
        result.recv().map_err(|_| ended)
    }

    fn with_worker<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Worker, Time) -> T + Send + 'static,
    ) -> Result<T, HandleError> {
        let found = self.with(|node, now| node.worker().map(|worker| run(worker, now)))?;
        found.ok_or(HandleError::NoWorker { rank: self.rank })
    }

    /// Pushes an update; returns when it has been taken, not when it is committed.
    pub fn push(&self, server: Rank, push: Push) -> Result<UpdateId, HandleError> {
        Ok(self.with_worker(move |worker, now| worker.push(now, server, push))??)
    }

    /// Gets the model of at least this version, waiting for at most `limit`.
    pub fn get(
        &mut self,
        server: Rank,
        at_least: Version,
        limit: Span,
    ) -> Result<(Version, Vec<f32>), HandleError> {
        let wanted = self.with_worker(move |worker, _| worker.get(server, at_least))?;
        let found = self.wait(limit, |notice| match notice {
            Notice::Model { request, version, values, .. } if request == wanted => {
                Ok(Ok((version, values)))
            }
            Notice::NoModel { request, reason } if request == wanted => Ok(Err(reason)),
            other => Err(other),
        })?;
        let rank = self.rank;
        match found {
            Some(Ok(model)) => Ok(model),
            Some(Err(reason)) => Err(HandleError::NoModel { rank, reason }),
            None => Err(HandleError::Late { rank, what: "the model", server, waited: limit }),
        }
    }

    /// Waits until an update is decided: committed as part of a version, or dropped for a reason.
    pub fn decided(
        &mut self,
        update: UpdateId,
        limit: Span,
    ) -> Result<Option<Result<Version, Reason>>, HandleError> {
        self.wait(limit, |notice| match notice {
            Notice::Committed { update: u, version, .. } if u == update => Ok(Ok(version)),
            Notice::Dropped { update: u, reason } if u == update => Ok(Err(reason)),
            other => Err(other),
        })
    }

    /// Waits for a notice that `take` wants; others stay for [`notices`](Self::notices).
    pub fn wait<T>(
        &mut self,
        limit: Span,
        mut take: impl FnMut(Notice) -> Result<T, Notice>,
    ) -> Result<Option<T>, HandleError> {
        let mut found = None;
        let mut rest = Vec::new();
        for notice in std::mem::take(&mut self.kept) {
            match if found.is_none() { take(notice) } else { Err(notice) } {
                Ok(one) => found = Some(one),
                Err(other) => rest.push(other),
            }
        }
        self.kept = rest;
        let end = std::time::Instant::now() + limit.to_std();
        while found.is_none() {
            let left = end.saturating_duration_since(std::time::Instant::now());
            match self.notices.recv_timeout(left.max(Duration::from_nanos(1))) {
                Ok(notice) => match take(notice) {
                    Ok(one) => found = Some(one),
                    Err(other) => self.keep(other),
                },
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(HandleError::Ended { rank: self.rank });
                }
            }
        }
        Ok(found)
    }

    /// Of notices that nobody asks for, the latest are kept.
    fn keep(&mut self, notice: Notice) {
        const MOST: usize = 4096;
        if self.kept.len() >= MOST {
            self.kept.drain(..MOST / 2);
        }
        self.kept.push(notice);
    }

    /// All notices that have come and were not waited for.
    pub fn notices(&mut self) -> Vec<Notice> {
        let mut found = std::mem::take(&mut self.kept);
        found.extend(self.notices.try_iter());
        found
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
