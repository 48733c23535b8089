//! Training with parameter servers: compute, push, pull.

use laxity_interface::{Span, Time};

use super::{agenda::Agenda, cargo::Cargo, tag::Tag};
use crate::{
    chance::Chance,
    flow::{Done, Driver, Flow, HostId},
};

/// In a flow's part: a worker gets its answer. The other bits are the receiver's position.
const PULL: u32 = 1 << 20;

/// Iterations in step: every worker computes, pushes a part of its update to every server and pulls
/// that part of the model once the server has heard all workers. An iteration is a job.
#[derive(Debug)]
pub struct ParameterServer {
    workers: Vec<HostId>,
    servers: Vec<HostId>,
    /// What goes from one worker to one server, and back.
    part: Cargo,
    compute: Span,
    iterations: u32,
    /// Pushes that each server has of its iteration.
    pushed: Vec<usize>,
    /// Pulls that each worker has of its iteration.
    pulled: Vec<usize>,
    /// Which iteration each worker is in.
    iteration: Vec<u32>,
    open: u64,
    chance: Chance,
    agenda: Agenda,
}

impl ParameterServer {
    /// So many iterations, the first of which begins to compute at `start`.
    ///
    /// # Panics
    /// If there are no workers, no servers or no iterations, or a host is both.
    pub fn new(
        workers: Vec<HostId>,
        servers: Vec<HostId>,
        part: Cargo,
        compute: Span,
        iterations: u32,
        start: Time,
        chance: Chance,
    ) -> Self {
        assert!(!workers.is_empty() && !servers.is_empty() && iterations > 0);
        assert!(!workers.iter().any(|w| servers.contains(w)), "a host is worker and server");
        let mut all = Self {
            pushed: vec![0; servers.len()],
            pulled: vec![0; workers.len()],
            iteration: vec![0; workers.len()],
            workers,
            servers,
            part,
            compute,
            iterations,
            open: 0,
            chance,
            agenda: Agenda::default(),
        };
        for worker in 0..all.workers.len() {
            all.push(worker, start);
        }
        all
    }

    /// A worker computes and then pushes.
    fn push(&mut self, worker: usize, now: Time) {
        let servers = self.servers.len();
        for step in 0..servers {
            // Workers begin with different servers.
            let server = (worker + step) % servers;
            let tag = Tag::new(self.iteration[worker], server as u32);
            let (from, to) = (self.workers[worker], self.servers[server]);
            let flow = self.part.flow(from, to, tag, &mut self.chance);
            self.agenda.push(now + self.compute, flow);
            self.open += 1;
        }
    }

    /// A server has everything and answers.
    fn answer(&mut self, server: usize, iteration: u32, now: Time) {
        for worker in 0..self.workers.len() {
            let tag = Tag::new(iteration, PULL | worker as u32);
            let (from, to) = (self.servers[server], self.workers[worker]);
            let flow = self.part.flow(from, to, tag, &mut self.chance);
            self.agenda.push(now, flow);
            self.open += 1;
        }
    }
}

impl Driver for ParameterServer {
    fn poll_timeout(&self) -> Option<Time> {
        self.agenda.next()
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        self.agenda.pop(now)
    }

    fn handle_done(&mut self, done: &Done) {
        self.open -= 1;
        let tag = Tag::unpack(done.tag);
        let receiver = (tag.part & !PULL) as usize;
        if tag.part & PULL == 0 {
            self.pushed[receiver] += 1;
            if self.pushed[receiver] == self.workers.len() {
                self.pushed[receiver] = 0;
                self.answer(receiver, tag.job, done.finished);
            }
            return;
        }
        self.pulled[receiver] += 1;
        if self.pulled[receiver] == self.servers.len() {
            self.pulled[receiver] = 0;
            self.iteration[receiver] += 1;
            if self.iteration[receiver] < self.iterations {
                self.push(receiver, done.finished);
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

    #[test]
    fn an_iteration_is_compute_push_and_pull() {
        let all = hosts(7);
        let (servers, workers) = all.split_at(3);
        let (compute, chance) = (Span::from_us(100), Chance::new(1, "ps", 0));
        let driver = ParameterServer::new(
            workers.to_vec(),
            servers.to_vec(),
            cargo(1000),
            compute,
            5,
            Time::ZERO,
            chance,
        );
        let ran = play(driver, |_| Span::from_us(10));
        assert_eq!(ran.len(), 5 * 2 * 3 * 4);
        let end = ran.iter().map(|(_, _, end)| *end).max().unwrap();
        assert_eq!(end, Time::ZERO + Span::from_us(120) * 5);
    }

    #[test]
    fn servers_wait_for_the_slowest_worker() {
        let (workers, servers) = (vec![HostId(1), HostId(2)], vec![HostId(0)]);
        let chance = Chance::new(1, "ps", 0);
        let driver =
            ParameterServer::new(workers, servers, cargo(1000), Span::ZERO, 3, Time::ZERO, chance);
        // Worker 2 sends slowly; worker 1 gets its answers late all the same.
        let ran = play(driver, |flow| Span::from_us(if flow.from == HostId(2) { 50 } else { 10 }));
        let pulls = ran.iter().filter(|(_, flow, _)| flow.from == HostId(0));
        let starts: Vec<_> = pulls.map(|(at, ..)| at.since(Time::ZERO).as_us()).collect();
        assert_eq!(starts, [50, 50, 110, 110, 170, 170]);
    }
}
