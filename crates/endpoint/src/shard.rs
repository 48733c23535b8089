//! One socket and whoever drives it.
//!
//! Waking a thread that sleeps on another core costs tens of microseconds, so a thread that waits in a
//! blocking call drives the socket itself, and the I/O thread steps aside until it is needed: for
//! asynchronous callers, for timers, and while the application computes.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    task::Poll,
    time::{Duration, Instant},
};

use laxity_protocol::Endpoint;

use crate::{
    clock::Clock,
    core::{Core, Driver},
    inbox::Inbox,
    udp::{Interest, RecvBuffers, Socket, Spin, Waker, tighten_timer_slack, wait},
};

/// How long the I/O thread leaves the seat to callers before it looks again.
const STAND_BY: Duration = Duration::from_millis(2);
/// Longest sleep: bounds what a missed wake-up could cost.
const MAX_SLEEP: Duration = Duration::from_millis(200);

/// A socket, its protocol, and the rules for driving it.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) socket: Socket,
    pub(crate) clock: Clock,
    core: Mutex<Core>,
    /// Waiters that do not drive sleep here.
    changed: Condvar,
    /// The I/O thread stands by here while callers drive.
    seat: Condvar,
    buffers: Mutex<RecvBuffers>,
    waker: Waker,
    /// Whether callers may drive; with several sockets they could only drive one.
    callers_drive: bool,
}

