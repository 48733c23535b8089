//! How well the engine keeps time: what makes a measurement valid.

use laxity_interface::Span;
use serde::{Deserialize, Serialize};

use crate::lateness::{ALLOWED, Lateness};

/// How well the engine has kept time since it was started or since
/// [`take_health`](super::Engine::take_health).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Health {
    /// How long this covers, in seconds.
    pub seconds: f64,
    /// The part of that time that the engine's thread did something, waiting in a loop included.
    pub busy: f64,
    /// The part of that time that it waited in a loop for something near.
    pub spinning: f64,
    /// Packets that came in.
    pub received: u64,
    /// In how many pieces hosts sent them: a piece holds several where cards cut.
    pub received_pieces: u64,
    /// Packets that went out.
    pub sent: u64,
    /// In how many pieces hosts got them.
    pub sent_pieces: u64,
    /// How much later than due frames went out.
    pub lateness: LateTimes,
    /// Frames that the kernel dropped because a ring or a queue was full.
    pub ring_drops: u64,
    /// Frames that hold several packets in a form that the switch cannot cut, such as a tunnel's.
    pub oversized: u64,
    /// Frames that the kernel refused to send.
    pub refused: u64,
    /// Whether the thread has a real-time priority.
    pub realtime: bool,
}

impl Health {
    /// Whether measurements of this time count: nothing was lost beside the model, and 99 of 100
    /// frames left within 200 µs of when they were due.
    pub fn is_valid(&self) -> bool {
        self.ring_drops == 0
            && self.oversized == 0
            && self.refused == 0
            && self.lateness.p99 <= ALLOWED
    }
}

/// How much later than due something happened, such as that frames went out, to 3 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LateTimes {
    /// Half of it was at most this late.
    pub p50: Span,
    /// 99 of 100 were at most this late.
    pub p99: Span,
    /// The latest.
    pub max: Span,
}

impl LateTimes {
    pub(crate) fn of(lateness: &Lateness) -> Self {
        Self {
            p50: lateness.percentile(0.5),
            p99: lateness.percentile(0.99),
            max: lateness.worst(),
        }
    }
}
