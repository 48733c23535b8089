//! What came of a simulation.

use laxity_interface::Time;

use crate::{
    flow::{Done, FlowId},
    series::Series,
    stack::Tally,
    trace::DropReason,
};

/// How long a simulation may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Events after this time stay in the future.
    pub until: Time,
    /// So many events and no more.
    pub max_events: u64,
}

impl Default for Limits {
    /// No limits.
    fn default() -> Self {
        Self { until: Time::MAX, max_events: u64::MAX }
    }
}

impl Limits {
    /// Until this time.
    pub fn until(until: Time) -> Self {
        Self { until, ..Self::default() }
    }
}

/// Why a simulation stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The driver was done.
    Driver,
    /// Nothing was left to happen.
    Idle,
    /// The time was over.
    Until,
    /// There were too many events.
    Events,
}

/// What came of a simulation, from its beginning; `done` and `series` since the last
/// [`run`](crate::Simulation::run).
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Flows that ended, in the order in which they did.
    pub done: Vec<Done>,
    /// Flows that did not.
    pub unfinished: Vec<FlowId>,
    /// The time of the last event.
    pub end: Time,
    /// Events that were handled.
    pub events: u64,
    /// Packets that left queues, those of interfaces included.
    pub packet_hops: u64,
    /// Packets that stacks sent.
    pub sent: u64,
    /// Packets that reached their hosts, trimmed ones included.
    pub delivered: u64,
    /// Packets that were lost.
    pub drops: u64,
    /// Of those, by reason.
    pub drops_by_reason: Drops,
    /// Packets that still are in queues and on links.
    pub under_way: u64,
    /// Packets that were marked.
    pub marks: u64,
    /// Packets that were cut to their header.
    pub trimmed: u64,
    /// A hash over every packet that left a queue or was lost and every flow that ended: equal for
    /// equal runs.
    pub trace_hash: u64,
    /// What stacks did, summed up.
    pub tally: Tally,
    /// Why it stopped.
    pub stopped: Stopped,
    /// Queues and links over time, if they were asked for.
    pub series: Option<Series>,
}

/// Lost packets by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    counts: [u64; 5],
}

impl Drops {
    /// How many were lost for this reason.
    pub const fn of(&self, reason: DropReason) -> u64 {
        self.counts[reason as usize]
    }

    /// How many were lost.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn count(&mut self, reason: DropReason) {
        self.counts[reason as usize] += 1;
    }
}
