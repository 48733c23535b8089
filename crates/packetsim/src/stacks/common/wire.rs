//! Packets of the simulated transports: their sizes and how they are filled.

use laxity_interface::{Ecn, Time};

use crate::{
    flow::{Flow, FlowId, HostId},
    packet::{Flags, Packet},
};

/// Payload of a full packet: 1500 bytes of IP less IP and TCP headers.
pub(crate) const PAYLOAD: u32 = 1460;
/// Headers of a data packet: Ethernet 18, IP 20, TCP 20.
pub(crate) const HEADER: u32 = 58;
/// A packet without payload.
pub(crate) const CONTROL: u32 = 64;
/// A full packet on the wire.
pub(crate) const FULL: u32 = PAYLOAD + HEADER;

/// A number with the bits of `value` well mixed: equal-cost paths are chosen by it.
pub(crate) fn mix(value: u64) -> u32 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 16) as u32
}

/// A packet of `flow` in the direction of its data.
pub(crate) fn forward(id: FlowId, flow: &Flow, now: Time, size: u32, kind: u8) -> Packet {
    packet(id, (flow.from, flow.to), flow.stack, now, size, kind)
}

/// A packet of `flow` against the direction of its data.
pub(crate) fn backward(id: FlowId, flow: &Flow, now: Time, size: u32, kind: u8) -> Packet {
    packet(id, (flow.to, flow.from), flow.stack, now, size, kind)
}

fn packet(
    flow: FlowId,
    (from, to): (HostId, HostId),
    stack: u8,
    stamp: Time,
    size: u32,
    kind: u8,
) -> Packet {
    Packet {
        size,
        from,
        to,
        flow,
        hash: mix(u64::from(flow.0)),
        stack,
        class: 0,
        ecn: Ecn::NotEct,
        flags: Flags::NONE,
        kind,
        rank: 0,
        sequence: 0,
        acknowledged: 0,
        stamp,
        body: None,
    }
}

/// Bytes on the wire of a data packet with this much payload.
pub(crate) fn data_size(payload: u32) -> u32 {
    (payload + HEADER).max(CONTROL)
}
