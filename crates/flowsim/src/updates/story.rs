//! What came out of asynchronous training.

use laxity_interface::{Span, Time};
use laxity_planner::updates::UpdateReason;
use laxity_topology::{LinkId, NodeId};

/// An update that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Committed {
    /// The worker, as a position among the workers.
    pub worker: usize,
    /// When it was ready to be sent.
    pub available: Time,
    /// When it was committed.
    pub at: Time,
    /// How many commits lie between the model it was computed from and itself.
    pub delay: u64,
    /// Where it was summed with others, if it was.
    pub summed: Option<NodeId>,
}

/// An update that was not sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropped {
    /// The worker.
    pub worker: usize,
    /// When that was decided.
    pub at: Time,
    /// Why.
    pub reason: UpdateReason,
}

/// A sum of updates that reached the replica.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Copied {
    /// When.
    pub at: Time,
    /// How many updates.
    pub updates: usize,
    /// Whether commits waited for it.
    pub held: bool,
}

/// What came out of asynchronous training.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Story {
    /// Updates in the order of their commits.
    pub commits: Vec<Committed>,
    /// Updates that were not sent.
    pub dropped: Vec<Dropped>,
    /// What the replica got.
    pub copies: Vec<Copied>,
    /// How far server and replica could be apart after each commit; empty without a replica.
    pub apart: Vec<f64>,
    /// How many transfers of updates, sums and copies crossed each link; models do not count.
    pub messages: Vec<u64>,
    /// The same one by one: when each transfer had crossed a link.
    pub crossed: Vec<(Time, LinkId)>,
    /// How often the rules were asked.
    pub decisions: u64,
    /// When it ended.
    pub end: Time,
}

impl Story {
    /// The mean time from available to committed.
    pub fn mean_wait(&self) -> Span {
        let waits = self.commits.iter().map(|one| u128::from(one.at.since(one.available).as_ps()));
        let count = self.commits.len().max(1) as u128;
        Span::from_ps((waits.sum::<u128>() / count) as u64)
    }

    /// The mean number of commits between reading and committing.
    pub fn mean_delay(&self) -> f64 {
        let sum: u64 = self.commits.iter().map(|one| one.delay).sum();
        sum as f64 / self.commits.len().max(1) as f64
    }

    /// The largest number of commits between reading and committing.
    pub fn worst_delay(&self) -> u64 {
        self.commits.iter().map(|one| one.delay).max().unwrap_or(0)
    }

    /// How far server and replica could be apart at worst.
    pub fn worst_apart(&self) -> f64 {
        self.apart.iter().copied().fold(0.0, f64::max)
    }
}
