//! NDP (Handley et al., SIGCOMM 2017).
//!
//! A sender pushes one bandwidth-delay product at line rate. Switches with eight-packet queues cut
//! what does not fit to its header, and the headers leave first. The receiver answers whole packets
//! with an ACK, headers with a NACK, and pulls one packet for each from a queue that it shares fairly
//! among its flows and empties at line rate. Packets are spread over all paths.
//!
//! Where messages come one by one the receiver pulls a packet for each that came, and pulls that find
//! nothing to send are kept: what is allowed and what is under way stay one window.
//!
//! Two details of the paper are not modelled. Switches always cut the arriving packet (the paper tosses
//! a coin between it and the last one in the queue), and a header that does not fit either is dropped
//! and recovered by the timeout instead of being returned to its sender.

mod pulls;
mod sender;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Bytes, Time};

use self::{
    pulls::Pulls,
    sender::{RTO_ROUND_TRIPS, Sender},
};
use crate::{
    flow::FlowId,
    packet::{CONTROL, Flags, MTU, Packet},
    stack::{Context, Stack, Tally},
    stacks::{
        approx::Approx,
        common::{Arrivals, Cut, Outgoing, Timers, wire},
        pfabric::bandwidth_delay,
    },
};

const DATA: u8 = 0;
const ACK: u8 = 1;
const NACK: u8 = 2;
const PULL: u8 = 3;
const STOP: u8 = 4;

/// Whole packets that wait at a port at most.
pub(crate) const QUEUE: u32 = 8;
/// The class of whole packets; headers and answers are in class 0.
pub(crate) const DATA_CLASS: u8 = 1;

/// NDP on one host.
#[derive(Debug)]
pub struct Ndp {
    approx: Approx,
    sending: BTreeMap<FlowId, Sender>,
    /// Flows that may send, in turns.
    ready: VecDeque<FlowId>,
    receiving: BTreeMap<FlowId, Receiver>,
    finished: BTreeSet<FlowId>,
    pulls: Pulls,
    control: VecDeque<Packet>,
    timers: Timers,
    /// When messages become ready that flows wait for.
    wakes: Timers,
    /// When packets were asked for last.
    now: Time,
    tally: Tally,
}

#[derive(Debug)]
struct Receiver {
    arrivals: Arrivals,
    /// Packets that the sender was allowed to send: the first window and the pulls, with those in the
    /// queue.
    granted: u32,
    /// Packets and headers that came.
    came: u32,
}

impl Receiver {
    /// Whether another pull is of use: something is missing that is not under way.
    fn wants_pull(&self) -> bool {
        // Who does not know how many packets there will be pulls one for each: what the sender may send
        // and what is under way are one window together.
        let under_way = self.granted.saturating_sub(self.came);
        self.arrivals.missing().is_none_or(|missing| missing > under_way)
    }
}

impl Ndp {
    /// Sends what `approx` says.
    pub fn new(approx: Approx) -> Self {
        Self {
            approx,
            sending: BTreeMap::new(),
            ready: VecDeque::new(),
            receiving: BTreeMap::new(),
            finished: BTreeSet::new(),
            pulls: Pulls::default(),
            control: VecDeque::new(),
            timers: Timers::default(),
            wakes: Timers::default(),
            now: Time::ZERO,
            tally: Tally::default(),
        }
    }

