//! Aeolus (Hu et al., SIGCOMM 2020) over credits in the manner of ExpressPass (Cho et al., SIGCOMM
//! 2017).
//!
//! In its first round trip a flow sends one bandwidth-delay product at line rate, unscheduled: switches
//! drop these packets as soon as a few kilobytes wait. A probe follows that is not dropped; its answer
//! settles which of them arrived, together with an acknowledgement for each. Everything else needs a
//! credit, one packet each: known losses first, then new data, then what is not acknowledged yet.
//! Receivers send credits at a rate that follows the credits lost (credit feedback control).
//!
//! ExpressPass limits credits at every port of every switch. The simulator's ports have no limits of
//! rate, so credits are limited where they leave (a receiver's credits together claim its line once,
//! eight wait, others are lost) and where they arrive (a sender keeps eight that wait for its line,
//! others are lost). That is what the first and the last port would do; links in the middle of an
//! oversubscribed network are not protected, and there queues can build up.

mod credits;
mod sender;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Bytes, Span, Time};
use rand_core::Rng;

use self::{
    credits::Credits,
    sender::{Sender, Spend},
};
use crate::{
    flow::FlowId,
    packet::{CONTROL, Flags, MTU, Packet},
    stack::{Context, Stack, Tally},
    stacks::{
        approx::Approx,
        common::{Arrivals, Cut, Timers, wire},
        pfabric::bandwidth_delay,
    },
};

/// Unscheduled data.
const UNSCHEDULED: u8 = 0;
/// Data that used a credit.
const SCHEDULED: u8 = 1;
/// The same, and the sender needs no more credits.
const LAST: u8 = 2;
const REQUEST: u8 = 3;
const PROBE: u8 = 4;
const PROBE_ANSWER: u8 = 5;
const ACK: u8 = 6;
const CREDIT: u8 = 7;
const STOP: u8 = 8;
/// No more credits are needed, although the flow is not over.
const CREDIT_STOP: u8 = 9;

/// The class of data; requests, credits and answers are in class 0.
const DATA_CLASS: u8 = 1;
/// Unscheduled packets are dropped when more than this waits (Aeolus §5.1: 6 KB).
pub(crate) const THRESHOLD: Bytes = Bytes::new(6_000);
/// Credits that wait where they are limited (ExpressPass §3.1).
const CREDIT_QUEUE: usize = 8;
/// Round trips of silence after which a sender asks again.
const PATIENCE: u64 = 32;

/// Aeolus on one host.
#[derive(Debug)]
pub struct Aeolus {
    approx: Approx,
    sending: BTreeMap<FlowId, Sender>,
    /// Flows with unscheduled packets to send, in turns.
    bursting: VecDeque<FlowId>,
    /// Credits that arrived and wait for the line: whose, number, when it left.
    earned: VecDeque<(FlowId, u64, Time)>,
    receiving: BTreeMap<FlowId, Receiver>,
    finished: BTreeSet<FlowId>,
    /// Credits that wait to leave, and when the next may.
    leaving: VecDeque<(FlowId, u64)>,
    next_credit: Time,
    control: VecDeque<Packet>,
    /// Of flows being sent: silence. Of flows being received: the next credit.
    silence: Timers,
    pace: Timers,
    now: Time,
    wasted: u64,
    tally: Tally,
}

#[derive(Debug)]
struct Receiver {
    arrivals: Arrivals,
    credits: Credits,
}

impl Aeolus {
    /// Sends what `approx` says.
    pub fn new(approx: Approx) -> Self {
        Self {
            approx,
            sending: BTreeMap::new(),
            bursting: VecDeque::new(),
            earned: VecDeque::new(),
            receiving: BTreeMap::new(),
            finished: BTreeSet::new(),
            leaving: VecDeque::new(),
            next_credit: Time::ZERO,
            control: VecDeque::new(),
            silence: Timers::default(),
            pace: Timers::default(),
            now: Time::ZERO,
            wasted: 0,
            tally: Tally::default(),
        }
    }

