//! What ranks tell whoever started them, one line of JSON each.

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
        /// Points of the model that it begins with, where the one who tells has tested it.
        score: Option<f64>,
    },
    /// Some steps are done.
    Step {
        /// How many in all.
        step: usize,
        /// Mean loss of this rank's last batch.
        #[serde(with = "any_number")]
        loss: f64,
    },
    /// The model was tested.
    Tested(Tested),
    /// It is over, and all ranks have the same parameters.
    End {
        /// Their hash, for comparing runs.
        hash: u64,
    },
    /// A worker of a server is done.
    Done(Done),
    /// The server has committed something.
    Held(Held),
    /// A replica is the server now.
    Promoted(Promoted),
}

/// A test of the model, and what the steps since the last one brought.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Tested {
    /// In which epoch, from 1.
    pub(super) epoch: usize,
    /// Steps since the start.
    pub(super) steps: usize,
    /// Seconds of training since the start, without the time for tests of the model.
    pub(super) seconds: f64,
    /// Mean loss on what it learned from, on the rank that tells.
    #[serde(with = "any_number")]
    pub(super) train_loss: f64,
    /// Loss on the test set.
    #[serde(with = "any_number")]
    pub(super) test_loss: f64,
    /// Points of 100 on the test set.
    #[serde(with = "any_number")]
    pub(super) score: f64,
    /// The part that arrived of the gradients, mean over ranks and steps. With a server that says so, of all
    /// since the start.
    pub(super) delivered: f64,
    /// Mean time of a step.
    pub(super) step_ms: f64,
    /// The slowest of a hundred steps.
    pub(super) step_p99_ms: f64,
    /// Mean time that a step's all-reduce took, or getting a model and pushing an update.
    pub(super) reduce_ms: f64,
}

/// What became of a worker's updates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Done {
    /// The server said that they count.
    pub(super) acknowledged: u64,
    /// They do not count.
    pub(super) dropped: u64,
}

/// How far the server is.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Held {
    /// How often a replica has taken over.
    pub(super) epoch: u32,
    /// The model's version: updates in it, or rounds of a synchronous training.
    pub(super) commits: u64,
    /// Updates that this server has committed.
    pub(super) updates: u64,
    /// Mean and largest number of commits between an update's version and its commit.
    pub(super) delay_mean: f64,
    pub(super) delay_max: u64,
    /// The part of all updates that arrived.
    pub(super) delivered: f64,
    /// How far the replica can be away, by norms; nothing without a replica.
    pub(super) apart: Option<f64>,
    /// The largest that has been, and the largest norm of one commit.
    #[serde(with = "any_number")]
    pub(super) apart_max: f64,
}

/// A replica has taken over.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Promoted {
    /// From which version it goes on.
    pub(super) commits: u64,
    /// The last version that the old server spoke of.
    pub(super) heard: u64,
    /// How far the old server said it could be away.
    #[serde(with = "any_number")]
    pub(super) apart: f64,
    /// How long ago it spoke.
    pub(super) silent_ms: f64,
}

/// Numbers that a training which diverges comes to. JSON has no word for them, and `null` would be
/// refused on the other side: then it would look as if a rank talked nonsense.
mod any_number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Number(f64),
        Text(String),
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(super) fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        match number.is_finite() {
            true => to.serialize_f64(*number),
            false => to.serialize_str(&number.to_string()),
        }
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<f64, D::Error> {
        match Told::deserialize(from)? {
            Told::Number(number) => Ok(number),
            Told::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trainings diverge, and that is a result.
    #[test]
    fn what_is_no_number_survives_the_way() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let line = serde_json::to_string(&Word::Step { step: 1, loss: odd }).unwrap();
            let Ok(Word::Step { loss, .. }) = serde_json::from_str(&line) else { panic!("{line}") };
            assert_eq!(loss.to_bits(), odd.to_bits(), "{line}");
        }
    }

    #[test]
    fn words_survive_the_way() {
        let held = Held { commits: 7, apart: Some(0.5), ..Held::default() };
        for word in [
            Word::Begin { steps: 1, parameters: 2, score: Some(0.5) },
            Word::Held(held),
            Word::Done(Done { acknowledged: 3, dropped: 1 }),
        ] {
            let line = serde_json::to_string(&word).unwrap();
            assert_eq!(serde_json::from_str::<Word>(&line).unwrap(), word, "{line}");
        }
    }
}
