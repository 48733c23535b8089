//! Background that listens to nobody: packets to one host at a steady rate, in a queue that changes at
//! given times. What NetApprox (§7.1.2) calls synthetic, controlled background traffic.

use laxity_interface::{Bytes, Ecn, Rate, Time};
use laxity_packetsim::{Context, Flags, FlowId, HostId, MTU, Packet, Stack, Tally};

/// The sender of the background, and what its receiver throws away.
#[derive(Debug)]
pub(super) struct Beam {
    rate: Rate,
    /// From when which queue, ascending.
    queues: Vec<(Time, u8)>,
    flow: Option<(FlowId, HostId, u8)>,
    next: Time,
    /// Whether somebody has to wake it: not while its interface is busy.
    asleep: bool,
    sent: u64,
}

impl Beam {
    /// At this rate; in these queues, each from its time on.
    pub(super) fn new(rate: Rate, queues: Vec<(Time, u8)>) -> Self {
        Self { rate, queues, flow: None, next: Time::MAX, asleep: false, sent: 0 }
    }

    fn queue(&self, now: Time) -> u8 {
        let passed = self.queues.partition_point(|(from, _)| *from <= now);
        self.queues[passed.saturating_sub(1)].1
    }
}

impl Stack for Beam {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let flow = cx.flow(id);
        self.flow = Some((id, flow.to, flow.stack));
        self.next = cx.now;
    }

    fn handle_packet(&mut self, _: Packet, _: &mut Context<'_>) {}

    fn handle_timeout(&mut self, _: &mut Context<'_>) {
        self.asleep = false;
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        let (flow, to, stack) = self.flow?;
        self.asleep = cx.now < self.next;
        if self.asleep {
            return None;
        }
        self.next = self.next.max(cx.now) + self.rate.time_for(Bytes::new(u64::from(MTU)));
        self.sent += 1;
        Some(Packet {
            size: MTU,
            from: cx.host,
            to,
            flow,
            hash: 0,
            stack,
            class: self.queue(cx.now),
            ecn: Ecn::NotEct,
            flags: Flags::NONE,
            kind: 0,
            rank: 0,
            sequence: self.sent,
            acknowledged: 0,
            part: (0, 0),
            stamp: cx.now,
            body: None,
        })
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.asleep.then_some(self.next)
    }

    fn tally(&self) -> Tally {
        // Nobody's payload: it would count as data that the schemes sent.
        Tally::default()
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Span;

    use super::*;

    #[test]
    fn the_queue_changes_at_its_time() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let beam = Beam::new(Rate::from_gbps(1), vec![(at(0), 4), (at(10), 3), (at(20), 2)]);
        assert_eq!([0, 9, 10, 19, 20, 99].map(|us| beam.queue(at(us))), [4, 4, 3, 3, 2, 2]);
    }
}
