//! How long to wait before the next attempt: longer each time, and never all hosts at once.

use laxity_interface::Span;

/// Waits that double from the first to the longest. Each is somewhere between half and all of it, by
/// chance, so that hosts that lost a controller together do not come back together.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    first: Span,
    longest: Span,
    failures: u32,
}

impl Backoff {
    pub(super) fn new(first: Span, longest: Span) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// The next wait. `chance` is any number, each as likely.
    pub(super) fn next(&mut self, chance: u32) -> Span {
        let full = (self.first * (1 << self.failures.min(20))).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        full.mul_f64(0.5 + 0.5 * f64::from(chance) / f64::from(u32::MAX))
    }

    /// An attempt was good.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_begin_anew() {
        let ms = Span::from_ms;
        let mut backoff = Backoff::new(ms(100), ms(1000));
        let waits: Vec<_> = (0..6).map(|_| backoff.next(u32::MAX).as_ms()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(backoff.next(0), ms(500), "at least half");
        backoff.reset();
        assert_eq!(backoff.next(0), ms(50));
    }
}
