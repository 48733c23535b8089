//! Real time as the protocol wants it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use laxity_interface::{Span, Time};

/// A monotonic clock that starts at zero; picoseconds last for 213 days of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Time {
        // `as u64` is fine until the year-long process, which the protocol could not tell from zero.
        Time::from_ps((self.start.elapsed().as_nanos() as u64).saturating_mul(1000))
    }

    /// When something happened that the wall clock, which now shows `wall`, saw at `seen`; `now` if
    /// that cannot be, because the wall clock was moved.
    pub(crate) fn at(now: Time, wall: Duration, seen: Option<Duration>) -> Time {
        /// Nothing waits for longer; a clock may be moved by anything.
        const LONGEST: Duration = Duration::from_secs(2);
        let ago = seen.and_then(|seen| wall.checked_sub(seen)).filter(|ago| *ago <= LONGEST);
        now - Span::from_ns(ago.map_or(0, |ago| ago.as_nanos() as u64)).min(now.since(Time::ZERO))
    }

    /// What the wall clock shows, since the epoch.
    pub(crate) fn wall() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// How long until `time`, or nothing if it has passed.
    pub(crate) fn until(&self, time: Time) -> Duration {
        time.since(self.now()).to_std()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_lie_as_far_back_as_the_wall_clock_says() {
        let now = Time::ZERO + Span::from_secs(10);
        let wall = Duration::from_secs(1_000_000);
        let at = |ago: i64| {
            let seen = Duration::from_micros((1_000_000_000_000 - ago) as u64);
            now.since(Clock::at(now, wall, Some(seen)))
        };
        assert_eq!(at(30), Span::from_us(30));
        assert_eq!(at(-30), Span::ZERO, "from the future");
        assert_eq!(at(3_000_000), Span::ZERO, "the clock was moved");
        assert_eq!(Clock::at(now, wall, None), now);
    }
}
