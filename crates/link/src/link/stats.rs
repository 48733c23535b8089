//! What a link has done so far.

use std::{collections::BTreeMap, fmt};

use laxity_interface::Bytes;
use serde::{Serialize, Serializer};

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue was full.
    Queue,
    /// A rule of this name said so.
    Rule(&'static str),
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue => f.pad("queue"),
            Self::Rule(name) => f.pad(name),
        }
    }
}

impl Serialize for DropReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Counters of a link.
///
/// Once nothing is in flight, `sent + duplicated == delivered + lost()`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkStats {
    /// Packets handed in.
    pub sent: u64,
    /// Packets taken out, copies included.
    pub delivered: u64,
    /// Packets dropped, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Packets that were marked here.
    pub marked: u64,
    /// Copies that were made.
    pub duplicated: u64,
    /// Packets that were damaged.
    pub corrupted: u64,
    /// Bytes handed in, without what the link adds.
    pub bytes_sent: Bytes,
    /// Bytes taken out, without what the link adds.
    pub bytes_delivered: Bytes,
    /// The most bytes that waited at one time, counted as they go over the wire.
    pub max_queue: Bytes,
}

impl LinkStats {
    /// Packets dropped, for whatever reason.
    pub fn lost(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Packets dropped for this reason.
    pub fn dropped_by(&self, reason: DropReason) -> u64 {
        self.dropped.get(&reason).copied().unwrap_or(0)
    }
}

/// One line, for the output of a test that failed.
impl fmt::Display for LinkStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sent {} ({})", self.sent, self.bytes_sent)?;
        write!(f, ", delivered {} ({})", self.delivered, self.bytes_delivered)?;
        write!(f, ", dropped {}", self.lost())?;
        if !self.dropped.is_empty() {
            let reasons: Vec<_> =
                self.dropped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            write!(f, " ({})", reasons.join(", "))?;
        }
        write!(f, ", marked {}, duplicated {}", self.marked, self.duplicated)?;
        write!(f, ", corrupted {}, queue at most {}", self.corrupted, self.max_queue)
    }
}
