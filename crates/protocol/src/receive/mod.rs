//! Jobs this side receives: what arrived, what is missing, when it is enough.

mod decide;

mod job;
mod report;
mod space;

pub(crate) use decide::Decision;
pub(crate) use job::{Placed, RecvJob, Refused};

use crate::{ids::RecvId, wire::Piece};

/// Where received bytes go. Implemented by whoever owns the memory.
pub trait Sink {
    /// Puts the bytes of a piece that was not there before to their place. Never called twice for the
    /// same bytes, never for a job that was not claimed. A small job travels with its introduction:
    /// its first bytes can come before its [`Offered`](crate::Event::Offered) event was polled.
    fn place(&mut self, job: RecvId, piece: &Piece<'_>);
}

/// Counts and forgets; for tests and simulations that do not care for the bytes.
impl Sink for () {
    fn place(&mut self, _: RecvId, _: &Piece<'_>) {}
}
