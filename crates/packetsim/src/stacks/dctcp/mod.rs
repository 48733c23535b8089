//! DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257), strong and plain.
//!
//! Connections are persistent: there is no handshake, and a flow is a byte stream of its own that
//! starts with the initial window in slow start, with a fresh estimate of marks and round trips. Where
//! messages come one by one, segments take what is ready (no Nagle), and a window that waited is kept.
//! Flows of one host take turns packet by packet; queues of a lower class go first. A receiver
//! acknowledges each packet (or every second) and echoes its mark exactly.

mod ack;
mod board;
mod config;
mod landing;
mod receiver;
mod sender;
mod table;
mod timers;
mod window;

use std::collections::VecDeque;

use laxity_interface::{Ecn, Time};
use rand_core::Rng;

use self::{
    ack::{ACK, ACK_MARKED, Ack, DATA, STOP},
    landing::Landing,
    receiver::Receiver,
    sender::{Fired, Sender},
    table::Table,
    timers::{Owner, Timers},
};
use crate::{
    flow::FlowId,
    packet::{CONTROL, Flags, HEADER, PAYLOAD, Packet},
    setup::QUEUES,
    stack::{Context, Stack, Tally},
    stacks::common::{Coming, Timers as Wakes},
};

pub use config::{Classes, DctcpConfig};

/// A place that is none: the flow has been received.
const RECEIVED: u32 = u32::MAX;

/// DCTCP on one host.
#[derive(Debug)]
pub struct Dctcp {
    config: DctcpConfig,
    senders: Slots<Sender>,
    sending: Table,
    receivers: Slots<Receiver>,
    receiving: Table,
    /// Senders that may send, in turn, per class.
    turns: [VecDeque<u32>; QUEUES],
    acks: VecDeque<Packet>,
    timers: Timers,
    /// When messages become ready that senders wait for.
    wakes: Wakes,
    tally: Tally,
    probes: u64,
}

/// Values in places that are used again.
#[derive(Debug)]
struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    const fn new() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }

    fn insert(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.values[place as usize] = Some(value);
            return place;
        }
        self.values.push(Some(value));
        self.values.len() as u32 - 1
    }

    #[inline]
    fn get(&mut self, place: u32) -> &mut T {
        self.values[place as usize].as_mut().expect("a value in its place")
    }

    fn remove(&mut self, place: u32) {
        self.values[place as usize] = None;
        self.free.push(place);
    }
}

impl Dctcp {
    /// A host without flows.
    pub fn new(config: DctcpConfig) -> Self {
        Self {
            config,
            senders: Slots::new(),
            sending: Table::default(),
            receivers: Slots::new(),
            receiving: Table::default(),
            turns: Default::default(),
            acks: VecDeque::new(),
            timers: Timers::default(),
            wakes: Wakes::default(),
            tally: Tally::default(),
            probes: 0,
        }
    }

    /// Tail-loss probes that were sent.
    pub fn probes(&self) -> u64 {
        self.probes
    }

    /// The moving average of marks of a flow that is being sent.
    pub fn alpha(&self, flow: FlowId) -> Option<f64> {
        let place = self.sending.get(flow)?;
        self.senders.values[place as usize].as_ref().map(|sender| sender.window.alpha())
    }

    /// Gives a sender its turn if it may send, and sees to its timer.
    #[inline]
    fn settle(&mut self, place: u32) {
        let sender = self.senders.get(place);
        if !sender.queued && sender.can_send() {
            sender.queued = true;
            self.turns[usize::from(sender.class).min(QUEUES - 1)].push_back(place);
        }
        self.timers.arm(Owner::Sender(sender.flow), sender.deadline, &mut sender.armed);
        self.wakes.set(sender.flow, sender.board.wake());
    }

    fn handle_ack(&mut self, packet: &Packet, cx: &Context<'_>) {
        let Some(place) = self.sending.get(packet.flow) else { return };
        let sender = self.senders.get(place);
        if packet.kind != STOP {
            let ack = Ack::decode(packet.sequence, packet.acknowledged);
            let echo = packet.kind == ACK_MARKED;
            sender.acknowledge(ack, echo, packet.stamp, cx.now, &self.config, cx.base_rtt);
            if !sender.board.is_done() {
                return self.settle(place);
            }
        }
        if sender.queued {
            let turns = &mut self.turns[usize::from(sender.class).min(QUEUES - 1)];
            turns.retain(|own| *own != place);
        }
        self.senders.remove(place);
        self.sending.remove(packet.flow);
        self.wakes.set(packet.flow, None);
        self.prune();
    }

