//! MLfabric (seed 003): updates of models that are ordered, summed and copied, in fluid simulation.

mod aggregation;
mod links;
mod ordering;

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] =
    &[&ordering::Ordering, &aggregation::Aggregation, &links::Links];