    /// Credits that found nothing to send, or no room at the sender.
    pub fn wasted_credits(&self) -> u64 {
        self.wasted
    }

    fn say(&mut self, id: FlowId, kind: u8, sequence: u64, cx: &Context<'_>) {
        let flow = cx.flow(id);
        let mut packet = match kind {
            REQUEST | PROBE | CREDIT_STOP => wire::forward(id, flow, cx.now, CONTROL, kind),
            _ => wire::backward(id, flow, cx.now, CONTROL, kind),
        };
        packet.sequence = sequence;
        self.tally.control_packets += 1;
        self.control.push_back(packet);
    }

    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        if self.finished.contains(&id) {
            return self.say(id, STOP, 0, cx);
        }
        let fresh = || {
            let arrivals = Arrivals::new(Cut::new(cx.flow(id), self.approx));
            Receiver { arrivals, credits: Credits::new(cx.now) }
        };
        let is_new = !self.receiving.contains_key(&id);
        let receiver = self.receiving.entry(id).or_insert_with(fresh);
        match packet.kind {
            UNSCHEDULED => drop(receiver.arrivals.insert(packet.sequence as u32)),
            SCHEDULED | LAST => {
                receiver.arrivals.insert(packet.sequence as u32);
                receiver.credits.handle_use(packet.acknowledged, packet.stamp, cx.now);
                receiver.credits.wanted &= packet.kind == SCHEDULED;
            }
            CREDIT_STOP => receiver.credits.wanted = false,
            REQUEST => receiver.credits.wanted = true,
            _ => {}
        }
        if receiver.arrivals.enough() {
            let (messages, bytes) = (receiver.arrivals.messages(), receiver.arrivals.bytes());
            cx.finish(id, messages, bytes, false);
            self.receiving.remove(&id);
            self.finished.insert(id);
            self.pace.set(id, None);
            self.leaving.retain(|(flow, _)| *flow != id);
            return self.say(id, STOP, 0, cx);
        }
        if !receiver.credits.wanted {
            self.pace.set(id, None);
        } else if is_new || packet.kind == REQUEST {
            self.pace.set(id, Some(cx.now));
        }
        match packet.kind {
            UNSCHEDULED => self.say(id, ACK, packet.sequence, cx),
            PROBE => self.say(id, PROBE_ANSWER, 0, cx),
            _ => {}
        }
    }

    /// Credits whose time has come queue up to leave.
    fn issue_credits(&mut self, cx: &mut Context<'_>) {
        while let Some(id) = self.pace.pop(cx.now) {
            let Some(receiver) = self.receiving.get_mut(&id) else { continue };
            let jitter = f64::from(cx.rng.next_u32()) / f64::from(u32::MAX);
            let pause = receiver.credits.pause(cx.now, packet_time(cx), jitter);
            let number = receiver.credits.next;
            receiver.credits.next += 1;
            if self.leaving.len() < CREDIT_QUEUE {
                self.leaving.push_back((id, number));
            }
            self.pace.set(id, Some(cx.now + pause));
        }
    }

    fn data(
        &mut self,
        id: FlowId,
        kind: u8,
        sequence: u32,
        again: bool,
        cx: &Context<'_>,
    ) -> Packet {
        let payload = self.sending[&id].payload(sequence);
        let mut packet = wire::forward(id, cx.flow(id), cx.now, wire::data_size(payload), kind);
        packet.sequence = u64::from(sequence);
        packet.class = DATA_CLASS;
        if kind == UNSCHEDULED {
            packet.flags = Flags::DROPPABLE;
        }
        self.tally.data_packets += 1;
        self.tally.again += u64::from(again);
        packet
    }

    /// The next packet of a burst, or the probe behind it.
    fn burst(&mut self, cx: &Context<'_>) -> Option<Packet> {
        while let Some(id) = self.bursting.pop_front() {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            sender.queued = false;
            if !sender.bursts() {
                continue;
            }
            if let Some(departure) = sender.take_burst() {
                sender.queued = true;
                self.bursting.push_back(id);
                return Some(self.data(id, UNSCHEDULED, departure.packet, departure.again, cx));
            }
            sender.probe_sent = true;
            let mut probe = wire::forward(id, cx.flow(id), cx.now, CONTROL, PROBE);
            // Behind the burst in the same queue.
            probe.class = DATA_CLASS;
            self.tally.control_packets += 1;
            return Some(probe);
        }
        None
    }

    /// The packet that the next credit brings.
    fn spend(&mut self, cx: &Context<'_>) -> Option<Packet> {
        while let Some((id, number, left)) = self.earned.pop_front() {
            let Some(sender) = self.sending.get_mut(&id) else {
                self.wasted += 1;
                continue;
            };
            match sender.spend() {
                Spend::Packet { departure, last } => {
                    // Credits alone are no sign that anything arrives.
                    sender.touch(cx.now);
                    self.silence.set(id, sender.timer);
                    let kind = if last { LAST } else { SCHEDULED };
                    let mut packet = self.data(id, kind, departure.packet, departure.again, cx);
                    (packet.acknowledged, packet.stamp) = (number, left);
                    return Some(packet);
                }
                Spend::Waste => self.wasted += 1,
            }
        }
        None
    }
}

