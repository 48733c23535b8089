//! Collectives as small state machines, in positions of a group.
//!
//! A machine is told what arrived and says what to send. It knows bytes, an element type and a way
//! to fold; it knows no transport and no clock. The [engine](crate::Engine) numbers operations,
//! keeps parcels that come too early, checks signatures and watches the time.

mod agreement;
mod barrier;
mod choose;
mod collect;
mod direct;
mod exchange;
mod facts;
mod halving;
mod ring;
mod transpose;
mod tree;
mod words;

use std::ops::Range;

use bytes::Bytes;
use laxity_interface::Time;
use laxity_protocol::ElementType;

pub use self::choose::{Network, Reason, choose};
pub(crate) use self::{
    facts::{Effects, Facts, Finished, Sending},
    tree::is_tree,
    words::{ABORT, Word, decode_abort, encode_abort},
};
use crate::{
    carrier::Lane,
    loss::Memory,
    options::{Algorithm, OnLoss, Operation},
    outcome::OpError,
};

/// The elements of a tensor that belong to a position: as even as whole numbers allow, longer ones
/// first.
///
/// ```
/// let shards: Vec<_> = (0..3).map(|position| laxity_fabric::shard(8, 3, position)).collect();
/// assert_eq!(shards, [0..3, 3..6, 6..8]);
/// ```
pub fn shard(count: usize, parts: usize, position: usize) -> Range<usize> {
    let (each, longer) = (count / parts, count % parts);
    let start = position * each + position.min(longer);
    start..start + each + usize::from(position < longer)
}

/// A parcel for a machine.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) from: usize,
    pub(crate) lane: Lane,
    pub(crate) stage: u16,
    pub(crate) part: u32,
    pub(crate) body: Bytes,
    pub(crate) missing: Vec<Range<usize>>,
}

/// What a machine sees and does while it is called.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) facts: &'a Facts,
    pub(crate) effects: &'a mut Effects,
    pub(crate) memory: &'a Memory,
}

/// One operation on one rank.
pub(crate) trait Machine: std::fmt::Debug + Send {
    /// The operation begins here.
    fn begin(&mut self, cx: &mut Context<'_>);

    /// A parcel has come.
    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming);

    /// A parcel from a position will not come.
    fn failed(&mut self, cx: &mut Context<'_>, from: usize, _stage: u16, reason: &str) {
        self.lost(cx, from, reason);
    }

    /// A position is gone.
    fn lost(&mut self, cx: &mut Context<'_>, position: usize, reason: &str) {
        if self.awaits().contains(&position) {
            cx.fail_lost(position, reason);
        }
    }

    /// A position has left in order since the operation began: what it had sent has come before.
    fn left(&mut self, cx: &mut Context<'_>, position: usize, reason: &str) {
        self.lost(cx, position, reason);
    }

