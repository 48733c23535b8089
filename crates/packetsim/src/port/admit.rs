//! Who gets into a queue: limits, marks, selective dropping, trimming, pushing out.

use laxity_interface::Bytes;

use super::{Port, class_of};
use crate::{
    kernel::{Handle, List, Pool},
    packet::{CONTROL, Flags},
    setup::{QUEUES, QueueSetup},
};

/// A port's limits. What is not limited has the largest number.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(super) buffer: u64,
    pub(super) queues: [QueueLimits; QUEUES],
}

/// One queue's limits.
#[derive(Debug)]
pub(super) struct QueueLimits {
    bytes: u64,
    packets: u32,
    mark_bytes: u64,
    mark_packets: u32,
    droppable: u64,
    trim: bool,
}

impl From<&QueueSetup> for QueueLimits {
    fn from(setup: &QueueSetup) -> Self {
        let bytes = |limit: Option<Bytes>| limit.map_or(u64::MAX, Bytes::get);
        Self {
            bytes: bytes(setup.limit),
            packets: setup.limit_packets.unwrap_or(u32::MAX),
            mark_bytes: bytes(setup.mark_above),
            mark_packets: setup.mark_above_packets.unwrap_or(u32::MAX),
            droppable: bytes(setup.droppable_above),
            trim: setup.trim,
        }
    }
}

/// Why a packet was lost in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It did not fit.
    Full,
    /// It was there to be dropped first (Aeolus).
    Early,
}

/// What became of a packet that was offered to a port.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Admission {
    /// Why it was lost; it is queued otherwise.
    pub(crate) lost: Option<Loss>,
    /// Whether it was marked.
    pub(crate) marked: bool,
    /// Whether it was cut to its header.
    pub(crate) trimmed: bool,
    /// Packets that it pushed out of the queue.
    pub(crate) pushed_out: List,
}

/// Eight queues: the packet's own queue and the shared buffer decide.
#[inline]
pub(super) fn strict(
    port: &mut Port,
    limits: &Limits,
    pool: &mut Pool,
    handle: Handle,
) -> Admission {
    let packet = pool.get_mut(handle);
    let class = class_of(packet);
    let (queue, own) = (&port.queues[class], &limits.queues[class]);
    let waiting = u64::from(queue.bytes);
    let mut admission = Admission::default();
    if waiting > own.droppable && packet.flags.has(Flags::DROPPABLE) {
        admission.lost = Some(Loss::Early);
        return admission;
    }
    let size = u64::from(packet.size);
    let fits = waiting + size <= own.bytes
        && queue.packets < own.packets
        && port.bytes + size <= limits.buffer;
    if fits {
        if (waiting > own.mark_bytes || queue.packets > own.mark_packets) && packet.ecn.is_capable()
        {
            packet.ecn = packet.ecn.marked();
            admission.marked = true;
        }
    } else if own.trim && packet.flags.has(Flags::TRIMMABLE) && packet.size > CONTROL {
        let (first, headers) = (&port.queues[0], &limits.queues[0]);
        let size = u64::from(CONTROL);
        let fits = u64::from(first.bytes) + size <= headers.bytes
            && first.packets < headers.packets
            && port.bytes + size <= limits.buffer;
        if !fits {
            admission.lost = Some(Loss::Full);
            return admission;
        }
        packet.size = CONTROL;
        packet.class = 0;
        packet.flags = packet.flags.with(Flags::TRIMMED);
        packet.body = None;
        admission.trimmed = true;
    } else {
        admission.lost = Some(Loss::Full);
        return admission;
    }
    port.push(pool, handle);
    admission
}

/// One queue by rank: whoever has the largest rank makes room.
pub(super) fn ranked(
    port: &mut Port,
    limits: &Limits,
    pool: &mut Pool,
    handle: Handle,
) -> Admission {
    let own = &limits.queues[0];
    let (bytes, packets) = (port.bytes, port.packets);
    let packet = pool.get_mut(handle);
    let mut admission = Admission::default();
    if bytes > own.droppable && packet.flags.has(Flags::DROPPABLE) {
        admission.lost = Some(Loss::Early);
        return admission;
    }
    let (rank, size) = (packet.rank, u64::from(packet.size));
    let room = limits.buffer.min(own.bytes);
    let queue = port.ranked.as_mut().expect("a port by rank");
    let full = |bytes, packets| bytes + size > room || packets >= own.packets;
    if full(bytes, packets) {
        let (worse, worse_bytes) = queue.worse_than(rank);
        if full(bytes - worse_bytes, packets - worse) {
            admission.lost = Some(Loss::Full);
            return admission;
        }
    }
    let mut gone = List::default();
    while full(port.bytes, port.packets) {
        let worst = queue.pop_worst().expect("a packet of a larger rank");
        port.packets -= 1;
        port.bytes -= u64::from(pool.get(worst).size);
        pool.push(&mut gone, worst);
    }
    admission.pushed_out = gone;
    let packet = pool.get_mut(handle);
    if (bytes > own.mark_bytes || packets > own.mark_packets) && packet.ecn.is_capable() {
        packet.ecn = packet.ecn.marked();
        admission.marked = true;
    }
    port.push(pool, handle);
    admission
}
