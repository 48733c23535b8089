//! MLfabric (seed 003): updates of models that are ordered, summed and copied, in fluid simulation.

mod aggregation;
mod asynchronous;
mod links;
mod live;
mod ordering;

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[
    &ordering::Ordering,
    &aggregation::Aggregation,
    &asynchronous::Asynchronous,
    &links::Links,
];
