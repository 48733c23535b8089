//! Memory that the ports of a switch share.

use laxity_topology::Topology;

use crate::{port::Room, setup::SharedMemory};

/// The memory of every switch: how much of it is taken.
#[derive(Debug)]
pub(super) struct Memories {
    total: u64,
    share: f64,
    /// Bytes that wait, by the number of the node; hosts have none.
    taken: Vec<u64>,
}

impl Memories {
    pub(super) fn new(setup: &SharedMemory, topology: &Topology) -> Self {
        let taken = vec![0; topology.node_count()];
        Self { total: setup.total.get(), share: setup.share, taken }
    }

    /// What a packet may take in a switch now.
    pub(super) fn room(&self, switch: u32) -> Room {
        let free = self.total - self.taken[switch as usize];
        Room { free, queue: (self.share * free as f64) as u64 }
    }

    /// A port of a switch held so many bytes, and now holds so many.
    pub(super) fn note(&mut self, switch: u32, before: u64, after: u64) {
        let taken = &mut self.taken[switch as usize];
        *taken = *taken + after - before;
    }
}
