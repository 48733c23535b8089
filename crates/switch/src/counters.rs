//! What a fabric has done so far.

use laxity_interface::Bytes;
use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, PortId};

/// Frames and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Count {
    /// How many frames.
    pub packets: u64,
    /// Their bytes, Ethernet headers included.
    pub bytes: Bytes,
}

impl Count {
    /// One frame of this size more.
    pub(crate) fn add(&mut self, bytes: Bytes) {
        self.packets += 1;
        self.bytes += bytes;
    }

    pub(crate) fn remove(&mut self, bytes: Bytes) {
        self.packets -= 1;
        self.bytes -= bytes;
    }
}

/// Counters of one queue: `offered = sent + full + down + backlog`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct QueueCounters {
    /// Frames that came for this queue.
    pub offered: Count,
    /// Frames that were taken out to be sent.
    pub sent: Count,
    /// Frames that were dropped because the queue was full.
    pub full: Count,
    /// Frames that were dropped because the link was down.
    pub down: Count,
    /// Frames that were marked here. (Those that had a mark already do not count.)
    pub marked: Count,
    /// What waits now.
    pub backlog: Count,
    /// The most frames that waited at one time.
    pub max_packets: u64,
    /// The most bytes that waited at one time.
    pub max_bytes: Bytes,
}

/// Counters of one port: what its queues sent is `delivered + lost + cut + on_wire`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PortCounters {
    /// Which port.
    pub port: PortId,
    /// Where it is.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// Whether it works.
    pub up: bool,
    /// Its queues, the one that is served first first.
    pub queues: Vec<QueueCounters>,
    /// Frames that arrived at the other end.
    pub delivered: Count,
    /// Frames that were lost on the wire by chance.
    pub lost: Count,
    /// Frames that were on the wire when it was cut.
    pub cut: Count,
    /// Frames that are being sent or travel.
    pub on_wire: Count,
}

impl PortCounters {
    /// Frames of all queues that did not fit.
    pub fn full(&self) -> u64 {
        self.queues.iter().map(|queue| queue.full.packets).sum()
    }

    /// Frames of all queues that were marked.
    pub fn marked(&self) -> u64 {
        self.queues.iter().map(|queue| queue.marked.packets).sum()
    }
}

/// Counters of a whole fabric.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counters {
    /// Every port, by number.
    pub ports: Vec<PortCounters>,
    /// Frames to an address that no host has, or from a host that is not connected.
    pub unroutable: Count,
}
