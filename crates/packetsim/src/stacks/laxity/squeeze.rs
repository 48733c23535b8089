//! Datagrams without their payload: all payload is zeros, so it is left out on the way.

use laxity_protocol::{Batch, Part, Transmit};

/// A datagram whose longest run of payload is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Squeezed {
    /// What is left.
    pub(super) bytes: Vec<u8>,
    /// Where zeros are missing, and how many.
    pub(super) hole: (usize, usize),
}

impl Squeezed {
    pub(super) fn length(&self) -> usize {
        self.bytes.len() + self.hole.1
    }
}

/// The datagrams of a batch.
pub(super) fn squeeze(batch: &Batch, transmit: &Transmit, mut out: impl FnMut(Squeezed)) {
    let mut packet = Squeezed::default();
    for part in &batch.parts {
        match part {
            Part::Head(range) => {
                let mut rest = &batch.head[range.clone()];
                while !rest.is_empty() {
                    let (now, later) =
                        rest.split_at(rest.len().min(transmit.segment - packet.length()));
                    packet.bytes.extend_from_slice(now);
                    rest = later;
                    if packet.length() == transmit.segment {
                        out(std::mem::take(&mut packet));
                    }
                }
            }
            Part::Body(body) => {
                if packet.hole.1 == 0 {
                    packet.hole = (packet.bytes.len(), body.length);
                } else {
                    packet.bytes.resize(packet.bytes.len() + body.length, 0);
                }
                if packet.length() == transmit.segment {
                    out(std::mem::take(&mut packet));
                }
            }
        }
    }
    if packet.length() > 0 {
        out(packet);
    }
}

/// The datagram as it was, in `buffer`.
pub(super) fn unsqueeze(bytes: &[u8], hole: (usize, usize), buffer: &mut Vec<u8>) {
    let (before, after) = bytes.split_at(hole.0.min(bytes.len()));
    buffer.clear();
    buffer.extend_from_slice(before);
    buffer.resize(before.len() + hole.1, 0);
    buffer.extend_from_slice(after);
}
