//! Flows that are known beforehand.

use laxity_interface::Time;

use super::agenda::Agenda;
use crate::flow::{Done, Driver, Flow};

/// A list of flows with their times.
#[derive(Debug, Default)]
pub struct Planned {
    agenda: Agenda,
    open: u64,
}

impl Planned {
    /// These flows.
    pub fn new(flows: impl IntoIterator<Item = (Time, Flow)>) -> Self {
        let mut all = Self::default();
        for (at, flow) in flows {
            all.agenda.push(at, flow);
            all.open += 1;
        }
        all
    }
}

impl Driver for Planned {
    fn poll_timeout(&self) -> Option<Time> {
        self.agenda.next()
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        self.agenda.pop(now)
    }

    fn handle_done(&mut self, _: &Done) {
        self.open -= 1;
    }

    fn is_done(&self) -> bool {
        self.open == 0
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Span;

    use super::{super::testing::*, *};

    #[test]
    fn flows_start_at_their_time_in_order_of_the_list() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let flows = [(at(5), flow(0, 1, 1)), (at(0), flow(1, 2, 2)), (at(5), flow(2, 3, 3))];
        let ran = play(Planned::new(flows), |_| Span::from_us(1));
        let seen: Vec<_> = ran.iter().map(|r| (r.0, r.1.tag)).collect();
        assert_eq!(seen, [(at(0), 2), (at(5), 1), (at(5), 3)]);
    }
}
