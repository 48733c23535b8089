//! Many runs on several threads, with the same results as on one.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    Scenario,
    point::{Point, Ran},
};
use crate::SetupError;

/// One run to be made.
#[derive(Clone, Debug)]
pub struct Task {
    /// What is simulated.
    pub point: Point,
    /// With which seed.
    pub seed: u64,
}

impl Scenario {
    /// Every point with every seed: all seeds of the first point, then of the next.
    pub fn tasks(&self) -> Vec<Task> {
        let of = |point: Point| {
            self.seeds().iter().map(move |seed| Task { point: point.clone(), seed: *seed })
        };
        (0..self.points()).flat_map(|point| of(self.point(point))).collect()
    }
}

/// Makes all runs, in the order of the tasks whatever the number of threads. `keep` makes of each run
/// what is kept of it, in the thread that made it: a run holds all of its flows.
pub fn run_all<T: Send>(
    tasks: &[Task],
    threads: usize,
    keep: impl Fn(&Task, Ran) -> T + Sync,
) -> Result<Vec<T>, SetupError> {
    each(tasks, threads, |task| task.point.run(task.seed).map(|ran| keep(task, ran)))
        .into_iter()
        .collect()
}

/// Does something with each of some things on several threads; answers are in the order of the things.
pub fn each<A: Sync, T: Send>(
    things: &[A],
    threads: usize,
    act: impl Fn(&A) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let kept = Mutex::new(things.iter().map(|_| None).collect::<Vec<_>>());
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, things.len().max(1)) {
            scope.spawn(|| {
                // Every answer depends on nothing but its thing, so who gives it does not matter.
                while let Some((at, thing)) = take(&next, things) {
                    let answer = act(thing);
                    kept.lock().expect("nobody panics with the lock")[at] = Some(answer);
                }
            });
        }
    });
    let kept = kept.into_inner().expect("nobody panics with the lock");
    kept.into_iter().map(|answer| answer.expect("everything was taken")).collect()
}

fn take<'a, A>(next: &AtomicUsize, things: &'a [A]) -> Option<(usize, &'a A)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    things.get(at).map(|thing| (at, thing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_find_what_one_finds() {
        let scenario = Scenario::from_toml(
            "seeds = [1, 2, 3]
             topology = { kind = 'leaf-spine', leaves = 2, spines = 2, hosts = 4, rate = '10Gbps' }
             [[workloads]]
             kind = 'random'
             scheme = ['dctcp', 'udp']
             size = '20KB'
             rounds = [2, 3]",
        );
        let tasks = scenario.unwrap().tasks();
        assert_eq!(tasks.len(), 12);
        let hashes = |threads| {
            let keep =
                |task: &Task, ran: Ran| (task.point.index, task.seed, ran.outcome.trace_hash);
            run_all(&tasks, threads, keep).unwrap()
        };
        let one = hashes(1);
        assert_eq!(one, hashes(2));
        assert_eq!(one[5].0, 1);
        let mut different: Vec<_> = one.iter().map(|(.., hash)| *hash).collect();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > 5, "{one:?}");
    }
}
