//! Everybody gets the sum of everybody's vector.

use laxity_interface::{Span, Time};

use super::{agenda::Agenda, cargo::Cargo, tag::Tag};
use crate::{
    chance::Chance,
    flow::{Done, Driver, Flow, HostId},
};

/// How the sum is made. Both move 2·(n−1)/n of the vector out of every host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collective {
    /// Parts travel around a ring, 2·(n−1) steps; a step waits for the one before.
    Ring,
    /// Every host collects one part from all, sums it and sends it to all: two steps, in which a lost
    /// packet concerns one pair only (OptiReduce, NSDI 2025).
    Transpose,
}

/// In a flow's part: the receiver's position below, the step above.
const STEP: u32 = 12;
/// More hosts do not fit a tag.
const MOST: usize = 1 << (STEP - 1);

/// Iterations of computing and summing. An iteration is a job; a host begins the next one when it has
/// all parts of the sum.
#[derive(Debug)]
pub struct AllReduce {
    collective: Collective,
    hosts: Vec<HostId>,
    /// One n-th of the vector.
    part: Cargo,
    compute: Span,
    iterations: u32,
    /// Parts that each host got of its iteration, by step for the transpose.
    collected: Vec<usize>,
    spread: Vec<usize>,
    iteration: Vec<u32>,
    open: u64,
    chance: Chance,
    agenda: Agenda,
}

impl AllReduce {
    /// So many iterations, the first of which begins to compute at `start`; `part` is what one n-th
    /// of the vector is.
    ///
    /// # Panics
    /// If there are fewer than 2 or more than 2048 hosts, or no iterations.
    pub fn new(
        collective: Collective,
        hosts: Vec<HostId>,
        part: Cargo,
        compute: Span,
        iterations: u32,
        start: Time,
        chance: Chance,
    ) -> Self {
        let n = hosts.len();
        assert!((2..=MOST).contains(&n) && iterations > 0, "{n} hosts, {iterations} iterations");
        let mut all = Self {
            collective,
            hosts,
            part,
            compute,
            iterations,
            collected: vec![0; n],
            spread: vec![0; n],
            iteration: vec![0; n],
            open: 0,
            chance,
            agenda: Agenda::default(),
        };
        for host in 0..n {
            all.begin(host, start + compute);
        }
        all
    }

    fn send(&mut self, from: usize, to: usize, step: usize, iteration: u32, at: Time) {
        let tag = Tag::new(iteration, (step as u32) << STEP | to as u32);
        let flow = self.part.flow(self.hosts[from], self.hosts[to], tag, &mut self.chance);
        self.agenda.push(at, flow);
        self.open += 1;
    }

    /// To all others, each host beginning with its neighbour.
    fn send_to_all(&mut self, from: usize, step: usize, iteration: u32, at: Time) {
        let n = self.hosts.len();
        for distance in 1..n {
            self.send(from, (from + distance) % n, step, iteration, at);
        }
    }

    fn begin(&mut self, host: usize, at: Time) {
        let iteration = self.iteration[host];
        match self.collective {
            Collective::Ring => self.send(host, (host + 1) % self.hosts.len(), 0, iteration, at),
            Collective::Transpose => self.send_to_all(host, 0, iteration, at),
        }
    }

    /// A host has all parts of the sum.
    fn end(&mut self, host: usize, now: Time) {
        self.iteration[host] += 1;
        if self.iteration[host] < self.iterations {
            self.begin(host, now + self.compute);
        }
    }
}

impl Driver for AllReduce {
    fn poll_timeout(&self) -> Option<Time> {
        self.agenda.next()
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        self.agenda.pop(now)
    }

    fn handle_done(&mut self, done: &Done) {
        self.open -= 1;
        let (tag, n) = (Tag::unpack(done.tag), self.hosts.len());
        let (step, host) = ((tag.part >> STEP) as usize, (tag.part & ((1 << STEP) - 1)) as usize);
        match self.collective {
            Collective::Ring if step + 1 < 2 * (n - 1) => {
                self.send(host, (host + 1) % n, step + 1, tag.job, done.finished);
            }
            Collective::Ring => self.end(host, done.finished),
            Collective::Transpose if step == 0 => {
                self.collected[host] += 1;
                if self.collected[host] == n - 1 {
                    self.collected[host] = 0;
                    self.send_to_all(host, 1, tag.job, done.finished);
                }
            }
            Collective::Transpose => {
                self.spread[host] += 1;
                if self.spread[host] == n - 1 {
                    self.spread[host] = 0;
                    self.end(host, done.finished);
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.open == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    fn run(collective: Collective, n: u16, takes: fn(&Flow) -> Span) -> Vec<(Time, Flow, Time)> {
        let (compute, chance) = (Span::from_us(100), Chance::new(1, "sum", 0));
        let part = cargo(500);
        let driver = AllReduce::new(collective, hosts(n), part, compute, 3, Time::ZERO, chance);
        play(driver, takes)
    }

    fn end(ran: &[(Time, Flow, Time)]) -> u64 {
        ran.iter().map(|(_, _, end)| end.since(Time::ZERO).as_us()).max().unwrap()
    }

    #[test]
    fn a_ring_has_twice_n_minus_one_steps() {
        let ran = run(Collective::Ring, 6, |_| Span::from_us(10));
        assert_eq!((ran.len(), end(&ran)), (3 * 6 * 10, 3 * (100 + 10 * 10)));
        assert!(ran.iter().all(|(_, flow, _)| flow.to.0 == (flow.from.0 + 1) % 6));
    }

    #[test]
    fn a_transpose_has_two() {
        let ran = run(Collective::Transpose, 6, |_| Span::from_us(10));
        assert_eq!((ran.len(), end(&ran)), (3 * 2 * 6 * 5, 3 * (100 + 20)));
        // Every pair twice in each iteration.
        let mut pairs: Vec<_> = ran.iter().map(|(_, flow, _)| (flow.from, flow.to)).collect();
        pairs.sort_unstable();
        assert!(pairs.chunks(6).all(|same| same.iter().all(|pair| *pair == same[0])));
    }

    #[test]
    fn one_slow_link_delays_a_ring_more_than_a_transpose() {
        let slow = |flow: &Flow| {
            Span::from_us(if flow.from == HostId(0) && flow.to == HostId(1) { 50 } else { 10 })
        };
        let (ring, transpose) =
            (end(&run(Collective::Ring, 6, slow)), end(&run(Collective::Transpose, 6, slow)));
        // In the ring, every part that passes the slow link is late: each chain of 10 steps crosses it
        // once or twice.
        assert!(ring > transpose, "{ring} {transpose}");
    }
}
