//! One timer per flow, and which of them is next.

use std::collections::{BTreeMap, BTreeSet};

use laxity_interface::Time;

use crate::flow::FlowId;

/// Timers by flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(Time, FlowId)>,
    of: BTreeMap<FlowId, Time>,
}

impl Timers {
    /// Sets a flow's timer, or stops it.
    pub(crate) fn set(&mut self, flow: FlowId, at: Option<Time>) {
        if self.of.get(&flow).copied() == at {
            return;
        }
        if let Some(old) = self.of.remove(&flow) {
            self.due.remove(&(old, flow));
        }
        if let Some(at) = at {
            self.due.insert((at, flow));
            self.of.insert(flow, at);
        }
    }

    /// A flow whose time has come; its timer is stopped.
    pub(crate) fn pop(&mut self, now: Time) -> Option<FlowId> {
        let &(at, flow) = self.due.first()?;
        if at > now {
            return None;
        }
        self.set(flow, None);
        Some(flow)
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_only_once() {
        let (mut timers, at) = (Timers::default(), Time::from_ps);
        timers.set(FlowId(1), Some(at(20)));
        timers.set(FlowId(2), Some(at(10)));
        timers.set(FlowId(2), Some(at(30)));
        assert_eq!(timers.next(), Some(at(20)));
        assert_eq!(timers.pop(at(19)), None);
        assert_eq!(timers.pop(at(30)), Some(FlowId(1)));
        assert_eq!(timers.pop(at(30)), Some(FlowId(2)));
        assert_eq!((timers.pop(at(99)), timers.next()), (None, None));
    }
}
