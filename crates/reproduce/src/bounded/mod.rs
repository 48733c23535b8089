//! Experiments of the family `bounded`.

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[];
