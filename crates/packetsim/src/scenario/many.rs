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
    let next = AtomicUsize::new(0);
    let kept = Mutex::new(tasks.iter().map(|_| None).collect::<Vec<_>>());
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, tasks.len().max(1)) {
            scope.spawn(|| {
                // Every run depends on nothing but its task, so who makes it does not matter.
                while let Some((at, task)) = take(&next, tasks) {
                    let ran = task.point.run(task.seed).map(|ran| keep(task, ran));
                    kept.lock().expect("no run panics with the lock")[at] = Some(ran);
                }
            });
        }
    });
    let kept = kept.into_inner().expect("no run panics with the lock");
    kept.into_iter().map(|ran| ran.expect("every task was taken")).collect()
}

fn take<'a>(next: &AtomicUsize, tasks: &'a [Task]) -> Option<(usize, &'a Task)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    tasks.get(at).map(|task| (at, task))
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
