//! One line in which everything that happens at an endpoint is waited for.
//!
//! Handles suit an application with a few jobs. One with hundreds under way at once would need a thread
//! or a task for each, or would have to ask them all in turn. A [`Queue`] is the other way round: jobs
//! are started and forgotten, and what becomes of them comes out at one place, in order, to one caller,
//! who drives the socket while waiting. Jobs that come in are received without being asked for, as long
//! as there is room.

use std::{
    collections::VecDeque,
    net::{SocketAddr, ToSocketAddrs},
    sync::{Arc, Weak},
    task::Poll,
    time::Instant,
};

use laxity_interface::{Bytes, Time};
use laxity_protocol::{
    ConnectError, DeliveryReport, Gone, JobError, JobOpen, PeerId, PeerInfo, RecvId, SendId,
};

use crate::{
    core::{Core, SendSlot},
    endpoint::Endpoint,
    error::SendError,
    incoming::ReceivedData,
    outgoing::Outgoing,
    payloads::Target,
    shard::Shard,
};

/// What a [`Queue`] tells of.
#[derive(Debug)]
#[non_exhaustive]
pub enum Happening {
    /// A peer is connected, whoever called whom.
    Connected(PeerId),
    /// A peer that was called could not be connected.
    ConnectFailed(PeerId, ConnectError),
    /// A peer is gone; its jobs have ended before this.
    Gone(PeerId, Gone),
    /// A job that was sent has ended.
    Sent(SendId, Result<DeliveryReport, JobError>),
    /// A job that was being received has ended.
    Received(Box<Arrived>),
    /// Somebody called [`Bell::ring`].
    Rung,
}

/// A job that came in, or did not.
#[derive(Debug)]
pub struct Arrived {
    /// The peer's number at this endpoint, and the job's.
    pub id: RecvId,
    /// The sender's address; `None` if it was gone the moment it offered the job.
    pub from: Option<SocketAddr>,
    /// What the job said of itself.
    pub open: JobOpen,
    /// What arrived and what did not; or why nothing did.
    pub outcome: Result<(ReceivedData, DeliveryReport), JobError>,
}

/// The core's side of a queue.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) ready: VecDeque<Happening>,
    /// Jobs for which there is no room yet, oldest first.
    pub(crate) waiting: VecDeque<RecvId>,
    /// Bytes of jobs that are being received, or were and have not been taken.
    pub(crate) held: u64,
    /// How many bytes may be held.
    pub(crate) room: u64,
    rung: bool,
}

impl Line {
    /// Whether a job may come in. One always may, however large: else it never could.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        self.held == 0 || self.held + bytes <= self.room
    }

    /// How much more may come.
    fn left(&self) -> Bytes {
        Bytes::new(self.room.saturating_sub(self.held))
    }
}

/// The one place at which everything that happens at an endpoint is waited for. See the module's text.
///
/// The endpoint's own `accept`, `recv` and `recv_into` get no jobs while it has a queue.
#[derive(Debug)]
pub struct Queue {
    endpoint: Endpoint,
    shard: Arc<Shard>,
}

/// Ends a [`Queue::wait`] from another thread. It does not keep the endpoint.
#[derive(Clone, Debug)]
pub struct Bell {
    shard: Weak<Shard>,
}

impl Bell {
    /// Ends the current or the next wait with [`Happening::Rung`], after everything else that has
    /// happened. Many rings may become one.
    pub fn ring(&self) {
        let Some(shard) = self.shard.upgrade() else { return };
        shard.alarm(|core| {
            if let Some(line) = &mut core.line {
                line.rung = true;
            }
        });
    }
}

impl Queue {
    /// Puts a queue on an endpoint. Received jobs may take up `room` bytes before they are taken out
    /// (one alone may be larger); further senders are held until there is room.
    ///
    /// # Panics
    /// If the endpoint has several I/O threads: one caller drives one socket.
    pub fn new(endpoint: Endpoint, room: u64) -> Self {
        let shard = endpoint.only_shard().expect("a queue needs an endpoint with one I/O thread");
        let line =
            Line { ready: VecDeque::new(), waiting: VecDeque::new(), held: 0, room, rung: false };
        shard.command(true, |core| {
            core.line = Some(line);
            let early: Vec<_> = core.offers.drain(..).collect();
            for id in early {
                core.enqueue_offer(shard.clock.now(), id);
            }
            core.set_room();
        });
        Self { endpoint, shard }
    }

    /// The endpoint behind it.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What other threads can wake it with.
    pub fn bell(&self) -> Bell {
        Bell { shard: Arc::downgrade(&self.shard) }
    }

    /// Starts to connect. [`Happening::Connected`] or [`Happening::ConnectFailed`] follows.
    pub fn connect(&self, to: impl ToSocketAddrs) -> Result<PeerId, SendError> {
        self.endpoint.start_connect(to).map(|(_, peer)| peer)
    }

