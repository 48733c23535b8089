//! The papers' figures and tables as named experiments.
//!
//! Every result of the four papers that Laxity grew from has a name in [`CATALOGUE`], whether it runs
//! yet or not. An [`Experiment`] runs one of them and returns [`Findings`]: rows, the paper's
//! claims beside what came out here, charts, what had to be chosen because the paper leaves it open, and
//! a sentence on each difference. A claim that does not hold is reported as such.
//!
//! Nothing is printed and no clock is read here; the command does both. Experiments write no files
//! either, except for what is too large for [`Findings`], and only below [`Options::out`].
//!
//! To add one: a type that implements [`Experiment`] in the folder of its family, and a line in that
//! folder's `EXPERIMENTS`. Its status then is "runs".
//!
//! ```
//! use laxity_reproduce::{Options, find};
//!
//! let found = find("cadentflow-fig1")?;
//! assert_eq!(found.entry.family.name(), "cadentflow");
//! if let Some(experiment) = found.experiment {
//!     let findings = experiment.run(&Options::quick())?;
//!     assert!(findings.claims.iter().all(|claim| claim.holds));
//! }
//! # Ok::<(), laxity_reproduce::ReproduceError>(())
//! ```
#![forbid(unsafe_code)]

mod bounded;
mod cadentflow;
mod catalogue;
mod error;
mod experiment;
mod family;
mod findings;
mod memory;
mod mlfabric;
mod netapprox;
mod options;
mod registry;

pub use catalogue::{CATALOGUE, Entry};
pub use error::ReproduceError;
pub use experiment::Experiment;
pub use family::Family;
pub use findings::{Chart, Findings};
pub use memory::Memory;
pub use options::{Options, Progress};
pub use registry::{Found, Status, all, find};
