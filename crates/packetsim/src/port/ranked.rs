//! pFabric's queue: by rank, and oldest first inside a flow.

use crate::{flow::FlowId, kernel::Handle, packet::Packet};

/// Packets of one port in the order of their arrival. pFabric's buffers are small, twice the
/// bandwidth-delay product (§4.2), so looking at each is cheap.
#[derive(Debug, Default)]
pub(crate) struct Ranked {
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    rank: u64,
    flow: FlowId,
    handle: Handle,
    size: u32,
}

impl Ranked {
    pub(super) fn push(&mut self, packet: &Packet, handle: Handle) {
        let Packet { rank, flow, size, .. } = *packet;
        self.waiting.push(Waiting { rank, flow, handle, size });
    }

    /// The oldest packet of the flow that has the smallest rank. Among equal ranks the oldest names
    /// the flow.
    pub(super) fn pop(&mut self) -> Option<Handle> {
        let flow = self.waiting.iter().min_by_key(|packet| packet.rank)?.flow;
        let oldest = self.waiting.iter().position(|packet| packet.flow == flow)?;
        Some(self.waiting.remove(oldest).handle)
    }

    /// Packets and bytes of a larger rank than this: what a packet of this rank may push out.
    pub(super) fn worse_than(&self, rank: u64) -> (u32, u64) {
        let worse = self.waiting.iter().filter(|packet| packet.rank > rank);
        worse.fold((0, 0), |(packets, bytes), packet| (packets + 1, bytes + u64::from(packet.size)))
    }

    /// Takes the packet of the largest rank out, the newest among equals.
    pub(super) fn pop_worst(&mut self) -> Option<Handle> {
        let (at, _) = self.waiting.iter().enumerate().max_by_key(|(_, packet)| packet.rank)?;
        Some(self.waiting.remove(at).handle)
    }
}
