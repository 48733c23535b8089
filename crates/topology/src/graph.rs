//! A network: nodes and directed links with dense numbers.

use std::collections::BTreeMap;

use laxity_interface::{HostName, Rate, Span};

use crate::{
    error::TopologyError,
    ids::{LinkId, NodeId},
};

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// Sends and receives, never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// One direction of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// What it carries.
    pub capacity: Rate,
    /// How long a bit takes.
    pub delay: Span,
}

/// Hosts, switches and directed links. Made by [`TopologyBuilder`](crate::TopologyBuilder), by the
/// functions of the usual shapes ([`star`](Self::star), [`fat_tree`](Self::fat_tree), …) or from a
/// file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    names: Vec<HostName>,
    kinds: Vec<NodeKind>,
    by_name: BTreeMap<HostName, NodeId>,
    hosts: Vec<NodeId>,
    /// The position of a node in `hosts`; `u32::MAX` for switches.
    host_index: Vec<u32>,
    links: Vec<Link>,
    down: Vec<bool>,
    /// Outgoing links of node n: `out_links[out_start[n]..out_start[n + 1]]`, by number.
    out_start: Vec<u32>,
    out_links: Vec<LinkId>,
}

impl Topology {
    /// PRECONDITION: names are different and links end at nodes; the builder has checked.
    pub(crate) fn assemble(
        names: Vec<HostName>,
        kinds: Vec<NodeKind>,
        links: Vec<Link>,
    ) -> Result<Self, TopologyError> {
        let ids = || (0..names.len() as u32).map(NodeId);
        let hosts: Vec<_> = ids().filter(|n| kinds[n.index()] == NodeKind::Host).collect();
        if hosts.len() > usize::from(u16::MAX) {
            return Err(TopologyError::TooManyHosts { hosts: hosts.len() });
        }
        let mut host_index = vec![u32::MAX; names.len()];
        for (index, host) in hosts.iter().enumerate() {
            host_index[host.index()] = index as u32;
        }
        let (out_start, out_links) = grouped(names.len(), &links, |link| link.from);
        let by_name = names.iter().cloned().zip(ids()).collect();
        let down = vec![false; links.len()];
        Ok(Self { names, kinds, by_name, hosts, host_index, links, down, out_start, out_links })
    }

    /// How many hosts and switches there are.
    pub fn node_count(&self) -> usize {
        self.names.len()
    }

    /// How many switches there are.
    pub fn switch_count(&self) -> usize {
        self.names.len() - self.hosts.len()
    }

    /// All hosts, by number.
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    /// The position of a host among [`hosts`](Self::hosts); nothing for a switch.
    pub fn host_index(&self, node: NodeId) -> Option<usize> {
        let index = *self.host_index.get(node.index())?;
        (index != u32::MAX).then_some(index as usize)
    }

    /// All links, by number; also those that are down.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// One link.
    ///
    /// Panics on a number of another network.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// What a node is.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.kinds[node.index()]
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &HostName {
        &self.names[node.index()]
    }

    /// A link for people: `h0->leaf0`.
    pub fn link_name(&self, id: LinkId) -> String {
        let link = self.link(id);
        format!("{}->{}", self.name(link.from), self.name(link.to))
    }

    /// The links that leave a node, by number; also those that are down.
    pub fn out_links(&self, node: NodeId) -> &[LinkId] {
        let at = node.index();
        &self.out_links[self.out_start[at] as usize..self.out_start[at + 1] as usize]
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let name = HostName::new(name).ok()?;
        self.by_name.get(&name).copied()
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Result<NodeId, TopologyError> {
        let found = self.node(name).filter(|node| self.kind(*node) == NodeKind::Host);
        found.ok_or_else(|| {
            let some: Vec<_> = self.hosts.iter().take(4).map(|h| self.name(*h).as_str()).collect();
            let more = if self.hosts.len() > 4 { ", …" } else { "" };
            let known = format!("{}{more} ({} in all)", some.join(", "), self.hosts.len());
            TopologyError::UnknownHost { name: name.to_owned(), known }
        })
    }

    /// The first link that is up from one node to another, else the first that is down.
    pub fn link_between(&self, from: NodeId, to: NodeId) -> Result<LinkId, TopologyError> {
        let between = || self.out_links(from).iter().filter(|l| self.link(**l).to == to).copied();
        between().find(|l| self.is_up(*l)).or_else(|| between().next()).ok_or_else(|| {
            let name = |node| self.name(node).to_string();
            TopologyError::UnknownLink { from: name(from), to: name(to) }
        })
    }

    /// Whether a link carries anything.
    pub fn is_up(&self, id: LinkId) -> bool {
        !self.down[id.index()]
    }

    /// Takes a link down. Routes made before still use it; make new ones.
    pub fn fail(&mut self, id: LinkId) {
        self.down[id.index()] = true;
    }

    /// Takes down all links between two nodes, in both directions; says which.
    pub fn fail_between(&mut self, a: NodeId, b: NodeId) -> Result<Vec<LinkId>, TopologyError> {
        self.link_between(a, b)?;
        let ends = [(a, b), (b, a)];
        let cut: Vec<_> = (0..self.links.len() as u32)
            .map(LinkId)
            .filter(|id| ends.contains(&(self.link(*id).from, self.link(*id).to)))
            .collect();
        for link in &cut {
            self.fail(*link);
        }
        Ok(cut)
    }

    /// Brings a link up again.
    pub fn restore(&mut self, id: LinkId) {
        self.down[id.index()] = false;
    }

    /// How many links are down.
    pub fn down_count(&self) -> usize {
        self.down.iter().filter(|down| **down).count()
    }

    /// What can flow at once from nodes that are `inside` to the others: the capacity of a cut.
    pub fn cut(&self, inside: impl Fn(NodeId) -> bool) -> Rate {
        let crossing = self.links.iter().zip(&self.down);
        let crossing = crossing.filter(|(l, down)| !**down && inside(l.from) && !inside(l.to));
        Rate::bps(crossing.fold(0, |sum: u64, (l, _)| sum.saturating_add(l.capacity.as_bps())))
    }
}

/// Sorts links by a node at one of their ends: where each node's list starts, and the lists.
pub(crate) fn grouped(
    nodes: usize,
    links: &[Link],
    end: impl Fn(&Link) -> NodeId,
) -> (Vec<u32>, Vec<LinkId>) {
    let mut start = vec![0u32; nodes + 1];
    for link in links {
        start[end(link).index() + 1] += 1;
    }
    for node in 0..nodes {
        start[node + 1] += start[node];
    }
    let mut next = start.clone();
    let mut list = vec![LinkId(0); links.len()];
    for (id, link) in links.iter().enumerate() {
        let at = &mut next[end(link).index()];
        list[*at as usize] = LinkId(id as u32);
        *at += 1;
    }
    (start, list)
}