    /// A parcel that this rank sent has arrived, less these elements.
    fn sent(&mut self, _cx: &mut Context<'_>, _to: usize, _missing: &[Range<usize>]) {}

    /// The time that was asked for with `wake` has come.
    fn timeout(&mut self, _cx: &mut Context<'_>) {}

    /// This rank gives up; the others may go on without it.
    fn leave(&mut self, _cx: &mut Context<'_>) {}

    /// Positions without which it cannot finish, as far as it knows.
    fn awaits(&self) -> Vec<usize>;

    /// Those of them that hold the others up, as far as it knows: the ones to name.
    fn suspects(&self) -> Vec<usize> {
        self.awaits()
    }
}

impl Context<'_> {
    /// Sends exact bytes to a position.
    pub(crate) fn send(&mut self, to: usize, stage: u16, part: u32, body: Bytes) {
        self.effects.sends.push(Sending::exact(to, stage, part, body, self.facts.element));
    }

    /// Sends a word of the agreement after a loss.
    pub(crate) fn say(&mut self, to: usize, part: u32, word: &Word) {
        self.effects.sends.push(Sending::word(to, part, word));
    }

    /// Ends the operation well.
    pub(crate) fn finish(&mut self, finished: Finished) {
        self.effects.done.get_or_insert(Ok(finished));
    }

    /// Ends the operation with an error.
    pub(crate) fn fail(&mut self, error: OpError) {
        self.effects.done.get_or_insert(Err(error));
    }

    /// Ends the operation because a position is gone.
    pub(crate) fn fail_lost(&mut self, position: usize, reason: &str) {
        self.fail(OpError::Lost {
            operation: self.facts.operation.name(),
            rank: self.facts.group.rank(position),
            reason: reason.to_owned(),
            told_by: None,
        });
    }

    /// Ends the operation because a position sent nonsense.
    pub(crate) fn fail_nonsense(&mut self, position: usize, reason: impl Into<String>) {
        self.fail(OpError::Nonsense {
            operation: self.facts.operation.name(),
            rank: self.facts.group.rank(position),
            reason: reason.into(),
            told_by: None,
        });
    }

    /// Ends the operation because too few are left. `late` says whether some of the others may live.
    pub(crate) fn fail_too_few(
        &mut self,
        left: usize,
        at_least: usize,
        without: Vec<usize>,
        late: bool,
    ) {
        let operation = self.facts.operation.name();
        let without = without.into_iter().map(|position| self.facts.group.rank(position)).collect();
        let late_after = late.then(|| self.facts.patience());
        self.fail(OpError::TooFew { operation, left, at_least, without, late_after });
    }

    /// Ends the operation because the others went on without this rank.
    pub(crate) fn fail_left_out(&mut self) {
        let (operation, rank) = (self.facts.operation.name(), self.facts.group.rank(self.facts.me));
        self.fail(OpError::LeftOut { operation, rank });
    }

    /// Sends exact bytes that are no elements.
    pub(crate) fn send_bytes(&mut self, to: usize, stage: u16, part: u32, body: Bytes) {
        self.effects.sends.push(Sending::exact(to, stage, part, body, ElementType::U8));
    }

    /// Whether it has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.effects.done.is_some()
    }

    /// Asks for `timeout` at this time.
    pub(crate) fn wake(&mut self, at: Time) {
        self.effects.wake = Some(at);
    }
}

/// The machine for an operation by the chosen algorithm.
pub(crate) fn machine(facts: &Facts, algorithm: &Algorithm, data: Bytes) -> Box<dyn Machine> {
    let agreed = matches!(facts.options.on_loss, OnLoss::Continue { .. });
    let root = |rank| facts.group.position(rank).expect("roots are checked when it starts");
    match (facts.operation, algorithm) {
        (Operation::Send(to, _), _) => Box::new(direct::Send::new(root(to), data)),
        (Operation::Recv(from, _), _) => Box::new(direct::Recv::new(root(from))),
        (
            Operation::AllReduce(_) | Operation::ReduceScatter(_) | Operation::AllGather,
            Algorithm::Ring,
        ) => Box::new(ring::Ring::new(facts, data)),
        (Operation::AllReduce(_), Algorithm::HalvingDoubling) => {
            Box::new(halving::HalvingDoubling::new(facts, data))
        }
        (
            Operation::AllReduce(_) | Operation::Broadcast(_) | Operation::Reduce(..),
            Algorithm::Tree(parents),
        ) => Box::new(tree::Tree::new(facts, parents, data)),
        (Operation::Barrier, _) if !agreed => Box::new(barrier::Barrier::new(facts)),
        (
            Operation::AllReduce(_)
            | Operation::AllGather
            | Operation::Broadcast(_)
            | Operation::Barrier,
            _,
        ) => Box::new(transpose::Transpose::new(facts, data)),
        (Operation::ReduceScatter(_) | Operation::Reduce(..), _) => {
            Box::new(collect::Collect::new(facts, data))
        }
        (Operation::Gather(_) | Operation::Scatter(_) | Operation::AllToAll, _) => {
            Box::new(exchange::Exchange::new(facts, data))
        }
    }
}
