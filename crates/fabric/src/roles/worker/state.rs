//! What a worker remembers of servers, updates and questions.

use laxity_interface::Time;

use super::{Push, Rank, Version, age::Age};

/// Who answers for a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) now: Rank,
    pub(super) epoch: u32,
    /// How many updates were pushed to it.
    pub(super) clock: u64,
    pub(super) finished: bool,
    /// Since when it is lost.
    pub(super) lost: Option<Time>,
    pub(super) age: Age,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Stage {
    /// The scheduler has been asked, and answers until then.
    Announced { until: Time },
    /// It has been handed to the carrier, or will be when its time comes.
    /// `begun` is not known where it is held back: such a transfer says nothing of the network.
    Sent { to: Rank, sequence: u64, begun: Option<Time>, give_up: Option<Time> },
    /// Its server is lost.
    Stranded,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) server: Rank,
    pub(super) push: Push,
    pub(super) stage: Stage,
    /// The server's host has all of it.
    pub(super) there: bool,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) server: Rank,
    pub(super) at_least: Version,
    /// It waits for an update to arrive: see [`Ahead`](super::Ahead).
    pub(super) held: bool,
}
