//! How much of its core the engine may use up: when to wait in a loop, when to rest.
//!
//! A real-time thread that never sleeps is stopped by the kernel for 50 ms in every second, and it
//! keeps everyone else from its core. So waiting in a loop has a budget, and a thread that always has
//! work rests for a moment now and then.

use laxity_interface::{Span, Time};

/// The budget is counted anew this often.
const WINDOW: Span = Span::from_ms(20);
/// Waiting in a loop stops when the thread was awake for this part of a window: it may have a core
/// nearly for itself if there are others, but not the only one.
const AWAKE: f64 = 0.9;
const AWAKE_ALONE: f64 = 0.3;
/// Frames that come in such distances are waited for: it halves the time of question and answer, at no
/// visible cost or gain elsewhere (docs/switch.md).
const QUICK: Span = Span::from_us(100);
/// Of every time awake the thread owes a part in sleep, 1/16; the kernel would take 1/20 …
const OWED: u64 = 16;
/// … and when it owes this much, …
const TIRED: Span = Span::from_ms(3);
/// … it sleeps this long.
pub(super) const REST: Span = Span::from_us(250);

/// Counts where the time goes.
#[derive(Debug)]
pub(super) struct Pace {
    /// The part of a window for which the thread may be awake.
    awake: f64,
    window: Time,
    slept_in_window: Span,
    last_sleep: Time,
    /// The sleep that it owed then.
    owed: Span,
    /// When the latest frame came, and in which distances they come, smoothed.
    last_frame: Time,
    distance: Span,
    /// When counting for the health began.
    since: Time,
    slept: Span,
    spun: Span,
}

impl Pace {
    pub(super) fn new(now: Time) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            awake: if cores > 1 { AWAKE } else { AWAKE_ALONE },
            window: now,
            slept_in_window: Span::ZERO,
            last_sleep: now,
            owed: Span::ZERO,
            last_frame: Time::ZERO,
            distance: Span::from_ms(1),
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
        self.owed = self.owed_at(from) - slept;
        self.last_sleep = to;
    }

    /// The thread has waited in a loop.
    pub(super) fn note_spin(&mut self, from: Time, to: Time) {
        self.spun += to.since(from);
    }

    /// A frame came at this time.
    pub(super) fn note_frame(&mut self, stamp: Time) {
        let distance = stamp.since(self.last_frame).min(Span::from_ms(1));
        self.distance = (self.distance * 7 + distance) / 8;
        self.last_frame = self.last_frame.max(stamp);
    }

    /// Whether frames come in quick succession.
    pub(super) fn is_quick(&self) -> bool {
        self.distance <= QUICK
    }

    /// Until when the next frame can be expected, if frames come in quick succession.
    pub(super) fn expected(&self) -> Time {
        if self.is_quick() { self.last_frame + self.distance * 2 } else { Time::ZERO }
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
        awake <= WINDOW.as_secs_f64() * self.awake
    }

    /// Whether it is time for a rest.
    pub(super) fn must_rest(&self, now: Time) -> bool {
        self.owed_at(now) >= TIRED
    }

    fn owed_at(&self, now: Time) -> Span {
        self.owed + now.since(self.last_sleep) / OWED
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
        let mut pace = Pace { awake: 0.6, ..Pace::new(at(0)) };
        assert!(pace.may_spin(at(11_000)));
        assert!(!pace.may_spin(at(13_000)));
        pace.note_sleep(at(13_000), at(16_000));
        assert!(pace.may_spin(at(14_500)), "12 of 20 ms would be too many, 11.5 are not");
        assert!(pace.may_spin(at(21_000)), "a new window");
        assert_eq!(pace.expected(), Time::ZERO);
        for step in 0..100 {
            pace.note_frame(at(21_000 + 10 * step));
        }
        let expected = pace.expected();
        assert!(expected > at(22_005) && expected < at(22_015), "{expected}");
        let (seconds, busy, _) = pace.shares(at(30_000));
        assert!((seconds - 0.03).abs() < 1e-9 && (busy - 0.9).abs() < 1e-9);
    }

    #[test]
    fn a_thread_that_never_sleeps_rests_a_sixteenth_of_its_time() {
        let (mut pace, mut now) = (Pace::new(Time::ZERO), Time::ZERO);
        let (mut rested, end) = (Span::ZERO, Time::ZERO + Span::from_secs(10));
        while now < end {
            now += Span::from_us(100);
            if pace.must_rest(now) {
                pace.note_sleep(now, now + REST);
                now += REST;
                rested += REST;
            }
        }
        let part = rested.as_secs_f64() / 10.0;
        assert!((0.055..0.065).contains(&part), "{part}");
        // One that sleeps a tenth by itself never has to.
        let (mut pace, mut now) = (Pace::new(Time::ZERO), Time::ZERO);
        for _ in 0..10_000 {
            now += Span::from_us(900);
            assert!(!pace.must_rest(now));
            pace.note_sleep(now, now + Span::from_us(100));
            now += Span::from_us(100);
        }
    }
}
