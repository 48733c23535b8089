//! What a simulated network is made of: its shape, its ports, its faults.

use laxity_interface::{Bytes, Layout};
use laxity_topology::Topology;

use crate::{
    fault::Fault,
    packet::{MTU, PAYLOAD},
};

/// Queues of a port.
pub const QUEUES: usize = 8;

/// A network and how it treats packets.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Hosts, switches and links. At most 65535 hosts.
    pub topology: Topology,
    /// How switches choose among equal paths.
    pub routing: Routing,
    /// The output ports of all switches.
    pub switch: PortSetup,
    /// What all ports of a switch share, beside the limits that each has. Without, each has its own
    /// buffer.
    pub memory: Option<SharedMemory>,
    /// The interfaces of all hosts.
    pub nic: NicSetup,
    /// What goes wrong, and when.
    pub faults: Vec<Fault>,
    /// All chance comes from here.
    pub seed: u64,
}

/// How switches choose among equal paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Routing {
    /// By [`Packet::hash`](crate::Packet::hash): all packets of a flow take one path.
    #[default]
    Ecmp,
    /// Anew for every packet.
    Spray,
}

/// Memory that all ports of a switch share, with dynamic thresholds as most datacenter switches have
/// them (Choudhury and Hahne, IEEE/ACM ToN 1998): a queue may hold at most `share` times what is free
/// at that moment. With n queues full, each holds share / (1 + n · share) of the total, and the rest
/// stays free for others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedMemory {
    /// What may wait in a switch.
    pub total: Bytes,
    /// The factor, often called alpha; above 0.
    pub share: f64,
}

/// An output port of a switch. Only what waits counts towards its limits and thresholds: the packet
/// on the wire has left the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSetup {
    /// Who leaves first, who is dropped.
    pub discipline: Discipline,
    /// What may wait at one port, in all of its queues together.
    pub buffer: Bytes,
    /// The queues, by [`Packet::class`](crate::Packet::class). A port that orders by rank has one
    /// queue and takes its setup from the first of these.
    pub queues: [QueueSetup; QUEUES],
}

/// One queue of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueSetup {
    /// What may wait in it; without, only the port's buffer limits it.
    pub limit: Option<Bytes>,
    /// How many packets may wait in it.
    pub limit_packets: Option<u32>,
    /// A packet that finds more than this waiting is marked (ECN), if its sender understands marks.
    pub mark_above: Option<Bytes>,
    /// The same, counted in packets.
    pub mark_above_packets: Option<u32>,
    /// A packet that may be dropped early ([`Flags::DROPPABLE`](crate::Flags::DROPPABLE)) and finds
    /// more than this waiting is dropped: the selective dropping of Aeolus (SIGCOMM 2020, §3.3).
    pub droppable_above: Option<Bytes>,
    /// A packet that does not fit and may be trimmed ([`Flags::TRIMMABLE`](crate::Flags::TRIMMABLE))
    /// is cut to its header, which goes to queue 0 (NDP, SIGCOMM 2017, §3.1).
    pub trim: bool,
}

/// Who leaves a port first, and who is dropped when it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discipline {
    /// Eight first-in-first-out queues; the lowest number leaves first; what does not fit is lost.
    #[default]
    Strict,
    /// One first-in-first-out queue, set up as the first of the eight; classes mean nothing.
    Single,
    /// pFabric (SIGCOMM 2013, §4.2): the packet of the smallest rank names the flow, the oldest
    /// packet of that flow leaves; when the buffer is full, the largest rank is lost.
    Ranked,
}

/// The interface of a host: strict priority, a short queue that is filled from the host's stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicSetup {
    /// Stacks are asked for packets while fewer than this wait. At least 1.
    pub queue_packets: u32,
}

impl Default for NicSetup {
    fn default() -> Self {
        Self { queue_packets: 1 }
    }
}

impl Setup {
    /// This network with equal-cost paths by flow, interfaces that hold one packet ready, and no
    /// faults.
    pub fn new(topology: Topology, switch: PortSetup, seed: u64) -> Self {
        let (routing, nic) = (Routing::Ecmp, NicSetup::default());
        Self { topology, routing, switch, memory: None, nic, faults: Vec::new(), seed }
    }
}

