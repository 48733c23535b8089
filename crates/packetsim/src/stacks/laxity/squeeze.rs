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

#[cfg(test)]
mod tests {
    use laxity_interface::{Dscp, Ecn};

    use super::*;

    #[test]
    fn a_batch_is_cut_where_its_packets_end() {
        let batch =
            Batch { head: (0..10).collect(), parts: vec![Part::Head(0..7), Part::Head(7..10)] };
        let to = ([10, 0, 0, 1], 1).into();
        let transmit = Transmit { to, ecn: Ecn::Ect0, dscp: Dscp::DEFAULT, segment: 4, total: 10 };
        let mut packets = Vec::new();
        squeeze(&batch, &transmit, |packet| packets.push(packet.bytes));
        assert_eq!(packets, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    }

    #[test]
    fn zeros_come_back_where_they_were() {
        let mut buffer = vec![9; 3];
        unsqueeze(&[1, 2, 3], (2, 4), &mut buffer);
        assert_eq!(buffer, [1, 2, 0, 0, 0, 0, 3]);
        unsqueeze(&[1, 2, 3], (0, 0), &mut buffer);
        assert_eq!(buffer, [1, 2, 3]);
    }
}
