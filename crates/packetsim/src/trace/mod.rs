//! What can be watched while packets move: every event for an observer, and a hash of all of them.

mod hash;
mod json;
mod pcap;

use laxity_interface::Time;
use laxity_topology::LinkId;

use crate::{
    flow::{Done, Flow, FlowId, HostId},
    packet::Packet,
};

pub(crate) use hash::TraceHash;
pub use json::JsonLines;
pub use pcap::Pcap;

/// Sees everything that happens, in order.
pub trait Observer {
    /// Something happened.
    fn on_event(&mut self, time: Time, event: &TraceEvent<'_>);
}

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceEvent<'a> {
    /// A flow started.
    Started {
        /// Its number.
        id: FlowId,
        /// What it sends.
        flow: &'a Flow,
    },
    /// A flow ended.
    Finished {
        /// How.
        done: &'a Done,
    },
    /// A packet left a queue and is on the line.
    Sent {
        /// Which line.
        link: LinkId,
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet was marked as it was queued.
    Marked {
        /// For which line.
        link: LinkId,
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet was cut to its header as it was queued.
    Trimmed {
        /// For which line.
        link: LinkId,
        /// What is left of it.
        packet: &'a Packet,
    },
    /// A packet was lost.
    Dropped {
        /// At or on which line; unknown without a route.
        link: Option<LinkId>,
        /// Why.
        why: DropReason,
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet reached its host.
    Delivered {
        /// The host.
        host: HostId,
        /// The packet.
        packet: &'a Packet,
    },
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DropReason {
    /// Its queue or the port's buffer was full.
    Full,
    /// It may be dropped early, and the queue was longer than its threshold.
    Early,
    /// A packet of a smaller rank took its place.
    PushedOut,
    /// A fault.
    Fault,
    /// No path of links that are up leads to its host.
    NoRoute,
}

impl DropReason {
    /// For people and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Early => "early",
            Self::PushedOut => "pushed-out",
            Self::Fault => "fault",
            Self::NoRoute => "no-route",
        }
    }
}
