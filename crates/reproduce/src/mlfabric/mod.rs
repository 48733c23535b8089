//! MLfabric (seed 003): updates of models that are ordered, summed and copied, in fluid simulation and over the
//! shipping roles.

mod aggregation;
mod asynchronous;
mod lda;
mod links;
mod live;
mod ordering;
mod replica;
mod synchronous;

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[
    &ordering::Ordering,
    &aggregation::Aggregation,
    &asynchronous::Asynchronous,
    &synchronous::Synchronous,
    &lda::Lda,
    &replica::Replicas,
    &links::Links,
];
