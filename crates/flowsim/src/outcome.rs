//! What came out of a simulation.

use laxity_interface::{FlowId, Rate, Time};
use laxity_planner::Reason;

use crate::work::OperationId;

/// When an operation ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// The work, as a position in [`World::works`](crate::World::works).
    pub work: usize,
    /// The operation.
    pub operation: OperationId,
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
}

/// When a flow was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The work, as a position in [`World::works`](crate::World::works).
    pub work: usize,
    /// The flow.
    pub flow: FlowId,
    /// When it could start.
    pub released: Time,
    /// When it had arrived; the same as `released` if it was dropped.
    pub end: Time,
    /// Whether it was not sent because it was too stale.
    pub dropped: bool,
}

/// An update that reached its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// The server.
    pub server: usize,
    /// The work.
    pub work: usize,
    /// The flow.
    pub flow: FlowId,
    /// When it arrived.
    pub arrived: Time,
    /// When it was committed.
    pub at: Time,
    /// The version that it made; nothing if it was thrown away.
    pub version: Option<u64>,
    /// How many commits lie between the model it was computed from and itself.
    pub delay: u64,
}

/// A flow has another rate from now on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateChange {
    /// From when.
    pub at: Time,
    /// The work.
    pub work: usize,
    /// The flow.
    pub flow: FlowId,
    /// The rate.
    pub rate: Rate,
    /// Why, where the planner was asked for a whole plan.
    pub reason: Option<Reason>,
}

/// What came out of a simulation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// When the last thing ended.
    pub end: Time,
    /// When each work ended, in their order.
    pub work_ends: Vec<Time>,
    /// Operations in the order in which they ended.
    pub operations: Vec<Ran>,
    /// Flows in the order in which they ended.
    pub flows: Vec<Sent>,
    /// Updates in the order in which they were committed or thrown away.
    pub commits: Vec<Commit>,
    /// Every change of a rate, if asked for.
    pub rates: Vec<RateChange>,
    /// How often rates were planned.
    pub plans: u64,
}

impl Outcome {
    /// When a flow was sent.
    pub fn flow(&self, work: usize, flow: FlowId) -> Option<&Sent> {
        self.flows.iter().find(|sent| sent.work == work && sent.flow == flow)
    }

    /// When an operation ran.
    pub fn operation(&self, work: usize, operation: OperationId) -> Option<&Ran> {
        self.operations.iter().find(|ran| ran.work == work && ran.operation == operation)
    }

    /// A number that two outcomes share only if everything in them is the same: FNV-1a over every
    /// time, place and rate.
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        hash.add(self.end.as_ps());
        for end in &self.work_ends {
            hash.add(end.as_ps());
        }
        for ran in &self.operations {
            for part in
                [ran.work as u64, ran.operation.0.into(), ran.start.as_ps(), ran.end.as_ps()]
            {
                hash.add(part);
            }
        }
        for sent in &self.flows {
            let parts = [
                sent.work as u64,
                sent.flow.0.into(),
                sent.released.as_ps(),
                sent.end.as_ps(),
                sent.dropped.into(),
            ];
            parts.into_iter().for_each(|part| hash.add(part));
        }
        for commit in &self.commits {
            let version = commit.version.unwrap_or(u64::MAX);
            for part in [commit.server as u64, commit.at.as_ps(), version, commit.delay] {
                hash.add(part);
            }
        }
        for change in &self.rates {
            for part in [change.at.as_ps(), change.flow.0.into(), change.rate.as_bps()] {
                hash.add(part);
            }
        }
        hash.0
    }
}

struct Fnv(u64);

impl Fnv {
    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
