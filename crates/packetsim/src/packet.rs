//! A packet, as every switch sees it and every stack fills it.

use laxity_interface::{Ecn, Time};

use crate::flow::{FlowId, HostId};

/// Headers of a packet with payload: Ethernet 18, IP 20, TCP 20 bytes. Preamble and gap between
/// frames are not counted.
pub const HEADER: u32 = 58;
/// Payload that fits one packet of 1500 bytes of IP.
pub const PAYLOAD: u32 = 1460;
/// The largest packet on the wire.
pub const MTU: u32 = HEADER + PAYLOAD;
/// A packet without payload, and what is left of one that was cut to its header.
pub const CONTROL: u32 = 64;

/// One packet. Switches look at [`size`](Self::size), [`class`](Self::class), [`ecn`](Self::ecn),
/// [`flags`](Self::flags), [`rank`](Self::rank) and [`hash`](Self::hash); what the other fields mean
/// is up to the stack that wrote them.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Bytes on the wire, with all headers.
    pub size: u32,
    /// Who sent it.
    pub from: HostId,
    /// Who gets it.
    pub to: HostId,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Equal hashes take equal paths where switches choose by flow.
    pub hash: u32,
    /// Which stack of the receiving host takes it.
    pub stack: u8,
    /// Queue in strict priority: 0 leaves first.
    pub class: u8,
    /// Congestion marks.
    pub ecn: Ecn,
    /// What switches may do to it, and have done.
    pub flags: Flags,
    /// What kind of packet it is; the stack's own numbering.
    pub kind: u8,
    /// Place in queues that order by rank (pFabric): the smallest leaves first, the largest is
    /// dropped first.
    pub rank: u64,
    /// A number of the stack: often the first byte or the packet number.
    pub sequence: u64,
    /// Another number of the stack: often what is acknowledged.
    pub acknowledged: u64,
    /// Which bytes of its flow it carries, where that does not follow from its number: the first, and
    /// how many.
    pub part: (u32, u32),
    /// When it was sent, or what it echoes.
    pub stamp: Time,
    /// Bytes, for stacks that really write packets.
    pub body: Option<Box<[u8]>>,
}

/// What switches may do to a packet, and what they did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u8);

impl Flags {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// May be dropped early (Aeolus' unscheduled packets).
    pub const DROPPABLE: Self = Self(1);
    /// May be cut to its header when the queue is full.
    pub const TRIMMABLE: Self = Self(2);
    /// Was cut to its header.
    pub const TRIMMED: Self = Self(4);

    /// Whether all of `other` is set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// As a number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
