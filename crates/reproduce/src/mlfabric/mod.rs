//! Experiments of the family `mlfabric`.

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[];
