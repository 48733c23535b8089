//! Checks of a world, and its operations and flows under dense numbers.

use laxity_interface::{FlowId, Time};
use laxity_topology::{LinkId, Path, Routes, flow_hash};

use crate::{
    error::SimError,
    work::{Flow, OperationId, Work},
    world::World,
};

/// An operation or flow of any work. Operations of a work come before its flows.
pub(crate) type Node = usize;

/// Who waits for whom.
#[derive(Debug)]
pub(crate) struct Graph {
    /// How many others each node waits for; every node also waits for the arrival of its work.
    pub(crate) waits_for: Vec<u32>,
    /// Who waits for each node.
    pub(crate) followers: Vec<Vec<Node>>,
    /// The first node of each work, and one more at the end.
    pub(crate) first: Vec<Node>,
    /// The path of each flow; empty for operations.
    pub(crate) paths: Vec<Option<Path>>,
}

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Is {
    Operation(OperationId),
    Flow(FlowId),
}

impl Graph {
    /// Checks everything that can be checked before time passes.
    pub(crate) fn new(world: &World) -> Result<Self, SimError> {
        check_surroundings(world)?;
        let routes = Routes::new(&world.net);
        let total = world.works.iter().map(|work| work.operations.len() + work.flows.len()).sum();
        let mut graph = Self {
            waits_for: vec![1; total],
            followers: vec![Vec::new(); total],
            first: Vec::with_capacity(world.works.len() + 1),
            paths: vec![None; total],
        };
        let mut first = 0;
        for work in &world.works {
            graph.first.push(first);
            graph.link_up(work, first)?;
            for (at, flow) in work.flows.iter().enumerate() {
                let path = route(world, &routes, work, flow, at)?;
                graph.paths[first + work.operations.len() + at] = Some(path);
            }
            first += work.operations.len() + work.flows.len();
            graph.check_circles(work, first - work.operations.len() - work.flows.len(), first)?;
        }
        graph.first.push(first);
        Ok(graph)
    }

    fn link_up(&mut self, work: &Work, first: Node) -> Result<(), SimError> {
        let count = work.operations.len();
        let of_operation = |who: &str, id: &OperationId| {
            let missing = || SimError::MissingOperation {
                work: work.name.clone(),
                who: who.to_owned(),
                operation: id.0,
                count,
            };
            (id.index() < count).then(|| first + id.index()).ok_or_else(missing)
        };
        for (at, operation) in work.operations.iter().enumerate() {
            for id in &operation.after {
                self.arrow(of_operation(&operation.name, id)?, first + at);
            }
            for id in &operation.needs {
                if id.0 as usize >= work.flows.len() {
                    return Err(SimError::MissingFlow {
                        work: work.name.clone(),
                        who: operation.name.clone(),
                        flow: id.0,
                        count: work.flows.len(),
                    });
                }
                self.arrow(first + count + id.0 as usize, first + at);
            }
        }
        for (at, flow) in work.flows.iter().enumerate() {
            for id in &flow.after {
                self.arrow(of_operation(&flow.name, id)?, first + count + at);
            }
            let read_at = flow.update.and_then(|update| update.read_at);
            for id in read_at.iter().chain(&flow.deadline_after) {
                of_operation(&flow.name, id)?;
            }
        }
        Ok(())
    }

    fn arrow(&mut self, from: Node, to: Node) {
        self.followers[from].push(to);
        self.waits_for[to] += 1;
    }

