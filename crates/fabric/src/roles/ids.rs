//! Names of updates, groups of them, and states of the model.

use std::fmt;

use crate::rank::Rank;

/// An update, by the worker that computed it and the worker's own count, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UpdateId {
    /// Who computed it.
    pub worker: Rank,
    /// Its number among the worker's updates.
    pub number: u64,
}

impl fmt::Display for UpdateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "update {} of {}", self.number, self.worker)
    }
}

/// Updates that are summed together, as the scheduler numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SumId(pub u64);

impl fmt::Display for SumId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sum {}", self.0)
    }
}

/// A state of the model: how often a replica has taken over, and how many updates are in it.
///
/// Two states of one epoch with the same number of commits are the same state. A server that took over
/// continues from its own number of commits in a new epoch; up to that number both epochs agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version {
    /// How often a replica has taken over.
    pub epoch: u32,
    /// How many updates have been committed; in synchronous mode, how many rounds.
    pub commits: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.epoch {
            0 => write!(f, "version {}", self.commits),
            epoch => write!(f, "version {} of epoch {epoch}", self.commits),
        }
    }
}

/// What a rank does in training. A rank may have several roles, one of each kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum RoleKind {
    /// Computes updates.
    Worker = 0,
    /// Holds the model, or a copy of it that can take over.
    Model = 1,
    /// Sums updates of others.
    Aggregator = 2,
    /// Decides who sends what, when and through whom.
    Scheduler = 3,
}

impl RoleKind {
    /// All kinds, by number.
    pub const ALL: [Self; 4] = [Self::Worker, Self::Model, Self::Aggregator, Self::Scheduler];

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

impl fmt::Display for RoleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Worker => "worker",
            Self::Model => "server",
            Self::Aggregator => "aggregator",
            Self::Scheduler => "scheduler",
        })
    }
}
