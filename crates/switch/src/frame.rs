//! Ethernet frames, and what a switch reads in them.

use std::fmt;

use laxity_interface::{Bytes, Dscp, Ecn};

use crate::ids::HostId;

/// A hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The address of the n-th host of a lab, from 0: locally administered, 02:00:00:00:00:01 on.
    pub const fn of_host(number: u16) -> Self {
        let [high, low] = number.wrapping_add(1).to_be_bytes();
        Self([2, 0, 0, 0, high, low])
    }

    /// Whether it means several hosts. Multicast counts as broadcast, as in any simple switch.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

const ETHERNET: usize = 14;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;

/// What kind of header follows the Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payload {
    Ipv4,
    Ipv6,
    Other,
}

/// An Ethernet frame without its check sequence, and what was read in it.
///
/// Made by [`Fabric::frame`](crate::Fabric::frame), which reuses buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    bytes: Vec<u8>,
    payload: Payload,
    dscp: Dscp,
    ecn: Ecn,
    flow: u64,
    note: u32,
    /// Where it goes; none means everywhere. Set by the fabric.
    pub(crate) to: Option<HostId>,
    /// Where it came from. Set by the fabric.
    pub(crate) from: HostId,
}

impl Frame {
    /// Reads a frame. Whatever is not an IP packet counts as ordinary traffic without marks.
    pub fn new(bytes: Vec<u8>) -> Self {
        let (payload, tos) = match ethertype(&bytes) {
            TYPE_IPV4 if bytes.len() >= ETHERNET + 20 => (Payload::Ipv4, bytes[ETHERNET + 1]),
            TYPE_IPV6 if bytes.len() >= ETHERNET + 40 => {
                (Payload::Ipv6, bytes[ETHERNET] << 4 | bytes[ETHERNET + 1] >> 4)
            }
            _ => (Payload::Other, 0),
        };
        let flow = flow(&bytes, payload);
        let (dscp, ecn) = (Dscp::from_tos(tos), Ecn::from_bits(tos));
        Self { bytes, payload, dscp, ecn, flow, note: 0, to: None, from: HostId::new(0) }
    }

    /// Adds a number that travels with the frame and means nothing to the switch: what a driver wants
    /// to know again when the frame comes out.
    #[must_use]
    pub const fn with_note(mut self, note: u32) -> Self {
        self.note = note;
        self
    }

    /// The driver's number; 0 if it gave none.
    pub const fn note(&self) -> u32 {
        self.note
    }

    /// The frame as it goes out.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes it has, Ethernet header included.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.bytes.len() as u64)
    }

    /// The hardware address that it is for; zeros if the frame is too short for one.
    pub fn destination(&self) -> MacAddress {
        MacAddress(self.bytes.first_chunk().copied().unwrap_or_default())
    }

    /// The queue it asks for.
    pub const fn dscp(&self) -> Dscp {
        self.dscp
    }

    /// Its congestion notification field.
    pub const fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// The same for all frames of a flow: of addresses, protocol and ports.
    pub const fn flow(&self) -> u64 {
        self.flow
    }

    /// Marks it as having met congestion; whether that changed anything.
    pub(crate) fn mark(&mut self) -> bool {
        if self.ecn.marked() == self.ecn {
            return false;
        }
        self.ecn = Ecn::Ce;
        match self.payload {
            Payload::Ipv4 => mark_ipv4(&mut self.bytes[ETHERNET..]),
            // The traffic class lies across two bytes; its low two bits are the high half's end.
            Payload::Ipv6 => self.bytes[ETHERNET + 1] |= Ecn::Ce.to_bits() << 4,
            Payload::Other => unreachable!("only IP packets understand marks"),
        }
        true
    }

    /// The buffer, to be used again.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn copy_into(&self, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&self.bytes);
        Self { bytes: buffer, ..*self }
    }
}

