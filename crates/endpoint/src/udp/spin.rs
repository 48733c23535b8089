//! Waiting without sleeping, as long as nobody else needs the processor.

use std::time::{Duration, Instant};

/// How long to look for packets after the last one before sleeping.
const PATIENCE: Duration = Duration::from_micros(50);
/// Giving way for longer than this means that somebody else ran.
const CONTENDED: Duration = Duration::from_micros(40);
/// How long to sleep instead of spinning after that.
const RESPECT: Duration = Duration::from_millis(10);
/// A sleep shorter than this is not worth its price, whoever waits.
const SHORTEST_SLEEP: Duration = Duration::from_micros(10);
/// Decides between spinning and sleeping.
///
/// A sleep ends tens of microseconds late, so a waiting thread spins for a moment. With more spinners
/// than cores they only keep each other from working: a turn that took long shows that, and spinning
/// ends for a while.
#[derive(Debug)]
pub struct Spin {
    last: Instant,
    sleep_until: Option<Instant>,
}

impl Default for Spin {
    fn default() -> Self {
        Self { last: Instant::now(), sleep_until: None }
    }
}

impl Spin {
    /// Something happened: more may follow soon.
    pub fn moved(&mut self) {
        self.last = Instant::now();
    }

    /// Whether to spin (one turn of which is done here) rather than sleep for `time`.
    pub fn spins(&mut self, time: Duration) -> bool {
        if time < SHORTEST_SLEEP {
            std::thread::yield_now();
            return true;
        }
        let now = Instant::now();
        let soon = now.duration_since(self.last) < PATIENCE || time < PATIENCE;
        if !soon || self.sleep_until.is_some_and(|until| now < until) {
            return false;
        }
        std::thread::yield_now();
        if now.elapsed() > CONTENDED {
            self.sleep_until = Some(Instant::now() + RESPECT);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_only_where_it_may_pay() {
        let mut spin = Spin::default();
        assert!(spin.spins(Duration::ZERO), "too short to sleep");
        spin.last = Instant::now() - PATIENCE * 2;
        assert!(!spin.spins(Duration::from_millis(1)), "nothing happened for long");
        spin.moved();
        spin.sleep_until = Some(Instant::now() + RESPECT);
        assert!(!spin.spins(Duration::from_millis(1)), "others need the processor");
        assert!(spin.spins(Duration::ZERO));
    }
}