    fn prune(&mut self) {
        let (sending, receiving) = (&self.sending, &self.receiving);
        self.timers.prune(|owner| match owner {
            Owner::Sender(flow) => sending.get(flow).is_none(),
            Owner::Receiver(flow) => receiving.get(flow).is_none_or(|place| place == RECEIVED),
        });
    }

    fn handle_data(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let place = match self.receiving.get(packet.flow) {
            Some(RECEIVED) => return self.answer(packet, STOP, (packet.sequence, 0), packet.stamp),
            Some(place) => place,
            None => {
                let flow = cx.flow(packet.flow);
                let messages = self.config.approx().messages(flow);
                let count = messages.count();
                // CORRECTNESS: at most all of them, and those are counted in 32 bits.
                let enough = match self.config.stop_when_enough {
                    true => flow.min_delivery.of(count.into()) as u32,
                    false => count,
                };
                // Segments whose number says nothing of their bytes have to be looked at.
                let gradual = flow.ready.is_gradual() && count > 0;
                let some = gradual || enough < count;
                let landing = some.then(|| Box::new(Landing::new(&messages, enough)));
                let segments = match gradual {
                    true => u32::MAX,
                    false => messages.total().div_ceil(PAYLOAD.into()).max(1) as u32,
                };
                let place = self.receivers.insert(Receiver::new(segments, landing));
                self.receiving.insert(packet.flow, place);
                place
            }
        };
        let receiver = self.receivers.get(place);
        let segment = packet.sequence as u32;
        let new = receiver.insert(segment);
        let mut enough = receiver.is_whole();
        if new && let Some(landing) = &mut receiver.landing {
            let flow = cx.flow(packet.flow);
            if flow.ready.is_gradual() {
                landing.insert_from(packet.part.0.into(), packet.part.1);
            } else {
                let start = u64::from(segment) * u64::from(PAYLOAD);
                let bytes = flow.messages.total() - start;
                landing.insert(segment, bytes.min(PAYLOAD.into()) as u32);
            }
            enough |= landing.is_enough();
        }
        if enough {
            let (delivered, bytes) = match &receiver.landing {
                Some(landing) => landing.arrived(),
                None => {
                    let messages = self.config.approx().messages(cx.flow(packet.flow));
                    (messages.count(), messages.total())
                }
            };
            cx.finish(packet.flow, delivered, bytes, false);
            self.receivers.remove(place);
            self.receiving.insert(packet.flow, RECEIVED);
            self.prune();
            return self.answer(packet, STOP, (packet.sequence, 0), packet.stamp);
        }
        let marked = packet.ecn == Ecn::Ce;
        if self.config.ack_every <= 1 {
            let kind = if marked { ACK_MARKED } else { ACK };
            let ack = receiver.ack(segment).encode();
            return self.answer(packet, kind, ack, packet.stamp);
        }
        self.delay_ack(packet, place, marked, cx.now);
    }

    /// Acknowledges every few packets, but at once when the mark changes or something is missing.
    fn delay_ack(&mut self, packet: &Packet, place: u32, marked: bool, now: Time) {
        let receiver = self.receivers.get(place);
        if receiver.unanswered > 0 && receiver.marked != marked {
            // RFC 8257, §3.2: first what came before the change, with the mark it had.
            let kind = if receiver.marked { ACK_MARKED } else { ACK };
            let (mut ack, stamp) = (receiver.ack(receiver.last), receiver.stamp);
            ack.next = ack.next.min(packet.sequence as u32);
            receiver.unanswered = 0;
            self.answer(packet, kind, ack.encode(), stamp);
        }
        let receiver = self.receivers.get(place);
        if receiver.unanswered == 0 {
            receiver.stamp = packet.stamp;
        }
        receiver.unanswered += 1;
        receiver.marked = marked;
        receiver.last = packet.sequence as u32;
        if receiver.unanswered >= self.config.ack_every || receiver.has_gaps() {
            let kind = if marked { ACK_MARKED } else { ACK };
            let (ack, stamp) = (receiver.ack(receiver.last), receiver.stamp);
            receiver.unanswered = 0;
            self.answer(packet, kind, ack.encode(), stamp);
        } else if receiver.unanswered == 1 {
            receiver.due = (now + self.config.ack_delay).as_ps();
            let mut armed = u64::MAX;
            self.timers.arm(Owner::Receiver(packet.flow), receiver.due, &mut armed);
        }
    }

