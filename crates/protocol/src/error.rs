//! How jobs and connections fail: what, who, how far, what to do.

use std::{fmt, net::SocketAddr};

use laxity_interface::{GroupId, Span};

use crate::wire::Refusal;

/// How far a job got in the group that was furthest from its goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// That group.
    pub group: GroupId,
    /// Messages known to have arrived.
    pub received: u64,
    /// Messages that had to arrive.
    pub required: u64,
    /// Messages in all.
    pub total: u64,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, received, required, total } = self;
        write!(f, "group {}: {received} of {total} messages arrived, {required} required", group.0)
    }
}

/// Why a job ended without its result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// It took too long.
    #[error(
        "job with {peer} did not finish within {limit} ({progress}); raise the time limit, lower the minimum delivery, or look for the bottleneck"
    )]
    TimeLimit {
        /// The other side.
        peer: SocketAddr,
        /// What it had.
        limit: Span,
        /// How far it got.
        progress: Progress,
    },
    /// The other side fell silent.
    #[error(
        "{peer} has not been heard of for {silent} ({progress}); is the process alive and the network up?"
    )]
    PeerDead {
        /// The other side.
        peer: SocketAddr,
        /// For how long.
        silent: Span,
        /// How far it got.
        progress: Progress,
    },
    /// The other side ended the connection.
    #[error("{peer} closed the connection ({progress})")]
    PeerClosed {
        /// The other side.
        peer: SocketAddr,
        /// How far it got.
        progress: Progress,
    },
    /// The other side ended the job.
    #[error("{peer} ended the job: {code} ({progress})")]
    Reset {
        /// The other side.
        peer: SocketAddr,
        /// Why.
        code: ResetCode,
        /// How far it got.
        progress: Progress,
    },
    /// This side refused to go on with the job.
    #[error("the job from {peer} was refused here; its sender reads: {code} ({progress})")]
    Refused {
        /// The other side.
        peer: SocketAddr,
        /// Why.
        code: ResetCode,
        /// How far it got.
        progress: Progress,
    },
    /// This side ended the job.
    #[error("the job with {peer} was cancelled here ({progress})")]
    Cancelled {
        /// The other side.
        peer: SocketAddr,
        /// How far it got.
        progress: Progress,
    },
    /// No connection came about.
    #[error("{0}")]
    Connect(#[from] ConnectError),
}

/// Why one side ended a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResetCode {
    /// Its application did not want it any longer.
    #[error("its application cancelled the job")]
    Cancelled,
    /// It is larger than that side accepts.
    #[error("the job is larger than it accepts; raise its limits or split the job")]
    TooLarge,
    /// Too many at once.
    #[error("it has as many jobs from this peer as it accepts; send fewer at once")]
    TooMany,
    /// The peer sent something that cannot be.
    #[error("it received something that contradicts the job's introduction")]
    Violation,
    /// Its clock ran out.
    #[error("its time limit passed")]
    TimeLimit,
    /// It ended the job long ago and no longer knows how.
    #[error("it ended the job, but its last word did not get through in time")]
    Forgotten,
    /// A reason of a later version.
    #[error("unknown reason {0}")]
    Other(u64),
}

impl ResetCode {
    pub(crate) fn to_wire(self) -> u64 {
        match self {
            Self::Cancelled => 1,
            Self::TooLarge => 2,
            Self::TooMany => 3,
            Self::Violation => 4,
            Self::TimeLimit => 5,
            Self::Forgotten => 6,
            Self::Other(code) => code,
        }
    }

    pub(crate) fn from_wire(code: u64) -> Self {
        match code {
            1 => Self::Cancelled,
            2 => Self::TooLarge,
            3 => Self::TooMany,
            4 => Self::Violation,
            5 => Self::TimeLimit,
            6 => Self::Forgotten,
            other => Self::Other(other),
        }
    }
}

/// Why no connection came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody answered.
    #[error(
        "{peer} did not answer within {waited}; is something listening there, and does a firewall let UDP through?"
    )]
    NoAnswer {
        /// Who.
        peer: SocketAddr,
        /// For how long it was tried.
        waited: Span,
    },
    /// Somebody answered with no.
    #[error("{peer} refused the connection: {why}")]
    Refused {
        /// Who.
        peer: SocketAddr,
        /// Why.
        why: Refusal,
    },
    /// Somebody answered but could not prove that it has the key.
    #[error("{peer} answered without knowing the key; do both sides use the same key file?")]
    BadKey {
        /// Who.
        peer: SocketAddr,
    },
    /// The endpoint insists on a key and has none.
    #[error("this endpoint insists on a key and has none to connect with")]
    NoKey,
    /// This side has as many peers as it may.
    #[error("this endpoint has {limit} peers already; raise `max_peers` or close some")]
    TooManyPeers {
        /// The limit.
        limit: usize,
    },
    /// A connection cannot be presumed.
    #[error(
        "no connection with {peer} can be presumed: {}",
        if *taken { "its id is taken" } else { "this endpoint has keys" }
    )]
    Presumed {
        /// Who.
        peer: SocketAddr,
        /// Its id is taken; else the endpoint has keys.
        taken: bool,
    },
}

/// Why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Gone {
    /// The other side said so.
    #[error("the peer closed the connection")]
    Closed,
    /// It fell silent while something was under way.
    #[error("the peer fell silent")]
    Dead,
    /// Nothing happened for so long that the state was let go.
    #[error("nothing happened for a long time")]
    Idle,
}
