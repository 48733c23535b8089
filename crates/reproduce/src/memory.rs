//! What experiments of one call need in common, simulated once.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use crate::bounded::{Run, TrainingKey};

/// Trainings that were simulated already. Three experiments look at the same ones: a call that runs
/// several of them passes one memory to all. A training depends on nothing but its key, so findings
/// are the same with and without.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<BTreeMap<TrainingKey, Run>>>);

impl Memory {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn trainings(&self) -> MutexGuard<'_, BTreeMap<TrainingKey, Run>> {
        self.0.lock().expect("nobody panics with the lock")
    }

    pub(crate) fn recall(&self, key: &TrainingKey) -> Option<Run> {
        self.trainings().get(key).cloned()
    }

    pub(crate) fn keep(&self, key: TrainingKey, run: Run) {
        self.trainings().insert(key, run);
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory of {} trainings", self.trainings().len())
    }
}
