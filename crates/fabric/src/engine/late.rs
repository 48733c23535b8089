//! How late contributions were that came after their deadline.
//!
//! Deadlines follow what operations took. An operation that went on without somebody took as long as it
//! waited, which says nothing of the network: deadlines that followed it would grow from one operation to the
//! next, for as long as a rank hangs. What a late contribution took says something, if it ever comes.

use std::collections::VecDeque;

use laxity_interface::Time;

use super::kept::Key;
use crate::{carrier::Lane, collective::Facts, deadline::Deadline, options::OnLoss, rank::Rank};

/// Operations that ended without somebody whose contribution may still come.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    ended: VecDeque<(Key, Begun)>,
    /// Whose contributions were counted: some come in several parcels, and were late once.
    counted: VecDeque<(Key, Rank)>,
}

/// When an operation began, and in which stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) stream: u64,
    pub(super) started: Time,
    folds: bool,
}

impl Begun {
    /// Of an operation whose deadlines follow what is measured and that may go on without ranks.
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let follows = matches!(facts.options.deadline, Deadline::Adaptive(_));
        let goes_on = facts.options.on_loss != OnLoss::Fail;
        (follows && goes_on).then(|| Self {
            stream: facts.options.stream,
            started: facts.started,
            folds: facts.operation.reduce_op().is_some(),
        })
    }

    /// Whether a parcel of this stage is what a rank gives by itself. What others make of that waits for whoever
    /// is late.
    pub(super) fn is_given(&self, lane: Lane, stage: u16) -> bool {
        let most = if self.folds { 0 } else { 1 };
        lane == Lane::Collective && stage <= most
    }
}

impl Overdue {
    /// As many as are remembered.
    const KEPT: usize = 64;
    /// As many contributions to them.
    const COUNTED: usize = 1024;

    /// Remembers an operation that has ended.
    pub(super) fn add(&mut self, key: Key, begun: Begun) {
        if self.ended.len() == Self::KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back((key, begun));
    }

    /// One of them.
    pub(super) fn get(&self, key: &Key) -> Option<Begun> {
        self.ended.iter().find(|(ended, _)| ended == key).map(|(_, begun)| *begun)
    }

    /// Whether nothing of a rank's contribution was counted before; it is now.
    pub(super) fn is_first(&mut self, key: Key, from: Rank) -> bool {
        if self.counted.contains(&(key, from)) {
            return false;
        }
        if self.counted.len() == Self::COUNTED {
            self.counted.pop_front();
        }
        self.counted.push_back((key, from));
        true
    }

    /// Forgets operations of a stream.
    pub(super) fn forget(&mut self, stream: u64) {
        self.ended.retain(|(_, begun)| begun.stream != stream);
    }
}
