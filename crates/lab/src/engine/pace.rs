//! How much of its core the engine may use up: when to wait in a loop, when to rest.
//!
//! A real-time thread that never sleeps is stopped by the kernel for 50 ms in every second, and it
//! keeps everyone else from its core. So waiting in a loop has a budget, and a thread that always has
//! work rests for a moment now and then.

use laxity_interface::{Span, Time};

/// The budget is counted anew this often.
const WINDOW: Span = Span::from_ms(20);
/// Waiting in a loop stops when the thread was awake for this part of a window.
const AWAKE: f64 = 0.6;
/// A thread that never slept for this long …
const TIRELESS: Span = Span::from_ms(4);
/// … sleeps this long: 6 %, where the kernel would take 5 % in one piece.
pub(super) const REST: Span = Span::from_us(250);

/// Counts where the time goes.
#[derive(Debug)]
pub(super) struct Pace {
    window: Time,
    slept_in_window: Span,
    last_sleep: Time,
    /// When counting for the health began.
    since: Time,
    slept: Span,
    spun: Span,
}

impl Pace {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            window: now,
            slept_in_window: Span::ZERO,
            last_sleep: now,
            since: now,
            slept: Span::ZERO,
            spun: Span::ZERO,
        }
    }

    /// The thread has slept.
    pub(super) fn note_sleep(&mut self, from: Time, to: Time) {
        let slept = to.since(from);
        self.slept += slept;
        self.slept_in_window += slept;
        self.last_sleep = to;
    }

    /// The thread has waited in a loop.
    pub(super) fn note_spin(&mut self, from: Time, to: Time) {
        self.spun += to.since(from);
    }

    /// Whether waiting in a loop is in the budget.
    pub(super) fn may_spin(&mut self, now: Time) -> bool {
        let age = now.since(self.window);
        if age >= WINDOW {
            self.window = now;
            self.slept_in_window = Span::ZERO;
            return true;
        }
        let awake = (age - self.slept_in_window).as_secs_f64();
        awake <= WINDOW.as_secs_f64() * AWAKE
    }

    /// Whether it is time for a rest.
    pub(super) fn must_rest(&self, now: Time) -> bool {
        now.since(self.last_sleep) >= TIRELESS
    }

    /// Seconds since the last reset, and which parts of them the thread was awake and spun.
    pub(super) fn shares(&self, now: Time) -> (f64, f64, f64) {
        let all = now.since(self.since).as_secs_f64();
        if all == 0.0 {
            return (0.0, 0.0, 0.0);
        }
        (all, 1.0 - self.slept.as_secs_f64() / all, self.spun.as_secs_f64() / all)
    }

    pub(super) fn reset(&mut self, now: Time) {
        self.since = now;
        self.slept = Span::ZERO;
        self.spun = Span::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_ends_with_the_budget_and_begins_with_the_next_window() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut pace = Pace::new(at(0));
        assert!(pace.may_spin(at(11_000)));
        assert!(!pace.may_spin(at(13_000)));
        pace.note_sleep(at(13_000), at(16_000));
        assert!(pace.may_spin(at(16_000)), "12 of 20 ms would be too many, 13 − 3 are not");
        assert!(!pace.must_rest(at(19_000)));
        assert!(pace.must_rest(at(20_000)));
        assert!(pace.may_spin(at(21_000)), "a new window");
        let (seconds, busy, _) = pace.shares(at(30_000));
        assert!((seconds - 0.03).abs() < 1e-9 && (busy - 0.9).abs() < 1e-9);
    }
}
