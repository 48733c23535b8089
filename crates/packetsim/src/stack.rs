//! The transport of a host: what it sees, what it is asked.

use std::fmt;

use laxity_interface::{Rate, Span, Time};
use rand_pcg::Pcg64Mcg;

use crate::{
    flow::{Done, Flow, FlowId, HostId},
    packet::Packet,
};

/// What a stack may look at and say while it is called.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time.
    pub now: Time,
    /// The host that the stack runs on.
    pub host: HostId,
    /// Speed of the host's interface.
    pub line_rate: Rate,
    /// Round trip of a full packet and its answer between the two hosts that are farthest apart,
    /// in an empty network.
    pub base_rtt: Span,
    /// All flows that were started so far, by number, with their start.
    pub(crate) flows: &'a [(Time, Flow)],
    /// The host's randomness.
    pub rng: &'a mut Pcg64Mcg,
    /// Ends that were reported.
    pub(crate) done: &'a mut Vec<Done>,
}

impl Context<'_> {
    /// A flow that was started.
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn flow(&self, id: FlowId) -> &Flow {
        &self.flows[id.index()].1
    }

    /// When a flow was started.
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn started(&self, id: FlowId) -> Time {
        self.flows[id.index()].0
    }

    /// Reports the end of a flow. The receiving host calls this, once.
    pub fn finish(&mut self, id: FlowId, delivered: u32, bytes: u64, short: bool) {
        self.finish_without(id, delivered, bytes, short, Vec::new());
    }

    /// As [`finish`](Self::finish), by a stack that knows which messages are missing.
    pub fn finish_without(
        &mut self,
        id: FlowId,
        delivered: u32,
        bytes: u64,
        short: bool,
        missing: Vec<(u32, u32)>,
    ) {
        let (started, flow) = &self.flows[id.index()];
        self.done.push(Done {
            flow: id,
            tag: flow.tag,
            started: *started,
            finished: self.now,
            delivered,
            messages: flow.messages.count(),
            bytes,
            short,
            missing,
        });
    }
}

/// A transport on one host: all flows of one scheme that the host sends and receives.
///
/// Calls come in this order: any `handle_*`; then [`poll_packet`](Self::poll_packet) while the
/// host's interface has room; then [`poll_timeout`](Self::poll_timeout). When the interface has room
/// again, `poll_packet` is called anew.
pub trait Stack: fmt::Debug + Send {
    /// A flow of this host starts.
    fn handle_start(&mut self, flow: FlowId, cx: &mut Context<'_>);

    /// A packet arrived.
    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>);

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, cx: &mut Context<'_>);

    /// The next packet to send now.
    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet>;

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; may change with every call.
    fn poll_timeout(&self) -> Option<Time>;

    /// Counters.
    fn tally(&self) -> Tally;
}

/// What a stack did, over all its flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Packets with payload that were sent.
    pub data_packets: u64,
    /// Of those, sent before and sent again.
    pub again: u64,
    /// Packets without payload that were sent.
    pub control_packets: u64,
    /// Times that a timeout of last resort ran out.
    pub timeouts: u64,
    /// Credits that found nothing to send, or no room at the sender.
    pub wasted_credits: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.data_packets += other.data_packets;
        self.again += other.again;
        self.control_packets += other.control_packets;
        self.timeouts += other.timeouts;
        self.wasted_credits += other.wasted_credits;
    }
}
