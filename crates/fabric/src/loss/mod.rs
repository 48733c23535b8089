//! Bounded loss: how much may be lost of what, and what a lost part becomes.
#![allow(clippy::single_range_in_vec_init)] // Lists of ranges, short ones too, are the matter here.

mod account;
mod contributions;
mod hadamard;
mod layout;
mod memory;
mod ranges;

use std::{ops::Range, sync::Arc};

use laxity_interface::Fraction;

pub use self::account::Thin;
pub(crate) use self::{
    account::{Account, Share},
    contributions::{Contributions, Reduction},
    hadamard::rotate,
    layout::{Layout, MAP},
    memory::{Memory, Outstanding},
    ranges::{are_proper, total},
};

/// What becomes of a contribution's elements that did not arrive at the rank that folds them.
///
/// Minimum, maximum and product always fold what arrived. The policies differ for sums and means.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum LossPolicy {
    /// They count as zero: a sum is too small, a mean is still divided by all that take part.
    Zero,
    /// They count as the mean of what the others contributed to the same element: a mean is divided
    /// by the contributions that arrived, a sum is scaled up. Unbiased if loss is independent of
    /// values.
    #[default]
    MeanOfReceived,
    /// They count as the mean that the same stream had there last time; where that is too old, as
    /// the mean of what arrived.
    Stale {
        /// How many operations ago that may be.
        max_age: u32,
        /// The factor by which it shrinks with each.
        decay: f64,
    },
    /// They count as zero, and the sender adds them to its next contribution of the same stream.
    Feedback {
        /// Parts that could not be added within so many operations are forgotten.
        max_age: u32,
        /// The factor by which they shrink with each operation.
        decay: f64,
    },
}

/// How much of a contribution must arrive.
#[derive(Clone, PartialEq, Debug)]
pub enum Importance {
    /// Of everything alike.
    Uniform(Fraction),
    /// By place, such as by layer: ranges of elements with their minimum delivery, ascending, not
    /// overlapping. Elements outside of them arrive exactly. All ranks give the same.
    ByRange(Arc<[(Range<usize>, Fraction)]>),
    /// By size of the numbers, as in NetApprox (seed 002, §6): blocks of elements, each in the first
    /// class whose threshold its largest absolute value does not exceed.
    ByMagnitude {
        /// Thresholds, ascending, each with the minimum delivery of blocks at or below it.
        classes: Arc<[(f64, Fraction)]>,
        /// The minimum delivery of blocks above the last threshold.
        above: Fraction,
        /// Elements of a block.
        block: usize,
    },
}

impl Importance {
    /// Everything arrives.
    pub const EXACT: Self = Self::Uniform(Fraction::ONE);

    /// Whether anything may be lost.
    pub fn is_lossy(&self) -> bool {
        self.least() < Fraction::ONE
    }

    /// The least minimum delivery of any part.
    pub fn least(&self) -> Fraction {
        let least = match self {
            Self::Uniform(least) => Some(*least),
            Self::ByRange(ranges) => ranges.iter().map(|(_, least)| *least).min(),
            Self::ByMagnitude { classes, above, .. } => {
                classes.iter().map(|(_, least)| *least).chain([*above]).min()
            }
        };
        least.unwrap_or(Fraction::ONE)
    }
}
