//! How long hosts' programs wait for a processor.
//!
//! All hosts of a lab share this machine's cores. A program that was woken by a packet answers it when it has its
//! turn, and where there is more to do than the cores can, that is long after the packet came: what is measured then is
//! about the machine. The switch does not notice, as it has a core that programs keep off.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::Shared;
use crate::{engine::LateTimes, host::stand_with_programs, lateness::Lateness};

/// Between two questions, in µs: this and up to as much again, so that no program keeps step with them.
const PAUSE_US: u64 = 3000;

/// How late a thread that stands with the hosts' programs had its turn.
#[derive(Debug)]
pub(super) struct Turns(Mutex<Noted>);

#[derive(Debug)]
struct Noted {
    late: Lateness,
    /// Since when.
    since: Instant,
    /// When the thread wants its next turn.
    due: Instant,
}

impl Noted {
    /// The wait that is going on, or has just ended, as far as it falls into this time. A wait that is as long as several
    /// between which there would have been a pause counts as these: who waits long would else count less than who waits often.
    fn add(&self, late: &mut Lateness, now: Instant) {
        let Some(wait) = now.checked_duration_since(self.due.max(self.since)) else { return };
        late.note(wait.into());
        let pause = Duration::from_micros(PAUSE_US * 3 / 2);
        let lefts = (1..MOST_WAITS).map_while(|passed| wait.checked_sub(pause * passed));
        lefts.for_each(|left| late.note(left.into()));
    }
}

/// A wait counts as so many at most.
const MOST_WAITS: u32 = 10_000;

impl Turns {
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(Noted { late: Lateness::default(), since: now, due: now }))
    }

    /// Since the start, or since it was forgotten.
    pub(super) fn times(&self, now: Instant) -> LateTimes {
        let noted = self.lock();
        let mut late = noted.late.clone();
        noted.add(&mut late, now);
        LateTimes::of(&late)
    }

    /// Begins anew.
    pub(super) fn forget(&self, now: Instant) {
        let mut noted = self.lock();
        (noted.late, noted.since) = (Lateness::default(), now);
    }

    /// The thread has its turn, and wants the next one then.
    fn note(&self, now: Instant, next: Instant) {
        let mut noted = self.lock();
        let mut late = std::mem::take(&mut noted.late);
        noted.add(&mut late, now);
        (noted.late, noted.due) = (late, next);
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread that asks for turns; it ends with the process.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<()> {
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("laxity-turns".into());
    thread.spawn(move || ask(&shared)).map(drop)
}

fn ask(shared: &Shared) {
    // A kernel that does not let us rounds times up by 50 µs.
    let _ = laxity_endpoint::udp::tighten_timer_slack();
    stand_with_programs();
    for pause in pauses() {
        let now = Instant::now();
        shared.turns.note(now, now + pause);
        std::thread::sleep(pause);
    }
}

/// Pauses without a rhythm.
fn pauses() -> impl Iterator<Item = Duration> {
    // Multiples of the golden ratio, modulo one, spread evenly and never repeat.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let fractions = std::iter::successors(Some(0u64), |last| Some(last.wrapping_add(STEP)));
    fractions
        .map(|fraction| Duration::from_micros(PAUSE_US + (fraction >> 32) * PAUSE_US / (1 << 32)))
}

#[cfg(test)]
mod tests {
    use laxity_interface::Span;

    use super::*;

    #[test]
    fn pauses_are_spread_over_their_range() {
        let first: Vec<_> = pauses().take(1000).map(|pause| pause.as_micros() as u64).collect();
        assert!(first.iter().all(|us| (PAUSE_US..2 * PAUSE_US).contains(us)));
        for part in 0..10 {
            let from = PAUSE_US + part * PAUSE_US / 10;
            let inside =
                first.iter().filter(|us| (from..from + PAUSE_US / 10).contains(us)).count();
            assert!((90..=110).contains(&inside), "{inside} of 1000 from {from}");
        }
    }

    /// Times of this test, in ms.
    fn times(start: Instant) -> impl Fn(u64) -> Instant {
        move |ms| start + Duration::from_millis(ms)
    }

    #[test]
    fn what_was_forgotten_does_not_count() {
        let at = times(Instant::now());
        let turns = Turns::new(at(0));
        turns.note(at(0), at(3));
        turns.note(at(53), at(60));
        assert_eq!(turns.times(at(55)).max, Span::from_ms(50));
        turns.forget(at(56));
        assert_eq!(turns.times(at(60)).max, Span::ZERO);
        turns.note(at(61), at(70));
        assert_eq!(turns.times(at(62)).max, Span::from_ms(1));
    }

    #[test]
    fn a_wait_that_goes_on_counts_with_its_part_of_the_time() {
        let at = times(Instant::now());
        let turns = Turns::new(at(0));
        turns.note(at(0), at(5));
        // Due at 5, and still waiting.
        assert_eq!(turns.times(at(105)).max, Span::from_ms(100));
        turns.forget(at(205));
        assert_eq!(turns.times(at(215)).max, Span::from_ms(10));
        turns.note(at(305), at(400));
        assert_eq!(turns.times(at(305)).max, Span::from_ms(100));
    }

    #[test]
    fn one_long_wait_outweighs_as_many_short_ones_as_fit_beside_it() {
        let at = times(Instant::now());
        let turns = Turns::new(at(0));
        // 90 turns at once, 5 ms apart, then one after 450 ms: half of the time was waited for it.
        for number in 0..90 {
            turns.note(at(number * 5), at(number * 5 + 5));
        }
        turns.note(at(900), at(905));
        let found = turns.times(at(900));
        assert_eq!(found.max, Span::from_ms(450));
        assert!(found.p99 > Span::from_ms(400), "{found:?}");
    }
}
