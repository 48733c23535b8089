//! What roles say to each other.
//!
//! A word is a small exact parcel; a tensor that belongs to it travels in parcels of its own, which may
//! lose part of their elements.

mod layout;
#[cfg(test)]
mod tests;

use laxity_interface::{Fraction, Rate, Span};

use super::{
    ids::{RoleKind, SumId, UpdateId, Version},
    reason::Reason,
};
use crate::rank::Rank;

/// The most updates in one sum or one commit.
pub const MOST_MEMBERS: usize = 4096;
/// The most workers in a snapshot.
pub const MOST_WORKERS: usize = 65_536;
/// The most decided updates that are remembered of one worker.
pub const MOST_DECIDED: usize = 1024;

/// Something that a role says to another.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Word {
    /// Host to scheduler: I am here.
    Register(Register),
    /// Worker to scheduler: I have an update.
    Announce(Announce),
    /// Scheduler to worker: what to do with it.
    Entry(Entry),
    /// Scheduler to aggregator: these will come.
    Gather(Gather),
    /// Worker to server or aggregator: an update. With a tensor.
    Update(Update),
    /// Aggregator to server: several updates, summed. With a tensor.
    Sum(Sum),
    /// Server to worker: it counts.
    Committed(Committed),
    /// Server or aggregator to worker: it does not count.
    Refused(Refused),
    /// Server to scheduler: what has become of updates.
    Progress(Progress),
    /// Worker to server: give me the model.
    Get(Get),
    /// Worker to server: how many updates it has pushed; nothing: it has finished, nobody waits for it.
    Clock(Option<u64>),
    /// Server to worker: the model. With a tensor.
    Model(Model),
    /// Replica to server: I am here.
    Join,
    /// Server to replica: one commit. With a tensor.
    Step(Step),
    /// Server to replica: everything. With a tensor: the model, then the history of momentum.
    Snapshot(Snapshot),
    /// Replica to server: I have everything up to this version.
    Stored(Version),
    /// I live.
    Beat(Beat),
    /// Replica to all: I am the server now.
    Promoted(Promoted),
    /// Host to scheduler: how fast a transfer was.
    Measured(Measured),
    /// Scheduler to server: what hosts send and receive.
    Hosts(Vec<Strength>),
}

/// I am here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// As what.
    pub role: RoleKind,
    /// For servers: whether rounds are synchronous.
    pub sync: bool,
    /// For servers: the most updates between reading and committing.
    pub staleness: Option<u64>,
    /// For servers: the version.
    pub version: Version,
}

/// I have an update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Announce {
    /// Which.
    pub update: UpdateId,
    /// For which server.
    pub server: Rank,
    /// How many bytes.
    pub bytes: u64,
    /// How much is lost with it.
    pub norm: f64,
    /// What it was computed from.
    pub version: Version,
}

/// What to do with an update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry {
    /// Which.
    pub update: UpdateId,
    /// What.
    pub action: Action,
    /// Why.
    pub reason: Reason,
}

/// What a worker does with an update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// Send it.
    Send {
        /// How long from now.
        after: Span,
        /// How fast at most; nothing: as fast as the carrier can.
        rate: Option<Rate>,
        /// Its place in the order, 0 first.
        place: u32,
        /// To be summed on the way; nothing: straight to the server.
        through: Option<Through>,
    },
    /// Do not send it.
    Drop,
}

/// Where an update is summed with others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Through {
    /// Who sums.
    pub aggregator: Rank,
    /// With which others.
    pub sum: SumId,
    /// From sending on: after this it is sent to the server instead.
    pub give_up: Span,
}

/// These will come.
#[derive(Clone, PartialEq, Debug)]
pub struct Gather {
    /// The sum.
    pub sum: SumId,
    /// Where it goes.
    pub server: Rank,
    /// Of which updates.
    pub members: Vec<UpdateId>,
    /// From now: what has not come by then is left out.
    pub bound: Span,
}

/// An update, to the server or into a sum.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Update {
    /// Which.
    pub update: UpdateId,
    /// What it was computed from.
    pub version: Version,
    /// How much is lost with it.
    pub norm: f64,
    /// The least part of its elements that must arrive.
    pub min_delivery: Fraction,
    /// The server.
    pub server: Rank,
    /// The sum that it goes into, if it is sent to an aggregator.
    pub sum: Option<SumId>,
}

/// One update in a sum.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Member {
    /// Which.
    pub update: UpdateId,
    /// What it was computed from.
    pub version: Version,
    /// How much is lost with it.
    pub norm: f64,
    /// How many of its elements were lost on the way to the aggregator; in a commit, on the whole way to the server.
    pub lost: u64,
}

/// Several updates, summed.
#[derive(Clone, PartialEq, Debug)]
pub struct Sum {
    /// Which.
    pub sum: SumId,
    /// Of which updates.
    pub members: Vec<Member>,
}

/// An update counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// Which.
    pub update: UpdateId,
    /// The version that has it.
    pub version: Version,
    /// How many updates lie between its version and its commit.
    pub delay: u64,
}

/// An update does not count.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Refused {
    /// Which.
    pub update: UpdateId,
    /// Why.
    pub reason: Reason,
}

/// What has become of updates.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// The version now.
    pub version: Version,
    /// Updates that count now.
    pub committed: Vec<UpdateId>,
    /// Updates that do not.
    pub refused: Vec<Refused>,
}

/// Give me the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Get {
    /// The worker's number of the question.
    pub request: u64,
    /// At least this version.
    pub at_least: Version,
    /// How many updates the worker has pushed to the server so far.
    pub clock: u64,
}

/// The model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// To which question.
    pub request: u64,
    /// Which version.
    pub version: Version,
    /// Where the tensor begins in the model: a model can come in parts.
    pub first: u64,
    /// How many elements the model has.
    pub of: u64,
    /// Who else gets it, from whoever gets it first.
    pub then: Vec<Asked>,
}

/// A worker and the number of its question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Who.
    pub worker: Rank,
    /// The worker's number of the question.
    pub request: u64,
}

/// One commit, for a replica: what is added to the momentum's history.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The version before it.
    pub before: Version,
    /// The version after it.
    pub version: Version,
    /// The updates in it.
    pub members: Vec<UpdateId>,
}

/// The state of a server, for a replica.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// Which version.
    pub version: Version,
    /// Elements of the model; the tensor has twice as many where there is momentum.
    pub elements: u64,
    /// What was decided, per worker.
    pub decided: Vec<DecidedOf>,
}

/// What was decided about the updates of a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecidedOf {
    /// The worker.
    pub worker: Rank,
    /// All below this number are decided.
    pub floor: u64,
    /// Numbers from there on that are committed, ascending.
    pub above: Vec<u64>,
}

/// I live.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Beat {
    /// As what.
    pub role: RoleKind,
    /// For servers: the version.
    pub version: Version,
    /// For servers: how far the replica can be away.
    pub apart: f64,
}

/// I am the server now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Promoted {
    /// Whose place it takes.
    pub of: Rank,
    /// From which version it goes on.
    pub version: Version,
}

/// How fast a transfer was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// To whom.
    pub to: Rank,
    /// How fast.
    pub rate: Rate,
}

/// What a host sends and receives, the lesser of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strength {
    /// The host.
    pub host: Rank,
    /// How fast.
    pub rate: Rate,
}

impl Word {
    /// Whether a tensor belongs to it.
    pub fn has_tensor(&self) -> bool {
        matches!(
            self,
            Self::Update(_) | Self::Sum(_) | Self::Model(_) | Self::Step(_) | Self::Snapshot(_)
        )
    }
}
