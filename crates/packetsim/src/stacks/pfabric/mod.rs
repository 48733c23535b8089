//! pFabric's minimal transport (Alizadeh et al., SIGCOMM 2013, §4.3).
//!
//! Flows start at line rate with a window of one bandwidth-delay product. Packets carry the flow's
//! remaining size as their rank; switches do the rest. No fast retransmission: a fixed timeout of
//! three round trips, then slow start. After five timeouts in a row a flow only probes.
//!
//! The window is capped at what a port's buffer holds less one packet, as in the authors' scripts. A
//! host sends its flow with the least remaining first, as §4.3 asks of the host's own queue. Where
//! less than everything has to arrive, what remains is counted up to that point. The size of a flow is known
//! when it starts, also where its messages come one by one.

mod sender;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Bytes, Rate, Span, Time};

use self::sender::Sender;
use crate::{
    flow::FlowId,
    packet::{CONTROL, MTU, Packet},
    stack::{Context, Stack, Tally},
    stacks::{
        approx::Approx,
        common::{Arrivals, Cut, Outgoing, Timers, wire},
    },
};

const DATA: u8 = 0;
const ACK: u8 = 1;
/// An acknowledgement that says: enough.
const STOP: u8 = 2;
/// A packet of minimum size that asks for a sign of life.
const PROBE: u8 = 3;

/// Packets that fill the longest path once.
pub(crate) fn bandwidth_delay(line_rate: Rate, base_rtt: Span) -> u32 {
    (line_rate.bytes_in(base_rtt).get().div_ceil(u64::from(MTU)) as u32).max(1)
}

/// The round trip of the paper's fabric (§5.2).
const FABRIC_RTT: Span = Span::from_ns(14_600);

/// The buffer of a port: two bandwidth-delay products of the paper's fabric, 36 KB at 10 Gbit/s.
pub(crate) fn buffer(rate: Rate) -> Bytes {
    Bytes::new(2 * rate.bytes_in(FABRIC_RTT).get())
}

/// pFabric on one host.
#[derive(Debug)]
pub struct Pfabric {
    approx: Approx,
    sending: BTreeMap<FlowId, Sender>,
    /// Flows that may send, least remaining first.
    ready: BTreeSet<(u32, FlowId)>,
    receiving: BTreeMap<FlowId, Arrivals>,
    finished: BTreeSet<FlowId>,
    control: VecDeque<Packet>,
    timers: Timers,
    /// When messages become ready that flows wait for.
    wakes: Timers,
    tally: Tally,
}

impl Pfabric {
    /// Sends what `approx` says.
    pub fn new(approx: Approx) -> Self {
        Self {
            approx,
            sending: BTreeMap::new(),
            ready: BTreeSet::new(),
            receiving: BTreeMap::new(),
            finished: BTreeSet::new(),
            control: VecDeque::new(),
            timers: Timers::default(),
            wakes: Timers::default(),
            tally: Tally::default(),
        }
    }

    /// Puts a flow where it belongs after something changed.
    fn look_at(&mut self, id: FlowId) {
        let Some(sender) = self.sending.get_mut(&id) else { return };
        let place = sender.can_send().then(|| (sender.remaining(), id));
        if sender.place != place {
            if let Some(old) = sender.place {
                self.ready.remove(&old);
            }
            self.ready.extend(place);
            sender.place = place;
        }
        self.timers.set(id, sender.timer);
        self.wakes.set(id, sender.wake());
    }

    fn stop(&mut self, id: FlowId) {
        if let Some(place) = self.sending.remove(&id).and_then(|sender| sender.place) {
            self.ready.remove(&place);
        }
        self.timers.set(id, None);
        self.wakes.set(id, None);
    }

    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        let mut kind = STOP;
        if !self.finished.contains(&id) {
            let fresh = || Arrivals::new(Cut::new(cx.flow(id), self.approx));
            let arrivals = self.receiving.entry(id).or_insert_with(fresh);
            if packet.kind == DATA {
                arrivals.insert(packet.sequence as u32, packet.part);
            }
            if arrivals.enough() {
                let (messages, bytes) = (arrivals.messages(), arrivals.bytes());
                cx.finish(id, messages, bytes, false);
                self.receiving.remove(&id);
                self.finished.insert(id);
            } else {
                kind = ACK;
            }
        }
        let mut answer = wire::backward(id, cx.flow(id), cx.now, CONTROL, kind);
        // A probe is answered with a number that no packet has.
        answer.sequence = if packet.kind == DATA { packet.sequence } else { u64::MAX };
        self.tally.control_packets += 1;
        self.control.push_back(answer);
    }
}

impl Stack for Pfabric {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let outgoing = Outgoing::new(cx.flow(id), self.approx, cx.now);
        let window = bandwidth_delay(cx.line_rate, cx.base_rtt);
        self.sending.insert(id, Sender::new(outgoing, window, cx.base_rtt * 3));
        self.look_at(id);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match packet.kind {
            DATA | PROBE => self.receive(&packet, cx),
            STOP => self.stop(packet.flow),
            _ => {
                if let Some(sender) = self.sending.get_mut(&packet.flow) {
                    sender.handle_ack(packet.sequence, cx.now);
                }
                self.look_at(packet.flow);
            }
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some(id) = self.timers.pop(cx.now) {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            self.tally.timeouts += 1;
            if sender.handle_timeout(cx.now) {
                let flow = cx.flow(id);
                self.tally.control_packets += 1;
                self.control.push_back(wire::forward(id, flow, cx.now, CONTROL, PROBE));
            }
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
        if let Some(packet) = self.control.pop_front() {
            return Some(packet);
        }
        let &(remaining, id) = self.ready.first()?;
        let sender = self.sending.get_mut(&id).expect("ready flows are being sent");
        let departure = sender.take(cx.now).expect("ready flows have a packet");
        let size = wire::data_size(sender.payload(departure.packet));
        let mut packet = wire::forward(id, cx.flow(id), cx.now, size, DATA);
        packet.sequence = u64::from(departure.packet);
        packet.part = sender.part(departure.packet);
        packet.rank = u64::from(remaining);
        self.tally.data_packets += 1;
        self.tally.again += u64::from(departure.again);
        self.look_at(id);
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timers.next().into_iter().chain(self.wakes.next()).min()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
