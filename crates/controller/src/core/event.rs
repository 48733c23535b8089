//! What happened, for people and logs.

use std::{fmt, net::SocketAddr};

use laxity_interface::Span;
use serde::Serialize;

/// Something to know.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A host has joined, or come back.
    HostCame {
        /// Its name.
        host: String,
        /// Where it is.
        at: SocketAddr,
        /// Whether it has been here before.
        again: bool,
    },
    /// A host has gone.
    HostLeft {
        /// Its name.
        host: String,
        /// Why, as far as known.
        why: String,
    },
    /// A host was away for longer than its lease and is forgotten.
    HostForgotten {
        /// Its name.
        host: String,
    },
    /// Somebody was not let in, or was let go.
    Refused {
        /// Where it is.
        at: SocketAddr,
        /// Why, with both sides.
        what: String,
    },
    /// A job was taken.
    JobCame {
        /// Its name.
        job: String,
        /// Whose it is.
        owner: String,
        /// How many flows it has.
        flows: usize,
    },
    /// A job was not taken.
    JobRefused {
        /// Its name, as far as known.
        job: String,
        /// Whose it is.
        owner: String,
        /// Why.
        what: String,
    },
    /// A job is over.
    JobOver {
        /// Its name.
        job: String,
        /// Why.
        why: String,
    },
    /// Flows were planned.
    Round {
        /// The round's number.
        round: u64,
        /// How many flows have a plan.
        flows: usize,
        /// How many plans are other than before.
        changed: usize,
    },
    /// Updates of a training job were planned.
    Updates {
        /// The job.
        crew: String,
        /// How many.
        updates: usize,
        /// How many of them go through aggregators.
        summed: usize,
        /// How many of them are not sent.
        dropped: usize,
    },
    /// The planner had no answer for some flows.
    NoPlan {
        /// How many flows.
        flows: usize,
        /// The first error.
        error: String,
    },
    /// A training job's hosts said something that cannot be used.
    CrewRefusal {
        /// The job.
        crew: String,
        /// What.
        what: String,
    },
    /// The state on disk could not be written: what was decided since is lost if the process ends.
    NotSaved {
        /// Why.
        what: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostCame { host, at, again: false } => write!(f, "host {host} joined from {at}"),
            Self::HostCame { host, at, again: true } => write!(f, "host {host} is back from {at}"),
            Self::HostLeft { host, why } => write!(f, "host {host} left: {why}"),
            Self::HostForgotten { host } => write!(f, "host {host} was away too long: forgotten"),
            Self::Refused { at, what } => write!(f, "refused {at}: {what}"),
            Self::JobCame { job, owner, flows } => {
                write!(f, "job {job} of {owner} with {flows} flows")
            }
            Self::JobRefused { job, owner, what } => {
                write!(f, "job {job} of {owner} not taken: {what}")
            }
            Self::JobOver { job, why } => write!(f, "job {job} is over: {why}"),
            Self::Round { round, flows, changed } => {
                write!(f, "round {round}: {flows} flows, {changed} with another plan")
            }
            Self::Updates { crew, updates, summed, dropped } => {
                write!(f, "{crew}: {updates} updates, {summed} summed, {dropped} dropped")
            }
            Self::NoPlan { flows, error } => write!(f, "{flows} flows without a plan: {error}"),
            Self::CrewRefusal { crew, what } => write!(f, "{crew}: {what}"),
            Self::NotSaved { what } => write!(f, "the state could not be saved: {what}"),
        }
    }
}

/// How long ago, without digits that nobody reads.
pub(crate) fn rough(span: Span) -> String {
    match span.as_ms() {
        0 => "just now".to_owned(),
        ms if ms < 1000 => format!("{ms}ms ago"),
        ms => format!("{}s ago", ms / 1000),
    }
}
