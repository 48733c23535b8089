//! The simplest driver: flows at times that are known before.

use laxity_interface::Time;

use crate::flow::{Done, Driver, Flow};

/// Starts flows at their times and is done when all of them have ended.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    /// By time, last first; flows of one time in the order in which they were given.
    left: Vec<(Time, Flow)>,
    open: usize,
}

impl Schedule {
    /// These flows at these times.
    pub fn new(flows: impl IntoIterator<Item = (Time, Flow)>) -> Self {
        let mut left: Vec<_> = flows.into_iter().collect();
        let open = left.len();
        left.sort_by_key(|(time, _)| *time);
        left.reverse();
        Self { left, open }
    }
}

impl Driver for Schedule {
    fn poll_timeout(&self) -> Option<Time> {
        self.left.last().map(|(time, _)| *time)
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        self.left.pop_if(|(time, _)| *time <= now).map(|(_, flow)| flow)
    }

    fn handle_done(&mut self, _: &Done) {
        self.open -= 1;
    }

    fn is_done(&self) -> bool {
        self.open == 0
    }
}
