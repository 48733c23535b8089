//! Shortest paths from host to host: all equal-cost next hops, and one path by a flow's hash.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    error::RouteError,
    graph::{NodeKind, Topology, grouped},
    ids::{LinkId, NodeId, Path},
};

/// Ways through a network, by number of links, over links that are up. Hosts do not forward.
///
/// Sets of next hops are stored once per node and referred to by a 16-bit number, so a fat-tree of
/// 1024 hosts takes 3 MB and a lookup is two array accesses.
#[derive(Debug, Clone)]
pub struct Routes {
    nodes: usize,
    /// The set of next hops of (destination, node), counted from the node's first set.
    choice: Vec<u16>,
    /// The first set of each node. Its set 0 is the empty one.
    first: Vec<u32>,
    /// Where each set starts in `hops`.
    start: Vec<u32>,
    hops: Vec<LinkId>,
}

/// Not a distance.
const FAR: u32 = u32::MAX;

impl Routes {
    /// Finds all shortest paths to every host.
    pub fn new(net: &Topology) -> Self {
        let nodes = net.node_count();
        let incoming = grouped(nodes, net.links(), |link| link.to);
        let mut sets = vec![BTreeMap::from([(Vec::new(), 0u16)]); nodes];
        let mut choice = vec![0u16; nodes * net.hosts().len()];
        let mut distance = vec![FAR; nodes];
        let mut hops = Vec::new();
        for (index, destination) in net.hosts().iter().enumerate() {
            measure(net, &incoming, *destination, &mut distance);
            let row = &mut choice[index * nodes..][..nodes];
            for node in (0..nodes as u32).map(NodeId) {
                let own = distance[node.index()];
                if own == FAR || own == 0 {
                    continue;
                }
                hops.clear();
                let closer = |link: &LinkId| {
                    let to = net.link(*link).to;
                    let forwards = to == *destination || net.kind(to) == NodeKind::Switch;
                    net.is_up(*link) && forwards && distance[to.index()] == own - 1
                };
                hops.extend(net.out_links(node).iter().copied().filter(closer));
                let known = &mut sets[node.index()];
                // CORRECTNESS: at most one set per destination, and those fit 16 bits.
                let next = known.len() as u16;
                row[node.index()] = match known.get(&hops) {
                    Some(set) => *set,
                    None => *known.entry(hops.clone()).or_insert(next),
                };
            }
        }
        let (mut first, mut start, mut all) = (Vec::with_capacity(nodes), vec![0], Vec::new());
        for known in sets {
            first.push(start.len() as u32 - 1);
            let mut by_number: Vec<_> = known.into_iter().collect();
            by_number.sort_unstable_by_key(|(_, number)| *number);
            for (set, _) in by_number {
                all.extend(set);
                start.push(all.len() as u32);
            }
        }
        Self { nodes, choice, first, start, hops: all }
    }

    /// All links from `node` that begin a shortest path to the host at position `destination` of
    /// [`Topology::hosts`]; empty where there is no path, and at the destination itself.
    #[inline]
    pub fn next_hops(&self, node: NodeId, destination: usize) -> &[LinkId] {
        let choice = self.choice[destination * self.nodes + node.index()];
        let set = self.first[node.index()] as usize + usize::from(choice);
        &self.hops[self.start[set] as usize..self.start[set + 1] as usize]
    }

    /// The next hop that equal-cost routing gives to a flow with this hash.
    #[inline]
    pub fn next_hop(&self, node: NodeId, destination: usize, hash: u64) -> Option<LinkId> {
        match self.next_hops(node, destination) {
            [] => None,
            [only] => Some(*only),
            // Every switch mixes in its number: with the hash alone, all flows that meet at one
            // switch would agree again at the next and half of its links would stay idle.
            several => {
                let mixed = mix(hash ^ mix(u64::from(node.0)));
                let at = (u128::from(mixed) * several.len() as u128) >> 64;
                several.get(at as usize).copied()
            }
        }
    }

    /// The path of a flow with this hash.
    pub fn path(
        &self,
        net: &Topology,
        from: NodeId,
        to: NodeId,
        hash: u64,
    ) -> Result<Path, RouteError> {
        let name = |node| net.name(node).to_string();
        for end in [from, to] {
            if net.kind(end) == NodeKind::Switch {
                return Err(RouteError::NotAHost { node: name(end) });
            }
        }
        if from == to {
            return Err(RouteError::SameHost { host: name(from) });
        }
        let destination = net.host_index(to).expect("hosts have an index");
        let (mut at, mut links) = (from, Vec::with_capacity(6));
        while at != to {
            let Some(link) = self.next_hop(at, destination, hash) else {
                let (from, to, down) = (name(from), name(to), net.down_count());
                return Err(RouteError::Unreachable { from, to, down });
            };
            links.push(link);
            at = net.link(link).to;
        }
        Ok(links.into())
    }
}

/// Distances to a host in links, over links that are up and switches that forward.
fn measure(
    net: &Topology,
    (start, links): &(Vec<u32>, Vec<LinkId>),
    destination: NodeId,
    distance: &mut [u32],
) {
    distance.fill(FAR);
    distance[destination.index()] = 0;
    let mut queue = VecDeque::from([destination]);
    while let Some(node) = queue.pop_front() {
        if node != destination && net.kind(node) == NodeKind::Host {
            continue;
        }
        let next = distance[node.index()] + 1;
        for link in &links[start[node.index()] as usize..start[node.index() + 1] as usize] {
            let from = net.link(*link).from;
            if net.is_up(*link) && distance[from.index()] == FAR {
                distance[from.index()] = next;
                queue.push_back(from);
            }
        }
    }
}

/// A hash for the `number`-th flow between two hosts.
pub fn flow_hash(from: NodeId, to: NodeId, number: u64) -> u64 {
    mix(mix(u64::from(from.0) << 32 | u64::from(to.0)) ^ number)
}

/// One step of SplitMix64: every output bit depends on every input bit.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