    /// Starts a job. [`Happening::Sent`] follows. Borrowed payload is copied.
    pub fn send(&self, peer: PeerId, job: &Outgoing<'_>) -> Result<SendId, SendError> {
        self.shard.command(true, |core| {
            let id = core.protocol.send(self.shard.clock.now(), peer, &job.request)?;
            core.payloads.jobs.insert(id, job.own());
            core.sends.insert(id, SendSlot::queued());
            Ok(id)
        })
    }

    /// Gives up a job that is being sent; it ends with [`JobError::Cancelled`].
    pub fn cancel(&self, id: SendId) {
        self.shard.command(true, |core| core.protocol.cancel_send(id));
    }

    /// Ends a connection.
    pub fn close(&self, peer: PeerId) {
        let now = self.shard.clock.now();
        self.shard.command(true, |core| core.protocol.close(now, peer));
    }

    /// What is known of a peer: address, round-trip time, rates and their reasons. `None` once it is
    /// gone.
    pub fn info(&self, peer: PeerId) -> Option<PeerInfo> {
        self.shard.lock().protocol.peer(peer)
    }

    /// The next thing that happened, waiting for it until `deadline` (`None`: as long as it takes).
    pub fn wait(&self, deadline: Option<Instant>) -> Option<Happening> {
        let shard = &self.shard;
        shard.wait(deadline, |core| {
            core.take_happening(shard.clock.now()).map_or(Poll::Pending, Poll::Ready)
        })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shard.command(true, |core| core.line = None);
    }
}

impl Core {
    /// The oldest happening; makes room for jobs that wait.
    fn take_happening(&mut self, now: Time) -> Option<Happening> {
        let line = self.line.as_mut()?;
        let Some(happening) = line.ready.pop_front() else {
            // After all that had happened by then.
            return std::mem::take(&mut line.rung).then_some(Happening::Rung);
        };
        if let Happening::Received(arrived) = &happening {
            line.held -= arrived.open.bytes.min(line.held);
            self.admit_waiting(now);
            self.set_room();
        }
        Some(happening)
    }

    fn admit_waiting(&mut self, now: Time) {
        while let Some(line) = &mut self.line
            && let Some(&id) = line.waiting.front()
        {
            let Some(slot) = self.recvs.get(&id).filter(|slot| !slot.is_over()) else {
                line.waiting.pop_front();
                continue;
            };
            if !line.admits(slot.open.bytes) {
                return;
            }
            line.waiting.pop_front();
            self.admit(now, id);
        }
    }

    /// A job came for the queue: received at once, or as soon as there is room.
    pub(crate) fn enqueue_offer(&mut self, now: Time, id: RecvId) {
        let Some(slot) = self.recvs.get_mut(&id) else { return };
        slot.accepted = true;
        slot.queued = true;
        let (bytes, over) = (slot.open.bytes, slot.is_over());
        let coming = self.arrivals.get_mut(id).is_some();
        let Some(line) = &mut self.line else { return };
        if over || coming || line.admits(bytes) {
            self.admit(now, id);
        } else {
            line.waiting.push_back(id);
        }
        if over {
            self.deliver(id);
        }
        self.set_room();
    }

    /// The protocol takes small jobs without asking, as many as there is room for.
    fn set_room(&mut self) {
        if let Some(line) = &self.line {
            self.protocol.set_unclaimed_limit(line.left());
        }
    }

    fn admit(&mut self, now: Time, id: RecvId) {
        let Some(slot) = self.recvs.get_mut(&id) else { return };
        if let Some(line) = &mut self.line {
            line.held += slot.open.bytes;
        }
        slot.counted = true;
        if !slot.is_over() && self.arrivals.get_mut(id).is_none() {
            let open = slot.open.clone();
            let target = Target::recycled(&open);
            self.arrivals.set(id, &open, target);
        }
        self.protocol.claim(now, id);
    }

    /// Moves a job of the queue that has ended into it.
    pub(crate) fn deliver(&mut self, id: RecvId) {
        let Some(slot) = self.recvs.remove(&id) else { return };
        let target = self.arrivals.remove(id);
        let Some(line) = &mut self.line else { return };
        if !slot.counted {
            line.waiting.retain(|waiting| *waiting != id);
            // It is let go of when it is taken, like all others.
            line.held += slot.open.bytes;
        }
        let Some(outcome) = slot.outcome else { return };
        let outcome =
            outcome.map(|report| (ReceivedData::of(target, slot.open.kind, &report), report));
        let arrived = Arrived { id, from: slot.from, open: slot.open, outcome };
        line.ready.push_back(Happening::Received(Box::new(arrived)));
    }
}
