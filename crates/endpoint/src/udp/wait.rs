//! Waiting for a socket, for another thread, or for the time.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::socket::Socket;

/// What to wait for at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interest {
    /// Something to receive.
    #[default]
    Read,
    /// Something to receive, or room to send after a send would have blocked.
    ReadWrite,
}

/// What ended a wait; nothing at all means that the time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ready {
    /// There is something to receive, or an error that receiving will report.
    pub readable: bool,
    /// There is room to send.
    pub writable: bool,
    /// The waker was used; it has been reset.
    pub woken: bool,
}

impl Ready {
    /// Whether the time was up and nothing else happened.
    pub fn is_timeout(self) -> bool {
        self == Self::default()
    }
}

/// Waits until the socket is ready, the waker is used, or `timeout` has passed (`None`: for ever).
///
/// A timeout of zero asks without waiting. Sleeping is precise to some 50 µs, plus the timer slack
/// of the thread (see [`tighten_timer_slack`]); where that is too coarse, spin on
/// [`recv`](Socket::recv) and [`Waker::take`] instead.
pub fn wait(
    socket: &Socket,
    interest: Interest,
    waker: Option<&Waker>,
    timeout: Option<Duration>,
) -> io::Result<Ready> {
    let started = Instant::now();
    // A wake that came while we were not waiting costs no system call; the socket is still looked
    // at.
    let woken = waker.is_some_and(Waker::take);
    let limit = if woken { Some(Duration::ZERO) } else { timeout };
    let mut left = limit;
    let events = match interest {
        Interest::Read => libc::POLLIN,
        Interest::ReadWrite => libc::POLLIN | libc::POLLOUT,
    };
    let mut watched = [
        libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 },
        // A negative number is passed over by the kernel.
        libc::pollfd {
            fd: waker.map_or(-1, |waker| waker.event.as_raw_fd()),
            events: libc::POLLIN,
            revents: 0,
        },
    ];
    loop {
        let time = left.map(|left| libc::timespec {
            tv_sec: libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), |time| &raw const *time);
        // SAFETY: `watched` is exclusively ours and its length is given; `time` is null or points
        // at a value that lives until the end of this turn; no signal mask.
        let result = unsafe {
            libc::ppoll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, time, std::ptr::null())
        };
        if result >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        left = limit.map(|limit| limit.saturating_sub(started.elapsed()));
    }
    let seen = watched[0].revents;
    let event = watched[1].revents != 0;
    if let Some(waker) = waker.filter(|_| event) {
        waker.drain();
    }
    Ok(Ready {
        readable: seen & (libc::POLLIN | libc::POLLERR | libc::POLLHUP) != 0,
        writable: seen & libc::POLLOUT != 0,
        woken: woken || event,
    })
}

/// Interrupts a [`wait`] from another thread.
///
/// Wakes are merged: many of them before the waiter looks are one, and cost one system call.
#[derive(Debug)]
pub struct Waker {
    event: OwnedFd,
    /// Set from the first wake until the waiter takes it.
    pending: AtomicBool,
}

impl Waker {
    /// A waker that has not been used.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let event = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        Ok(Self { event, pending: AtomicBool::new(false) })
    }

    /// Ends the current wait, or else the next one at once.
    ///
    /// What this thread wrote before is visible to the waiter after it.
    pub fn wake(&self) {
        if self.pending.swap(true, Ordering::AcqRel) {
            return;
        }
        let one = 1_u64;
        // SAFETY: eight bytes are read from `one`.
        let result = unsafe {
            libc::write(self.event.as_raw_fd(), (&raw const one).cast(), size_of::<u64>())
        };
        // It can only fail with "would block" at 2⁶⁴ - 2 wakes, when the event is set anyway.
        debug_assert_eq!(result, 8);
    }

    /// Whether there was a wake since the last time; resets it. Costs no system call if there was
    /// none, so a thread that spins may ask at every turn.
    pub fn take(&self) -> bool {
        self.pending.load(Ordering::Acquire) && self.drain()
    }

    #[cfg(test)]
    pub(super) fn pretend_unset(&self) {
        self.pending.store(false, Ordering::Relaxed);
    }

    /// Resets event and flag; says whether the flag was set.
    ///
    /// First the event, then the flag. The other way round, a wake in between would set the flag
    /// and lose its event, and all later wakes would trust in that event. This way round, a waker
    /// between its flag and its event may leave an event without a flag: one wait too short, which
    /// resets it.
    fn drain(&self) -> bool {
        let mut count = 0_u64;
        // SAFETY: eight bytes are written to `count`. That there is nothing to read is no error.
        let _ = unsafe {
            libc::read(self.event.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>())
        };
        self.pending.swap(false, Ordering::AcqRel)
    }
}

/// Lets the calling thread's timed waits end when they are due, not up to 50 µs later, which is
/// what the kernel allows itself by default in order to merge wake-ups.
pub fn tighten_timer_slack() -> io::Result<()> {
    // SAFETY: no pointers; affects only the calling thread.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
