//! The passing of time, from event to event.

mod commits;
mod hosts;
mod rates;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use laxity_interface::{FlowId, Time};
use laxity_planner::Options;

use crate::{
    error::SimError,
    graph::{Graph, Is, Node, on_clock},
    outcome::{Outcome, Ran, Sent},
    work::OperationId,
    world::World,
};
use commits::Commits;
use hosts::Hosts;
use rates::Rates;

/// How a simulation is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How the planner gives rates.
    pub options: Options,
    /// Whether every change of a rate is kept, for pictures and explanations.
    pub trace: bool,
    /// Whether fair rates are kept up to date instead of planned anew. The rates are the same; reasons
    /// are not given then.
    pub incremental: bool,
}

impl Settings {
    /// These options, without a trace.
    pub const fn new(options: Options) -> Self {
        Self { options, trace: false, incremental: true }
    }

    /// Keeps every change of a rate.
    #[must_use]
    pub const fn traced(mut self) -> Self {
        self.trace = true;
        self.incremental = false;
        self
    }
}

/// Lets time pass until everything is done.
pub fn simulate(world: &World, settings: &Settings) -> Result<Outcome, SimError> {
    let graph = Graph::new(world)?;
    let mut run = Run {
        world,
        waits_for: graph.waits_for.clone(),
        events: BinaryHeap::new(),
        hosts: Hosts::default(),
        rates: Rates::new(world, settings),
        commits: Commits::new(world),
        ended: vec![None; graph.waits_for.len()],
        released: vec![Time::ZERO; graph.waits_for.len()],
        outcome: Outcome { work_ends: vec![Time::ZERO; world.works.len()], ..Outcome::default() },
        open: (0..graph.waits_for.len()).collect(),
        graph,
    };
    for (at, work) in world.works.iter().enumerate() {
        run.events.push(Reverse((work.arrives, Event::Arrival(at))));
    }
    run.go()?;
    let Run { mut outcome, rates, commits, .. } = run;
    outcome.commits = commits.log;
    outcome.rates = rates.changes;
    outcome.plans = rates.plans;
    Ok(outcome)
}

/// What happens at a moment. The order decides between events of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An operation ends.
    Ended(Node),
    /// Work arrives.
    Arrival(usize),
    /// A flow reaches its time of release.
    Released(Node),
}

struct Run<'a> {
    world: &'a World,
    graph: Graph,
    /// What each node still waits for.
    waits_for: Vec<u32>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    hosts: Hosts,
    rates: Rates<'a>,
    commits: Commits<'a>,
    /// When operations ended.
    ended: Vec<Option<Time>>,
    /// When each node could start; for operations that run, when they started.
    released: Vec<Time>,
    outcome: Outcome,
    /// What is not done.
    open: BTreeSet<Node>,
}

