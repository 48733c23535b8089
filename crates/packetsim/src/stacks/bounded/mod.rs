//! The simplified bounded-loss protocol of seed paper 001 (Xia et al., APNet 2019, §3.1).
//!
//! DCTCP's rate control with an initial window of ten packets. All data is sent once, in order. §3 has
//! two rules for losses: those that are quickly detected (three later packets arrived) are repaired;
//! those that only a retransmission timer would reveal are directly discarded. No order, only the
//! amount counts: a flow ends when the promised fraction of its bytes is there, whichever they are.
//! (`Done::delivered` still counts whole messages.)
//!
//! The paper leaves two things open. How long a sender hears nothing before it discards what is out:
//! here the wait of a tail-loss probe, about two round trips, because nothing is lost by discarding too
//! early. And what happens when everything was sent and too little has arrived: here what was
//! discarded is sent again then, so that the promise is kept; each such silence counts as a timeout.
//! After a silence the window is that of a TCP after its timeout, and the next wait doubles.

mod window;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Ecn, Span, Time};

use self::window::{Arrival, Window};
use crate::{
    flow::FlowId,
    packet::{CONTROL, Packet},
    stack::{Context, Stack, Tally},
    stacks::{
        approx::Approx,
        common::{Arrivals, Cut, Outgoing, Rtt, Timers, wire},
    },
};

const DATA: u8 = 0;
const ACK: u8 = 1;
/// An acknowledgement of a packet that was marked.
const MARKED: u8 = 2;
const STOP: u8 = 3;

/// Later packets that reveal a loss.
const DISTANCE: u64 = 3;
/// The wait doubles at most so many times.
const MOST_BACKOFF: u32 = 10;

/// The protocol on one host.
#[derive(Debug, Default)]
pub struct Bounded {
    sending: BTreeMap<FlowId, Sender>,
    /// Flows that may send, in turns.
    ready: VecDeque<FlowId>,
    receiving: BTreeMap<FlowId, Receiver>,
    finished: BTreeSet<FlowId>,
    control: VecDeque<Packet>,
    timers: Timers,
    /// When messages become ready that flows wait for.
    wakes: Timers,
    tally: Tally,
}

#[derive(Debug)]
struct Sender {
    outgoing: Outgoing,
    window: Window,
    rtt: Rtt,
    /// Silences in a row.
    silences: u32,
    next: u64,
    queued: bool,
}

#[derive(Debug)]
struct Receiver {
    arrivals: Arrivals,
    /// Bytes still missing.
    missing: u64,
}

impl Sender {
    fn can_send(&self) -> bool {
        self.outgoing.has_next() && self.outgoing.out() < self.window.packets()
    }

    /// When silence is long enough to discard what is out.
    fn patience(&self, cx: &Context<'_>) -> Time {
        cx.now + self.rtt.probe(cx.base_rtt, Span::ZERO) * (1 << self.silences.min(MOST_BACKOFF))
    }
}

impl Bounded {
    /// Nothing to set.
    pub fn new() -> Self {
        Self::default()
    }

    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        let mut kind = STOP;
        if !self.finished.contains(&id) {
            let receiver = self.receiving.entry(id).or_insert_with(|| {
                let flow = cx.flow(id);
                let missing = flow.min_delivery.of(flow.messages.total());
                Receiver { arrivals: Arrivals::new(Cut::new(flow, Approx::Whole)), missing }
            });
            let sequence = packet.sequence as u32;
            if receiver.arrivals.insert(sequence, packet.part) {
                let payload = u64::from(receiver.arrivals.payload(sequence, packet.part));
                receiver.missing = receiver.missing.saturating_sub(payload);
            }
            if receiver.missing == 0 {
                let (messages, bytes) = (receiver.arrivals.messages(), receiver.arrivals.bytes());
                cx.finish(id, messages, bytes, false);
                self.receiving.remove(&id);
                self.finished.insert(id);
            } else {
                kind = if packet.ecn == Ecn::Ce { MARKED } else { ACK };
            }
        }
        let mut answer = wire::backward(id, cx.flow(id), cx.now, CONTROL, kind);
        (answer.sequence, answer.acknowledged) = (packet.sequence, packet.acknowledged);
        answer.stamp = packet.stamp;
        self.tally.control_packets += 1;
        self.control.push_back(answer);
    }

    fn look_at(&mut self, id: FlowId) {
        let Some(sender) = self.sending.get_mut(&id) else { return };
        if sender.can_send() && !std::mem::replace(&mut sender.queued, true) {
            self.ready.push_back(id);
        }
        self.wakes.set(id, sender.outgoing.wake());
    }
}

impl Stack for Bounded {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let outgoing = Outgoing::new(cx.flow(id), Approx::Whole, cx.now);
        let (window, rtt) = (Window::new(), Rtt::new());
        let sender = Sender { outgoing, window, rtt, silences: 0, next: 0, queued: false };
        self.sending.insert(id, sender);
        self.look_at(id);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        match packet.kind {
            DATA => return self.receive(&packet, cx),
            STOP => {
                self.sending.remove(&id);
                self.wakes.set(id, None);
                return self.timers.set(id, None);
            }
            _ => {}
        }
        let Some(sender) = self.sending.get_mut(&id) else { return };
        let (number, next, out) = (packet.acknowledged, sender.next, sender.outgoing.out());
        sender.rtt.sample(cx.now.since(packet.stamp));
        sender.silences = 0;
        if sender.outgoing.acknowledge(packet.sequence as u32) {
            let marked = packet.kind == MARKED;
            sender.window.handle_ack(Arrival { marked, number, next, out });
        }
        if sender.outgoing.book().hear(number, DISTANCE) > 0 {
            sender.window.handle_loss(number, next);
        }
        let patience = sender.patience(cx);
        self.timers.set(id, Some(patience));
        self.look_at(id);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some(id) = self.timers.pop(cx.now) {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            if sender.outgoing.out() > 0 {
                self.tally.timeouts += u64::from(!sender.outgoing.book().has_fresh());
                sender.outgoing.book().pass_over_all();
                sender.window.handle_silence(sender.next);
                sender.silences += 1;
            }
            self.look_at(id);
        }
        while let Some(id) = self.wakes.pop(cx.now) {
            if let Some(sender) = self.sending.get_mut(&id) {
                sender.outgoing.advance(cx.now);
            }
            self.look_at(id);
        }
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        if let Some(packet) = self.control.pop_front() {
            return Some(packet);
        }
        while let Some(id) = self.ready.pop_front() {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            sender.queued = false;
            if !sender.can_send() {
                continue;
            }
            let Some(departure) = sender.outgoing.take(cx.now) else { continue };
            sender.next = departure.number + 1;
            let patience = sender.patience(cx);
            self.timers.set(id, Some(patience));
            let size = wire::data_size(sender.outgoing.payload(departure.packet));
            let mut packet = wire::forward(id, cx.flow(id), cx.now, size, DATA);
            packet.sequence = u64::from(departure.packet);
            packet.acknowledged = departure.number;
            packet.part = sender.outgoing.part(departure.packet);
            packet.ecn = Ecn::Ect0;
            self.tally.data_packets += 1;
            self.tally.again += u64::from(departure.again);
            self.look_at(id);
            return Some(packet);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timers.next().into_iter().chain(self.wakes.next()).min()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
