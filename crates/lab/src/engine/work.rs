//! The engine's thread: rings in, fabric, packet sockets out.
#![allow(unsafe_code, reason = "takes ownership of a descriptor")]

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError},
    },
};

use laxity_interface::{Span, Time};
use laxity_switch::{Fabric, Frame, HostId};

use super::{
    EngineError, EngineOptions, Health, LateTimes, Realtime, Request, Snapshot,
    clock::Clock,
    offload::{cut::Cutter, virtio::OpenChecksum},
    pace::{Pace, REST},
    ring::{Ring, Unreadable},
    schedule,
    transmit::Outbox,
};
use crate::lateness::Lateness;

/// How many frames are taken in before those that are due go out.
const INTAKE: usize = 256;

/// How often the clocks are compared.
const ALIGN_EVERY: Span = Span::from_ms(10);

/// One interface.
struct Port {
    host: HostId,
    ring: Ring,
    /// When the oldest frame of the ring came, if that was looked up.
    oldest: Option<Time>,
    outbox: Outbox,
}

/// What has come in, gone out and been lost since the health was taken.
#[derive(Debug, Default)]
struct Tally {
    received: u64,
    received_pieces: u64,
    sent_pieces: u64,
    ring_drops: u64,
    oversized: u64,
    refused: u64,
}

/// Everything the thread owns.
pub(super) struct Worker {
    ports: Vec<Port>,
    /// The port of each host.
    port_of: Vec<usize>,
    fabric: Fabric,
    options: EngineOptions,
    bell: Arc<OwnedFd>,
    inbox: Receiver<Request>,
    clock: Clock,
    aligned: Time,
    pace: Pace,
    lateness: Lateness,
    tally: Tally,
    realtime: bool,
}

impl Worker {
    /// Opens all sockets, in the calling thread's namespace.
    pub(super) fn new(
        ports: Vec<(HostId, String)>,
        fabric: Fabric,
        options: EngineOptions,
        bell: Arc<OwnedFd>,
        inbox: Receiver<Request>,
    ) -> Result<Self, EngineError> {
        let mut port_of = vec![0; ports.len()];
        let mut opened = Vec::with_capacity(ports.len());
        for (host, interface) in ports {
            port_of[host.index()] = opened.len();
            let ring = Ring::open(&interface, options.ring)?;
            let outbox = Outbox::new(options.join);
            opened.push(Port { host, ring, oldest: None, outbox });
        }
        let clock = Clock::new();
        let now = clock.now();
        Ok(Self {
            ports: opened,
            port_of,
            fabric,
            options,
            bell,
            inbox,
            clock,
            aligned: now,
            pace: Pace::new(now),
            lateness: Lateness::default(),
            tally: Tally::default(),
            realtime: false,
        })
    }

    /// Runs until it is told to stop.
    pub(super) fn run(mut self) {
        self.realtime = self.options.realtime == Realtime::Auto && schedule::become_realtime();
        schedule::sharpen_timers();
        let rings = self.ports.iter().map(|port| port.ring.fd());
        let files = rings.chain([self.bell.as_raw_fd()]);
        let mut files: Vec<_> = files.map(schedule::readable).collect();
        loop {
            // Read before the rings are: every frame up to this time is in them, so the fabric can
            // be moved on to it without missing one.
            let now = self.clock.now();
            if now.since(self.aligned) >= ALIGN_EVERY {
                self.clock.align();
                self.aligned = now;
            }
            self.take_in(now);
            if self.next_round().is_some_and(|at| at <= now) {
                self.give_out(now);
            }
            if !self.wait(&mut files) {
                return;
            }
        }
    }

    /// Frames of all rings go into the fabric in the order of their stamps.
    fn take_in(&mut self, now: Time) {
        for _ in 0..INTAKE {
            let mut first: Option<(Time, usize)> = None;
            for (at, port) in self.ports.iter_mut().enumerate() {
                if port.oldest.is_none() {
                    let stamp = port.ring.peek();
                    port.oldest =
                        stamp.map(|stamp| self.clock.stamp(stamp.seconds, stamp.nanoseconds));
                }
                let Some(stamp) = port.oldest else { continue };
                if first.is_none_or(|(earliest, _)| stamp < earliest) {
                    first = Some((stamp, at));
                }
            }
            let Some((stamp, at)) = first else { return };
            // A stamp ahead of the clock is a wall clock that was moved.
            let stamp = stamp.min(now.max(self.clock.now()));
            self.take_frame(stamp, at);
            self.ports[at].ring.release();
            self.ports[at].oldest = None;
        }
    }

    /// The oldest frame of a port, or the packets that it holds, go into the fabric. They do at one
    /// time, as from a host that sends as fast as it can; a way with a rate spreads them.
    fn take_frame(&mut self, stamp: Time, at: usize) {
        let Port { host, ring, .. } = &mut self.ports[at];
        let (fabric, pace, tally) = (&mut self.fabric, &mut self.pace, &mut self.tally);
        tally.received_pieces += 1;
        let (meta, bytes) = match ring.read() {
            Ok(read) => read,
            Err(Unreadable::Lost) => return tally.ring_drops += 1,
            Err(Unreadable::Unknown) => return tally.oversized += 1,
        };
        let note = OpenChecksum::to_note(meta.checksum);
        let mut take = |fabric: &mut Fabric, frame: Frame| {
            tally.received += 1;
            pace.note_frame(stamp);
            fabric.handle_frame(stamp, *host, frame.with_note(note));
        };
        let Some(several) = meta.several else {
            let frame = fabric.frame(bytes);
            return take(fabric, frame);
        };
        let Ok(mut cutter) = Cutter::new(meta, several, bytes) else {
            return self.tally.oversized += 1;
        };
        loop {
            let mut buffer = fabric.buffer();
            if !cutter.write_next(&mut buffer) {
                return;
            }
            take(fabric, Frame::new(buffer));
        }
    }

