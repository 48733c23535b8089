//! How a server works.

use laxity_interface::Span;

use crate::{rank::Rank, roles::tensor::Gaps};

/// When updates count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Each by itself, as it arrives.
    Async {
        /// The most commits between the version of an update and its own commit; older ones are dropped.
        staleness: Option<u64>,
    },
    /// Each by itself, but no worker gets a model while it is more than `ahead` updates ahead of the
    /// slowest living worker.
    StaleSync {
        /// How far ahead a worker may be.
        ahead: u64,
        /// As for [`Mode::Async`].
        staleness: Option<u64>,
    },
    /// The mean of all workers' updates of one version is one commit.
    Sync {
        /// Go on with this many workers after this long; nothing: wait for all that live.
        enough: Option<(usize, Span)>,
    },
}

impl Mode {
    /// The most commits between the version of an update and its commit.
    pub fn staleness(self) -> Option<u64> {
        match self {
            Self::Async { staleness } | Self::StaleSync { staleness, .. } => staleness,
            Self::Sync { .. } => None,
        }
    }
}

/// When a worker is told that its update counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AckAfter {
    /// When the server has committed it. If the server dies, updates that were acknowledged can be lost
    /// with it, as many as [`Replication::apart`] allows.
    Commit,
    /// When the replica has it too. What was acknowledged is lost only if server and replica both die.
    #[default]
    Replicated,
}

/// What is demanded of the replica.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Replication {
    /// When a worker is told that its update counts.
    pub ack: AckAfter,
    /// How far server and replica may be apart, by the norms of what the replica lacks: commits wait
    /// where they would pass it.
    pub apart: f64,
    /// Whether acknowledgements wait while there is no replica. Else the server goes on alone.
    pub required: bool,
}

impl Default for Replication {
    fn default() -> Self {
        Self { ack: AckAfter::Replicated, apart: f64::INFINITY, required: false }
    }
}

/// How a server works. A replica is given the same, to go on in the same way.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerOptions {
    /// When updates count.
    pub mode: Mode,
    /// γ of h ← γh + u, w ← w + h; 0 for none.
    pub momentum: f64,
    /// What a lost element of an update becomes.
    pub gaps: Gaps,
    /// Who pushes updates.
    pub workers: Vec<Rank>,
    /// Who else is told when a replica takes over: aggregators.
    pub others: Vec<Rank>,
    /// Who plans.
    pub scheduler: Option<Rank>,
    /// What is demanded of the replica.
    pub replication: Replication,
    /// How many models are on their way to workers at once; further workers wait, and get the model of the
    /// moment when it is their turn. Many at once share the server's link and are old when they arrive.
    /// Nothing: all at once.
    pub answers: Option<usize>,
    /// Where `answers` are limited: how many workers one of them reaches at most, because those who have the
    /// model pass it on to others that wait. 1: nobody passes anything on.
    pub relay: usize,
    /// Where models are passed on: into how many parts a model is cut. Each part goes on as soon as it is there, and along
    /// a chain of workers everybody has the model hardly later than the first. Parts should be large against what a
    /// link carries in a round trip. 1: models are passed on as a whole, to two others each.
    pub parts: usize,
    /// How many updates are awaited at once: while the models for so many have left and none of the updates has come,
    /// further questions wait. With n awaited, updates are n − 1 commits old on average; more than keep the server's
    /// link busy make nothing faster. Rounds of a synchronous training wait for everybody anyway. Nothing: no limit.
    pub awaits: Option<usize>,
    /// How often the replica hears from the server at least.
    pub beat: Span,
    /// How often this process has been started.
    pub incarnation: u32,
}

impl ServerOptions {
    /// Asynchronous, without bounds, momentum, replica or scheduler.
    pub fn new(workers: impl Into<Vec<Rank>>) -> Self {
        Self {
            mode: Mode::Async { staleness: None },
            momentum: 0.0,
            gaps: Gaps::Zero,
            workers: workers.into(),
            others: Vec::new(),
            scheduler: None,
            replication: Replication::default(),
            answers: None,
            relay: 1,
            parts: 1,
            awaits: None,
            beat: Span::from_ms(100),
            incarnation: 0,
        }
    }

    /// How many updates are awaited at once; nothing where a round waits for everybody.
    pub(super) fn most_awaited(&self) -> Option<usize> {
        match self.mode {
            Mode::Sync { .. } => None,
            Mode::Async { .. } | Mode::StaleSync { .. } => self.awaits.map(|most| most.max(1)),
        }
    }

    pub(in crate::roles) fn check(&self, elements: usize) -> Result<(), ServerError> {
        if elements == 0 {
            return Err(ServerError::EmptyModel);
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return Err(ServerError::Momentum { given: self.momentum });
        }
        if self.replication.apart.is_nan() || self.replication.apart < 0.0 {
            return Err(ServerError::Apart { given: self.replication.apart });
        }
        if self.workers.is_empty() {
            return Err(ServerError::NoWorkers);
        }
        Ok(())
    }
}

/// Why there can be no such server.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// No elements.
    #[error("the model has no elements")]
    EmptyModel,
    /// No workers.
    #[error("a server needs workers: list their ranks")]
    NoWorkers,
    /// Momentum outside of its range.
    #[error("momentum is {given}: give a number from 0 to below 1")]
    Momentum {
        /// As given.
        given: f64,
    },
    /// A distance that is none.
    #[error("server and replica may be {given} apart: give a number, 0 or above")]
    Apart {
        /// As given.
        given: f64,
    },
}
