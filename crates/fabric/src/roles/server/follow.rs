//! What a replica has and lacks, and whether the next commit keeps it close enough.

use std::collections::VecDeque;

use laxity_interface::Time;
use laxity_planner::updates::{Replica, ReplicaAction, divergence_bound, replicate};

use crate::{
    rank::Rank,
    roles::{ids::Version, tensor::Tensor, words::Step},
};

/// With more steps than this to send, everything is sent instead: it is as large as two of them.
const MOST_STEPS: usize = 2;
/// The most commits that a replica may lack, whatever their norms.
const MOST_MISSING: usize = 4096;

/// What is to be sent to the replica.
#[derive(Debug)]
pub(super) enum Send {
    Steps(Vec<(Step, Tensor)>),
    Everything,
}

/// A replica, as its server sees it.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) rank: Rank,
    /// What it has for sure; nothing until everything has been sent once.
    confirmed: Option<Version>,
    /// The version that it will have when what is under way has arrived.
    in_flight: Option<Version>,
    /// Commits that it lacks: the version after each, and the norm of what was added.
    missing: VecDeque<(Version, f64)>,
    momentum: f64,
    /// At most the norm of its history.
    history: f64,
    unsent: Vec<(Step, Tensor)>,
    everything: bool,
}

impl Follower {
    pub(super) fn new(rank: Rank, momentum: f64) -> Self {
        Self {
            rank,
            confirmed: None,
            in_flight: None,
            missing: VecDeque::new(),
            momentum,
            history: 0.0,
            unsent: Vec::new(),
            everything: true,
        }
    }

    fn state(&self) -> Replica {
        Replica {
            momentum: self.momentum,
            history: self.history,
            missing: self.missing.iter().map(|(_, norm)| *norm).collect(),
        }
    }

    pub(super) fn confirmed(&self) -> Option<Version> {
        self.confirmed
    }

    /// How far it can be away.
    pub(super) fn apart(&self) -> f64 {
        // CORRECTNESS: momentum was checked and norms are finite.
        divergence_bound(&self.state()).unwrap_or(f64::INFINITY)
    }

    /// Whether a commit of this norm keeps it within `most`. Where it lacks nothing, it cannot be
    /// brought any closer, and one commit may pass the bound by itself.
    pub(super) fn allows(&self, norm: f64, most: f64) -> bool {
        if self.confirmed.is_none() || self.missing.is_empty() {
            return true;
        }
        let action = replicate(&self.state(), norm, Time::ZERO, Time::MAX, most);
        matches!(action, Ok(ReplicaAction::Commit { .. })) && self.missing.len() < MOST_MISSING
    }

    /// A commit has been made.
    pub(super) fn committed(&mut self, step: Step, norm: f64, added: impl FnOnce() -> Tensor) {
        self.missing.push_back((step.version, norm));
        if self.everything {
            return;
        }
        if self.unsent.len() == MOST_STEPS {
            self.unsent.clear();
            self.everything = true;
        } else {
            self.unsent.push((step, added()));
        }
    }

    /// What to send now. One transfer is under way at a time: what is committed meanwhile is sent
    /// together, which is the replica's way to get along with the bandwidth that is left.
    pub(super) fn next(&mut self, newest: Version, history: impl FnOnce() -> f64) -> Option<Send> {
        if self.in_flight.is_some() {
            return None;
        }
        if self.everything {
            self.everything = false;
            self.in_flight = Some(newest);
            if self.confirmed.is_none() {
                self.missing.clear();
                self.history = history();
            }
            return Some(Send::Everything);
        }
        let steps = std::mem::take(&mut self.unsent);
        self.in_flight = steps.last().map(|(step, _)| step.version);
        self.in_flight.map(|_| Send::Steps(steps))
    }

    /// It has everything up to this version.
    pub(super) fn stored(&mut self, version: Version, newest: Version) {
        if version > newest || self.confirmed.is_some_and(|confirmed| version <= confirmed) {
            return;
        }
        self.confirmed = Some(version);
        let has = self.missing.partition_point(|(after, _)| *after <= version);
        for (_, norm) in self.missing.drain(..has) {
            self.history = self.momentum * self.history + norm;
        }
        self.in_flight.take_if(|last| *last <= version);
    }
}