    /// When to send what is due by then.
    fn next_round(&self) -> Option<Time> {
        self.fabric.poll_timeout().map(|due| due + self.slack())
    }

    /// How much earlier or later than due frames may go out.
    fn slack(&self) -> Span {
        if self.pace.is_quick() { self.options.gather / 2 } else { Span::ZERO }
    }

    /// Sends what is due.
    fn give_out(&mut self, now: Time) {
        let until = now + self.slack();
        while let Some((host, frame, due)) = self.fabric.poll_frame_until(now, until) {
            let at = self.port_of[host.index()];
            if self.ports[at].outbox.push(frame, due) {
                self.flush(at);
            }
        }
        for at in 0..self.ports.len() {
            if !self.ports[at].outbox.is_empty() {
                self.flush(at);
            }
        }
    }

    fn flush(&mut self, at: usize) {
        let port = &mut self.ports[at];
        let sent = port.outbox.send(port.ring.fd());
        self.tally.refused += sent.refused;
        self.tally.sent_pieces += sent.pieces;
        let left = self.clock.now();
        for (frame, due) in port.outbox.drain() {
            self.lateness.note(left.since(due));
            self.fabric.recycle(frame);
        }
    }

    /// Waits for frames, for what is due and for requests; whether to go on.
    fn wait(&mut self, files: &mut [libc::pollfd]) -> bool {
        let now = self.clock.now();
        let due = self.next_round();
        let left = due.map(|due| due.since(now));
        let near = left.is_some_and(|left| left <= self.options.spin);
        // While frames come in quick succession the next one is worth waiting for too: waking up
        // takes longer than the frame does.
        let expected = self.pace.expected();
        if self.realtime && self.pace.must_rest(now) {
            self.sleep(&mut [], Some(REST));
        } else if left == Some(Span::ZERO) {
            // No time to wait.
        } else if (near || expected > now) && self.pace.may_spin(now) {
            self.spin(now, due.filter(|_| near).unwrap_or(expected));
        } else {
            let limit = left.map(|left| if near { left } else { left - self.options.spin });
            self.sleep(files, limit);
        }
        self.answer()
    }

    /// Sleeps until a file can be read, at most so long.
    fn sleep(&mut self, files: &mut [libc::pollfd], limit: Option<Span>) {
        let from = self.clock.now();
        schedule::sleep(files, limit);
        self.pace.note_sleep(from, self.clock.now());
        if files.last().is_some_and(|bell| bell.revents != 0) {
            schedule::silence(self.bell.as_fd());
        }
        for (file, port) in files.iter().zip(&self.ports) {
            if file.revents & libc::POLLERR != 0 {
                port.ring.clear_error();
            }
        }
    }

    /// Waits in a loop until a frame comes or something is due.
    fn spin(&mut self, from: Time, until: Time) {
        let mut now = from;
        while now < until && self.ports.iter().all(|port| port.ring.peek().is_none()) {
            std::hint::spin_loop();
            now = self.clock.now();
        }
        self.pace.note_spin(from, now);
    }

    /// Does what it was asked; whether to go on.
    fn answer(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                Ok(Request::Change(change)) => {
                    self.fabric.handle_change(self.clock.now(), change);
                }
                Ok(Request::Snapshot { reset, answer }) => {
                    let snapshot =
                        Snapshot { counters: self.fabric.counters(), health: self.health() };
                    // Whoever asked may be gone.
                    let _ = answer.send(snapshot);
                    if reset {
                        self.reset();
                    }
                }
                Err(TryRecvError::Empty) => return true,
                Ok(Request::Stop) | Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn health(&mut self) -> Health {
        self.tally.ring_drops += self.ports.iter().map(|port| port.ring.take_drops()).sum::<u64>();
        let (seconds, busy, spinning) = self.pace.shares(self.clock.now());
        Health {
            seconds,
            busy,
            spinning,
            received: self.tally.received,
            received_pieces: self.tally.received_pieces,
            sent: self.lateness.packets(),
            sent_pieces: self.tally.sent_pieces,
            lateness: LateTimes::of(&self.lateness),
            ring_drops: self.tally.ring_drops,
            oversized: self.tally.oversized,
            refused: self.tally.refused,
            realtime: self.realtime,
        }
    }

    fn reset(&mut self) {
        self.pace.reset(self.clock.now());
        self.lateness = Lateness::default();
        self.tally = Tally::default();
    }
}

/// Makes a bell.
pub(super) fn bell() -> io::Result<OwnedFd> {
    // SAFETY: a new descriptor that nobody else owns.
    schedule::bell().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Wakes the thread.
pub(super) fn ring_bell(bell: BorrowedFd<'_>) {
    schedule::ring_bell(bell);
}
