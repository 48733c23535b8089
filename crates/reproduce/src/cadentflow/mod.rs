//! Experiments of the family `cadentflow`.

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[];
