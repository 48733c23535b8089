//! Packets of the simulated transports: their sizes and how they are filled.

use laxity_interface::{Ecn, Time};

use crate::{
    flow::{Flow, FlowId, HostId},
    packet::{CONTROL, Flags, HEADER, Packet},
    random::mix,
};

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
        hash: mix(u64::from(flow.0)) as u32,
        stack,
        class: 0,
        ecn: Ecn::NotEct,
        flags: Flags::NONE,
        kind,
        rank: 0,
        sequence: 0,
        acknowledged: 0,
        part: (0, 0),
        stamp,
        body: None,
    }
}

/// Bytes on the wire of a data packet with this much payload.
pub(crate) fn data_size(payload: u32) -> u32 {
    (payload + HEADER).max(CONTROL)
}
