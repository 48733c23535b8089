//! How far filling had come at some levels, to go on from there.

use super::{records::Records, whole_level};

/// How many marks there are about, when there are enough flows.
const MARKS: usize = 10;
/// A link while flows are being fixed.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkState {
    /// Capacity less what fixed flows take.
    pub(super) left: u128,
    /// The weights of open flows.
    pub(super) open: u64,
}

impl LinkState {
    /// The level at which it is full, if anybody waits for that.
    #[inline]
    pub(super) fn level(&self) -> Option<u64> {
        (self.open > 0).then(|| whole_level(self.left, self.open.into()))
    }
}

pub(super) fn set_bit(bits: &mut Vec<u64>, at: usize) {
    if bits.len() <= at / 64 {
        bits.resize(at / 64 + 1, 0);
    }
    bits[at / 64] |= 1 << (at % 64);
}

pub(super) fn clear_bit(bits: &mut [u64], at: usize) {
    bits[at / 64] &= !(1 << (at % 64));
}

/// Everything as it is when all flows below a level are fixed, and no other.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) level: u64,
    /// How many events came before.
    pub(super) events: usize,
    pub(super) links: Vec<LinkState>,
    /// A bit for each open flow.
    pub(super) open: Vec<u64>,
}

/// Marks by rising level. What is added, removed or given another capacity since is put right in all
/// of them: at a level below the change a flow is open, whether it is old or new.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    kept: Vec<Mark>,
    /// Marks that are of no use any more; their memory is.
    spare: Vec<Mark>,
}

impl Marks {
    /// So many flows are fixed in less time than a mark takes. Tests have few flows, and marks too.
    pub(super) const APART: usize = if cfg!(test) { 3 } else { 4096 };

    /// How many flows to fix between two marks.
    pub(super) fn apart(flows: usize) -> usize {
        (flows / MARKS).max(Self::APART)
    }

    pub(super) fn last(&self) -> Option<&Mark> {
        self.kept.last()
    }

    pub(super) fn push(&mut self, level: u64, events: usize, links: &[LinkState], open: &[u64]) {
        let empty = || Mark { level, events, links: Vec::new(), open: Vec::new() };
        let mut mark = self.spare.pop().unwrap_or_else(empty);
        (mark.level, mark.events) = (level, events);
        mark.links.clear();
        mark.links.extend_from_slice(links);
        mark.open.clear();
        mark.open.extend_from_slice(open);
        self.kept.push(mark);
    }

    pub(super) fn forget_above(&mut self, level: u64) {
        let keep = self.kept.partition_point(|mark| mark.level <= level);
        self.spare.extend(self.kept.drain(keep..));
    }

    /// A new flow is open.
    pub(super) fn add(&mut self, seat: usize, records: &Records) {
        let weight = records.weight(seat);
        for mark in &mut self.kept {
            set_bit(&mut mark.open, seat);
            records.each_link(seat, |link| mark.links[link as usize].open += weight);
        }
    }

    /// Takes a flow away that is open in all marks that are kept.
    pub(super) fn remove(&mut self, seat: usize, records: &Records) {
        let weight = records.weight(seat);
        for mark in &mut self.kept {
            clear_bit(&mut mark.open, seat);
            records.each_link(seat, |link| mark.links[link as usize].open -= weight);
        }
    }

    /// Flows have other seats: `fixed_by` says the events that fixed them.
    pub(super) fn reseat(&mut self, fixed_by: &[u32]) {
        for mark in &mut self.kept {
            mark.open.fill(0);
            for (seat, event) in fixed_by.iter().enumerate() {
                let open = u64::from(*event as usize >= mark.events);
                mark.open[seat / 64] |= open << (seat % 64);
            }
        }
    }

    pub(super) fn set_capacity(&mut self, link: usize, old: u128, new: u128) {
        for mark in &mut self.kept {
            // CORRECTNESS: what is fixed lies below the level at which the link is full, so it fits.
            mark.links[link].left = mark.links[link].left + new - old;
        }
    }
}
