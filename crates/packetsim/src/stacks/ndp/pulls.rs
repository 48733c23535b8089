//! The queue of pulls that all flows to one host share.

use std::collections::{BTreeMap, VecDeque};

use laxity_interface::{Span, Time};

use crate::flow::FlowId;

/// Pulls in turns, paced so that what they call for fills the link and no more.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    waiting: BTreeMap<FlowId, u32>,
    turns: VecDeque<FlowId>,
    /// How many each flow has had: pulls carry the count, so that a lost one is made up for.
    sent: BTreeMap<FlowId, u64>,
    next: Time,
}

impl Pulls {
    pub(super) fn add(&mut self, flow: FlowId) {
        let waiting = self.waiting.entry(flow).or_insert(0);
        *waiting += 1;
        if *waiting == 1 {
            self.turns.push_back(flow);
        }
    }

    pub(super) fn forget(&mut self, flow: FlowId) {
        if self.waiting.remove(&flow).is_some() {
            self.turns.retain(|other| *other != flow);
        }
        self.sent.remove(&flow);
    }

    /// The next pull if its time has come: whose, and its number from 1.
    pub(super) fn take(&mut self, now: Time, interval: Span) -> Option<(FlowId, u64)> {
        if self.next > now {
            return None;
        }
        let flow = self.turns.pop_front()?;
        let waiting = self.waiting.get_mut(&flow).expect("who has a turn waits");
        *waiting -= 1;
        if *waiting == 0 {
            self.waiting.remove(&flow);
        } else {
            self.turns.push_back(flow);
        }
        let sent = self.sent.entry(flow).or_insert(0);
        *sent += 1;
        self.next = now + interval;
        Some((flow, *sent))
    }

    /// When the next one may leave.
    pub(super) fn next(&self) -> Option<Time> {
        (!self.turns.is_empty()).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_take_turns_at_the_given_pace() {
        let (mut pulls, step) = (Pulls::default(), Span::from_ns(300));
        for flow in [1, 1, 1, 2] {
            pulls.add(FlowId(flow));
        }
        let mut now = Time::ZERO;
        let mut order = Vec::new();
        while let Some(next) = pulls.next() {
            now = now.max(next);
            order.push(pulls.take(now, step).unwrap());
            assert_eq!(pulls.take(now, step), None, "not before its time");
        }
        let flow = FlowId;
        assert_eq!(order, [(flow(1), 1), (flow(2), 1), (flow(1), 2), (flow(1), 3)]);
        assert_eq!(now, Time::ZERO + step * 3);
    }
}
