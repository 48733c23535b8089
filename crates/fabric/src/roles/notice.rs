//! What roles tell their own application.

use std::ops::Range;

use laxity_interface::{Rate, Span};

use super::{
    ids::{RoleKind, UpdateId, Version},
    reason::Reason,
    words::Member,
};
use crate::rank::Rank;

/// Something that an application may want to know.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Worker: an update counts, for good.
    Committed {
        /// Which.
        update: UpdateId,
        /// The version that has it.
        version: Version,
        /// How many updates lie between its version and its commit.
        delay: u64,
    },
    /// Worker: an update does not count.
    Dropped {
        /// Which.
        update: UpdateId,
        /// Why.
        reason: Reason,
    },
    /// Worker: the scheduler or the lack of one decided how an update travels.
    Planned {
        /// Which.
        update: UpdateId,
        /// Why.
        reason: Reason,
    },
    /// Worker: the model.
    Model {
        /// To which question.
        request: u64,
        /// From whom.
        server: Rank,
        /// Which version.
        version: Version,
        /// The elements.
        values: Vec<f32>,
    },
    /// Worker: a question will not be answered.
    NoModel {
        /// Which.
        request: u64,
        /// Why.
        reason: Reason,
    },
    /// Worker, aggregator: another rank is the server now.
    Moved {
        /// Who was.
        from: Rank,
        /// Who is.
        to: Rank,
        /// From which version it goes on.
        version: Version,
    },
    /// Worker: whether the scheduler answers.
    Scheduler {
        /// Who it is.
        scheduler: Rank,
        /// Whether it is there.
        there: bool,
    },
    /// Server: the model has changed.
    Commit(Commit),
    /// Server: an update was refused.
    Refused {
        /// Which.
        update: UpdateId,
        /// Why.
        reason: Reason,
    },
    /// Server: whether a replica follows.
    Replica {
        /// Who.
        replica: Rank,
        /// Whether it is there.
        there: bool,
    },
    /// Replica: it is the server now.
    Promoted(Promotion),
    /// Server: another took over; this one stops.
    Deposed {
        /// The epoch of the other.
        epoch: u32,
    },
    /// Replica: the server is gone, but no model has arrived yet that could take over.
    NothingToPromote {
        /// Who was the server.
        server: Rank,
    },
    /// Aggregator: a sum has left.
    Summed {
        /// How many updates are in it.
        updates: usize,
        /// How many were waited for in vain.
        absent: usize,
    },
    /// Scheduler: a round was planned.
    Round {
        /// How many updates.
        updates: usize,
        /// How many of them go through aggregators.
        summed: usize,
        /// How many of them are not sent.
        dropped: usize,
    },
    /// Any: what came makes no sense and was not used.
    Refusal {
        /// From whom.
        from: Rank,
        /// What is wrong, and with whom.
        what: String,
    },
    /// Worker: how fast a transfer was.
    Rate {
        /// To whom.
        to: Rank,
        /// How fast.
        rate: Rate,
    },
    /// Any: a rank is gone.
    Lost {
        /// Who.
        peer: Rank,
        /// As what it was known, if it was.
        role: Option<RoleKind>,
        /// Why, as the carrier says.
        reason: String,
        /// It has left in order.
        left: bool,
    },
}

/// A change of the model.
#[derive(Clone, PartialEq, Debug)]
pub struct Commit {
    /// The version after it.
    pub version: Version,
    /// The updates in it, each with what it lost. (In a sum, an element that was lost on both its ways counts twice.)
    pub members: Vec<Member>,
    /// The largest delay among them.
    pub delay: u64,
    /// Elements of the update or sum that did not arrive; of a round, those that any contribution lacks.
    pub missing: Vec<Range<usize>>,
    /// How far the replica can be away now; nothing without a replica.
    pub apart: Option<f64>,
}

/// A replica has taken over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Promotion {
    /// Whose place it takes.
    pub of: Rank,
    /// From which version it goes on.
    pub version: Version,
    /// The last version that the old server spoke of.
    pub heard: Version,
    /// How far the old server said it could be away, when it last spoke.
    pub apart: f64,
    /// How long ago that was.
    pub silent: Span,
}
