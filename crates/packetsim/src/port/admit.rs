//! Who gets into a queue: limits, marks, selective dropping, trimming, pushing out.

use laxity_interface::Bytes;

use super::Port;
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

/// What is free of the memory that ports share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Bytes that nobody has.
    pub(crate) free: u64,
    /// Bytes that one queue may hold.
    pub(crate) queue: u64,
}

impl Room {
    /// Where ports share nothing.
    pub(crate) const ANY: Self = Self { free: u64::MAX, queue: u64::MAX };
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
    room: Room,
    pool: &mut Pool,
    handle: Handle,
) -> Admission {
    let label = pool.label(handle);
    let class = port.queue_of(label.class);
    let (queue, own) = (&port.queues[class], &limits.queues[class]);
    let waiting = u64::from(queue.bytes);
    if waiting > own.droppable && label.flags.has(Flags::DROPPABLE) {
        return Admission::lost(Loss::Early);
    }
    let mut admission = Admission::default();
    if port.fits(limits, room, class, label.size) {
        if waiting > own.mark_bytes || queue.packets > own.mark_packets {
            admission.marked = pool.mark(handle);
        }
    } else if own.trim
        && label.flags.has(Flags::TRIMMABLE)
        && label.size > CONTROL
        && port.fits(limits, room, 0, CONTROL)
    {
        pool.trim(handle);
        admission.trimmed = true;
    } else {
        return Admission::lost(Loss::Full);
    }
    port.push(pool, handle);
    admission
}

impl Admission {
    fn lost(loss: Loss) -> Self {
        Self { lost: Some(loss), ..Self::default() }
    }
}

impl Port {
    /// Whether so many bytes fit into a queue, into the buffer and into what is free of a shared one.
    #[inline]
    fn fits(&self, limits: &Limits, room: Room, class: usize, size: u32) -> bool {
        let (queue, own) = (&self.queues[class], &limits.queues[class]);
        u64::from(queue.bytes) + u64::from(size) <= own.bytes.min(room.queue)
            && queue.packets < own.packets
            && self.bytes + u64::from(size) <= limits.buffer
            && u64::from(size) <= room.free
    }
}

/// One queue by rank: whoever has the largest rank makes room.
pub(super) fn ranked(
    port: &mut Port,
    limits: &Limits,
    room: Room,
    pool: &mut Pool,
    handle: Handle,
) -> Admission {
    let own = &limits.queues[0];
    let (bytes, packets) = (port.bytes, port.packets);
    let packet = pool.get(handle);
    if bytes > own.droppable && packet.flags.has(Flags::DROPPABLE) {
        return Admission::lost(Loss::Early);
    }
    let (rank, size) = (packet.rank, u64::from(packet.size));
    // What this port holds it may push out: only what the others hold is out of reach.
    let within = room.free.saturating_add(bytes).min(room.queue);
    let room = limits.buffer.min(own.bytes).min(within);
    let queue = port.ranked.as_mut().expect("a port by rank");
    let full = |bytes, packets| bytes + size > room || packets >= own.packets;
    if full(bytes, packets) {
        let (worse, worse_bytes) = queue.worse_than(rank);
        if full(bytes - worse_bytes, packets - worse) {
            return Admission::lost(Loss::Full);
        }
    }
    let mut admission = Admission::default();
    while full(port.bytes, port.packets) {
        let worst = queue.pop_worst().expect("a packet of a larger rank");
        port.packets -= 1;
        port.bytes -= u64::from(pool.label(worst).size);
        pool.push(&mut admission.pushed_out, worst);
    }
    if bytes > own.mark_bytes || packets > own.mark_packets {
        admission.marked = pool.mark(handle);
    }
    port.push(pool, handle);
    admission
}
