//! Synchronous training by all-reduce, with the shipping collectives, in virtual time over shared links.

use std::collections::BTreeMap;

use bytes::Bytes;
use laxity_fabric::{
    Algorithm, Element, Engine, Group, OpId, Operation, Options as Operating, Rank, ReduceOp,
    carrier::fluid::Network,
};
use laxity_interface::{Span, Time};

use super::{setting::Setting, story::Story, task::Task};
use crate::error::ReproduceError;

/// Between any two hosts, one way.
const LATENCY: Span = Span::from_us(50);

/// Workers that average their gradients in a ring.
pub(in crate::mlfabric) struct Ring<'a> {
    task: &'a Task,
    setting: Setting,
    group: Group,
    rate: f64,
    fall: f64,
    network: Network,
    engines: Vec<Engine>,
    /// The same on all of them.
    parameters: Vec<f32>,
    rounds: u64,
    computing: BTreeMap<(Time, Rank), ()>,
    running: BTreeMap<Rank, OpId>,
    waiting: usize,
    now: Time,
}

impl<'a> Ring<'a> {
    pub(in crate::mlfabric) fn new(
        task: &'a Task,
        workers: u32,
        setting: Setting,
        (rate, fall): (f64, f64),
    ) -> Self {
        Self {
            task,
            setting,
            group: Group::world(workers),
            rate,
            fall,
            network: Network::new(workers, task.link(), LATENCY),
            engines: (0..workers).map(|rank| Engine::new(Rank::new(rank))).collect(),
            parameters: task.model.start(setting.seed),
            rounds: 0,
            computing: BTreeMap::new(),
            running: BTreeMap::new(),
            waiting: 0,
            now: Time::ZERO,
        }
    }

    /// Trains until the target or the limit.
    pub(in crate::mlfabric) fn train(mut self, until: Time) -> Result<Story, ReproduceError> {
        let mut story = Story::default();
        self.contend();
        for rank in 0..self.engines.len() as u32 {
            self.compute(Rank::new(rank));
        }
        let mut good = false;
        while self.now < until {
            let before = self.rounds;
            self.step()?;
            if self.rounds == before {
                continue;
            }
            story.commits += 1;
            story.updates += self.engines.len() as u64;
            let loss = self.task.model.evaluate(&self.parameters).loss;
            story.losses.push((self.now, loss));
            if loss <= self.task.target && std::mem::replace(&mut good, true) {
                story.reached = Some(self.now);
                return Ok(story);
            }
            good = loss <= self.task.target;
        }
        Ok(story)
    }

    /// A worker begins to compute. Workers are hosts 1, 2, … as with a server, so that contention is the same.
    fn compute(&mut self, rank: Rank) {
        let Setting { compute, seed, .. } = self.setting;
        let takes = compute.takes(self.task.compute, rank.get() + 1, self.rounds + 1, seed);
        self.computing.insert((self.now + takes, rank), ());
    }

    fn contend(&mut self) {
        for rank in (0..self.engines.len() as u32).map(Rank::new) {
            let Setting { contention, seed, .. } = self.setting;
            let rate = self.task.link().mul_f64(contention.left(rank.get() + 1, self.now, seed));
            self.network.set_host(self.now, rank, rate, rate);
        }
    }

    fn step(&mut self) -> Result<(), ReproduceError> {
        let episode = self.setting.contention.episode();
        let change = Time::ZERO + episode * (self.now.as_ps() / episode.as_ps() + 1);
        let done = self.computing.first_key_value().map(|((at, _), ())| *at);
        let timers = self.engines.iter().filter_map(Engine::poll_timeout).min();
        let timers = timers.map(|at| at.max(self.now));
        let times = [Some(change), done, self.network.next_event(), timers];
        let next = times.into_iter().flatten().min().unwrap_or(change);
        self.now = next;
        if next == change {
            self.contend();
        }
        if let Some((to, event)) = self.network.take(next) {
            self.engines[to.index()].handle_event(next, event);
            self.settle(to)?;
        } else if done == Some(next) {
            if let Some(((_, rank), ())) = self.computing.pop_first() {
                self.start(rank)?;
                self.settle(rank)?;
            }
        } else if timers == Some(next) {
            for rank in (0..self.engines.len() as u32).map(Rank::new) {
                self.engines[rank.index()].handle_timeout(next);
                self.settle(rank)?;
            }
        }
        Ok(())
    }

    /// A worker has its gradient and gives it to the others.
    fn start(&mut self, rank: Rank) -> Result<(), ReproduceError> {
        let examples = self.task.examples(rank.get() + 1, self.rounds + 1, self.setting.seed);
        let (_, gradient) = self.task.model.gradient(&self.parameters, &examples);
        let bytes: Vec<u8> = gradient.iter().flat_map(|x| x.to_le_bytes()).collect();
        let options = Operating {
            algorithm: Algorithm::Ring,
            limit: Span::from_secs(3600),
            ..Operating::default()
        };
        let all = Operation::AllReduce(ReduceOp::Mean);
        let engine = &mut self.engines[rank.index()];
        let id = engine
            .start(self.now, &self.group, all, f32::TYPE, Bytes::from(bytes), &options)
            .map_err(|error| ReproduceError::other("starting an all-reduce", error))?;
        self.running.insert(rank, id);
        Ok(())
    }

    /// Sends what a worker has to send; when all have the mean, the next round begins. (They have it at nearly the
    /// same time: nobody is done before the last part has gone round.)
    fn settle(&mut self, rank: Rank) -> Result<(), ReproduceError> {
        while let Some(parcel) = self.engines[rank.index()].poll_parcel() {
            self.network.submit(self.now, rank, parcel);
        }
        while let Some((_, result)) = self.engines[rank.index()].poll_finished() {
            let outcome = result.map_err(|error| ReproduceError::other("an all-reduce", error))?;
            self.running.remove(&rank);
            self.waiting += 1;
            if self.waiting == self.engines.len() {
                let mut bytes = vec![0; outcome.len()];
                outcome.copy_to(&mut bytes);
                self.apply(&bytes);
            }
        }
        Ok(())
    }

    fn apply(&mut self, mean: &[u8]) {
        let rate = (self.rate / (1.0 + self.fall * (self.rounds as f64).sqrt())) as f32;
        let (mean, _) = mean.as_chunks::<4>();
        for (parameter, mean) in self.parameters.iter_mut().zip(mean) {
            *parameter -= rate * f32::from_le_bytes(*mean);
        }
        self.rounds += 1;
        self.waiting = 0;
        for rank in 0..self.engines.len() as u32 {
            self.compute(Rank::new(rank));
        }
    }
}