    /// Refuses nodes that wait for themselves, by way of others.
    fn check_circles(&self, work: &Work, first: Node, end: Node) -> Result<(), SimError> {
        let mut waits: Vec<_> = (first..end).map(|node| self.waits_for[node] - 1).collect();
        let mut free: Vec<_> = (first..end).filter(|node| waits[node - first] == 0).collect();
        let mut done = 0;
        while let Some(node) = free.pop() {
            done += 1;
            for next in &self.followers[node] {
                waits[next - first] -= 1;
                if waits[next - first] == 0 {
                    free.push(*next);
                }
            }
        }
        if done == end - first {
            return Ok(());
        }
        // Everybody who is left waits for somebody who is left: walking backwards must meet itself.
        let mut before = vec![None; end - first];
        for node in (first..end).filter(|node| waits[node - first] > 0) {
            for next in self.followers[node].iter().filter(|next| waits[**next - first] > 0) {
                before[next - first] = Some(node);
            }
        }
        let start = (first..end).find(|node| before[node - first].is_some());
        let mut walk = vec![start.expect("somebody waits")];
        let circle = loop {
            let last = walk[walk.len() - 1];
            let previous = before[last - first].expect("everybody left waits for somebody left");
            if let Some(at) = walk.iter().position(|node| *node == previous) {
                let mut circle = walk[at..].to_vec();
                circle.push(previous);
                circle.reverse();
                break circle;
            }
            walk.push(previous);
        };
        let name = |node: &Node| {
            let at = node - first;
            match work.operations.get(at) {
                Some(operation) => format!("operation `{}`", operation.name),
                None => format!("flow `{}`", work.flows[at - work.operations.len()].name),
            }
        };
        let circle = circle.iter().map(name).collect();
        Err(SimError::Cycle { work: work.name.clone(), circle })
    }

    /// The work of a node, and what it stands for there.
    pub(crate) fn find(&self, world: &World, node: Node) -> (usize, Is) {
        let work = self.first.partition_point(|first| *first <= node) - 1;
        let at = node - self.first[work];
        let operations = world.works[work].operations.len();
        if at < operations {
            (work, Is::Operation(OperationId(at as u32)))
        } else {
            (work, Is::Flow(FlowId((at - operations) as u32)))
        }
    }

    pub(crate) fn flow_node(&self, world: &World, work: usize, flow: FlowId) -> Node {
        self.first[work] + world.works[work].operations.len() + flow.0 as usize
    }
}

fn check_surroundings(world: &World) -> Result<(), SimError> {
    let links = world.net.links().len();
    for reserved in &world.reservations {
        if reserved.link.index() >= links {
            let (link, rate) = (reserved.link, reserved.rate);
            return Err(SimError::MissingReservedLink { link, rate, links });
        }
    }
    for slow in &world.slow {
        if !(slow.factor.is_finite() && slow.factor >= 1.0) {
            let host = world.net.name(slow.host).to_string();
            return Err(SimError::Factor { host, factor: slow.factor.to_string() });
        }
    }
    Ok(())
}

/// Checks a flow and finds its way.
fn route(
    world: &World,
    routes: &Routes,
    work: &Work,
    flow: &Flow,
    at: usize,
) -> Result<Path, SimError> {
    let names = || (work.name.clone(), flow.name.clone());
    let (name, called) = names();
    if flow.size.is_zero() {
        return Err(SimError::ZeroSize { work: name, flow: called });
    }
    if let Some(deadline) = flow.deadline
        && deadline < flow.release
    {
        let release = flow.release;
        return Err(SimError::DeadlineBeforeRelease {
            work: name,
            flow: called,
            deadline,
            release,
        });
    }
    if let Some(update) = flow.update
        && update.server >= world.servers.len()
    {
        let (server, count) = (update.server, world.servers.len());
        return Err(SimError::MissingServer { work: name, flow: called, server, count });
    }
    let links = world.net.links().len();
    match &flow.path {
        Some(path) => {
            let missing = |link: &&LinkId| link.index() >= links;
            match path.iter().find(missing) {
                Some(link) => {
                    Err(SimError::MissingLink { work: name, flow: called, link: *link, links })
                }
                None => Ok(path.clone()),
            }
        }
        None => {
            let hash = flow_hash(flow.from, flow.to, at as u64);
            let found = routes.path(&world.net, flow.from, flow.to, hash);
            found.map_err(|source| SimError::Route { work: name, flow: called, source })
        }
    }
}

/// When a deadline or release of a flow is, on the clock.
pub(crate) fn on_clock(work: &Work, span: laxity_interface::Span) -> Time {
    work.arrives + span
}
