//! Several worlds at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{
    engine::{Settings, simulate},
    error::SimError,
    outcome::Outcome,
    world::World,
};

/// Simulates each world with its settings on this many threads. Results come in the order of the
/// questions and do not depend on the number of threads.
pub fn simulate_all(
    questions: &[(&World, Settings)],
    threads: usize,
) -> Vec<Result<Outcome, SimError>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((world, settings)) = questions.get(at) else { return done };
            done.push((at, simulate(world, settings)));
        }
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().flat_map(|t| t.join().expect("simulations do not panic")).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}
