//! How long things take in an empty network.

use laxity_interface::{Bytes, Span};
use laxity_topology::{LinkId, NodeKind, Routes, Topology};

use crate::{
    flow::HostId,
    packet::{CONTROL, MTU},
    setup::Setup,
};

/// Time from the first bit of the first packet to the last bit of the last, for packets of these
/// sizes on the wire that are sent back to back over switches that store and forward, without
/// anybody else. Every bounded-window transport needs at least this.
///
/// # Panics
/// If there is no path, or one of the hosts is not there.
pub fn ideal_time(
    setup: &Setup,
    packets: impl IntoIterator<Item = u32>,
    from: HostId,
    to: HostId,
) -> Span {
    let net = &setup.topology;
    let hosts = net.hosts();
    let path = Routes::new(net).path(net, hosts[from.index()], hosts[to.index()], 0);
    let path = path.expect("a path");
    ideal_time_on(net, &path, packets)
}

/// The same over a path that is known: for many flows of one network.
pub fn ideal_time_on(
    net: &Topology,
    path: &[LinkId],
    packets: impl IntoIterator<Item = u32>,
) -> Span {
    // When each line of the path is free again.
    let mut free = vec![Span::ZERO; path.len()];
    let mut end = Span::ZERO;
    for size in packets {
        end = Span::ZERO;
        for (line, id) in path.iter().enumerate() {
            let link = net.link(*id);
            let start = end.max(free[line]);
            free[line] = start + link.capacity.time_for(Bytes::new(u64::from(size)));
            end = free[line] + link.delay;
        }
    }
    end
}

/// Round trip of a full packet and its answer between the hosts that are farthest apart. Both ways
/// are looked at by themselves: in networks whose links are alike in both directions, as all the
/// usual shapes are, that is the farthest pair.
pub(super) fn base_rtt(net: &Topology, routes: &Routes) -> Span {
    farthest(net, routes, MTU) + farthest(net, routes, CONTROL)
}

/// The longest way of one packet of this size between any two hosts.
fn farthest(net: &Topology, routes: &Routes, size: u32) -> Span {
    let cost: Vec<Span> = net
        .links()
        .iter()
        .map(|link| link.capacity.time_for(Bytes::new(u64::from(size))) + link.delay)
        .collect();
    let mut longest = Span::ZERO;
    let mut known = vec![None; net.node_count()];
    let mut stack = Vec::new();
    for (destination, end) in net.hosts().iter().enumerate() {
        known.fill(None);
        known[end.index()] = Some(Span::ZERO);
        stack.extend(net.hosts());
        // Depth first: a node is done when the nodes behind all of its next hops are.
        while let Some(node) = stack.last().copied() {
            let hops = routes.next_hops(node, destination);
            let missing = hops.iter().map(|hop| net.link(*hop).to);
            let before = stack.len();
            stack.extend(missing.filter(|next| known[next.index()].is_none()));
            if stack.len() > before {
                continue;
            }
            stack.pop();
            if known[node.index()].is_none() {
                let way = |hop: &LinkId| {
                    cost[hop.index()] + known[net.link(*hop).to.index()].unwrap_or_default()
                };
                known[node.index()] = Some(hops.iter().map(way).max().unwrap_or_default());
            }
            if net.kind(node) == NodeKind::Host {
                longest = longest.max(known[node.index()].unwrap_or_default());
            }
        }
    }
    longest
}
