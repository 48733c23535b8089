//! What an operation ended with.

use bytes::Bytes;
use laxity_interface::Span;

use crate::{
    loss::{Share, Thin},
    rank::Rank,
    shape::Shape,
};

/// A result, and what went into it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// The result's bytes, in order. Empty where this rank gets none.
    pub parts: Vec<Bytes>,
    /// What arrived of each contribution, by position in the group; of one that was left out, nothing.
    /// Empty if nothing could be lost.
    ///
    /// After an all-reduce all ranks hold the same list.
    pub delivered: Vec<f64>,
    /// Ranks whose contribution is missing in all or a part of the result.
    pub left_out: Vec<Rank>,
    /// Elements of the result that lack contributions of ranks that were not left out. (Of a
    /// rotated tensor: elements of its rotated form.) Where a part has one sender only, elements
    /// that did not arrive.
    pub missing: Vec<Thin>,
    /// How long it took on this rank.
    pub took: Span,
    /// The same as `delivered`, in elements.
    pub(crate) shares: Vec<Share>,
}

impl Outcome {
    /// Length of the result in bytes.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether this rank gets nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the result to where it is wanted.
    ///
    /// # Panics
    /// If `to` is not as long as the result.
    pub fn copy_to(&self, to: &mut [u8]) {
        let mut rest = to;
        for part in &self.parts {
            let (here, after) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = after;
        }
        assert!(
            rest.is_empty(),
            "a result of {} bytes leaves a place of {} over",
            self.len(),
            rest.len()
        );
    }

    /// What arrived of all contributions together, of those that were left out nothing; 1 if nothing
    /// could be lost.
    pub fn mean_delivered(&self) -> f64 {
        self.shares.iter().fold(Share::default(), Share::and).arrived()
    }

    /// The least that arrived of any contribution that was not left out; 1 if nothing could be lost.
    pub fn least_delivered(&self) -> f64 {
        self.shares.iter().map(Share::arrived_of_counted).fold(1.0, f64::min)
    }
}

/// Why an operation ended without a result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A rank is gone.
    #[error(
        "{operation} ended because {rank} is gone: {reason}{}; restart it, or allow the operation \
         to go on without it",
        told(*told_by)
    )]
    Lost {
        /// Which operation.
        operation: &'static str,
        /// Who is gone.
        rank: Rank,
        /// What was seen.
        reason: String,
        /// Who saw it, if it was not this rank.
        told_by: Option<Rank>,
    },
    /// The time limit has passed.
    #[error(
        "{operation} was given up after {limit}, waiting for {}{}; look at those first, or give it \
         more time",
        list(waiting_for), told(*told_by)
    )]
    TimedOut {
        /// Which operation.
        operation: &'static str,
        /// The limit.
        limit: Span,
        /// Who had not done its part.
        waiting_for: Vec<Rank>,
        /// Who gave it up, if it was not this rank.
        told_by: Option<Rank>,
    },
    /// Two ranks do not mean the same operation.
    #[error(
        "{one} and {other} do not agree on the operation: {one} does {one_does}, {other} does \
         {other_does}; all ranks must do the same operations in the same order with the same options"
    )]
    Mismatch {
        /// One of them.
        one: Rank,
        /// What it takes the operation for.
        one_does: Shape,
        /// The other.
        other: Rank,
        /// What that takes it for.
        other_does: Shape,
    },
    /// A rank sent what makes no sense.
    #[error("{operation} ended because of {rank}: {reason}{}", told(*told_by))]
    Nonsense {
        /// Which operation.
        operation: &'static str,
        /// Who sent it.
        rank: Rank,
        /// What is wrong with it.
        reason: String,
        /// Who saw it, if it was not this rank.
        told_by: Option<Rank>,
    },
    /// The others went on without this rank.
    #[error(
        "{operation} was finished without {rank}, which was too late or out of reach; fetch the \
         state of another rank before going on"
    )]
    LeftOut {
        /// Which operation.
        operation: &'static str,
        /// This rank.
        rank: Rank,
    },
    /// Too few ranks are left to go on.
    #[error(
        "{operation} ended with {left} ranks left, at least {at_least} are wanted; without: {}{}",
        list(without), too_short(*late_after)
    )]
    TooFew {
        /// Which operation.
        operation: &'static str,
        /// How many are left.
        left: usize,
        /// How many are wanted.
        at_least: usize,
        /// Who is missing.
        without: Vec<Rank>,
        /// After how long ranks are left out as late, if some of them were and are not known to be gone.
        late_after: Option<Span>,
    },
    /// Parcels for operations that were not started took too much memory.
    #[error(
        "{operation} cannot start: other ranks are so far ahead that their parcels passed {limit} \
         bytes; {rank} sent the one that did not fit"
    )]
    TooFarBehind {
        /// Which operation.
        operation: &'static str,
        /// Who sent what did not fit.
        rank: Rank,
        /// The limit.
        limit: usize,
    },
    /// It could not start.
    #[error(transparent)]
    Refused(#[from] StartError),
}

/// Why an operation cannot start.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// This rank is not in the group.
    #[error("{0} is not a member of the group")]
    NotAMember(Rank),
    /// The root or the other rank is not in the group.
    #[error("{0}, which the operation names, is not a member of the group")]
    Stranger(Rank),
    /// A rank sends to itself.
    #[error("{0} cannot send to or receive from itself")]
    Oneself(Rank),
    /// No arithmetic for the type.
    #[error("there is no arithmetic for {0}; use u8, i32, i64, f16, bf16, f32 or f64")]
    Element(&'static str),
    /// Not a whole number of elements.
    #[error("{bytes} bytes are not a whole number of {element}")]
    Ragged {
        /// Length of the data.
        bytes: usize,
        /// Name of the type.
        element: &'static str,
    },
    /// Parts cannot be of equal length.
    #[error("{count} elements cannot be cut into {parts} parts of equal length")]
    Uneven {
        /// Elements given.
        count: usize,
        /// Ranks in the group.
        parts: usize,
    },
    /// Not a tree.
    #[error("the parents do not make one tree over the {0} positions of the group")]
    NotATree(usize),
    /// Options that exclude each other or make no sense.
    #[error("{0}")]
    Options(&'static str),
}

fn too_short(late_after: Option<Span>) -> String {
    let hint = |span| {
        format!(
            "; those of them that live were later than {span}: give them more time (the deadline, \
             and a sixth of the limit at most)"
        )
    };
    late_after.map(hint).unwrap_or_default()
}

fn told(by: Option<Rank>) -> String {
    by.map(|rank| format!(" (as {rank} reported)")).unwrap_or_default()
}

fn list(ranks: &[Rank]) -> String {
    const SHOWN: usize = 8;
    let mut text: Vec<String> = ranks.iter().take(SHOWN).map(ToString::to_string).collect();
    if ranks.len() > SHOWN {
        text.push(format!("{} more", ranks.len() - SHOWN));
    }
    if text.is_empty() { "nobody in particular".to_owned() } else { text.join(", ") }
}
