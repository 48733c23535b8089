//! The shipping roles, training for real, in virtual time over shared links.

use std::collections::BTreeMap;

use laxity_fabric::{
    Rank,
    carrier::fluid::Network,
    roles::{
        AdaDelay, Aggregator, AggregatorOptions, Mode, Node, Notice, Push, Replica, ReplicaOptions,
        Replication, Scheduler, SchedulerOptions, Server, ServerOptions, Version, View, Worker,
        WorkerOptions,
    },
};
use laxity_interface::{Span, Time};

use super::{setting::Setting, story::Story, task::Task};
use crate::error::ReproduceError;

/// Between any two hosts, one way.
const LATENCY: Span = Span::from_us(50);
/// How often the scheduler learns what links have.
const MONITOR: Span = Span::from_secs(1);

/// Into how many parts a model is cut that workers pass on.
const PARTS: usize = 16;

pub(in crate::mlfabric) const SERVER: Rank = Rank::new(0);

/// How workers, a server and the network work together.
#[derive(Debug, Clone)]
pub(in crate::mlfabric) struct System {
    pub(in crate::mlfabric) mode: Mode,
    /// A scheduler, and aggregators on the workers' own hosts.
    pub(in crate::mlfabric) scheduler: Option<SchedulerOptions>,
    /// How many models leave the server at once, and how many workers each of them reaches.
    pub(in crate::mlfabric) answers: Option<(usize, usize)>,
    /// A replica, and what is demanded of it.
    pub(in crate::mlfabric) replica: Option<Replication>,
    pub(in crate::mlfabric) momentum: f64,
    pub(in crate::mlfabric) rule: AdaDelay,
}

/// AdaDelay that begins at a rate and falls: rate / (1 + fall·√(t + τ)).
pub(in crate::mlfabric) fn ada_delay(rate: f64, fall: f64) -> AdaDelay {
    AdaDelay { smoothness: 1.0 / rate, c: fall / rate }
}

/// Everybody, and what is on its way.
pub(in crate::mlfabric) struct World<'a> {
    pub(in crate::mlfabric) task: &'a Task,
    setting: Setting,
    workers: u32,
    pub(in crate::mlfabric) network: Network,
    pub(in crate::mlfabric) nodes: BTreeMap<Rank, Node>,
    pub(in crate::mlfabric) now: Time,
    /// What workers compute from, by when they are done.
    computing: BTreeMap<(Time, Rank), (Version, Vec<f32>)>,
    /// How many updates each worker has begun.
    begun: BTreeMap<Rank, u64>,
    next_monitor: Time,
    pub(in crate::mlfabric) story: Story,
    wrong: Option<String>,
}

