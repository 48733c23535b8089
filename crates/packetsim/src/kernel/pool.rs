//! Packets under way, in one place: queues and links hold their numbers and chain them.

use laxity_interface::Ecn;

use crate::packet::{CONTROL, Flags, Packet};

/// A packet's place in the pool.
pub(crate) type Handle = u32;

/// No packet.
pub(crate) const NONE: Handle = Handle::MAX;

/// All packets in queues and on links. Places are used again, so nothing is allocated once a
/// simulation has reached its largest number of packets under way.
#[derive(Debug)]
pub(crate) struct Pool {
    labels: Vec<Label>,
    packets: Vec<Option<Packet>>,
    free: Handle,
    live: usize,
}

/// What a network looks at at every hop: two labels share a cache line, a whole packet would fill
/// one and a half. They are written when a packet comes in and change only here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label {
    /// When it arrives, while it is on a link.
    arrives: u64,
    /// Flow and sequence, for the hash of the trace.
    pub(crate) identity: u64,
    /// Who is behind it in its queue, on its link, or among the free places.
    next: Handle,
    /// Bytes on the wire.
    pub(crate) size: u32,
    /// Equal hashes take equal paths.
    pub(crate) hash: u32,
    /// The host that gets it.
    pub(crate) to: u16,
    /// Its queue.
    pub(crate) class: u8,
    /// What may be done to it.
    pub(crate) flags: Flags,
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
        Self { labels: Vec::new(), packets: Vec::new(), free: NONE, live: 0 }
    }
}

impl Pool {
    /// Takes a packet in.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> Handle {
        let label = Label {
            arrives: 0,
            identity: packet.sequence ^ u64::from(packet.flow.0) << 32,
            next: NONE,
            size: packet.size,
            hash: packet.hash,
            to: packet.to.0,
            class: packet.class,
            flags: packet.flags,
        };
        self.live += 1;
        if self.free == NONE {
            let handle = self.labels.len() as Handle;
            // CORRECTNESS: events name packets that are held back by their place.
            assert!(self.labels.len() < super::MOST_TARGETS, "more packets than events can name");
            self.labels.push(label);
            self.packets.push(Some(packet));
            return handle;
        }
        let handle = self.free;
        let own = &mut self.labels[handle as usize];
        self.free = own.next;
        *own = label;
        self.packets[handle as usize] = Some(packet);
        handle
    }

    /// Gives a packet out; its place is free.
    #[inline]
    pub(crate) fn take(&mut self, handle: Handle) -> Packet {
        self.live -= 1;
        self.labels[handle as usize].next = self.free;
        self.free = handle;
        self.packets[handle as usize].take().expect("a packet under way")
    }

    /// What a network looks at.
    #[inline]
    pub(crate) fn label(&self, handle: Handle) -> &Label {
        &self.labels[handle as usize]
    }

    /// Looks at a packet and the one behind it, so that both are in the cache; what it answers is of
    /// no use but to make sure that it does.
    #[inline]
    pub(crate) fn touch(&self, handle: Handle) -> u64 {
        let Some(label) = self.labels.get(handle as usize) else { return 0 };
        self.labels.get(label.next as usize).map_or(0, |next| next.arrives)
    }

    /// A packet, for observers and for queues by rank.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> &Packet {
        self.packets[handle as usize].as_ref().expect("a packet under way")
    }

    /// Marks a packet; false if its sender does not understand marks.
    pub(crate) fn mark(&mut self, handle: Handle) -> bool {
        let packet = self.packets[handle as usize].as_mut().expect("a packet under way");
        packet.ecn = packet.ecn.marked();
        if packet.ecn == Ecn::Ce {
            // The trace tells marked packets from others.
            self.labels[handle as usize].identity |= 1 << 63;
        }
        packet.ecn == Ecn::Ce
    }

    /// Cuts a packet to its header.
    pub(crate) fn trim(&mut self, handle: Handle) {
        let packet = self.packets[handle as usize].as_mut().expect("a packet under way");
        packet.size = CONTROL;
        packet.class = 0;
        packet.flags = packet.flags.with(Flags::TRIMMED);
        packet.body = None;
        let label = &mut self.labels[handle as usize];
        (label.size, label.class, label.flags) = (packet.size, packet.class, packet.flags);
    }

    /// When a packet on a link arrives.
    #[inline]
    pub(crate) fn arrives(&self, handle: Handle) -> u64 {
        self.labels[handle as usize].arrives
    }

    /// Says when a packet arrives.
    #[inline]
    pub(crate) fn set_arrives(&mut self, handle: Handle, time: u64) {
        self.labels[handle as usize].arrives = time;
    }

    /// How many packets are under way.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Puts a packet behind the others of a list.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, handle: Handle) {
        self.labels[handle as usize].next = NONE;
        match list.tail {
            NONE => list.head = handle,
            tail => self.labels[tail as usize].next = handle,
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
        list.head = self.labels[head as usize].next;
        if list.head == NONE {
            list.tail = NONE;
        }
        Some(head)
    }
}
