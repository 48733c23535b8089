//! What an application asks for: an operation, and how it may be carried out.

use std::sync::Arc;

use laxity_interface::{Fraction, Span};

use crate::{
    deadline::Deadline,
    loss::{Importance, LossPolicy},
    rank::Rank,
};

/// How numbers are folded into one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReduceOp {
    /// Added. Integers wrap.
    Sum,
    /// Added and divided by how many there are. Integers are rounded towards zero.
    Mean,
    /// The smallest; NaN if one of them is.
    Min,
    /// The largest; NaN if one of them is.
    Max,
    /// Multiplied. Integers wrap.
    Product,
}

impl ReduceOp {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::Product => "product",
        }
    }

    /// Whether what is missing can be made up for later, and numbers can be folded while rotated:
    /// both only where a result is a sum.
    pub(crate) const fn is_linear(self) -> bool {
        matches!(self, Self::Sum | Self::Mean)
    }
}

/// What a group does together, or two ranks with each other. Roots are ranks of the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Everybody gives a tensor; everybody gets all of them folded into one.
    AllReduce(ReduceOp),
    /// Everybody gives a tensor; everybody gets its own [shard](crate::shard) of the result.
    ReduceScatter(ReduceOp),
    /// Everybody gives a part of equal length; everybody gets all parts, in order of position.
    AllGather,
    /// Everybody gets what the root gives. The others' data only says how long it is.
    Broadcast(Rank),
    /// Everybody gives a tensor; the root gets all of them folded into one.
    Reduce(ReduceOp, Rank),
    /// Everybody gives a part of equal length; the root gets all parts, in order of position.
    Gather(Rank),
    /// The root gives one part of equal length for each; everybody gets its own. The others' data
    /// only says how long it is.
    Scatter(Rank),
    /// Everybody gives one part of equal length for each, and gets the one that each gave for it.
    AllToAll,
    /// Nobody goes on before everybody is here.
    Barrier,
    /// Gives data to one rank, under a tag.
    Send(Rank, u64),
    /// Gets what one rank sent under a tag. The data only says how long it is.
    Recv(Rank, u64),
}

impl Operation {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce(_) => "all_reduce",
            Self::ReduceScatter(_) => "reduce_scatter",
            Self::AllGather => "all_gather",
            Self::Broadcast(_) => "broadcast",
            Self::Reduce(..) => "reduce",
            Self::Gather(_) => "gather",
            Self::Scatter(_) => "scatter",
            Self::AllToAll => "all_to_all",
            Self::Barrier => "barrier",
            Self::Send(..) => "send",
            Self::Recv(..) => "recv",
        }
    }

    /// How it folds, if it does.
    pub const fn reduce_op(self) -> Option<ReduceOp> {
        match self {
            Self::AllReduce(op) | Self::ReduceScatter(op) | Self::Reduce(op, _) => Some(op),
            _ => None,
        }
    }
}

/// By which steps a collective is carried out. See `docs/fabric.md` for bytes and steps of each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// Chosen by [`choose`](crate::choose).
    #[default]
    Auto,
    /// Everybody sends each shard straight to its owner, who folds it and sends it to everybody.
    Transpose,
    /// Parts go round.
    Ring,
    /// Pairs exchange half, a quarter, … and back.
    HalvingDoubling,
    /// Sums go up a tree and come down again: the position above each position, nothing for the
    /// root.
    Tree(Arc<[Option<usize>]>),
}

/// What happens when a rank is gone or late.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnLoss {
    /// The operation ends with an error that names the rank, on all that have not finished.
    #[default]
    Fail,
    /// The others agree on a result without it.
    Continue {
        /// With fewer ranks left than this the operation fails. More than half of the group makes
        /// sure that two parts of a group that cannot reach each other do not both go on.
        at_least: usize,
    },
}

/// How an operation may be carried out. All ranks of a group give the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// By which steps.
    pub algorithm: Algorithm,
    /// How much of each contribution must arrive. Only stages that fold, and operations in which
    /// each part has one receiver, may lose anything; what all ranks get is sent exactly.
    pub importance: Importance,
    /// What a lost part becomes.
    pub policy: LossPolicy,
    /// Spreads what is lost over blocks by a random rotation (floating point only). Minimum, maximum
    /// and product are never rotated. Not with [`LossPolicy::Feedback`]. A rotated number can be 32
    /// times as large as the largest of its block, so `f16` may overflow above 2,047; `bf16` does not.
    pub hadamard: bool,
    /// What happens when a rank is gone or late.
    pub on_loss: OnLoss,
    /// 0 first.
    pub priority: u32,
    /// When late contributions are no longer waited for.
    pub deadline: Deadline,
    /// After this the operation ends with an error, whatever happens. From its start on this rank.
    pub limit: Span,
    /// Which tensor this is, over the iterations: [`LossPolicy::Stale`] and
    /// [`LossPolicy::Feedback`] remember by it, and [`Deadline::Adaptive`] learns by it.
    pub stream: u64,
    /// Bytes of a segment, where a long tensor is passed on in segments.
    pub segment: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Auto,
            importance: Importance::EXACT,
            policy: LossPolicy::default(),
            hadamard: false,
            on_loss: OnLoss::Fail,
            priority: 0,
            deadline: Deadline::None,
            limit: Span::from_secs(300),
            stream: 0,
            segment: 256 << 10,
        }
    }
}

impl Options {
    /// Everything arrives; a lost rank is an error; five minutes at most.
    pub fn exact() -> Self {
        Self::default()
    }

    /// At least this part of each contribution arrives.
    pub fn at_least(min_delivery: Fraction) -> Self {
        Self { importance: Importance::Uniform(min_delivery), ..Self::default() }
    }
}
