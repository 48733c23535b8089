//! Real time as the protocol wants it.

use std::time::{Duration, Instant};

use laxity_interface::Time;

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

    /// How long until `time`, or nothing if it has passed.
    pub(crate) fn until(&self, time: Time) -> Duration {
        time.since(self.now()).to_std()
    }
}
