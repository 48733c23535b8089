//! The engine's clock, and the kernel's time stamps on it.
#![allow(unsafe_code, reason = "clock_gettime, which also the standard library only wraps")]

use laxity_interface::{Span, Time};

/// Monotonic time since the start. The kernel stamps frames with the wall clock, which may jump; so
/// both clocks are read together, and a stamp is moved by their present difference.
#[derive(Debug)]
pub(super) struct Clock {
    start: u64,
    /// Wall clock minus monotonic clock, when last read.
    offset: i64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let start = read(libc::CLOCK_MONOTONIC);
        let mut clock = Self { start, offset: 0 };
        clock.align();
        clock
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Time {
        Time::ZERO + Span::from_ns(read(libc::CLOCK_MONOTONIC) - self.start)
    }

    /// Reads how far the clocks are apart.
    pub(super) fn align(&mut self) {
        let before = read(libc::CLOCK_MONOTONIC);
        let wall = read(libc::CLOCK_REALTIME);
        let after = read(libc::CLOCK_MONOTONIC);
        // A reading that was interrupted in the middle is worse than the one before.
        if after - before < 2_000 || self.offset == 0 {
            self.offset = wall as i64 - (before + (after - before) / 2) as i64;
        }
    }

    /// The kernel's stamp as a time since the start.
    pub(super) fn stamp(&self, seconds: u32, nanoseconds: u32) -> Time {
        let wall = i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds);
        let since = wall - self.offset - self.start as i64;
        Time::ZERO + Span::from_ns(since.max(0) as u64)
    }
}

/// A clock in nanoseconds.
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0, "every Linux has these clocks");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_now_is_now() {
        let mut clock = Clock::new();
        clock.align();
        let wall = read(libc::CLOCK_REALTIME);
        let stamp = clock.stamp((wall / 1_000_000_000) as u32, (wall % 1_000_000_000) as u32);
        let now = clock.now();
        let apart = now.since(stamp) + stamp.since(now);
        assert!(apart < Span::from_ms(100), "{apart}");
    }
}
