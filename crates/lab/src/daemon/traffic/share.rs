//! How much of the hosts' core other traffic takes.
//!
//! In a real network other hosts make it, whatever these hosts' programs do: it goes before them. But here it costs
//! their processor time, and where a core cannot carry both, both have to get less.

use std::time::Duration;

/// Paid back at once at most; what is not used of the share is not kept beyond.
const BURST: Duration = Duration::from_millis(2);

/// Half of one core, counted in processor time.
#[derive(Debug)]
pub(super) struct Share {
    /// What it may still use, in ns, twice, so that a ns of time is worth one. Less than nothing: it has to wait.
    credit: i64,
    /// When that was so.
    at: Duration,
    /// Processor time used until then.
    used: Duration,
}

impl Share {
    /// The whole burst is there at first.
    pub(super) fn new(at: Duration, used: Duration) -> Self {
        Self { credit: BURST.as_nanos() as i64, at, used }
    }

    /// How long to pause after having used so much processor time until now; both only grow.
    pub(super) fn pause(&mut self, now: Duration, used: Duration) -> Option<Duration> {
        let ns = |from: Duration, to: Duration| to.saturating_sub(from).as_nanos() as i64;
        self.credit += ns(self.at, now) - 2 * ns(self.used, used);
        self.credit = self.credit.min(BURST.as_nanos() as i64);
        (self.at, self.used) = (now, used);
        (self.credit < 0).then(|| Duration::from_nanos(self.credit.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// Pieces of work of these lengths, one after the other, as soon as it is allowed.
    fn work(share: &mut Share, pieces: impl IntoIterator<Item = u64>) -> (Duration, Duration) {
        let (mut now, mut used) = (Duration::ZERO, Duration::ZERO);
        for piece in pieces {
            (now, used) = (now + us(piece), used + us(piece));
            now += share.pause(now, used).unwrap_or_default();
        }
        (now, used)
    }

    #[test]
    fn who_always_has_work_gets_half() {
        let mut share = Share::new(Duration::ZERO, Duration::ZERO);
        let (now, used) = work(&mut share, (0..1000).map(|at| 10 + at * 7 % 500));
        let part = used.as_secs_f64() / now.as_secs_f64();
        assert!((0.5..0.51).contains(&part), "{part}");
    }

    #[test]
    fn who_rests_enough_never_waits() {
        let mut share = Share::new(Duration::ZERO, Duration::ZERO);
        for at in 0..1000 {
            // 400 µs of work in each ms.
            assert_eq!(share.pause(us(at * 1000 + 400), us(at * 400 + 400)), None, "{at}");
        }
    }

    #[test]
    fn rest_is_not_saved_up() {
        let mut share = Share::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(share.pause(us(10_000_000), us(0)), None);
        // 10 s of rest are worth 2 ms: after 3 ms of work it owes 1 ms.
        assert_eq!(share.pause(us(10_003_000), us(3000)), Some(us(1000)));
    }
}
