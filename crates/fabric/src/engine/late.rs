//! How late contributions were that came after their deadline.
//!
//! Deadlines follow what operations took. An operation that went on without somebody took as long as it
//! waited, which says nothing of the network: deadlines that followed it would grow from one operation to the
//! next, for as long as a rank hangs. What a late contribution took says something, if it ever comes.

use std::collections::VecDeque;

use laxity_interface::Time;

use super::kept::Key;
use crate::{carrier::Lane, collective::Facts, deadline::Deadline, options::OnLoss};

/// Operations that ended without somebody whose contribution may still come.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    ended: VecDeque<(Key, Begun)>,
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
}
