//! Loss without chance.

use std::{collections::BTreeSet, ops::Range};

use laxity_interface::Time;

use crate::{PacketInfo, Rule, Verdict};

/// Loses everything that is sent during certain times.
#[derive(Debug, Clone)]
pub struct Blackout(Vec<Range<Time>>);

impl Blackout {
    /// Loses what is sent from the start of an interval up to, but not at, its end.
    pub fn new(intervals: impl IntoIterator<Item = Range<Time>>) -> Self {
        Self(intervals.into_iter().collect())
    }
}

impl Rule for Blackout {
    fn on_packet(&mut self, now: Time, _: &PacketInfo) -> Verdict {
        match self.0.iter().any(|interval| interval.contains(&now)) {
            true => Verdict::Drop,
            false => Verdict::Pass,
        }
    }

    fn name(&self) -> &'static str {
        "blackout"
    }
}

/// Loses certain packets, by their position on the link; the first is number 0.
#[derive(Debug, Clone)]
pub struct DropNth(BTreeSet<u64>);

impl DropNth {
    /// Loses the packets with these numbers.
    pub fn new(sequences: impl IntoIterator<Item = u64>) -> Self {
        Self(sequences.into_iter().collect())
    }
}

impl Rule for DropNth {
    fn on_packet(&mut self, _: Time, packet: &PacketInfo) -> Verdict {
        if self.0.contains(&packet.sequence) { Verdict::Drop } else { Verdict::Pass }
    }

    fn name(&self) -> &'static str {
        "drop-nth"
    }
}
