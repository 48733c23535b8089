//! Packets under way, in one place: queues and links hold their numbers and chain them.

use crate::packet::Packet;

/// A packet's place in the pool.
pub(crate) type Handle = u32;

/// No packet.
pub(crate) const NONE: Handle = Handle::MAX;

/// All packets in queues and on links. Places are used again, so nothing is allocated once a
/// simulation has reached its largest number of packets under way.
#[derive(Debug)]
pub(crate) struct Pool {
    slots: Vec<Slot>,
    free: Handle,
    live: usize,
}

#[derive(Debug)]
struct Slot {
    /// When it arrives, while it is on a link.
    arrives: u64,
    /// Who is behind it in its queue, on its link, or among the free places.
    next: Handle,
    packet: Option<Packet>,
}

/// Packets one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    pub(crate) head: Handle,
    tail: Handle,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE, live: 0 }
    }
}

impl Pool {
    /// Takes a packet in.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> Handle {
        self.live += 1;
        if self.free == NONE {
            let handle = self.slots.len() as Handle;
            // CORRECTNESS: events name packets that are held back by their place.
            assert!(self.slots.len() < super::MOST_TARGETS, "more packets than events can name");
            self.slots.push(Slot { arrives: 0, next: NONE, packet: Some(packet) });
            return handle;
        }
        let handle = self.free;
        let slot = &mut self.slots[handle as usize];
        self.free = slot.next;
        slot.packet = Some(packet);
        handle
    }

    /// Gives a packet out; its place is free.
    #[inline]
    pub(crate) fn take(&mut self, handle: Handle) -> Packet {
        self.live -= 1;
        let slot = &mut self.slots[handle as usize];
        slot.next = self.free;
        self.free = handle;
        slot.packet.take().expect("a packet under way")
    }

    /// A packet.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> &Packet {
        self.slots[handle as usize].packet.as_ref().expect("a packet under way")
    }

    /// A packet, to be marked or trimmed.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut Packet {
        self.slots[handle as usize].packet.as_mut().expect("a packet under way")
    }

    /// When a packet on a link arrives.
    #[inline]
    pub(crate) fn arrives(&self, handle: Handle) -> u64 {
        self.slots[handle as usize].arrives
    }

    /// Says when a packet arrives.
    #[inline]
    pub(crate) fn set_arrives(&mut self, handle: Handle, time: u64) {
        self.slots[handle as usize].arrives = time;
    }

    /// How many packets are under way.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Puts a packet behind the others of a list.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, handle: Handle) {
        self.slots[handle as usize].next = NONE;
        match list.tail {
            NONE => list.head = handle,
            tail => self.slots[tail as usize].next = handle,
        }
        list.tail = handle;
    }

    /// Takes the first packet off a list.
    #[inline]
    pub(crate) fn pop(&self, list: &mut List) -> Option<Handle> {
        let head = list.head;
        if head == NONE {
            return None;
        }
        list.head = self.slots[head as usize].next;
        if list.head == NONE {
            list.tail = NONE;
        }
        Some(head)
    }
}
