//! UDP: every packet once, at line rate, and no answer.
//!
//! The receiver ends a flow when it has what was promised. If it never gets that, it gives up when
//! everything has had time to arrive: behind a flow's last packet the sender puts a farewell of minimum
//! size, and when that arrives the flow ends short. Data packets are flagged droppable and the scheme's
//! ports keep a few kilobytes that only farewells may use, so the farewell travels behind the data and
//! still survives. Should it get lost all the same (a broken link), a long silence ends the flow.
//! Flows of one host take turns, packet by packet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Bytes, Time};

use crate::{
    flow::FlowId,
    packet::{CONTROL, Flags, Packet},
    stack::{Context, Stack, Tally},
    stacks::{
        approx::Approx,
        common::{Arrivals, Cut, Timers, wire},
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
    sending: VecDeque<(FlowId, Cut, u32)>,
    receiving: BTreeMap<FlowId, Arrivals>,
    over: BTreeSet<FlowId>,
    timers: Timers,
    tally: Tally,
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
}

impl Stack for Udp {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        self.sending.push_back((id, Cut::new(cx.flow(id), Approx::EarlySend), 0));
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        if self.over.contains(&id) {
            return;
        }
        let fresh = || Arrivals::new(Cut::new(cx.flow(id), Approx::EarlySend));
        let arrivals = self.receiving.entry(id).or_insert_with(fresh);
        if packet.kind == DATA {
            arrivals.insert(packet.sequence as u32);
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
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        let (id, cut, next) = self.sending.pop_front()?;
        let flow = cx.flow(id);
        if next == cut.packets() {
            self.tally.control_packets += 1;
            return Some(wire::forward(id, flow, cx.now, CONTROL, FAREWELL));
        }
        let size = wire::data_size(cut.payload(next));
        let mut packet = wire::forward(id, flow, cx.now, size, DATA);
        packet.sequence = u64::from(next);
        packet.flags = Flags::DROPPABLE;
        self.tally.data_packets += 1;
        self.sending.push_back((id, cut, next + 1));
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
