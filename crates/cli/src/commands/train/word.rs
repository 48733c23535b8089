//! What rank 0 tells whoever started it, one line of JSON each.

use serde::{Deserialize, Serialize};

/// A line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Word {
    /// All ranks have met.
    Begin {
        /// Steps that will be made.
        steps: usize,
        /// Numbers in the model.
        parameters: usize,
    },
    /// Some steps are done.
    Step {
        /// How many in all.
        step: usize,
        /// Mean loss of this rank's last batch.
        loss: f64,
    },
    /// An epoch is done.
    Epoch(Epoch),
    /// It is over, and all ranks have the same parameters.
    End {
        /// Their hash, for comparing runs.
        hash: u64,
    },
}

/// What an epoch brought.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Epoch {
    /// Its number, from 1.
    pub(super) epoch: usize,
    /// Seconds of training since the start, without the time for tests of the model.
    pub(super) seconds: f64,
    /// Mean loss on what it learned from, on rank 0.
    pub(super) train_loss: f64,
    /// Loss on the test set.
    pub(super) test_loss: f64,
    /// Points of 100 on the test set.
    pub(super) score: f64,
    /// The part of rank 0's shard that arrived, mean over ranks and steps.
    pub(super) delivered: f64,
    /// Mean time of a step.
    pub(super) step_ms: f64,
    /// The slowest of a hundred steps.
    pub(super) step_p99_ms: f64,
    /// Mean time that a step's all-reduce took.
    pub(super) reduce_ms: f64,
}
