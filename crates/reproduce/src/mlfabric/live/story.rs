//! What came of a training.

use laxity_fabric::roles::Promotion;
use laxity_interface::Time;

/// What came of a training.
#[derive(Debug, Clone, Default)]
pub(in crate::mlfabric) struct Story {
    /// When the target was reached.
    pub(in crate::mlfabric) reached: Option<Time>,
    /// The loss on held-out data over time.
    pub(in crate::mlfabric) losses: Vec<(Time, f64)>,
    /// Commits, and updates in them.
    pub(in crate::mlfabric) commits: u64,
    pub(in crate::mlfabric) updates: u64,
    /// Updates that came as part of a sum.
    pub(in crate::mlfabric) summed: u64,
    /// Updates that did not count.
    pub(in crate::mlfabric) dropped: u64,
    /// Commits between the version of each update and its own.
    pub(in crate::mlfabric) delays: Vec<u64>,
    /// The loss is no number any more.
    pub(in crate::mlfabric) diverged: bool,
    /// How far the replica could have been away, at most.
    pub(in crate::mlfabric) apart: f64,
    /// When a replica took over, and what it said.
    pub(in crate::mlfabric) promoted: Option<(Time, Promotion)>,
}

impl Story {
    /// When the target was reached, in seconds.
    pub(in crate::mlfabric) fn seconds(&self) -> Option<f64> {
        self.reached.map(|at| at.since(Time::ZERO).as_secs_f64())
    }

    pub(in crate::mlfabric) fn mean_delay(&self) -> f64 {
        self.delays.iter().sum::<u64>() as f64 / self.delays.len().max(1) as f64
    }
}
