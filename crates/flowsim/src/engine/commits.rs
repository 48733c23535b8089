//! Updates: in which order they count, and which are too old to.

use std::collections::{BTreeMap, BTreeSet};

use laxity_interface::{FlowId, Time};

use crate::{outcome::Commit, work::OperationId, world::World};

#[derive(Debug, Default)]
struct State {
    version: u64,
    /// How many of the ordered updates are through.
    through: usize,
    /// Ordered updates that arrived before their turn.
    waiting: BTreeMap<(usize, FlowId), (Time, bool)>,
    ordered: BTreeSet<(usize, FlowId)>,
}

/// The models of all servers, as numbers of versions.
#[derive(Debug)]
pub(super) struct Commits<'a> {
    world: &'a World,
    servers: Vec<State>,
    /// The version that each update was computed from.
    read: BTreeMap<(usize, FlowId), u64>,
    /// Updates by the operation at whose start the model is read.
    readers: BTreeMap<(usize, OperationId), Vec<FlowId>>,
    pub(super) log: Vec<Commit>,
}

impl<'a> Commits<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        let mut readers: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (at, work) in world.works.iter().enumerate() {
            for (flow, described) in work.flows.iter().enumerate() {
                if let Some(operation) = described.update.and_then(|update| update.read_at) {
                    readers.entry((at, operation)).or_default().push(FlowId(flow as u32));
                }
            }
        }
        let servers = world.servers.iter().map(|server| State {
            ordered: server.order.iter().copied().collect(),
            ..State::default()
        });
        let servers = servers.collect();
        Self { world, servers, read: BTreeMap::new(), readers, log: Vec::new() }
    }

    fn server(&self, work: usize, flow: FlowId) -> usize {
        let update = self.world.works[work].flows[flow.0 as usize].update;
        update.expect("only updates are committed").server
    }

    /// An operation starts: models are read.
    pub(super) fn started(&mut self, work: usize, operation: OperationId) {
        for flow in self.readers.get(&(work, operation)).into_iter().flatten() {
            let server = self.server(work, *flow);
            self.read.insert((work, *flow), self.servers[server].version);
        }
    }

    /// Whether an update that could leave now is too old already. Flows that are no updates are not.
    pub(super) fn too_stale(&mut self, work: usize, flow: FlowId) -> bool {
        if self.world.works[work].flows[flow.0 as usize].update.is_none() {
            return false;
        }
        let server = self.server(work, flow);
        let version = self.servers[server].version;
        let read = *self.read.entry((work, flow)).or_insert(version);
        self.world.servers[server].staleness.is_some_and(|most| version - read > most)
    }

    /// An update arrived or was dropped before; returns what is committed or thrown away now.
    pub(super) fn arrived(
        &mut self,
        now: Time,
        work: usize,
        flow: FlowId,
        dropped: bool,
    ) -> Vec<(usize, FlowId)> {
        let server = self.server(work, flow);
        if !self.servers[server].ordered.contains(&(work, flow)) {
            self.commit(now, server, (work, flow), now, dropped);
            return vec![(work, flow)];
        }
        self.servers[server].waiting.insert((work, flow), (now, dropped));
        let mut done = Vec::new();
        loop {
            let state = &mut self.servers[server];
            let Some(next) = self.world.servers[server].order.get(state.through) else { break };
            let Some((arrived, dropped)) = state.waiting.remove(next) else { break };
            state.through += 1;
            self.commit(now, server, *next, arrived, dropped);
            done.push(*next);
        }
        done
    }

    fn commit(
        &mut self,
        at: Time,
        server: usize,
        (work, flow): (usize, FlowId),
        arrived: Time,
        dropped: bool,
    ) {
        let state = &mut self.servers[server];
        let delay = state.version - self.read.get(&(work, flow)).copied().unwrap_or(state.version);
        let stale = self.world.servers[server].staleness.is_some_and(|most| delay > most);
        let version = (!stale && !dropped).then(|| {
            state.version += 1;
            state.version
        });
        self.log.push(Commit { server, work, flow, arrived, at, version, delay });
    }
}
