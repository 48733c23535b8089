//! Slack: how much may still be lost, and what follows from it.

mod budget;
mod class;

pub(crate) use budget::{Budget, promised_loss_rate, target_loss_rate};
pub use class::{Class, DscpMap};

/// Payload travels in one of two lanes, each with its own rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LaneKind {
    /// Groups of which everything must arrive.
    Exact,
    /// Groups that may lose something.
    Slack,
}

impl LaneKind {
    pub(crate) const ALL: [Self; 2] = [Self::Exact, Self::Slack];
}
