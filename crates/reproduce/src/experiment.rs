//! What an experiment is.

use crate::{catalogue::Entry, error::ReproduceError, findings::Findings, options::Options};

/// One figure or table of a paper that can be run.
pub trait Experiment: Sync {
    /// Its name in the [`CATALOGUE`](crate::CATALOGUE).
    fn name(&self) -> &'static str;

    /// Runs it. The same options give the same findings.
    ///
    /// # Errors
    /// [`ReproduceError`] when it could not be run; a claim that does not hold is no error.
    fn run(&self, options: &Options) -> Result<Findings, ReproduceError>;

    /// What the catalogue says about it.
    ///
    /// # Panics
    /// If its name is not in the catalogue; a test makes sure that it is.
    fn entry(&self) -> &'static Entry {
        Entry::named(self.name()).expect("every experiment is in the catalogue")
    }
}
