//! Experiments of the family `netapprox`.

mod breakdown;
mod incast;
mod overall;
mod queues;
mod setting;

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] =
    &[&overall::Overall, &queues::Queues, &incast::Incast, &breakdown::Breakdown];