    fn answer(&mut self, id: FlowId, kind: u8, sequence: u64, cx: &Context<'_>) {
        let mut answer = wire::backward(id, cx.flow(id), cx.now, CONTROL, kind);
        answer.sequence = sequence;
        self.tally.control_packets += 1;
        self.control.push_back(answer);
    }

    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        if self.finished.contains(&id) {
            return self.answer(id, STOP, 0, cx);
        }
        let window = bandwidth_delay(cx.line_rate, cx.base_rtt);
        let fresh = || {
            let cut = Cut::new(cx.flow(id), self.approx);
            let arrivals = Arrivals::new(cut);
            let granted = arrivals.missing().map_or(window, |packets| window.min(packets));
            Receiver { arrivals, granted, came: 0 }
        };
        let receiver = self.receiving.entry(id).or_insert_with(fresh);
        receiver.came += 1;
        let cut = packet.flags.has(Flags::TRIMMED);
        if !cut {
            receiver.arrivals.insert(packet.sequence as u32, packet.part);
        }
        if receiver.arrivals.enough() {
            let (messages, bytes) = (receiver.arrivals.messages(), receiver.arrivals.bytes());
            cx.finish(id, messages, bytes, false);
            self.receiving.remove(&id);
            self.finished.insert(id);
            self.pulls.forget(id);
            return self.answer(id, STOP, 0, cx);
        }
        if receiver.wants_pull() {
            receiver.granted += 1;
            self.pulls.add(id);
        }
        self.answer(id, if cut { NACK } else { ACK }, packet.sequence, cx);
    }

    /// Puts a flow where it belongs after something changed.
    fn look_at(&mut self, id: FlowId) {
        let Some(sender) = self.sending.get_mut(&id) else { return };
        if sender.can_send() && !std::mem::replace(&mut sender.queued, true) {
            self.ready.push_back(id);
        }
        self.timers.set(id, sender.timer);
        self.wakes.set(id, sender.wake());
    }
}

impl Stack for Ndp {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let outgoing = Outgoing::new(cx.flow(id), self.approx, cx.now);
        let window = bandwidth_delay(cx.line_rate, cx.base_rtt);
        self.sending.insert(id, Sender::new(outgoing, window, cx.base_rtt * RTO_ROUND_TRIPS));
        self.look_at(id);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        if packet.kind == DATA {
            return self.receive(&packet, cx);
        }
        if packet.kind == STOP {
            self.sending.remove(&id);
            self.wakes.set(id, None);
            return self.timers.set(id, None);
        }
        let Some(sender) = self.sending.get_mut(&id) else { return };
        match packet.kind {
            ACK => sender.handle_ack(packet.sequence as u32, cx.now),
            NACK => sender.handle_nack(packet.sequence as u32, cx.now),
            _ => sender.handle_pull(packet.sequence),
        }
        self.look_at(id);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.now = cx.now;
        while let Some(id) = self.timers.pop(cx.now) {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            self.tally.timeouts += 1;
            sender.handle_timeout(cx.now);
            self.look_at(id);
        }
        while let Some(id) = self.wakes.pop(cx.now) {
            if let Some(sender) = self.sending.get_mut(&id) {
                sender.advance(cx.now);
            }
            self.look_at(id);
        }
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        self.now = cx.now;
        if let Some(packet) = self.control.pop_front() {
            return Some(packet);
        }
        let interval = cx.line_rate.time_for(Bytes::new(u64::from(MTU)));
        if let Some((id, number)) = self.pulls.take(cx.now, interval) {
            let mut pull = wire::backward(id, cx.flow(id), cx.now, CONTROL, PULL);
            pull.sequence = number;
            self.tally.control_packets += 1;
            return Some(pull);
        }
        while let Some(id) = self.ready.pop_front() {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            sender.queued = false;
            let Some(departure) = sender.take(cx.now) else { continue };
            let size = wire::data_size(sender.payload(departure.packet));
            let mut packet = wire::forward(id, cx.flow(id), cx.now, size, DATA);
            packet.sequence = u64::from(departure.packet);
            packet.part = sender.part(departure.packet);
            packet.class = DATA_CLASS;
            packet.flags = Flags::TRIMMABLE;
            self.tally.data_packets += 1;
            self.tally.again += u64::from(departure.again);
            self.look_at(id);
            return Some(packet);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        // A pull whose time has come waits for the interface, which asks by itself.
        let pull = self.pulls.next().filter(|at| *at > self.now);
        [self.timers.next(), self.wakes.next(), pull].into_iter().flatten().min()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
