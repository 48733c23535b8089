//! The side where contributions are added up.

use super::{Chunks, Contribution, Fill, Missing, Policy, combine, rotate_back};

/// How fast the trend forgets: a memory of about ten steps.
const MEMORY: f32 = 0.9;

/// What the receiver keeps between steps, and how it makes one update of what arrived.
#[derive(Clone, Debug)]
pub struct Receiver {
    policy: Policy,
    chunks: Chunks,
    /// For each worker, what came last of each chunk.
    last: Vec<Vec<f32>>,
    trend: Vec<f32>,
}

impl Receiver {
    /// A receiver at the start, for so many workers.
    pub fn new(policy: Policy, chunks: Chunks, workers: usize) -> Self {
        let zeros = |wanted: bool| if wanted { vec![0.0; chunks.length()] } else { Vec::new() };
        let last = vec![zeros(policy.fill == Fill::Stale); workers];
        Self { policy, chunks, last, trend: zeros(policy.fill == Fill::Trend) }
    }

    /// The update of a step; `seed` is the step's.
    pub fn combine(&mut self, contributions: &[Contribution<'_>], seed: u64) -> Vec<f32> {
        let missing = match self.policy.fill {
            Fill::Zero => Missing::Zero,
            Fill::Mean => Missing::Mean,
            Fill::Stale => Missing::Own(&self.last),
            Fill::Trend => Missing::Shared(&self.trend),
        };
        let mut update = combine(self.chunks, contributions, missing);
        if self.policy.fill == Fill::Stale {
            for (last, sent) in self.last.iter_mut().zip(contributions) {
                for (range, arrived) in self.chunks.ranges().zip(sent.arrived) {
                    if *arrived {
                        last[range.clone()].copy_from_slice(&sent.values[range]);
                    }
                }
            }
        }
        for (trend, update) in self.trend.iter_mut().zip(&update) {
            *trend = MEMORY * *trend + (1.0 - MEMORY) * update;
        }
        if self.policy.hadamard {
            rotate_back(&mut update, seed);
        }
        update
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updates(fill: Fill, steps: &[([f32; 2], [bool; 2])]) -> Vec<f32> {
        let policy = Policy { fill, ..Policy::default() };
        let mut receiver = Receiver::new(policy, Chunks::new(1, 1), 2);
        let step = |(values, arrived): &([f32; 2], [bool; 2])| {
            let sent: Vec<_> = (0..2)
                .map(|at| Contribution { values: &values[at..=at], arrived: &arrived[at..=at] })
                .collect();
            receiver.combine(&sent, 0)[0]
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn stale_repeats_what_the_worker_sent_last() {
        let steps =
            [([2.0, 4.0], [true, true]), ([6.0, 8.0], [true, false]), ([1.0, 1.0], [false, false])];
        assert_eq!(updates(Fill::Stale, &steps), [3.0, 5.0, 5.0]);
    }

    #[test]
    fn trend_is_a_running_mean_of_updates() {
        let steps = [([10.0, 10.0], [true, true]), ([5.0, 9.0], [true, false])];
        let updates = updates(Fill::Trend, &steps);
        assert!((updates[1] - 3.0).abs() < 1e-6, "{updates:?}");
    }
}