/// Sets CE and repairs the header's checksum (RFC 1624, equation 3).
fn mark_ipv4(header: &mut [u8]) {
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= Ecn::Ce.to_bits();
    let new = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn ethertype(bytes: &[u8]) -> u16 {
    match bytes {
        [_, _, _, _, _, _, _, _, _, _, _, _, high, low, ..] => u16::from_be_bytes([*high, *low]),
        _ => 0,
    }
}

/// A number for addresses, protocol and ports; fragments have no ports.
fn flow(bytes: &[u8], payload: Payload) -> u64 {
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4).map_or([0; 4], |word| word.try_into().expect("4 bytes"));
        u64::from(u32::from_be_bytes(bytes))
    };
    let (protocol, ports, addresses) = match payload {
        Payload::Ipv4 => {
            let options = usize::from(bytes[ETHERNET] & 0x0f) * 4;
            let fragment = (bytes[ETHERNET + 6] & 0x3f) | bytes[ETHERNET + 7];
            let ports = if fragment == 0 { word(ETHERNET + options) } else { 0 };
            (bytes[ETHERNET + 9], ports, ETHERNET + 12..ETHERNET + 20)
        }
        Payload::Ipv6 => (bytes[ETHERNET + 6], word(ETHERNET + 40), ETHERNET + 8..ETHERNET + 40),
        Payload::Other => (0, 0, 0..bytes.len().min(12)),
    };
    let ports = if matches!(protocol, 6 | 17) { ports } else { 0 };
    let start = scramble(ports << 8 | u64::from(protocol));
    addresses.step_by(4).fold(start, |hash, at| scramble(hash ^ word(at)))
}

/// One step of SplitMix64: every output bit depends on every input bit.
pub(crate) const fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv6(traffic_class: u8, port: u8) -> Vec<u8> {
        let mut bytes = vec![0; 100];
        bytes[12..14].copy_from_slice(&TYPE_IPV6.to_be_bytes());
        bytes[14] = 0x60 | traffic_class >> 4;
        bytes[15] = traffic_class << 4 | 0x0a;
        bytes[20] = 17;
        bytes[55] = port;
        bytes
    }

    #[test]
    fn ipv6_has_a_traffic_class_across_two_bytes() {
        for class in 0..=255u8 {
            let mut frame = Frame::new(ipv6(class, 0));
            assert_eq!(frame.dscp().with_ecn(frame.ecn()), class);
            let changed = frame.mark();
            assert_eq!(changed, matches!(class & 3, 1 | 2));
            let marked = if changed { class | 3 } else { class };
            assert_eq!(frame.bytes(), ipv6(marked, 0), "nothing else changes");
        }
    }

    #[test]
    fn ports_are_part_of_a_flow_and_marks_are_not() {
        let flow = |bytes| Frame::new(bytes).flow();
        assert_ne!(flow(ipv6(0, 1)), flow(ipv6(0, 2)));
        assert_eq!(flow(ipv6(0, 1)), flow(ipv6(3, 1)));
    }

    #[test]
    fn fragments_of_a_packet_stay_together() {
        let fragment = |offset: u16, ports: u8| {
            let mut bytes = vec![0; 60];
            bytes[12..14].copy_from_slice(&TYPE_IPV4.to_be_bytes());
            bytes[14] = 0x45;
            bytes[20..22].copy_from_slice(&offset.to_be_bytes());
            bytes[23] = 17;
            bytes[34] = ports;
            Frame::new(bytes).flow()
        };
        // The first has ports and "more fragments", the second payload where ports would be.
        assert_eq!(fragment(0x2000, 1), fragment(0x00b9, 2));
        assert_ne!(fragment(0x4000, 1), fragment(0x4000, 2), "\"do not fragment\" is no fragment");
    }

    #[test]
    fn short_and_strange_frames_are_ordinary_traffic() {
        for length in 0..60 {
            for kind in [TYPE_IPV4, TYPE_IPV6, 0x0806] {
                let mut bytes = vec![0xff; length];
                if length >= 14 {
                    bytes[12..14].copy_from_slice(&kind.to_be_bytes());
                }
                let mut frame = Frame::new(bytes);
                frame.mark();
                assert_eq!(frame.size().get(), length as u64);
            }
        }
    }

    #[test]
    fn addresses_of_hosts() {
        assert_eq!(MacAddress::of_host(0).to_string(), "02:00:00:00:00:01");
        assert_eq!(MacAddress::of_host(299).to_string(), "02:00:00:00:01:2c");
    }
}
