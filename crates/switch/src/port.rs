//! One direction of a link: an output port with its queues, and the wire behind it.

use std::collections::VecDeque;

use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_link::{
    PacketInfo, Rule, Verdict,
    rules::{GilbertElliott, RandomLoss},
};

use crate::{
    config::{Loss, PortConfig},
    counters::{Count, PortCounters},
    frame::Frame,
    ids::{NodeId, PortId},
    queues::Queues,
};

/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) id: PortId,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) up: bool,
    /// What the fabric's calendar knows of `done` and `arrival`.
    pub(crate) entered: [Option<Time>; 2],
    /// Under which time the fabric keeps it among those that let a frame arrive soon.
    pub(crate) soonest: Option<Time>,
    rate: Option<Rate>,
    delay: Span,
    overhead: Bytes,
    queues: Queues,
    sending: Option<Sending>,
    /// When each frame on the wire arrives, in order.
    wire: VecDeque<(Time, Frame)>,
    lossy: Lossy,
    seed: u64,
    /// How often the loss was changed: each has its own stream of chance.
    changes: u64,
    delivered: Count,
    lost: Count,
    cut: Count,
    on_wire: Count,
}

/// The frame that is being sent.
#[derive(Debug)]
struct Sending {
    frame: Frame,
    /// From when on `left` counts.
    since: Time,
    /// Bits that are left, times [`SECOND`].
    left: u128,
    done: Time,
}

#[derive(Debug)]
enum Lossy {
    Never,
    Random(RandomLoss),
    Burst(GilbertElliott),
}

impl Port {
    pub(crate) fn new(id: PortId, from: NodeId, to: NodeId, config: PortConfig, seed: u64) -> Self {
        let PortConfig { rate, delay, layout, loss, overhead } = config;
        let mut port = Self {
            id,
            from,
            to,
            up: true,
            entered: [None; 2],
            soonest: None,
            rate,
            delay,
            overhead,
            queues: Queues::new(layout),
            sending: None,
            wire: VecDeque::new(),
            lossy: Lossy::Never,
            seed,
            changes: 0,
            delivered: Count::default(),
            lost: Count::default(),
            cut: Count::default(),
            on_wire: Count::default(),
        };
        port.set_loss(loss);
        port
    }

    pub(crate) fn counters(&self) -> PortCounters {
        PortCounters {
            port: self.id,
            from: self.from,
            to: self.to,
            up: self.up,
            queues: self.queues.counters(),
            delivered: self.delivered,
            lost: self.lost,
            cut: self.cut,
            on_wire: self.on_wire,
        }
    }

    /// When the frame that is being sent has been sent.
    pub(crate) fn done(&self) -> Option<Time> {
        self.sending.as_ref().map(|sending| sending.done)
    }

    /// When the next frame arrives at the other end.
    pub(crate) fn arrival(&self) -> Option<Time> {
        self.wire.front().map(|(at, _)| *at)
    }

    /// The earliest time at which anything that is here now can arrive at the other end.
    pub(crate) fn earliest(&self) -> Time {
        let done = self.done().map_or(Time::MAX, |done| done + self.delay);
        self.arrival().unwrap_or(Time::MAX).min(done)
    }

    /// Takes a frame in; gives it back if it is not going to be sent.
    pub(crate) fn handle_frame(&mut self, now: Time, frame: Frame) -> Option<Frame> {
        if !self.up {
            self.queues.refuse(&frame);
            return Some(frame);
        }
        if self.rate.is_none() {
            self.queues.pass(&frame);
            self.on_wire.add(frame.size());
            return self.launch(now, frame);
        }
        if self.sending.is_none() {
            // Nobody waits while the port is idle, so limits and marks do not apply.
            self.queues.pass(&frame);
            self.send(now, frame);
            return None;
        }
        self.queues.push(frame).err()
    }

    /// The frame that was being sent has been sent; gives it back if it is lost on the wire.
    pub(crate) fn handle_done(&mut self, now: Time) -> Option<Frame> {
        let frame = self.sending.take()?.frame;
        let lost = self.launch(now, frame);
        if let Some(next) = self.queues.pop() {
            self.send(now, next);
        }
        lost
    }

    /// Takes out the frame that has arrived at the other end.
    pub(crate) fn handle_arrival(&mut self) -> Option<Frame> {
        let (_, frame) = self.wire.pop_front()?;
        self.on_wire.remove(frame.size());
        self.delivered.add(frame.size());
        Some(frame)
    }

    /// Sends at another rate, also what is left of the present frame.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if let Some(sending) = &mut self.sending {
            let old = self.rate.map_or(0, |rate| u128::from(rate.as_bps()));
            let sent = u128::from(now.since(sending.since).as_ps()) * old;
            sending.left = sending.left.saturating_sub(sent);
            sending.since = now;
            sending.done = rate.map_or(now, |rate| now + time_for(sending.left, rate));
        }
        self.rate = rate;
    }

    pub(crate) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    pub(crate) fn set_loss(&mut self, loss: Loss) {
        let index = self.changes << 32 | self.id.index() as u64;
        self.changes += 1;
        self.lossy = match loss {
            Loss::None => Lossy::Never,
            Loss::Random(part) => Lossy::Random(RandomLoss::new(part, self.seed, index)),
            Loss::Burst { begin, end } => {
                Lossy::Burst(GilbertElliott::new(begin, end, self.seed, index))
            }
        };
    }

    /// Cuts or mends the wire; gives back everything that is lost by that.
    pub(crate) fn set_up(&mut self, up: bool) -> Vec<Frame> {
        self.up = up;
        let mut gone = Vec::new();
        if !up {
            let sending = self.sending.take().map(|sending| sending.frame);
            gone.extend(sending.into_iter().chain(self.wire.drain(..).map(|(_, frame)| frame)));
            for frame in &gone {
                self.on_wire.remove(frame.size());
                self.cut.add(frame.size());
            }
            gone.extend(std::iter::from_fn(|| self.queues.discard()));
        }
        gone
    }

    fn send(&mut self, now: Time, frame: Frame) {
        self.on_wire.add(frame.size());
        let left = u128::from((frame.size() + self.overhead).get()) * 8 * SECOND;
        let done = self.rate.map_or(now, |rate| now + time_for(left, rate));
        self.sending = Some(Sending { frame, since: now, left, done });
    }

    /// Puts a frame on the wire that was sent completely at `now`; gives it back if it gets lost.
    fn launch(&mut self, now: Time, frame: Frame) -> Option<Frame> {
        let info = PacketInfo::new(frame.size()).with_ecn(frame.ecn()).with_dscp(frame.dscp());
        let verdict = match &mut self.lossy {
            Lossy::Never => Verdict::Pass,
            Lossy::Random(rule) => rule.on_packet(now, &info),
            Lossy::Burst(rule) => rule.on_packet(now, &info),
        };
        if verdict == Verdict::Drop {
            self.on_wire.remove(frame.size());
            self.lost.add(frame.size());
            return Some(frame);
        }
        // A wire that was made shorter does not let frames overtake those already on it.
        let last = self.wire.back().map_or(Time::ZERO, |(at, _)| *at);
        self.wire.push_back(((now + self.delay).max(last), frame));
        None
    }
}

/// How long so many bits (times [`SECOND`]) take, rounded up as [`Rate::time_for`] does.
fn time_for(left: u128, rate: Rate) -> Span {
    if rate == Rate::ZERO {
        return Span::MAX;
    }
    let ps = left.div_ceil(u128::from(rate.as_bps()));
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}
