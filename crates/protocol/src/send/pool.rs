//! The pieces of a job that wait to be sent, whatever its shape.

use laxity_interface::GroupId;

use super::{chunks::ChunkPool, messages::MessagePool};
use crate::{
    slack::{Budget, LaneKind},
    wire::Runs,
};

/// Where a piece's bytes are and what its frame says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Body {
    /// Place of its group among the job's groups.
    pub(crate) group: usize,
    /// Name of its group.
    pub(crate) group_id: GroupId,
    /// Tensor: first element. Messages: number inside its group.
    pub(crate) index: u64,
    /// Tensor: 0. Messages: number in the order handed in.
    pub(crate) message: u64,
    /// Bytes of the whole message.
    pub(crate) length: u64,
    /// Where in the message (or tensor) the piece starts, in bytes.
    pub(crate) offset: u64,
    /// Its bytes.
    pub(crate) bytes: usize,
}

/// Pieces of a job.
#[derive(Debug)]
pub(crate) enum Pool {
    Chunks(ChunkPool),
    Messages(MessagePool),
}

macro_rules! each {
    ($self:ident, $pool:ident => $call:expr) => {
        match $self {
            Pool::Chunks($pool) => $call,
            Pool::Messages($pool) => $call,
        }
    };
}

impl Pool {
    /// Takes the next piece that should leave on `lane`, if any, and counts it as on its way.
    /// `expected` are losses to be expected among what is on its way, per group.
    pub(crate) fn take(
        &mut self,
        lane: LaneKind,
        expected: &[u64],
        budgets: &mut [Budget],
    ) -> Option<u32> {
        each!(self, pool => pool.take(lane, expected, budgets))
    }

    /// Whether [`take`](Self::take) would give something.
    pub(crate) fn has(&self, lane: LaneKind, expected: &[u64], budgets: &[Budget]) -> bool {
        each!(self, pool => pool.has(lane, expected, budgets))
    }

    /// Messages of a group that were begun and may arrive without more being sent again.
    pub(crate) fn under_way(&self, group: usize) -> u64 {
        match self {
            Self::Chunks(pool) => pool.out(group),
            Self::Messages(pool) => pool.under_way(group),
        }
    }

    /// Has a damaged message repaired if that takes less than to send a new one.
    pub(crate) fn repair_cheapest(&mut self, lane: LaneKind, budgets: &mut [Budget]) {
        match self {
            // Chunks are all alike.
            Self::Chunks(_) => {}
            Self::Messages(pool) => pool.repair_cheapest(lane, budgets),
        }
    }

    /// Takes the next piece of a message that was begun.
    pub(crate) fn take_partial(&mut self, lane: LaneKind) -> Option<u32> {
        match self {
            Self::Chunks(_) => None,
            Self::Messages(pool) => pool.take_partial(lane),
        }
    }

    /// Whether [`take_partial`](Self::take_partial) would give something.
    pub(crate) fn has_partial(&self, lane: LaneKind) -> bool {
        match self {
            Self::Chunks(_) => false,
            Self::Messages(pool) => pool.has_partial(lane),
        }
    }

    /// Whether some piece of the lane was never sent.
    pub(crate) fn has_fresh(&self, lane: LaneKind) -> bool {
        each!(self, pool => pool.has_fresh(lane))
    }

    /// A piece arrived.
    pub(crate) fn acked(&mut self, piece: u32, budgets: &mut [Budget]) {
        each!(self, pool => pool.acked(piece, budgets));
    }

    /// A piece got lost.
    pub(crate) fn lost(&mut self, piece: u32, budgets: &mut [Budget]) {
        each!(self, pool => pool.lost(piece, budgets));
    }

    /// A piece has to be sent as if for the first time.
    pub(crate) fn give_back(&mut self, piece: u32) {
        each!(self, pool => pool.give_back(piece));
    }

    /// The receiver says what it has and has not.
    pub(crate) fn status(&mut self, space: u16, runs: &Runs, budgets: &mut [Budget]) {
        each!(self, pool => pool.status(space, runs, budgets));
    }

    /// What a piece is.
    pub(crate) fn body(&self, piece: u32) -> Body {
        each!(self, pool => pool.body(piece))
    }

    /// Pieces on their way, per group.
    pub(crate) fn out(&self, group: usize) -> u64 {
        each!(self, pool => pool.out(group))
    }

    /// Pieces taken a second time or more.
    pub(crate) fn repeats(&self) -> u64 {
        each!(self, pool => pool.repeats())
    }

    /// How many numberings the receiver uses, and how far each goes.
    pub(crate) fn spaces(&self, budgets: &[Budget]) -> Vec<u64> {
        match self {
            Self::Chunks(pool) => vec![u64::from(pool.count())],
            Self::Messages(_) => budgets.iter().map(|budget| budget.total).collect(),
        }
    }
}

/// What became of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum PieceState {
    Fresh,
    Out,
    Lost,
    Acked,
}
