//! What becomes of a chunk that is lost: pure functions of a table of chunks and of what arrived.
//!
//! Nothing here knows models, data or networks, so that a communication library can use the same
//! rules that were measured. A sender passes its gradient through a [`Sender`], loses chunks,
//! says which; a receiver puts together what arrived with a [`Receiver`]. A [`Policy`] names the
//! rules of both.

mod chunks;
mod combine;
mod feedback;
mod hadamard;
mod importance;
mod name;
mod receiver;
mod sender;

pub use chunks::Chunks;
pub use combine::{Contribution, Missing, combine};
pub use feedback::{Carry, Feedback, LostChunk, Reason};
pub use hadamard::{rotate, rotate_back};
pub use importance::{Importance, loss_shares};
pub use name::PolicyError;
pub use receiver::Receiver;
pub use sender::{Moment, Sender};

/// What a lost chunk becomes where contributions are added up.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Fill {
    /// Zeros: the sum of what arrived over the number of workers.
    #[default]
    Zero,
    /// The mean of what others sent: the sum of what arrived over how many arrived.
    Mean,
    /// What the same worker sent last for this chunk.
    Stale,
    /// The running mean of what came out for this chunk before, with a memory of ten steps.
    Trend,
}

/// When loss is spent, at the same bytes over the whole training.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Phase {
    /// At all times alike.
    #[default]
    Always,
    /// Twice as much in the first half, nothing in the second.
    Early,
    /// Nothing in the first half, twice as much in the second.
    Late,
}

impl Phase {
    /// The loss rate at a moment, for one over the whole training; `done` is the share of the
    /// steps behind. What exceeds 1 is lost room, not loss.
    pub fn rate(self, rate: f64, done: f64) -> f64 {
        match (self, done < 0.5) {
            (Self::Always, _) => rate,
            (Self::Early, true) | (Self::Late, false) => (2.0 * rate).min(1.0),
            (Self::Early, false) | (Self::Late, true) => 0.0,
        }
    }
}

/// All rules for lost chunks together.
///
/// It has a name of parts joined by `+`:
///
/// | Part | Rule |
/// |---|---|
/// | `zero`, `mean`, `stale`, `trend` | what a lost chunk becomes ([`Fill`]) |
/// | `velocity` | workers keep the momentum and send velocities: a lost chunk costs a tenth of each of the last ten gradients instead of one whole |
/// | `feedback`, with any of `:age=N`, `:decay=X`, `:rate=X`, `:large` | what was lost is added to the worker's next ([`Feedback`]) |
/// | `halves`, `thirds`, `thresholds`, `smallest`, `layers` | which chunks are lost, at the same bytes ([`Importance`]) |
/// | `early`, `late` | when, at the same bytes ([`Phase`]) |
/// | `hadamard` | gradients are mixed before they are cut, so that a loss hits everything a little |
///
/// ```
/// use laxity_learn::policy::{Fill, Policy};
///
/// let policy: Policy = "mean+velocity+feedback:age=1:decay=0.5".parse()?;
/// assert_eq!(policy.fill, Fill::Mean);
/// assert_eq!(policy.feedback.map(|feedback| feedback.age), Some(Some(1)));
/// assert_eq!(policy.to_string(), "mean+velocity+feedback:age=1:decay=0.5");
/// # Ok::<(), laxity_learn::policy::PolicyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Policy {
    /// What a lost chunk becomes.
    pub fill: Fill,
    /// Whether workers keep the momentum and send velocities.
    pub velocity: bool,
    /// Whether and how lost chunks are sent again as a part of later ones.
    pub feedback: Option<Feedback>,
    /// Which chunks are lost.
    pub importance: Importance,
    /// When.
    pub phase: Phase,
    /// Whether gradients are mixed before they are cut.
    pub hadamard: bool,
}
