//! Parcels over kernel TCP: what the others are measured against, tuned as well as such a thing can be.
//!
//! One connection for each pair of ranks that talk, made when the first parcel is submitted; when both
//! call at once the lower rank's call stays. Bodies go from the application's memory to the kernel and
//! from the kernel to their final place, heads beside them in the same system call. Parcels take turns in
//! frames of 256 KiB, the most urgent first. `TCP_NODELAY`, buffers left to the kernel's own tuning,
//! congestion control by choice.
//!
//! Whoever waits for an event drives the sockets; a thread stands by for the time in which nobody waits.
//!
//! TCP delivers everything: nothing is ever missing, `min_delivery` and `deadline` have no effect, and
//! [`Event::Sent`] says that the kernel has all of a parcel. `limit` holds until then. A rank whose
//! connection breaks is lost. Arrivals that nobody takes are kept up to
//! [`TcpSettings::untaken_bytes`]; beyond that nothing is read, and senders wait.

mod core;
mod frame;
#[cfg(test)]
mod frames_tests;
pub(crate) mod hello;
mod link;
mod outbox;
mod reader;

use std::{
    fmt, io,
    net::SocketAddr,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use laxity_endpoint::udp::{Spin, tighten_timer_slack};
use laxity_interface::{Span, Time};
use mio::{Events, Interest, Poll, Token, Waker, net::TcpListener};

use self::{core::Core, hello::Credentials};
use crate::{
    carrier::{Bell, Carrier, Event, Parcel},
    net,
    rank::Rank,
    rendezvous::client::Departure,
};

/// How long the thread leaves the seat to callers before it looks again.
const STAND_BY: Duration = Duration::from_millis(2);
/// Longest sleep: bounds what a missed wake-up could cost.
const MAX_SLEEP: Duration = Duration::from_millis(200);
const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// How the TCP carrier is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpSettings {
    /// Congestion control by the kernel's name for it, such as `cubic` or `bbr`. Default: the system's.
    pub congestion: Option<String>,
    /// A host that does not answer for about this long is lost. A process that dies on a host that
    /// lives is noticed at once. Default 5 s; the kernel rounds to whole seconds.
    pub dead_after: Duration,
    /// How long a connection may take to come about. Default 10 s.
    pub connect_timeout: Duration,
    /// Bytes of arrivals that may wait to be taken before nothing more is read. Default 1 GiB.
    pub untaken_bytes: u64,
    /// The largest parcel that is taken. Default 4 GiB.
    pub max_parcel: u64,
    /// Bytes that the kernel takes beyond what it can send at once: what an urgent parcel has to wait
    /// for. Default 512 KiB; `None`: as many as its buffer holds.
    pub unsent_bytes: Option<u32>,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            congestion: None,
            dead_after: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(10),
            untaken_bytes: 1 << 30,
            max_parcel: 4 << 30,
            unsent_bytes: Some(512 << 10),
        }
    }
}

/// A port on which ranks will call, before it is known who they are.
#[derive(Debug)]
pub(crate) struct TcpPort {
    listener: TcpListener,
}

impl TcpPort {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { listener: net::listen(address)? })
    }

    /// Has the kernel's word that it can do what is asked of connections: after the ranks have met it
    /// would look as if each were out of reach of all others.
    pub(crate) fn check(&self, settings: &TcpSettings) -> io::Result<()> {
        link::choose_control(&self.listener, settings)
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Carries parcels over kernel TCP.
pub struct TcpCarrier {
    shared: Arc<Shared>,
    rank: Rank,
    thread: Option<JoinHandle<()>>,
    spin: Spin,
}

impl fmt::Debug for TcpCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpCarrier").field("rank", &self.rank).finish_non_exhaustive()
    }
}

struct Shared {
    core: Mutex<Core>,
    poller: Mutex<Poller>,
    waker: Waker,
    seat: Mutex<Seat>,
    vacated: Condvar,
    stop: AtomicBool,
    /// The bell was rung and no wait has ended by it.
    rung: AtomicBool,
    start: Instant,
}

struct Poller {
    poll: Poll,
    events: Events,
}

/// Who turns the crank.
#[derive(Default)]
struct Seat {
    /// A caller does, or is about to.
    caller: bool,
    /// The thread does.
    thread: bool,
    /// How often a caller has begun to.
    drives: u64,
}

impl TcpCarrier {
    pub(crate) fn new(
        port: TcpPort,
        me: Arc<Credentials>,
        settings: TcpSettings,
    ) -> io::Result<Self> {
        let rank = me.identity.rank();
        let poll = Poll::new()?;
        let mut listener = port.listener;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let core = Core::new(me, settings, poll.registry().try_clone()?, listener);
        let shared = Arc::new(Shared {
            core: Mutex::new(core),
            poller: Mutex::new(Poller { poll, events: Events::with_capacity(256) }),
            waker,
            seat: Mutex::new(Seat::default()),
            vacated: Condvar::new(),
            stop: AtomicBool::new(false),
            rung: AtomicBool::new(false),
            start: Instant::now(),
        });
        let thread = {
            let shared = shared.clone();
            let name = format!("laxity-tcp-{}", rank.get());
            std::thread::Builder::new().name(name).spawn(move || shared.run())?
        };
        Ok(Self { shared, rank, thread: Some(thread), spin: Spin::default() })
    }

    /// Connections that were refused, and why: the latest few.
    pub fn refusals(&self) -> Vec<String> {
        lock(&self.shared.core).refusals.list()
    }

    /// Bytes held for arrivals: whole ones that nobody took, and room for those under way.
    pub fn held_bytes(&self) -> u64 {
        lock(&self.shared.core).held_bytes()
    }

