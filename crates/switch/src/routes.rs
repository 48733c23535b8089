//! Ways through a fabric: shortest paths, equal ones shared by flow, and trees for broadcasts.

use std::collections::VecDeque;

use crate::{
    builder::BuildError,
    frame::scramble,
    ids::{HostId, NodeId, PortId},
};

/// Where each node sends frames next. Nodes are numbered: hosts first, then switches.
#[derive(Debug)]
pub(crate) struct Routes {
    hosts: usize,
    /// `next[node * hosts + destination]`: ports on shortest paths, by number.
    next: Vec<Vec<PortId>>,
    /// `flood[node * hosts + source]`: ports on the tree that reaches everyone from `source`.
    flood: Vec<Vec<PortId>>,
}

impl Routes {
    pub(crate) fn new(
        hosts: usize,
        switches: usize,
        ends: &[(NodeId, NodeId)],
    ) -> Result<Self, BuildError> {
        let nodes = hosts + switches;
        let number = |node: NodeId| match node {
            NodeId::Host(host) => host.index(),
            NodeId::Switch(switch) => hosts + switch.index(),
        };
        // The ports of each node, with the node behind each.
        let mut ports = vec![Vec::new(); nodes];
        for (port, (from, to)) in ends.iter().enumerate() {
            ports[number(*from)].push((PortId::new(port as u32), number(*to)));
        }
        let mut routes = Self {
            hosts,
            next: vec![Vec::new(); nodes * hosts],
            flood: vec![Vec::new(); nodes * hosts],
        };
        for host in 0..hosts {
            let (distance, tree) = search(host, hosts, &ports);
            if let Some(apart) = (0..hosts).find(|other| distance[*other] == usize::MAX) {
                let (from, to) = (HostId::new(host as u32), HostId::new(apart as u32));
                return Err(BuildError::Apart { from, to });
            }
            // Links have two directions, so distances from the host are distances to it.
            for node in 0..nodes {
                let nearer = |(_, to): &&(PortId, usize)| {
                    distance[*to] != usize::MAX && distance[*to] + 1 == distance[node]
                };
                routes.next[node * hosts + host] =
                    ports[node].iter().filter(nearer).map(|(port, _)| *port).collect();
            }
            for (node, port) in tree {
                routes.flood[node * hosts + host].push(port);
            }
        }
        Ok(routes)
    }

    fn row(&self, node: NodeId) -> usize {
        match node {
            NodeId::Host(host) => host.index() * self.hosts,
            NodeId::Switch(switch) => (self.hosts + switch.index()) * self.hosts,
        }
    }

    /// The port for a flow to `to`, of those that are up; if none is, of all.
    pub(crate) fn next(
        &self,
        at: NodeId,
        to: HostId,
        flow: u64,
        up: impl Fn(PortId) -> bool,
    ) -> Option<PortId> {
        let row = self.row(at);
        let ports = &self.next[row + to.index()];
        if let [only] = ports[..] {
            return Some(only);
        }
        // The row goes into the number, or every tier would split the flows in the same way and
        // leave half of the next tier's links empty.
        let draw = scramble(flow ^ row as u64);
        let pick = |count: usize| ((u128::from(draw) * count as u128) >> 64) as usize;
        let alive = ports.iter().filter(|port| up(**port)).count();
        if alive == 0 || alive == ports.len() {
            return ports.get(pick(ports.len())).copied();
        }
        ports.iter().filter(|port| up(**port)).nth(pick(alive)).copied()
    }

    /// The ports for a broadcast that `from` sent.
    pub(crate) fn flood(&self, at: NodeId, from: HostId) -> &[PortId] {
        &self.flood[self.row(at) + from.index()]
    }
}

/// Distances from `start`, and the tree of first ways as (node, port) pairs. Hosts do not forward.
fn search(
    start: usize,
    hosts: usize,
    ports: &[Vec<(PortId, usize)>],
) -> (Vec<usize>, Vec<(usize, PortId)>) {
    let mut distance = vec![usize::MAX; ports.len()];
    let (mut tree, mut queue) = (Vec::new(), VecDeque::from([start]));
    distance[start] = 0;
    while let Some(node) = queue.pop_front() {
        if node < hosts && node != start {
            continue;
        }
        for (port, to) in &ports[node] {
            if distance[*to] == usize::MAX {
                distance[*to] = distance[node] + 1;
                tree.push((node, *port));
                queue.push_back(*to);
            }
        }
    }
    (distance, tree)
}
