//! A whole job: a server, a replica, a scheduler, an aggregator and workers.

use laxity_fabric::{
    Rank,
    roles::{
        Add, Aggregator, AggregatorOptions, Mode, Node, Replica, ReplicaOptions, Replication,
        Scheduler, SchedulerOptions, Server, ServerOptions, View, Worker, WorkerOptions,
    },
};
use laxity_interface::{Rate, Span};

use crate::world::{Dice, Program, World, rank};

pub(crate) const SERVER: Rank = rank(0);
pub(crate) const REPLICA: Rank = rank(1);
pub(crate) const SCHEDULER: Rank = rank(2);
pub(crate) const AGGREGATOR: Rank = rank(3);
/// The first of them.
pub(crate) const WORKER: Rank = rank(4);
pub(crate) const ELEMENTS: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) workers: u32,
    pub(crate) rounds: u64,
    pub(crate) mode: Mode,
    pub(crate) momentum: f64,
    pub(crate) replication: Replication,
    pub(crate) scheduled: bool,
    /// How many models leave the server at once, and how many workers each of them reaches.
    pub(crate) answers: Option<(usize, usize)>,
    /// Into how many parts models are cut that workers pass on.
    pub(crate) parts: usize,
    /// How many updates the server awaits at once.
    pub(crate) awaits: Option<usize>,
    pub(crate) seed: u64,
}

impl Job {
    pub(crate) fn new(workers: u32, rounds: u64) -> Self {
        Self {
            workers,
            rounds,
            mode: Mode::Async { staleness: None },
            momentum: 0.0,
            replication: Replication::default(),
            scheduled: true,
            answers: None,
            parts: 1,
            awaits: None,
            seed: 1,
        }
    }

    pub(crate) fn ranks(&self) -> Vec<Rank> {
        (0..self.workers).map(|at| rank(WORKER.get() + at)).collect()
    }

    pub(crate) fn scheduler(&self) -> Option<Rank> {
        self.scheduled.then_some(SCHEDULER)
    }

    pub(crate) fn server_options(&self) -> ServerOptions {
        ServerOptions {
            mode: self.mode,
            momentum: self.momentum,
            replication: self.replication,
            others: vec![AGGREGATOR],
            scheduler: self.scheduler(),
            answers: self.answers.map(|(most, _)| most),
            relay: self.answers.map_or(1, |(_, relay)| relay),
            parts: self.parts,
            awaits: self.awaits,
            ..ServerOptions::new(self.ranks())
        }
    }

    pub(crate) fn scheduler_node(&self) -> Node {
        let view = View::new(Rate::from_mbps(1));
        let options = SchedulerOptions { grace: Span::from_ms(20), ..SchedulerOptions::default() };
        Node::new(SCHEDULER).with_scheduler(Scheduler::new(SCHEDULER, view, options))
    }

    /// Everybody in a world where parcels overtake each other.
    pub(crate) fn start(&self) -> World {
        let mut world = World {
            latency: Span::from_us(200),
            jitter: Span::from_ms(2),
            detect: Span::from_ms(5),
            dice: Some(Dice(self.seed)),
            ..World::default()
        };
        let options = self.server_options();
        let server = Server::new(SERVER, vec![0.0; ELEMENTS], Add, options.clone()).unwrap();
        world.add(Node::new(SERVER).with_server(server));
        let options = ReplicaOptions { server: SERVER, silence: Span::from_secs(1), then: options };
        let replica = Replica::new(REPLICA, ELEMENTS, Add, options).unwrap();
        world.add(Node::new(REPLICA).with_replica(replica));
        if self.scheduled {
            world.add(self.scheduler_node());
        }
        let options =
            AggregatorOptions { scheduler: self.scheduler(), ..AggregatorOptions::default() };
        world.add(Node::new(AGGREGATOR).with_aggregator(Aggregator::new(AGGREGATOR, options)));
        for worker in self.ranks() {
            let options = WorkerOptions { scheduler: self.scheduler(), ..WorkerOptions::default() };
            world.add(Node::new(worker).with_worker(Worker::new(worker, options)));
            let compute = Span::from_ms(1 + u64::from(worker.get()) % 3);
            let mut program = Program::new(SERVER, self.rounds, compute, count_one);
            program.wait_for_next = matches!(self.mode, Mode::Sync { .. });
            world.program(worker, program);
        }
        world
    }
}

/// Adds one at the worker's own element: the model then says how many updates of each are in it.
pub(crate) fn count_one(worker: Rank, _: u64) -> Vec<f32> {
    let mut update = vec![0.0; ELEMENTS];
    update[(worker.get() - WORKER.get()) as usize] = 1.0;
    update
}