impl<'a> World<'a> {
    /// Everybody at the start.
    pub(in crate::mlfabric) fn new(
        task: &'a Task,
        system: &System,
        workers: u32,
        setting: Setting,
    ) -> Result<Self, ReproduceError> {
        let ranks: Vec<_> = (1..=workers).map(Rank::new).collect();
        let (scheduler_rank, replica_rank) = (Rank::new(workers + 1), Rank::new(workers + 2));
        let scheduler = system.scheduler.map(|_| scheduler_rank);
        let options = ServerOptions {
            mode: system.mode,
            momentum: system.momentum,
            scheduler,
            answers: system.answers.map(|(most, _)| most),
            relay: system.answers.map_or(1, |(_, relay)| relay),
            parts: PARTS,
            replication: system.replica.unwrap_or_default(),
            others: if scheduler.is_some() { ranks.clone() } else { Vec::new() },
            ..ServerOptions::new(ranks.clone())
        };
        let rule = system.rule;
        let start = task.model.start(setting.seed);
        let elements = start.len();
        let wrong = |error| ReproduceError::other("setting up a server", error);
        let server = Server::new(SERVER, start, rule, options.clone()).map_err(wrong)?;
        let mut nodes = BTreeMap::from([(SERVER, Node::new(SERVER).with_server(server))]);
        for rank in &ranks {
            let patience = Span::from_secs(30);
            let worker = WorkerOptions { scheduler, patience, ..WorkerOptions::default() };
            let mut node = Node::new(*rank).with_worker(Worker::new(*rank, worker));
            if scheduler.is_some() {
                let aggregator = AggregatorOptions { scheduler, ..AggregatorOptions::default() };
                node = node.with_aggregator(Aggregator::new(*rank, aggregator));
            }
            nodes.insert(*rank, node);
        }
        if let Some(options) = system.scheduler {
            let view = View::new(task.link());
            let scheduler = Scheduler::new(scheduler_rank, view, options);
            nodes.insert(scheduler_rank, Node::new(scheduler_rank).with_scheduler(scheduler));
        }
        if system.replica.is_some() {
            let silence = Span::from_secs(1);
            let options = ReplicaOptions { server: SERVER, silence, then: options };
            let replica = Replica::new(replica_rank, elements, rule, options).map_err(wrong)?;
            nodes.insert(replica_rank, Node::new(replica_rank).with_replica(replica));
        }
        let mut world = Self {
            task,
            setting,
            workers,
            network: Network::new(workers + 3, task.link(), LATENCY),
            nodes,
            now: Time::ZERO,
            computing: BTreeMap::new(),
            begun: BTreeMap::new(),
            next_monitor: Time::ZERO,
            story: Story::default(),
            wrong: None,
        };
        world.contend();
        for rank in ranks {
            world.ask(rank, Version::default());
        }
        for rank in world.nodes.keys().copied().collect::<Vec<_>>() {
            world.settle(rank);
        }
        Ok(world)
    }

    /// Who holds a copy of the model.
    pub(in crate::mlfabric) fn replica_rank(&self) -> Rank {
        Rank::new(self.workers + 2)
    }

    /// Who serves the model now.
    pub(in crate::mlfabric) fn server(&self) -> Option<&Server> {
        self.nodes.values().find_map(Node::server)
    }

    fn ask(&mut self, worker: Rank, at_least: Version) {
        if let Some(worker) = self.nodes.get_mut(&worker).and_then(Node::worker) {
            worker.get(SERVER, at_least);
        }
    }

    /// Links have what others leave of them from now on; now and then the scheduler is told.
    fn contend(&mut self) {
        let full = self.task.link();
        for host in 0..=self.workers + 2 {
            let rate =
                full.mul_f64(self.setting.contention.left(host, self.now, self.setting.seed));
            self.network.set_host(self.now, Rank::new(host), rate, rate);
        }
    }

    fn monitor(&mut self) {
        self.next_monitor = self.now + MONITOR;
        let rank = Rank::new(self.workers + 1);
        if let Some(scheduler) = self.nodes.get_mut(&rank).and_then(Node::scheduler) {
            for host in (0..=self.workers).map(Rank::new) {
                let (up, down) = self.network.host(host);
                scheduler.view().set_host(host, up, down);
            }
        }
    }

    /// Lets a node send and speak until it has nothing more to do at this moment.
    fn settle(&mut self, rank: Rank) {
        let now = self.now;
        loop {
            let mut quiet = true;
            while let Some(parcel) = self.nodes.get_mut(&rank).and_then(|n| n.poll_parcel(now)) {
                quiet = false;
                self.network.submit(now, rank, parcel);
            }
            while let Some(notice) = self.nodes.get_mut(&rank).and_then(Node::poll_notice) {
                quiet = false;
                self.noticed(rank, notice);
            }
            if quiet {
                return;
            }
        }
    }

    fn noticed(&mut self, rank: Rank, notice: Notice) {
        match notice {
            Notice::Model { version, values, .. } => {
                let number = self.begun.entry(rank).or_default();
                *number += 1;
                let Setting { compute, seed, .. } = self.setting;
                let takes = compute.takes(self.task.compute, rank.get(), *number, seed);
                self.computing.insert((self.now + takes, rank), (version, values));
            }
            Notice::Committed { version, delay, .. } => {
                self.story.delays.push(delay);
                self.ask(rank, version);
            }
            Notice::Dropped { .. } => {
                self.story.dropped += 1;
                self.ask(rank, Version::default());
            }
            Notice::Commit(commit) => {
                self.story.commits += 1;
                self.story.updates += commit.members.len() as u64;
                if commit.members.len() > 1 {
                    self.story.summed += commit.members.len() as u64;
                }
                self.story.apart = self.story.apart.max(commit.apart.unwrap_or(0.0));
            }
            Notice::Promoted(promotion) => self.story.promoted = Some((self.now, promotion)),
            Notice::Refusal { what, .. } => self.wrong = Some(what),
            _ => {}
        }
    }

