//! UDP: every packet once, at line rate, and no answer.
//!
//! The receiver ends a flow when it has what was promised. If it never gets that, it gives up when
//! everything has had time to arrive: behind a flow's last packet the sender puts a farewell of minimum
//! size, and when that arrives the flow ends short. Data packets are flagged droppable and the scheme's
//! ports keep a few kilobytes that only farewells may use, so the farewell travels behind the data and
//! still survives. Should it get lost all the same (a broken link), a long silence ends the flow.
//! Flows of one host take turns, packet by packet. Where messages come one by one, a packet takes what is
//! ready, and the farewell follows the last.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Bytes, Time};

use crate::{
    flow::FlowId,
    packet::{CONTROL, Flags, Packet},
    stack::{Context, Stack, Tally},
    stacks::{
        approx::Approx,
        common::{Arrivals, Cut, Outgoing, Timers, wire},
    },
};

const DATA: u8 = 0;
const FAREWELL: u8 = 1;

/// What ports keep for farewells.
pub(crate) const RESERVE: Bytes = Bytes::new(6_000);
/// Round trips of silence after which a flow is over without a farewell.
const SILENCE: u64 = 1000;

/// UDP on one host.
#[derive(Debug, Default)]
pub struct Udp {
    /// Flows with something to send, in turns.
    sending: VecDeque<(FlowId, Sender)>,
    /// Flows whose next message is not ready.
    waiting: BTreeMap<FlowId, Sender>,
    wakes: Timers,
    receiving: BTreeMap<FlowId, Arrivals>,
    over: BTreeSet<FlowId>,
    timers: Timers,
    tally: Tally,
}

/// One flow on its way out.
#[derive(Debug)]
struct Sender {
    outgoing: Outgoing,
    /// Everything was sent but the farewell.
    over: bool,
}

impl Udp {
    /// Nothing to set.
    pub fn new() -> Self {
        Self::default()
    }

    fn end(&mut self, id: FlowId, cx: &mut Context<'_>) {
        if let Some(arrivals) = self.receiving.remove(&id) {
            let short = !arrivals.enough();
            cx.finish(id, arrivals.messages(), arrivals.bytes(), short);
        }
        self.over.insert(id);
        self.timers.set(id, None);
    }

    /// Puts a flow where it belongs after a packet, or when it begins.
    fn queue(&mut self, id: FlowId, mut sender: Sender) {
        sender.over = !sender.outgoing.has_next() && !sender.outgoing.expects_more();
        match sender.outgoing.wake() {
            Some(at) => {
                self.wakes.set(id, Some(at));
                self.waiting.insert(id, sender);
            }
            None => self.sending.push_back((id, sender)),
        }
    }
}

impl Stack for Udp {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let outgoing = Outgoing::new(cx.flow(id), Approx::EarlySend, cx.now);
        self.queue(id, Sender { outgoing, over: false });
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        if self.over.contains(&id) {
            return;
        }
        let fresh = || Arrivals::new(Cut::new(cx.flow(id), Approx::EarlySend));
        let arrivals = self.receiving.entry(id).or_insert_with(fresh);
        if packet.kind == DATA {
            arrivals.insert(packet.sequence as u32, packet.part);
        }
        if arrivals.enough() || packet.kind == FAREWELL {
            self.end(id, cx);
        } else {
            self.timers.set(id, Some(cx.now + cx.base_rtt * SILENCE));
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some(id) = self.timers.pop(cx.now) {
            self.end(id, cx);
        }
        while let Some(id) = self.wakes.pop(cx.now) {
            if let Some(mut sender) = self.waiting.remove(&id) {
                sender.outgoing.advance(cx.now);
                self.queue(id, sender);
            }
        }
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        let (id, mut sender) = self.sending.pop_front()?;
        let flow = cx.flow(id);
        if sender.over {
            self.tally.control_packets += 1;
            return Some(wire::forward(id, flow, cx.now, CONTROL, FAREWELL));
        }
        let next = sender.outgoing.take(cx.now).expect("who has a turn has a packet").packet;
        let size = wire::data_size(sender.outgoing.payload(next));
        let mut packet = wire::forward(id, flow, cx.now, size, DATA);
        packet.sequence = u64::from(next);
        packet.part = sender.outgoing.part(next);
        packet.flags = Flags::DROPPABLE;
        self.tally.data_packets += 1;
        self.queue(id, sender);
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timers.next().into_iter().chain(self.wakes.next()).min()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
