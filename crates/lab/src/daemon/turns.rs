//! How long hosts' programs wait for a processor.
//!
//! All hosts of a lab share this machine's cores. A program that was woken by a packet answers it when it has its
//! turn, and where there is more to do than the cores can, that is long after the packet came: what is measured then is
//! about the machine. The switch does not notice, as it has a core that programs keep off.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use laxity_interface::Span;

use super::Shared;
use crate::{engine::LateTimes, host::stand_with_programs, lateness::Lateness};

/// Between two questions, in µs: this and up to as much again, so that no program keeps step with them.
const PAUSE_US: u64 = 3000;

/// How late a thread that stands with the hosts' programs had its turn.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<Lateness>);

impl Turns {
    /// Since the start, or since it was forgotten.
    pub(super) fn times(&self) -> LateTimes {
        LateTimes::of(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins anew.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Lateness::default();
    }

    fn note(&self, late: Span) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note(late);
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
        let due = Instant::now() + pause;
        std::thread::sleep(pause);
        shared.turns.note(due.elapsed().into());
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

    #[test]
    fn what_was_forgotten_does_not_count() {
        let turns = Turns::default();
        turns.note(Span::from_ms(50));
        assert_eq!(turns.times().max, Span::from_ms(50));
        turns.forget();
        turns.note(Span::from_us(7));
        assert_eq!(turns.times().max, Span::from_us(7));
    }
}