    fn computed(&mut self, worker: Rank, version: Version, values: &[f32]) {
        let number = self.begun.get(&worker).copied().unwrap_or(0);
        let examples = self.task.examples(worker.get(), number, self.setting.seed);
        let (_, gradient) = self.task.model.gradient(values, &examples);
        if let Some(worker) = self.nodes.get_mut(&worker).and_then(Node::worker)
            && worker.push(self.now, SERVER, Push::new(&gradient, version)).is_err()
        {
            // Only a loss that is no number gives an update that is not taken.
            self.story.diverged = true;
        }
    }

    /// The process of a rank ends without a word.
    pub(in crate::mlfabric) fn kill(&mut self, rank: Rank) -> Option<Node> {
        self.network.kill(self.now, rank);
        self.computing.retain(|(_, worker), _| *worker != rank);
        self.nodes.remove(&rank)
    }

    /// One thing happens; false when nothing does until `until`.
    pub(in crate::mlfabric) fn step(&mut self, until: Time) -> Result<bool, ReproduceError> {
        if let Some(what) = self.wrong.take() {
            return Err(ReproduceError::other("training over roles", what));
        }
        let timers = self.nodes.iter().filter_map(|(rank, n)| Some((n.poll_timeout()?, *rank)));
        let timer = timers.min().map(|(at, rank)| (at.max(self.now), rank));
        let done = self.computing.first_key_value().map(|((at, _), _)| *at);
        let episode = self.setting.contention.episode();
        let change = Time::ZERO + episode * (self.now.as_ps() / episode.as_ps() + 1);
        let network = self.network.next_event();
        let times = [timer.map(|(at, _)| at), done, network, Some(change), Some(self.next_monitor)];
        let next = times.into_iter().flatten().min().unwrap_or(until);
        if next > until {
            self.now = until;
            return Ok(false);
        }
        self.now = next;
        if next == change {
            self.contend();
        }
        if next == self.next_monitor {
            self.monitor();
        }
        let acted = if let Some((to, event)) = self.network.take(next) {
            self.nodes.get_mut(&to).map(|node| node.handle_event(next, event)).map(|_| to)
        } else if let Some((at, _)) =
            self.computing.first_key_value().filter(|_| done == Some(next))
        {
            let (_, worker) = *at;
            if let Some((_, (version, values))) = self.computing.pop_first() {
                self.computed(worker, version, &values);
            }
            Some(worker)
        } else if let Some((_, rank)) = timer.filter(|(at, _)| *at == next) {
            self.nodes.get_mut(&rank).map(|node| node.handle_timeout(next)).map(|()| rank)
        } else {
            None
        };
        if let Some(rank) = acted {
            self.settle(rank);
        }
        Ok(true)
    }

    /// Trains until the loss is at most the target, twice in a row, looking every so many updates.
    pub(in crate::mlfabric) fn train(
        &mut self,
        look: u64,
        until: Time,
    ) -> Result<(), ReproduceError> {
        let (mut seen, mut good) = (0, false);
        while self.step(until)? && !self.story.diverged {
            if self.story.updates < seen + look {
                continue;
            }
            seen = self.story.updates;
            let Some(server) = self.server() else { continue };
            let loss = self.task.model.evaluate(server.model()).loss;
            self.story.losses.push((self.now, loss));
            if !loss.is_finite() {
                self.story.diverged = true;
            }
            if loss <= self.task.target && std::mem::replace(&mut good, true) {
                self.story.reached = Some(self.now);
                return Ok(());
            }
            good = loss <= self.task.target;
        }
        Ok(())
    }
}