    /// What tells this carrier of ranks that are gone.
    pub(crate) fn departures(&self) -> impl Fn(Departure) + Send + 'static {
        let shared = Arc::downgrade(&self.shared);
        move |departure| {
            if let Some(shared) = shared.upgrade() {
                lock(&shared.core).handle_departure(&departure);
                shared.wake();
            }
        }
    }

    /// Carries everything that was submitted, says goodbye to all and waits until they have heard it,
    /// but no longer than `patience`. True if all have.
    pub fn shutdown(mut self, patience: Duration) -> bool {
        let deadline = net::deadline(patience);
        lock(&self.shared.core).close();
        let shared = self.shared.clone();
        let closed =
            shared.drive(&mut self.spin, Some(deadline), |core| core.is_closed().then_some(()));
        closed.is_some()
    }
}

impl Carrier for TcpCarrier {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn now(&self) -> Time {
        self.shared.now()
    }

    fn submit(&mut self, parcel: Parcel) {
        let now = self.now();
        let mut core = lock(&self.shared.core);
        core.submit(now, parcel);
        let more = core.has_more() || core.next_timeout().is_some();
        drop(core);
        if more {
            self.shared.alert();
        }
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        let (event, more) = {
            let mut core = lock(&self.shared.core);
            (core.take_event(), core.has_more())
        };
        if event.is_some() {
            if more {
                // Reading may have waited for this event to be taken.
                self.shared.alert();
            }
            return event;
        }
        let deadline = until.map(|until| {
            let left = until.since(self.now()).to_std();
            net::deadline(left)
        });
        let shared = self.shared.clone();
        let look = |core: &mut Core| match core.take_event() {
            Some(event) => Some(Some(event)),
            None => shared.rung.swap(false, Ordering::AcqRel).then_some(None),
        };
        shared.drive(&mut self.spin, deadline, look).flatten()
    }

    fn bell(&self) -> Option<Bell> {
        let shared = Arc::downgrade(&self.shared);
        Some(Bell::new(move || {
            if let Some(shared) = shared.upgrade() {
                shared.rung.store(true, Ordering::Release);
                shared.wake();
            }
        }))
    }
}

impl Drop for TcpCarrier {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake();
        self.shared.vacated.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn now(&self) -> Time {
        Time::ZERO + Span::from(self.start.elapsed())
    }

    fn wake(&self) {
        // A waker that fails costs one long sleep.
        let _ = self.waker.wake();
    }

    /// There is something to do and nobody may know.
    fn alert(&self) {
        if lock(&self.seat).thread {
            self.wake();
        } else {
            self.vacated.notify_one();
        }
    }

    /// Drives until `look` finds something; `None` when `deadline` passes first.
    fn drive<T>(
        &self,
        spin: &mut Spin,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut Core) -> Option<T>,
    ) -> Option<T> {
        let began = Instant::now();
        {
            let mut seat = lock(&self.seat);
            seat.caller = true;
            seat.drives += 1;
            if seat.thread {
                self.wake();
            }
        }
        let mut poller = lock(&self.poller);
        let found = loop {
            // Before anything else: an event may have come while the thread left the seat.
            if let Some(found) = look(&mut lock(&self.core)) {
                break Some(found);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            self.step(&mut poller, spin, left.unwrap_or(MAX_SLEEP));
            if left.is_some_and(|left| left.is_zero()) {
                break look(&mut lock(&self.core));
            }
        };
        drop(poller);
        let busy = lock(&self.core).is_busy();
        lock(&self.seat).caller = false;
        if busy || began.elapsed() >= STAND_BY {
            // After a long drive the thread may not look for long.
            self.vacated.notify_one();
        }
        found
    }

    /// Waits for the sockets, then does what can be done.
    fn step(&self, poller: &mut Poller, spin: &mut Spin, most: Duration) {
        let mut time = most.min(MAX_SLEEP);
        {
            let core = lock(&self.core);
            if core.has_more() {
                time = Duration::ZERO;
            } else if let Some(at) = core.next_timeout() {
                time = time.min(at.since(self.now()).to_std());
            }
        }
        if !time.is_zero() && spin.spins(time) {
            time = Duration::ZERO;
        }
        let Poller { poll, events } = poller;
        if poll.poll(events, Some(time)).is_err() {
            // Interrupted by a signal: a short wait.
            return;
        }
        let now = self.now();
        let mut core = lock(&self.core);
        for event in &*events {
            spin.moved();
            match event.token() {
                LISTENER => core.accept(now),
                WAKER => {}
                Token(token) => {
                    let readable =
                        event.is_readable() || event.is_error() || event.is_read_closed();
                    core.handle_ready(token, readable, event.is_writable());
                }
            }
        }
        core.turn(now);
    }

    /// The thread's life.
    fn run(&self) {
        // Without it the kernel adds 50 µs to every sleep; with an old kernel we live with that.
        let _ = tighten_timer_slack();
        let mut spin = Spin::default();
        while !self.stop.load(Ordering::Acquire) {
            {
                let (mut seat, mut drives) = (lock(&self.seat), 0);
                while seat.caller && !self.stop.load(Ordering::Acquire) {
                    // A caller that stays says so when it leaves.
                    let time = if seat.drives == drives { MAX_SLEEP } else { STAND_BY };
                    drives = seat.drives;
                    seat = self
                        .vacated
                        .wait_timeout(seat, time)
                        .map_or_else(|e| e.into_inner().0, |waited| waited.0);
                }
                seat.thread = true;
            }
            {
                let mut poller = lock(&self.poller);
                self.step(&mut poller, &mut spin, MAX_SLEEP);
            }
            lock(&self.seat).thread = false;
        }
    }
}

/// A panic under a lock is a bug of ours; going on with what is there beats taking every other thread
/// down with a second panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