impl PortSetup {
    /// The layout of this name; queues that mark do so above some packets.
    pub fn named(layout: Layout, buffer: Bytes, mark_above_packets: u32) -> Self {
        let shared = Self::fifo_packets(buffer, Some(mark_above_packets));
        match layout {
            Layout::Single => Self { discipline: Discipline::Single, ..shared },
            Layout::Shared => shared,
            Layout::Slack => Self::slack(buffer, mark_above_packets),
        }
    }

    /// Strict priority, all queues alike: the buffer limits, and each marks above `mark_above`.
    pub fn fifo(buffer: Bytes, mark_above: Option<Bytes>) -> Self {
        let queue = QueueSetup { mark_above, ..QueueSetup::default() };
        Self { discipline: Discipline::Strict, buffer, queues: [queue; QUEUES] }
    }

    /// The same with a threshold counted in packets.
    pub fn fifo_packets(buffer: Bytes, mark_above_packets: Option<u32>) -> Self {
        let queue = QueueSetup { mark_above_packets, ..QueueSetup::default() };
        Self { discipline: Discipline::Strict, buffer, queues: [queue; QUEUES] }
    }

    /// NetApprox's layout (§5): queue 0 for exact traffic marks above some packets and has what is
    /// left of the buffer; queues 1 to 7 hold 7, 6, … 1 full packets and lose what does not fit.
    pub fn slack(buffer: Bytes, mark_above_packets: u32) -> Self {
        let mut port = Self::fifo(buffer, None);
        port.queues[0].mark_above_packets = Some(mark_above_packets);
        for (at, queue) in port.queues.iter_mut().enumerate().skip(1) {
            queue.limit = Some(Bytes::new(u64::from(MTU)) * (QUEUES - at) as u64);
        }
        port
    }

    /// pFabric's port.
    pub fn ranked(buffer: Bytes) -> Self {
        Self { discipline: Discipline::Ranked, ..Self::fifo(buffer, None) }
    }

    /// NDP's port: queues behind the first hold a few packets and trim what does not fit. Headers
    /// and control packets wait in queue 0.
    pub fn trimming(buffer: Bytes, limit_packets: u32) -> Self {
        let mut port = Self::fifo(buffer, None);
        for queue in &mut port.queues[1..] {
            queue.limit_packets = Some(limit_packets);
            queue.trim = true;
        }
        port
    }

    /// The same port with selective dropping in all of its queues (Aeolus).
    #[must_use]
    pub fn with_droppable_above(mut self, threshold: Bytes) -> Self {
        for queue in &mut self.queues {
            queue.droppable_above = Some(threshold);
        }
        self
    }
}

/// Why a network cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// An interface that holds no packet ready could not keep its line busy.
    #[error("the queue of the interfaces holds 0 packets: give at least 1")]
    NoNicQueue,
    /// Nothing could ever wait.
    #[error("a queue may take {share} times the memory that is free: give a number above 0")]
    BadShare {
        /// The factor.
        share: f64,
    },
    /// A host has no link.
    #[error("host `{host}` has no link: connect it to a switch or another host")]
    Unconnected {
        /// Its name.
        host: String,
    },
    /// More links or stacks than events can name.
    #[error("{count} {what} are too many: at most {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A fault names a link that is not there.
    #[error("fault {fault} is on link {link}, but there are {links} links")]
    NoSuchLink {
        /// Which fault, by position.
        fault: usize,
        /// The link's number.
        link: u32,
        /// How many links there are.
        links: usize,
    },
}

/// Sizes on the wire of the packets that carry so many bytes of payload, full ones first.
pub fn packet_sizes(payload: u64) -> impl Iterator<Item = u32> {
    let full = payload / u64::from(PAYLOAD);
    let rest = (payload % u64::from(PAYLOAD)) as u32;
    let last = (rest > 0).then_some(rest + MTU - PAYLOAD);
    std::iter::repeat_n(MTU, full as usize).chain(last)
}
