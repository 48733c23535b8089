//! What a worker is given to push.

use laxity_interface::Fraction;

use super::{ids::Version, tensor::Tensor};
use crate::rank::Rank;

/// The most updates of a worker that are not decided. Servers remember many times as many.
pub(super) const WINDOW: usize = 64;

/// An update to be pushed.
#[derive(Clone, PartialEq, Debug)]
pub struct Push {
    /// The elements.
    pub update: Tensor,
    /// How much is lost with it: the Euclidean norm.
    pub norm: f64,
    /// What it was computed from.
    pub version: Version,
    /// The least part of it that must arrive.
    pub min_delivery: Fraction,
}

impl Push {
    /// A whole update computed from this version.
    pub fn new(values: &[f32], version: Version) -> Self {
        let norm = super::tensor::norm(values);
        Self { update: Tensor::new(values), norm, version, min_delivery: Fraction::ONE }
    }
}

/// Why an update was not taken.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// Too many are on their way.
    #[error("{worker} has {WINDOW} updates on their way: wait for one of them to be decided")]
    Full {
        /// The worker.
        worker: Rank,
    },
    /// It has no elements.
    #[error("{worker} pushed an update without elements")]
    Empty {
        /// The worker.
        worker: Rank,
    },
    /// Its norm is none.
    #[error("{worker} pushed an update with norm {norm}: give a finite number, 0 or above")]
    Norm {
        /// The worker.
        worker: Rank,
        /// As given.
        norm: f64,
    },
}