    /// Sends an answer back to where a packet came from.
    #[inline]
    fn answer(&mut self, packet: &Packet, kind: u8, (sequence, ack): (u64, u64), stamp: Time) {
        self.acks.push_back(Packet {
            size: CONTROL,
            from: packet.to,
            to: packet.from,
            flow: packet.flow,
            hash: packet.hash,
            stack: packet.stack,
            class: 0,
            ecn: Ecn::NotEct,
            flags: Flags::NONE,
            kind,
            rank: 0,
            sequence,
            acknowledged: ack,
            part: (0, 0),
            stamp,
            body: None,
        });
    }

    fn handle_receiver_timeout(&mut self, id: FlowId, time: u64, cx: &Context<'_>) {
        let Some(place) = self.receiving.get(id).filter(|place| *place != RECEIVED) else {
            return;
        };
        let receiver = self.receivers.get(place);
        if receiver.unanswered == 0 || receiver.due != time {
            return;
        }
        receiver.unanswered = 0;
        let kind = if receiver.marked { ACK_MARKED } else { ACK };
        let (ack, stamp) = (receiver.ack(receiver.last), receiver.stamp);
        let flow = cx.flow(id);
        let mut packet = data_packet(id, flow.to, flow.stack);
        (packet.from, packet.to) = (flow.from, cx.host);
        self.answer(&packet, kind, ack.encode(), stamp);
    }

    fn handle_sender_timeout(&mut self, id: FlowId, time: u64, cx: &Context<'_>) {
        let Some(place) = self.sending.get(id) else { return };
        let sender = self.senders.get(place);
        if sender.armed != time {
            return;
        }
        sender.armed = u64::MAX;
        if sender.deadline <= cx.now.as_ps() {
            match sender.handle_timeout(cx.now, &self.config, cx.base_rtt) {
                Some(Fired::Timeout) => self.tally.timeouts += 1,
                Some(Fired::Probe) => self.probes += 1,
                None => {}
            }
        }
        self.settle(place);
    }
}

fn data_packet(flow: FlowId, to: crate::HostId, stack: u8) -> Packet {
    Packet {
        size: CONTROL,
        from: to,
        to,
        flow,
        hash: 0,
        stack,
        class: 0,
        ecn: Ecn::Ect0,
        flags: Flags::NONE,
        kind: DATA,
        rank: 0,
        sequence: 0,
        acknowledged: 0,
        part: (0, 0),
        stamp: Time::ZERO,
        body: None,
    }
}

impl Stack for Dctcp {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let hash = cx.rng.next_u32();
        let flow = cx.flow(id);
        let bytes = self.config.approx().messages(flow).total();
        let coming = Coming::new(flow, self.config.approx(), cx.now);
        let load = (bytes, coming);
        let sender = Sender::new(id, flow.to, flow.stack, hash, load, &self.config);
        let place = self.senders.insert(sender);
        self.sending.insert(id, place);
        self.settle(place);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match packet.kind {
            DATA => self.handle_data(&packet, cx),
            _ => self.handle_ack(&packet, cx),
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some((time, owner)) = self.timers.pop(cx.now.as_ps()) {
            match owner {
                Owner::Sender(flow) => self.handle_sender_timeout(flow, time, cx),
                Owner::Receiver(flow) => self.handle_receiver_timeout(flow, time, cx),
            }
        }
        while let Some(flow) = self.wakes.pop(cx.now) {
            if let Some(place) = self.sending.get(flow) {
                self.senders.get(place).board.advance(cx.now);
                self.settle(place);
            }
        }
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        if let Some(ack) = self.acks.pop_front() {
            self.tally.control_packets += 1;
            return Some(ack);
        }
        for class in 0..QUEUES {
            while let Some(place) = self.turns[class].pop_front() {
                let sender = self.senders.get(place);
                if !sender.can_send() {
                    sender.queued = false;
                    continue;
                }
                let (segment, again) = sender.send(cx.now, &self.config, cx.base_rtt);
                self.tally.data_packets += 1;
                self.tally.again += u64::from(again);
                let packet = Packet {
                    size: (sender.board.size(segment) + HEADER).max(CONTROL),
                    from: cx.host,
                    hash: sender.hash,
                    class: sender.class,
                    sequence: u64::from(segment),
                    part: sender.board.part(segment),
                    stamp: cx.now,
                    ..data_packet(sender.flow, sender.to, sender.stack)
                };
                sender.queued = sender.can_send();
                if sender.queued {
                    self.turns[class].push_back(place);
                }
                self.timers.arm(Owner::Sender(sender.flow), sender.deadline, &mut sender.armed);
                self.wakes.set(sender.flow, sender.board.wake());
                return Some(packet);
            }
        }
        None
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        let timer = self.timers.next().map(Time::from_ps);
        timer.into_iter().chain(self.wakes.next()).min()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
