//! How an experiment is run.

use std::{fmt, path::PathBuf, sync::Arc};

use crate::memory::Memory;

/// Is told what is being done, how many parts are done, and of how many.
trait Listener: Fn(&str, u64, u64) + Send + Sync {}

impl<F: Fn(&str, u64, u64) + Send + Sync> Listener for F {}

/// Somebody who wants to know how far it is.
#[derive(Clone)]
pub struct Progress(Arc<dyn Listener>);

impl Progress {
    /// Calls this with what is being done, how many parts are done, and of how many (0 if nobody
    /// knows).
    pub fn new(tell: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Nobody.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(|_, _, _| {})
    }

    /// Says that `done` of `of` parts are done and `what` comes next.
    pub fn tell(&self, what: &str, done: u64, of: u64) {
        (self.0)(what, done, of);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// How an experiment is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether it shall take less than a minute on two cores, with fewer runs or smaller sizes. What
    /// is left out is among the findings.
    pub quick: bool,
    /// The seed of everything that is random.
    pub seed: u64,
    /// A folder for what is too large for the findings, such as traces; without one it is left out.
    pub out: Option<PathBuf>,
    /// Who is told how far it is.
    pub progress: Progress,
    /// What experiments before this one have simulated.
    pub memory: Memory,
}

impl Options {
    /// The full size.
    #[must_use]
    pub fn full() -> Self {
        Self {
            quick: false,
            seed: 1,
            out: None,
            progress: Progress::silent(),
            memory: Memory::new(),
        }
    }

    /// The quick size.
    #[must_use]
    pub fn quick() -> Self {
        Self { quick: true, ..Self::full() }
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// One thing or another, by size.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::full()
    }
}
