//! Why an experiment did not run.

use laxity_flowsim::{SimError, training::MeasureError};
use laxity_planner::PlanError;
use laxity_topology::TopologyError;

/// Why an experiment did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// There is no experiment of this name.
    #[error("there is no experiment `{name}`{}; see `laxity reproduce list`", likely(.near))]
    UnknownName {
        /// The name.
        name: String,
        /// Names that look like it.
        near: Vec<&'static str>,
    },
    /// There is no paper of this name.
    #[error("there is no family `{family}`: cadentflow, bounded, netapprox or mlfabric")]
    UnknownFamily {
        /// The name.
        family: String,
    },
    /// A network could not be built.
    #[error(transparent)]
    Network(#[from] TopologyError),
    /// The planner refused.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The flow simulator refused.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// A file could not be written.
    #[error("cannot write `{path}`")]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Anything else.
    #[error("{what} failed")]
    Other {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl ReproduceError {
    /// An error of a kind that has no place of its own here.
    pub fn other(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Other { what: what.into(), source: source.into() }
    }
}

impl From<MeasureError> for ReproduceError {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Network(source) => Self::Network(source),
            MeasureError::Simulation(source) => Self::Simulation(source),
            other => Self::other("measuring", other),
        }
    }
}

fn likely(near: &[&str]) -> String {
    match near {
        [] => String::new(),
        names => format!(", but there is {}", names.join(", ")),
    }
}
