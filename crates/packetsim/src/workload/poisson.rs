//! Jobs that arrive on their own: open loop, at a given load.

use laxity_interface::{Rate, Span, Time};

use super::{cargo::Cargo, tag::Tag};
use crate::{
    chance::Chance,
    flow::{Done, Driver, Flow, HostId},
};

/// When a stream of arrivals ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// After so many.
    Flows(u32),
    /// At this time.
    Time(Time),
}

/// Flows between random pairs of hosts at random times: a Poisson process. Every flow is a job.
///
/// The next does not wait for those before: what the network cannot carry piles up.
#[derive(Debug)]
pub struct Poisson {
    hosts: Vec<HostId>,
    cargo: Cargo,
    /// Mean time from one arrival to the next, of all hosts together, in picoseconds.
    gap_ps: f64,
    until: Until,
    next: Option<Time>,
    count: u32,
    open: u64,
    chance: Chance,
}

impl Poisson {
    /// Arrivals that offer `offered` bits of payload a second in all, from `start` on.
    ///
    /// # Panics
    /// If there are fewer than two hosts, or nothing is offered.
    pub fn new(
        hosts: Vec<HostId>,
        cargo: Cargo,
        offered: Rate,
        start: Time,
        until: Until,
        chance: Chance,
    ) -> Self {
        assert!(hosts.len() > 1 && offered > Rate::ZERO, "{} hosts, {offered}", hosts.len());
        let gap_ps = cargo.mean() * 8e12 / offered.as_bps() as f64;
        let mut all =
            Self { hosts, cargo, gap_ps, until, next: Some(start), count: 0, open: 0, chance };
        all.advance();
        all
    }

    fn advance(&mut self) {
        let Some(last) = self.next else { return };
        let gap = Span::from_ps((self.chance.exponential() * self.gap_ps).round() as u64);
        let next = last + gap;
        let on = match self.until {
            Until::Flows(most) => self.count < most,
            Until::Time(end) => next < end,
        };
        self.next = on.then_some(next);
    }
}

impl Driver for Poisson {
    fn poll_timeout(&self) -> Option<Time> {
        self.next
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        self.next.filter(|next| *next <= now)?;
        let n = self.hosts.len() as u64;
        let from = self.chance.below(n);
        let to = (from + 1 + self.chance.below(n - 1)) % n;
        let (from, to) = (self.hosts[from as usize], self.hosts[to as usize]);
        let flow = self.cargo.flow(from, to, Tag::new(self.count, 0), &mut self.chance);
        self.count += 1;
        self.open += 1;
        self.advance();
        Some(flow)
    }

    fn handle_done(&mut self, _: &Done) {
        self.open -= 1;
    }

    fn is_done(&self) -> bool {
        self.next.is_none() && self.open == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    fn run(until: Until) -> Vec<(Time, Flow, Time)> {
        let (chance, rate) = (Chance::new(9, "poisson", 0), Rate::from_gbps(8));
        let driver = Poisson::new(hosts(10), cargo(1000), rate, Time::ZERO, until, chance);
        play(driver, |_| Span::from_ms(1))
    }

    #[test]
    fn the_load_is_what_was_asked_for() {
        // 8 Gbit/s of 1000-byte flows: one per microsecond.
        let end = Time::ZERO + Span::from_ms(50);
        let ran = run(Until::Time(end));
        // Poisson: standard deviation √50,000 = 224.
        assert!((ran.len() as f64 - 50_000.0).abs() < 1_100.0, "{}", ran.len());
        assert!(ran.iter().all(|(at, ..)| *at < end));
        // Gaps are as irregular as they should be: deviation = mean.
        let gaps: Vec<_> =
            ran.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_secs_f64() * 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let var = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03 && (var - 1.0).abs() < 0.1, "{mean} {var}");
    }

    #[test]
    fn so_many_and_no_more_between_two_hosts_each() {
        let ran = run(Until::Flows(1000));
        assert_eq!(ran.len(), 1000);
        assert!(ran.iter().all(|(_, flow, _)| flow.from != flow.to));
        let mut jobs: Vec<_> = ran.iter().map(|(_, flow, _)| Tag::unpack(flow.tag).job).collect();
        jobs.dedup();
        assert_eq!(jobs.len(), 1000);
        // Every host is among the senders and the receivers.
        for host in hosts(10) {
            assert!(ran.iter().any(|(_, f, _)| f.from == host));
            assert!(ran.iter().any(|(_, f, _)| f.to == host));
        }
    }
}