impl Stack for Aeolus {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let cut = Cut::new(cx.flow(id), self.approx);
        let burst = bandwidth_delay(cx.line_rate, cx.base_rtt);
        let mut sender = Sender::new(cut, burst, cx.base_rtt * PATIENCE, cx.now);
        sender.queued = true;
        self.silence.set(id, sender.timer);
        self.sending.insert(id, sender);
        self.bursting.push_back(id);
        self.say(id, REQUEST, 0, cx);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let id = packet.flow;
        match packet.kind {
            UNSCHEDULED | SCHEDULED | LAST | REQUEST | PROBE | CREDIT_STOP => {
                self.receive(&packet, cx);
                return self.issue_credits(cx);
            }
            STOP => {
                self.sending.remove(&id);
                return self.silence.set(id, None);
            }
            _ => {}
        }
        let Some(sender) = self.sending.get_mut(&id) else {
            self.wasted += u64::from(packet.kind == CREDIT);
            return;
        };
        let mut content = false;
        match packet.kind {
            ACK => sender.handle_ack(packet.sequence as u32, cx.now),
            PROBE_ANSWER => content = sender.handle_probe_answer(cx.now),
            _ if self.earned.len() < CREDIT_QUEUE => {
                self.earned.push_back((id, packet.sequence, packet.stamp));
            }
            _ => self.wasted += 1,
        }
        self.silence.set(id, sender.timer);
        if content {
            self.say(id, CREDIT_STOP, 0, cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.now = cx.now;
        self.issue_credits(cx);
        while let Some(id) = self.silence.pop(cx.now) {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            sender.handle_timeout(cx.now);
            self.tally.timeouts += 1;
            self.silence.set(id, sender.timer);
            self.say(id, REQUEST, 0, cx);
        }
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        self.now = cx.now;
        if let Some(packet) = self.control.pop_front() {
            return Some(packet);
        }
        if self.next_credit <= cx.now
            && let Some((id, number)) = self.leaving.pop_front()
        {
            self.next_credit = cx.now + packet_time(cx);
            let mut credit = wire::backward(id, cx.flow(id), cx.now, CONTROL, CREDIT);
            credit.sequence = number;
            self.tally.control_packets += 1;
            return Some(credit);
        }
        self.burst(cx).or_else(|| self.spend(cx))
    }

    fn poll_timeout(&self) -> Option<Time> {
        // A credit whose time has come waits for the interface, which asks by itself.
        let credit = (!self.leaving.is_empty()).then_some(self.next_credit);
        let credit = credit.filter(|at| *at > self.now);
        [self.silence.next(), self.pace.next(), credit].into_iter().flatten().min()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// A full packet and the credit for it on the line: what one credit claims.
fn packet_time(cx: &Context<'_>) -> Span {
    cx.line_rate.time_for(Bytes::new(u64::from(MTU + CONTROL)))
}