impl Run<'_> {
    fn go(&mut self) -> Result<(), SimError> {
        let mut now = Time::ZERO;
        loop {
            // Everything of this moment, also what follows from it without time passing.
            while let Some(Reverse((at, _))) = self.events.peek()
                && *at <= now
            {
                let Some(Reverse((_, event))) = self.events.pop() else { break };
                self.handle(now, event);
            }
            self.rates.plan(now)?;
            let event = self.events.peek().map(|Reverse((at, _))| *at);
            let next = event.into_iter().chain(self.rates.next(now)).min();
            let Some(next) = next else { break };
            for node in self.rates.advance(now, next) {
                self.arrived(next, node, false);
            }
            now = next;
        }
        match self.open.first() {
            None => Ok(()),
            Some(node) => {
                let (work, is) = self.graph.find(self.world, *node);
                let work = &self.world.works[work];
                let first = match is {
                    Is::Operation(id) => work.operations[id.index()].name.clone(),
                    Is::Flow(id) => work.flows[id.0 as usize].name.clone(),
                };
                Err(SimError::Stuck { at: now, waiting: self.open.len(), first })
            }
        }
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrival(work) => {
                let nodes = self.graph.first[work]..self.graph.first[work + 1];
                if nodes.is_empty() {
                    self.outcome.work_ends[work] = now;
                }
                for node in nodes {
                    self.satisfied(now, node);
                }
            }
            Event::Ended(node) => {
                let (work, is) = self.graph.find(self.world, node);
                if let Is::Operation(operation) = is {
                    self.operation_ended(now, node, work, operation);
                }
            }
            Event::Released(node) => self.release(now, node),
        }
    }

    /// One of the things that a node waits for is there.
    fn satisfied(&mut self, now: Time, node: Node) {
        self.waits_for[node] -= 1;
        if self.waits_for[node] > 0 {
            return;
        }
        let (work, is) = self.graph.find(self.world, node);
        let described = &self.world.works[work];
        match is {
            Is::Operation(id) => {
                let operation = &described.operations[id.index()];
                if let Some(node) = self.hosts.ready(operation.host, node) {
                    self.start(now, node);
                }
            }
            Is::Flow(id) => {
                let release = on_clock(described, described.flows[id.0 as usize].release);
                if release > now {
                    self.events.push(Reverse((release, Event::Released(node))));
                } else {
                    self.release(now, node);
                }
            }
        }
    }

    fn start(&mut self, now: Time, node: Node) {
        let (work, is) = self.graph.find(self.world, node);
        let Is::Operation(id) = is else { return };
        self.released[node] = now;
        self.commits.started(work, id);
        let operation = &self.world.works[work].operations[id.index()];
        let end = self.world.ends(operation.host, now, operation.takes);
        self.events.push(Reverse((end, Event::Ended(node))));
    }

    fn operation_ended(&mut self, now: Time, node: Node, work: usize, operation: OperationId) {
        let start = self.released[node];
        self.ended[node] = Some(now);
        self.outcome.operations.push(Ran { work, operation, start, end: now });
        self.done(now, node, work);
        let host = self.world.works[work].operations[operation.index()].host;
        if let Some(next) = self.hosts.free(host) {
            self.start(now, next);
        }
    }

    /// A flow may start.
    fn release(&mut self, now: Time, node: Node) {
        let (work, is) = self.graph.find(self.world, node);
        let Is::Flow(flow) = is else { return };
        self.released[node] = now;
        if self.commits.too_stale(work, flow) {
            self.arrived(now, node, true);
            return;
        }
        let path = (work, self.graph.paths[node].clone().expect("flows have paths"));
        let described = &self.world.works[work];
        // The clock of a deadline starts with the work, or with the end of an operation. One that has
        // not ended yet cannot have, so its flow has all the time there is: it starts now.
        let clock = match described.flows[flow.0 as usize].deadline_after {
            None => described.arrives,
            Some(id) => self.ended[self.graph.first[work] + id.index()].unwrap_or(now),
        };
        self.rates.add(now, clock, node, flow, path);
    }

    /// A flow has arrived, or was dropped.
    fn arrived(&mut self, now: Time, node: Node, dropped: bool) {
        let (work, is) = self.graph.find(self.world, node);
        let Is::Flow(flow) = is else { return };
        let released = self.released[node];
        self.outcome.flows.push(Sent { work, flow, released, end: now, dropped });
        if self.world.works[work].flows[flow.0 as usize].update.is_none() {
            self.done(now, node, work);
            return;
        }
        let committed: Vec<(usize, FlowId)> = self.commits.arrived(now, work, flow, dropped);
        for (work, flow) in committed {
            let node = self.graph.flow_node(self.world, work, flow);
            self.done(now, node, work);
        }
    }

    fn done(&mut self, now: Time, node: Node, work: usize) {
        self.open.remove(&node);
        self.outcome.end = self.outcome.end.max(now);
        self.outcome.work_ends[work] = self.outcome.work_ends[work].max(now);
        for next in std::mem::take(&mut self.graph.followers[node]) {
            self.satisfied(now, next);
        }
    }
}
