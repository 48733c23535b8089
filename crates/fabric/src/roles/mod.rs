//! Workers, servers, aggregators, replicas and a scheduler: parameter-server training as in MLfabric
//! (seed 003), as state machines without input and output.
//!
//! - A [`Worker`] pushes updates and gets models.
//! - A [`Server`] holds the model, commits updates in order and keeps the staleness bound.
//! - An [`Aggregator`], on any rank, sums updates of others on the way.
//! - A [`Replica`] follows the server within a bounded distance and takes over when it is lost.
//! - A [`Scheduler`] decides who sends what, when and through whom, with [`laxity_planner`]'s rules.
//!   Without it workers send straight to the server.
//!
//! Each is a [`Role`]: letters and the time go in, parcels and [`Notice`]s come out. A [`Node`] is the
//! roles of one rank; [`drive`] runs a node over any [`Carrier`](crate::carrier::Carrier). What is
//! promised, and under which conditions, is in docs/roles.md.

mod aggregator;
mod arriving;
mod codec;
pub mod drive;
mod ids;
mod node;
mod notice;
mod post;
mod push;
mod reason;
mod relay;
mod replica;
mod rule;
mod scheduler;
mod server;
mod tensor;
pub mod words;
mod worker;

use laxity_interface::Time;

use crate::{carrier::Parcel, rank::Rank};

pub use self::{
    aggregator::{Aggregator, AggregatorOptions},
    codec::WordError,
    ids::{RoleKind, SumId, UpdateId, Version},
    node::Node,
    notice::{Commit, Notice, Promotion},
    post::Letter,
    push::{Push, PushError},
    reason::Reason,
    replica::{Replica, ReplicaOptions},
    rule::{AdaDelay, Add, Facts, Rule, Sgd},
    scheduler::{Explained, RestoreError, Scheduler, SchedulerOptions, View},
    server::{AckAfter, Mode, Replication, Server, ServerError, ServerOptions},
    tensor::{Gaps, Tensor, norm},
    worker::{Worker, WorkerOptions},
};

/// A state machine that takes part in training.
pub trait Role: std::fmt::Debug {
    /// What kind it is.
    fn kind(&self) -> RoleKind;

    /// Somebody said something.
    fn handle_letter(&mut self, now: Time, letter: Letter);

    /// A rank is gone.
    fn handle_lost(&mut self, now: Time, peer: Rank);

    /// A letter of this role, by its sequence, will not arrive.
    fn handle_undelivered(&mut self, now: Time, to: Rank, sequence: u64);

    /// A part of a tensor of this role's letter has arrived.
    fn handle_delivered(&mut self, _now: Time, _to: Rank, _sequence: u64) {}

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Time);

    /// The next parcel to submit.
    fn poll_parcel(&mut self, now: Time) -> Option<Parcel>;

    /// When something is to be done, if nothing happens before.
    fn poll_timeout(&self) -> Option<Time>;

    /// The next thing to know.
    fn poll_notice(&mut self) -> Option<Notice>;
}

/// The earlier of two times that may not be.
pub(crate) fn earliest(times: impl IntoIterator<Item = Option<Time>>) -> Option<Time> {
    times.into_iter().flatten().min()
}