impl Shard {
    pub(crate) fn new(
        socket: Socket,
        protocol: Endpoint,
        clock: Clock,
        inbox: Arc<Inbox>,
        callers_drive: bool,
    ) -> io::Result<Self> {
        Ok(Self {
            socket,
            clock,
            core: Mutex::new(Core::new(protocol, inbox)),
            changed: Condvar::new(),
            seat: Condvar::new(),
            buffers: Mutex::new(RecvBuffers::default()),
            waker: Waker::new()?,
            callers_drive,
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic under the lock is a bug of ours; going on with what is there beats taking every
        // other thread down with a second panic.
        self.core.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Changes something and sends what follows from it. With `wake`, the sleeping driver is told if
    /// it has to get up earlier; a caller that is going to wait does not need that.
    pub(crate) fn command<T>(&self, wake: bool, change: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.lock();
        let result = change(&mut core);
        let more = core.turn(&self.clock, &self.socket);
        self.notify(&mut core);
        let earlier = match (core.protocol.poll_timeout(), core.asleep_until) {
            (Some(next), Some(until)) => next < until,
            _ => false,
        };
        if wake && core.driver == Driver::Nobody && core.is_busy() {
            // The last caller has just left and the I/O thread is still standing by.
            self.seat.notify_one();
        }
        if wake && (more || earlier || core.is_blocked()) {
            self.waker.wake();
        }
        result
    }

    /// Changes something that waiters have to see, though nothing happened on the wire.
    pub(crate) fn alarm(&self, change: impl FnOnce(&mut Core)) {
        change(&mut self.lock());
        self.changed.notify_all();
        self.waker.wake();
    }

    fn notify(&self, core: &mut Core) {
        if core.take_changed() && core.sleepers > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until `poll` is ready, driving the socket meanwhile if nobody else among the callers
    /// does. `None` when `deadline` passes first.
    pub(crate) fn wait<T>(
        &self,
        deadline: Option<Instant>,
        mut poll: impl FnMut(&mut Core) -> Poll<T>,
    ) -> Option<T> {
        let left = || deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let mut core = self.lock();
        loop {
            if let Poll::Ready(value) = poll(&mut core) {
                return Some(value);
            }
            if left().is_some_and(|left| left.is_zero()) {
                return None;
            }
            if core.driver == Driver::Caller || !self.callers_drive {
                core.sleepers += 1;
                let time = left().unwrap_or(MAX_SLEEP).min(MAX_SLEEP);
                core = self
                    .changed
                    .wait_timeout(core, time)
                    .map_or_else(|e| e.into_inner().0, |w| w.0);
                core.sleepers -= 1;
                continue;
            }
            core.driver = Driver::Caller;
            core.drives += 1;
            drop(core);
            let began = Instant::now();
            let value = self.drive_until(deadline, &mut poll);
            core = self.lock();
            core.driver = Driver::Nobody;
            if core.sleepers > 0 {
                self.changed.notify_one();
            } else if core.is_busy() || began.elapsed() >= STAND_BY {
                // After a long drive the I/O thread may not look for long.
                self.seat.notify_one();
            }
            return value;
        }
    }

    fn drive_until<T>(
        &self,
        deadline: Option<Instant>,
        poll: &mut impl FnMut(&mut Core) -> Poll<T>,
    ) -> Option<T> {
        let mut spin = Spin::default();
        loop {
            let moved = self.step(|core| poll(core));
            match moved {
                Step::Done(value) => return Some(value),
                Step::Moved => spin.moved(),
                Step::Still => {
                    if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                        return None;
                    }
                    self.rest(&mut spin, deadline);
                }
            }
        }
    }

    /// Receives, does what is due, sends; then asks whether that was it.
    fn step<T>(&self, poll: impl FnOnce(&mut Core) -> Poll<T>) -> Step<T> {
        let mut buffers = self.buffers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let count = self.socket.recv(&mut buffers).unwrap_or(0);
        let mut core = self.lock();
        let core = &mut *core;
        if count > 0 {
            let (now, wall) = (self.clock.now(), Clock::wall());
            for received in buffers.iter_mut() {
                let (from, ecn) = (received.from, received.ecn);
                let arrived = Clock::at(now, wall, received.arrived);
                for datagram in received.datagrams() {
                    let sink = &mut core.arrivals;
                    core.protocol.handle_arrival(now, arrived, from, ecn, datagram, sink);
                    core.dispatch(now);
                }
            }
        }
        let more = core.turn(&self.clock, &self.socket);
        self.notify(core);
        match poll(core) {
            Poll::Ready(value) => Step::Done(value),
            Poll::Pending if more || count > 0 => Step::Moved,
            Poll::Pending => Step::Still,
        }
    }

    /// Spins a little, then sleeps until a packet, a command or a timer; whether it was a command.
    fn rest(&self, spin: &mut Spin, deadline: Option<Instant>) -> bool {
        let (next, blocked) = {
            let mut core = self.lock();
            let next = core.protocol.poll_timeout();
            core.asleep_until = next.or(Some(laxity_interface::Time::MAX));
            (next, core.is_blocked())
        };
        let mut time = next.map_or(MAX_SLEEP, |next| self.clock.until(next)).min(MAX_SLEEP);
        if let Some(deadline) = deadline {
            time = time.min(deadline.saturating_duration_since(Instant::now()));
        }
        if spin.spins(time) {
            return false;
        }
        let interest = if blocked { Interest::ReadWrite } else { Interest::Read };
        // An interrupted wait is a short wait.
        let ready = wait(&self.socket, interest, Some(&self.waker), Some(time));
        let woken = ready.is_ok_and(|ready| ready.woken);
        if woken {
            self.waker.take();
        }
        self.lock().asleep_until = None;
        woken
    }

    /// The I/O thread's life.
    pub(crate) fn run(&self) {
        // Without it the kernel adds 50 µs to every sleep; with an old kernel we live with that.
        let _ = tighten_timer_slack();
        let mut spin = Spin::default();
        loop {
            {
                let mut core = self.lock();
                let mut drive = 0;
                while core.driver == Driver::Caller && !core.shut_down {
                    // A caller that stays says so when it leaves.
                    let time = if core.drives == drive { MAX_SLEEP } else { STAND_BY };
                    drive = core.drives;
                    core = self
                        .seat
                        .wait_timeout(core, time)
                        .map_or_else(|e| e.into_inner().0, |waited| waited.0);
                }
                if core.shut_down {
                    return;
                }
                core.driver = Driver::Thread;
            }
            match self.step(|_| Poll::<()>::Pending) {
                Step::Moved => spin.moved(),
                Step::Still | Step::Done(()) => {
                    let woken = self.rest(&mut spin, None);
                    if woken && self.lock().driver == Driver::Caller {
                        // It has taken the seat meanwhile, and the wake may have been for it.
                        self.waker.wake();
                    }
                }
            }
        }
    }

    /// Waits until peers have confirmed how their jobs ended, but not beyond `deadline`.
    pub(crate) fn linger(&self, deadline: Instant) {
        while Instant::now() < deadline {
            let owed = {
                let core = self.lock();
                let owes = |peer| core.protocol.peer(peer).is_some_and(|info| info.ending > 0);
                core.protocol.peers().any(owes)
            };
            if !owed {
                return;
            }
            // The I/O thread drives meanwhile; nobody can be waiting in a call on this endpoint.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Tells everybody to stop.
    pub(crate) fn shut_down(&self) {
        self.command(true, |core| {
            let now = self.clock.now();
            let peers: Vec<_> = core.protocol.peers().collect();
            for peer in peers {
                core.protocol.close(now, peer);
            }
        });
        let mut core = self.lock();
        core.shut_down = true;
        drop(core);
        self.waker.wake();
        self.seat.notify_all();
        self.changed.notify_all();
    }
}

enum Step<T> {
    /// What was waited for is there.
    Done(T),
    /// Something happened.
    Moved,
    /// Nothing did.
    Still,
}
