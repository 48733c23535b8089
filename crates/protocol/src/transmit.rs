//! What goes out: batches of packets to one peer, with payload left where it lies.

use std::{net::SocketAddr, ops::Range};

use laxity_interface::{Dscp, Ecn};

use crate::ids::SendId;

/// Bytes of a job's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyRef {
    /// Which job.
    pub job: SendId,
    /// Which message, in the order handed in; 0 for tensors.
    pub message: u64,
    /// First byte inside the message or tensor.
    pub offset: u64,
    /// How many.
    pub length: usize,
}

/// Whoever owns the payload of jobs being sent.
pub trait Memory {
    /// The bytes meant. Asked only for jobs that are under way.
    fn bytes(&self, body: &BodyRef) -> &[u8];
}

/// A piece of a batch: bytes of the batch's own buffer, or payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A range of [`Batch::head`].
    Head(Range<usize>),
    /// Payload, to be gathered from the application's memory.
    Body(BodyRef),
}

/// One or more packets of equal size to one peer (the last may be shorter), as UDP GSO wants them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// ECN field of all packets.
    pub ecn: Ecn,
    /// Code point of all packets.
    pub dscp: Dscp,
    /// Bytes of each packet but the last.
    pub segment: usize,
    /// Bytes of all packets together.
    pub total: usize,
}

/// The largest batch in bytes: what one UDP GSO call takes.
pub const MAX_BATCH: usize = 65_504;
/// The most packets in a batch.
pub const MAX_SEGMENTS: usize = 64;

/// Buffers for one batch, reused from call to call.
#[derive(Debug, Default)]
pub struct Batch {
    /// Headers, control packets, encrypted payload.
    pub head: Vec<u8>,
    /// The packets' bytes in order.
    pub parts: Vec<Part>,
}

impl Batch {
    /// Empties it.
    pub fn clear(&mut self) {
        self.head.clear();
        self.parts.clear();
    }

    /// Appends `head[from..]` to the parts, joined with what is before it where possible.
    pub(crate) fn push_head(&mut self, from: usize) {
        let end = self.head.len();
        match self.parts.last_mut() {
            Some(Part::Head(range)) if range.end == from => range.end = end,
            _ => self.parts.push(Part::Head(from..end)),
        }
    }

    /// The packets of `transmit` as separate byte strings, for drivers that cannot gather.
    pub fn packets(&self, transmit: &Transmit, memory: &impl Memory) -> Vec<Vec<u8>> {
        let mut bytes = Vec::with_capacity(transmit.total);
        for part in &self.parts {
            match part {
                Part::Head(range) => bytes.extend_from_slice(&self.head[range.clone()]),
                Part::Body(body) => bytes.extend_from_slice(memory.bytes(body)),
            }
        }
        bytes.chunks(transmit.segment).map(<[u8]>::to_vec).collect()
    }
}
