//! Flows that wait for their time.

use std::collections::BTreeMap;

use laxity_interface::Time;

use crate::flow::Flow;

/// Flows by the time at which they start; those of one time in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    flows: BTreeMap<(Time, u64), Flow>,
    count: u64,
}

impl Agenda {
    pub(super) fn push(&mut self, at: Time, flow: Flow) {
        self.flows.insert((at, self.count), flow);
        self.count += 1;
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.flows.keys().next().map(|(at, _)| *at)
    }

    pub(super) fn pop(&mut self, now: Time) -> Option<Flow> {
        let first = self.flows.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
