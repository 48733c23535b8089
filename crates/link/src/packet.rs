//! What a link knows about a packet.

use laxity_interface::{Bytes, Dscp, Ecn};

/// What Ethernet, IPv4 and UDP add to a datagram on the wire: preamble, header, checksum and gap
/// (38 bytes), 20 and 8.
pub const ETHERNET_IPV4_UDP: Bytes = Bytes::new(66);

/// Everything about a packet but its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketInfo {
    /// Its size, without what the link adds to each packet.
    pub size: Bytes,
    /// How many packets were handed to this link before it; set by the link.
    pub sequence: u64,
    /// Its congestion notification field.
    pub ecn: Ecn,
    /// The queue it asks for. A link has one queue and only shows this to the rules.
    pub dscp: Dscp,
}

impl PacketInfo {
    /// A packet of this size that does not understand marks.
    pub const fn new(size: Bytes) -> Self {
        Self { size, sequence: 0, ecn: Ecn::NotEct, dscp: Dscp::DEFAULT }
    }

    /// The same packet with this congestion notification field.
    #[must_use]
    pub const fn with_ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    /// The same packet with this code point.
    #[must_use]
    pub const fn with_dscp(mut self, dscp: Dscp) -> Self {
        self.dscp = dscp;
        self
    }
}

/// Damages a payload as told by [`Delivery::corrupt`](crate::Delivery::corrupt): flips one to eight
/// bits of one byte, chosen by `random`.
///
/// All in one byte, so that no flip can undo another. An empty payload stays as it is.
pub fn flip_bits(payload: &mut [u8], random: u64) {
    if payload.is_empty() {
        return;
    }
    let place = (random >> 8) % payload.len() as u64;
    let mask = (random as u8).max(1);
    payload[place as usize] ^= mask;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn exactly_one_byte_changes(original: Vec<u8>, random: u64) {
            let mut payload = original.clone();
            flip_bits(&mut payload, random);
            let changed = original.iter().zip(&payload).filter(|(a, b)| a != b).count();
            prop_assert_eq!(changed, usize::from(!original.is_empty()));
            flip_bits(&mut payload, random);
            prop_assert_eq!(payload, original);
        }
    }

    #[test]
    fn the_same_number_does_the_same_damage() {
        let mut payload = [0u8; 4];
        flip_bits(&mut payload, 0x0000_0000_0000_0281);
        assert_eq!(payload, [0, 0, 0x81, 0]);
    }
}
