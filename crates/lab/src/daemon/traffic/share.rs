//! How much of the hosts' core other traffic takes.
//!
//! In a real network other hosts make it, whatever these hosts' programs do: it goes before them. But here it costs
//! their processor time, and where a core cannot carry both, both have to get less.

use std::time::Duration;

/// Paid back at once at most; what is not used of the share is not kept beyond.
const BURST: Duration = Duration::from_millis(2);

/// Half of some cores, counted in processor time.
#[derive(Debug)]
pub(super) struct Share {
    cores: i64,
    /// What it may still use, in ns, twice, so that a ns of a core's time is worth one. Less than nothing: it has to wait.
    credit: i64,
    /// When that was so.
    at: Duration,
}

impl Share {
    /// Of so many cores. The whole burst is there at first.
    pub(super) fn of(cores: usize) -> Self {
        Self { cores: cores.max(1) as i64, credit: BURST.as_nanos() as i64, at: Duration::ZERO }
    }

    /// How long to pause after having used so much processor time since the last time this was asked.
    pub(super) fn pause(&mut self, now: Duration, used: Duration) -> Option<Duration> {
        let passed = now.saturating_sub(self.at).as_nanos() as i64 * self.cores;
        self.credit += passed - 2 * used.as_nanos() as i64;
        self.credit = self.credit.min(BURST.as_nanos() as i64 * self.cores);
        self.at = self.at.max(now);
        let owed = self.credit.min(0).unsigned_abs();
        (owed > 0).then(|| Duration::from_nanos(owed.div_ceil(self.cores as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// Pieces of work of these lengths, one after the other, as soon as it is allowed: what was used of the time.
    fn work(share: &mut Share, pieces: impl IntoIterator<Item = u64>) -> f64 {
        let (mut now, mut used) = (Duration::ZERO, Duration::ZERO);
        for piece in pieces {
            (now, used) = (now + us(piece), used + us(piece));
            now += share.pause(now, us(piece)).unwrap_or_default();
        }
        used.as_secs_f64() / now.as_secs_f64()
    }

    fn pieces() -> impl Iterator<Item = u64> {
        (0..1000).map(|at| 10 + at * 7 % 500)
    }

    #[test]
    fn who_always_has_work_gets_half() {
        let part = work(&mut Share::of(1), pieces());
        assert!((0.5..0.51).contains(&part), "{part}");
    }

    #[test]
    fn one_thread_may_have_one_of_two_cores() {
        assert_eq!(work(&mut Share::of(2), pieces()), 1.0);
    }

    #[test]
    fn two_threads_share_half_of_one_core() {
        // By turns, each waiting for the other as well, which is what one core makes of them.
        let mut share = Share::of(1);
        let (mut now, mut used) = (Duration::ZERO, Duration::ZERO);
        for piece in pieces() {
            let pauses = [(); 2].map(|()| {
                (now, used) = (now + us(piece), used + us(piece));
                share.pause(now, us(piece)).unwrap_or_default()
            });
            now += pauses[1];
        }
        let part = used.as_secs_f64() / now.as_secs_f64();
        assert!((0.5..0.51).contains(&part), "{part}");
    }

    #[test]
    fn who_rests_enough_never_waits() {
        let mut share = Share::of(1);
        for at in 0..1000 {
            // 400 µs of work in each ms.
            assert_eq!(share.pause(us(at * 1000 + 400), us(400)), None, "{at}");
        }
    }

    #[test]
    fn rest_is_not_saved_up() {
        let mut share = Share::of(1);
        assert_eq!(share.pause(us(10_000_000), us(0)), None);
        // 10 s of rest are worth 2 ms: after 3 ms of work it owes 1 ms.
        assert_eq!(share.pause(us(10_003_000), us(3000)), Some(us(1000)));
    }
}
