//! Several workloads on one network, and a list of what was started.

use laxity_interface::Time;

use super::tag::Tag;
use crate::flow::{Done, Driver, Flow};

/// A flow that was started: its number is its place in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// When.
    pub at: Time,
    /// What.
    pub flow: Flow,
}

impl Started {
    /// The flow's tag.
    pub fn tag(&self) -> Tag {
        Tag::unpack(self.flow.tag)
    }
}

/// Workloads side by side. The simulation may end when all that are in the foreground are done; if
/// none is, when all are.
pub struct Combined {
    drivers: Vec<(Box<dyn Driver>, bool)>,
    started: Vec<Started>,
}

impl std::fmt::Debug for Combined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (drivers, started) = (self.drivers.len(), self.started.len());
        f.debug_struct("Combined").field("drivers", &drivers).field("started", &started).finish()
    }
}

impl Combined {
    /// Workloads, and whether they are in the foreground.
    ///
    /// # Panics
    /// If there are more than 256.
    pub fn new(drivers: Vec<(Box<dyn Driver>, bool)>) -> Self {
        assert!(drivers.len() <= 256, "{} workloads", drivers.len());
        Self { drivers, started: Vec::new() }
    }

    /// All flows that were started, by number.
    pub fn started(&self) -> &[Started] {
        &self.started
    }

    /// All flows that were started, by number.
    pub fn into_started(self) -> Vec<Started> {
        self.started
    }
}

impl Driver for Combined {
    fn poll_timeout(&self) -> Option<Time> {
        self.drivers.iter().filter_map(|(driver, _)| driver.poll_timeout()).min()
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        for (workload, (driver, _)) in self.drivers.iter_mut().enumerate() {
            if let Some(mut flow) = driver.poll_flow(now) {
                let tag = Tag { workload: workload as u8, ..Tag::unpack(flow.tag) };
                flow.tag = tag.pack();
                self.started.push(Started { at: now, flow: flow.clone() });
                return Some(flow);
            }
        }
        None
    }

    fn handle_done(&mut self, done: &Done) {
        let tag = Tag::unpack(done.tag);
        let own = Done { tag: Tag { workload: 0, ..tag }.pack(), ..done.clone() };
        self.drivers[usize::from(tag.workload)].0.handle_done(&own);
    }

    fn is_done(&self) -> bool {
        let any = self.drivers.iter().any(|(_, foreground)| *foreground);
        let mut counted = self.drivers.iter().filter(|(_, foreground)| *foreground || !any);
        counted.all(|(driver, _)| driver.is_done())
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::{Rate, Span};

    use super::{
        super::{Pattern, Planned, Poisson, Rounds, Until, testing::*},
        *,
    };
    use crate::chance::Chance;

    #[test]
    fn each_hears_of_its_own_and_the_background_does_not_hold_up_the_end() {
        let chance = |index| Chance::new(1, "combined", index);
        let rounds = Rounds::new(
            Pattern::Permutation,
            hosts(4),
            cargo(10),
            3,
            Time::ZERO,
            Span::ZERO,
            chance(0),
        );
        let forever = Until::Time(Time::MAX);
        let rate = Rate::from_gbps(1);
        let other = Poisson::new(hosts(4), cargo(1000), rate, Time::ZERO, forever, chance(1));
        let list = Planned::new([(Time::ZERO, flow(0, 1, Tag::new(5, 6).pack()))]);
        let mut all = Combined::new(vec![
            (Box::new(other), false),
            (Box::new(rounds), true),
            (Box::new(list), true),
        ]);
        let mut ends = std::collections::BTreeMap::new();
        let (mut now, mut count) = (Time::ZERO, [0; 3]);
        while !all.is_done() {
            while let Some(flow) = all.poll_flow(now) {
                let id = all.started().len() as u32 - 1;
                count[usize::from(Tag::unpack(flow.tag).workload)] += 1;
                ends.insert((now + Span::from_us(40), id), flow.tag);
            }
            let next = ends.first_key_value().map(|((at, id), tag)| (*at, *id, *tag));
            now = all.poll_timeout().into_iter().chain(next.map(|next| next.0)).min().unwrap();
            if let Some((at, id, tag)) = next.filter(|next| next.0 == now) {
                ends.remove(&(at, id));
                all.handle_done(&Done {
                    flow: crate::flow::FlowId(id),
                    tag,
                    started: now,
                    finished: now,
                    delivered: 1,
                    messages: 1,
                    bytes: 1,
                    short: false,
                    missing: Vec::new(),
                });
            }
        }
        assert_eq!((count[1], count[2]), (12, 1));
        assert!(count[0] > 5);
        let listed = all.started().iter().find(|s| s.tag().workload == 2).unwrap();
        assert_eq!(listed.tag(), Tag { workload: 2, job: 5, part: 6 });
    }
}
