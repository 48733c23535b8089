//! Aeolus (Hu et al., SIGCOMM 2020) over credits in the manner of ExpressPass (Cho et al., SIGCOMM
//! 2017).
//!
//! In its first round trip a flow sends one bandwidth-delay product at line rate, unscheduled: switches
//! drop these packets as soon as a few kilobytes wait. A probe follows that is not dropped; its answer
//! settles which of them arrived, together with an acknowledgement for each. Everything else needs a
//! credit, one packet each: known losses first, then new data, then what is not acknowledged yet.
//! Receivers send credits at a rate that follows the credits lost (credit feedback control).
//!
//! Where messages come one by one, credits come whether something is ready or not. A sender without anything
//! to send says so; until that is heard, credits are wasted, and to the receiver they look lost. For two round
//! trips it uses credits that still come, then it has to ask again, waits a round trip, and the receiver
//! starts at the first rate: all of this as in the authors' simulator of ExpressPass. What is ready before
//! the first credit comes leaves with the first burst.
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
        common::{Arrivals, Cut, Outgoing, Timers, wire},
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
    /// When messages become ready that flows wait for.
    wakes: Timers,
    now: Time,
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
            wakes: Timers::default(),
            now: Time::ZERO,
            tally: Tally::default(),
        }
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
            UNSCHEDULED => {
                receiver.arrivals.insert(packet.sequence as u32, packet.part);
            }
            SCHEDULED | LAST => {
                receiver.arrivals.insert(packet.sequence as u32, packet.part);
                receiver.credits.handle_use(packet.acknowledged, packet.stamp, cx.now);
                receiver.credits.wanted &= packet.kind == SCHEDULED;
            }
            CREDIT_STOP => receiver.credits.wanted = false,
            REQUEST => {
                let again = !std::mem::replace(&mut receiver.credits.wanted, true);
                if again && receiver.arrivals.missing().is_none() {
                    receiver.credits.restart(cx.now);
                }
            }
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
        let sender = &self.sending[&id];
        let (payload, part) = (sender.payload(sequence), sender.part(sequence));
        let mut packet = wire::forward(id, cx.flow(id), cx.now, wire::data_size(payload), kind);
        packet.sequence = u64::from(sequence);
        packet.part = part;
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
            if let Some(departure) = sender.take_burst(cx.now) {
                if sender.bursts() {
                    sender.queued = true;
                    self.bursting.push_back(id);
                }
                self.wakes.set(id, sender.wake());
                return Some(self.data(id, UNSCHEDULED, departure.packet, departure.again, cx));
            }
            sender.probe_sent = true;
            self.wakes.set(id, sender.wake());
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
                self.tally.wasted_credits += 1;
                continue;
            };
            match sender.spend(cx.now) {
                Spend::Packet { departure, last } => {
                    // Credits alone are no sign that anything arrives.
                    sender.touch(cx.now);
                    if last && sender.wants_stop() {
                        sender.stop(cx.now, cx.base_rtt);
                    }
                    self.silence.set(id, sender.timer);
                    self.wakes.set(id, sender.wake());
                    let kind = if last { LAST } else { SCHEDULED };
                    let mut packet = self.data(id, kind, departure.packet, departure.again, cx);
                    (packet.acknowledged, packet.stamp) = (number, left);
                    return Some(packet);
                }
                Spend::Waste => {
                    self.tally.wasted_credits += 1;
                    if sender.wants_stop() {
                        sender.stop(cx.now, cx.base_rtt);
                        self.silence.set(id, sender.timer);
                        self.wakes.set(id, sender.wake());
                        self.tally.control_packets += 1;
                        return Some(wire::forward(id, cx.flow(id), cx.now, CONTROL, CREDIT_STOP));
                    }
                }
            }
        }
        None
    }

    /// Messages have become ready.
    fn wake(&mut self, cx: &Context<'_>) {
        while let Some(id) = self.wakes.pop(cx.now) {
            let Some(sender) = self.sending.get_mut(&id) else { continue };
            let asks = sender.advance(cx.now);
            if sender.bursts() && !std::mem::replace(&mut sender.queued, true) {
                self.bursting.push_back(id);
            }
            self.silence.set(id, sender.timer);
            self.wakes.set(id, sender.wake());
            if asks {
                self.say(id, REQUEST, 0, cx);
            }
        }
    }
}

impl Stack for Aeolus {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let outgoing = Outgoing::new(cx.flow(id), self.approx, cx.now);
        let burst = bandwidth_delay(cx.line_rate, cx.base_rtt);
        let mut sender = Sender::new(outgoing, burst, cx.base_rtt * PATIENCE, cx.now);
        sender.queued = sender.bursts();
        if sender.queued {
            self.bursting.push_back(id);
        }
        self.silence.set(id, sender.timer);
        self.wakes.set(id, sender.wake());
        self.sending.insert(id, sender);
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
                self.wakes.set(id, None);
                return self.silence.set(id, None);
            }
            _ => {}
        }
        let Some(sender) = self.sending.get_mut(&id) else {
            self.tally.wasted_credits += u64::from(packet.kind == CREDIT);
            return;
        };
        let mut content = false;
        if packet.kind == CREDIT {
            sender.handle_credit();
            if sender.bursts() && !std::mem::replace(&mut sender.queued, true) {
                self.bursting.push_back(id);
            }
        }
        match packet.kind {
            ACK => sender.handle_ack(packet.sequence as u32, cx.now),
            PROBE_ANSWER => content = sender.handle_probe_answer(cx.now),
            _ if self.earned.len() < CREDIT_QUEUE => {
                self.earned.push_back((id, packet.sequence, packet.stamp));
            }
            _ => self.tally.wasted_credits += 1,
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
            self.wakes.set(id, sender.wake());
            self.say(id, REQUEST, 0, cx);
        }
        self.wake(cx);
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
        [self.silence.next(), self.pace.next(), self.wakes.next(), credit]
            .into_iter()
            .flatten()
            .min()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// A full packet and the credit for it on the line: what one credit claims.
fn packet_time(cx: &Context<'_>) -> Span {
    cx.line_rate.time_for(Bytes::new(u64::from(MTU + CONTROL)))
}
