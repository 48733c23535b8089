//! What was decided and why, for as long as there is room.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

use laxity_interface::Time;

use crate::{
    rank::Rank,
    roles::{
        ids::{UpdateId, Version},
        reason::Reason,
        words::Action,
    },
};

/// What was decided about an update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Explained {
    /// Which.
    pub update: UpdateId,
    /// For which server.
    pub server: Rank,
    /// In which round of planning.
    pub round: u64,
    /// When, by the scheduler's clock. After a restart that clock may have begun anew.
    pub at: Time,
    /// What its worker was told.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// What became of it, if that is known.
    pub outcome: Option<Result<Version, Reason>>,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}, round {}: {}", self.update, self.server, self.round, self.reason)?;
        match self.outcome {
            None => Ok(()),
            Some(Ok(version)) => write!(f, "; committed as part of {version}"),
            Some(Err(reason)) => write!(f, "; {reason}"),
        }
    }
}

/// The latest decisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    most: usize,
    order: VecDeque<UpdateId>,
    found: BTreeMap<UpdateId, Explained>,
}

impl History {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn insert(&mut self, one: Explained) {
        if self.found.insert(one.update, one).is_none() {
            self.order.push_back(one.update);
        }
        while self.order.len() > self.most {
            if let Some(oldest) = self.order.pop_front() {
                self.found.remove(&oldest);
            }
        }
    }

    pub(super) fn outcome(&mut self, update: UpdateId, outcome: Result<Version, Reason>) {
        if let Some(one) = self.found.get_mut(&update) {
            one.outcome = Some(outcome);
        }
    }

    pub(super) fn get(&self, update: UpdateId) -> Option<&Explained> {
        self.found.get(&update)
    }

    /// Oldest first.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Explained> {
        self.order.iter().map(|update| &self.found[update])
    }
}
