//! Sums are found by a search that shares work between tries. Here each try is done from the start, on a
//! network of its own, and the results are the same to the last bit.

use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_planner::{
    Network, Steps,
    updates::{Aggregation, Group, Update, UpdateReason, aggregate, order},
};
use laxity_topology::{LinkId, NodeId, Path};
use proptest::prelude::*;

/// Hosts behind one switch: links 2h up and 2h + 1 down.
fn path(from: NodeId, to: NodeId) -> Path {
    vec![LinkId(from.0 * 2), LinkId(to.0 * 2 + 1)].into()
}

fn transfer(net: &mut Network, path: &Path, from: Time, size: Bytes, latest: Time) -> Option<Time> {
    let residual = net.residual(path);
    let ends = residual.t_end(from, size).filter(|ends| *ends <= latest)?;
    net.reserve_path(path, &residual.used(from, ends));
    Some(ends)
}

/// `first` updates direct, the others summed at these hosts as far as they fit.
fn split(
    now: Time,
    network: &Network,
    updates: &[Update],
    server: NodeId,
    hosts: &[NodeId],
    order: &[usize],
    first: usize,
) -> Option<Aggregation> {
    let mut net = network.clone();
    let mut commits = vec![now; updates.len()];
    let mut reasons = vec![UpdateReason::Direct { ends: now }; updates.len()];
    let mut groups = Vec::new();
    let mut direct = |net: &mut Network, members: &[usize]| {
        let mut ends = now;
        for at in members {
            let update = &updates[*at];
            let from = update.available.max(now);
            let end = transfer(net, &update.path, from, update.size, Time::MAX)?;
            (commits[*at], reasons[*at]) = (end, UpdateReason::Direct { ends: end });
            ends = ends.max(end);
        }
        Some(ends)
    };
    let mut free = direct(&mut net, &order[..first])?;
    groups.push(Group { at: None, updates: order[..first].to_vec(), ready: free, ends: free });
    let mut rest = order[first..].to_vec();
    let mut sums = Vec::new();
    for host in hosts {
        let before = net.clone();
        let (mut members, mut ready, mut size) = (Vec::new(), now, Bytes::ZERO);
        for at in &rest {
            let update = &updates[*at];
            let from = update.available.max(now);
            let end = match update.worker == *host {
                true => Some(from).filter(|end| *end <= free),
                false => transfer(&mut net, &path(update.worker, *host), from, update.size, free),
            };
            let Some(end) = end else { break };
            (ready, size) = (ready.max(end), size.max(update.size));
            members.push(*at);
        }
        let ends = (members.len() >= 2)
            .then(|| transfer(&mut net, &path(*host, server), ready, size, Time::MAX))
            .flatten();
        let Some(ends) = ends else {
            net = before;
            continue;
        };
        rest.drain(..members.len());
        for at in &members {
            sums.push((*at, ends, UpdateReason::Summed { at: *host, ready, free }));
        }
        free = free.max(ends);
        groups.push(Group { at: Some(*host), updates: members, ready, ends });
    }
    if !rest.is_empty() {
        let ends = direct(&mut net, &rest)?;
        groups.push(Group { at: None, updates: rest, ready: ends, ends });
    }
    for (at, ends, reason) in sums {
        (commits[at], reasons[at]) = (ends, reason);
    }
    Some(Aggregation { groups, commits, reasons })
}

/// Every split, from the start; of equals the first that is tried.
fn slowly(
    now: Time,
    network: &Network,
    updates: &[Update],
    server: NodeId,
    hosts: &[NodeId],
    last: bool,
) -> Option<Aggregation> {
    let ordered = order(now, network, updates, 0).ok()?;
    let order: Vec<_> = ordered.updates.iter().map(|one| one.update).collect();
    let mut best: Option<((Time, Span), Aggregation)> = None;
    for count in 0..=hosts.len() {
        for first in (1..=updates.len()).rev() {
            if (first == updates.len()) != (count == 0) {
                continue;
            }
            let hosts = &hosts[..count];
            let Some(found) = split(now, network, updates, server, hosts, &order, first) else {
                continue;
            };
            let ends = found.last().filter(|_| last).unwrap_or(Time::ZERO);
            let key = (ends, found.mean_commit(now));
            if best.as_ref().is_none_or(|(least, _)| key < *least) {
                best = Some((key, found));
            }
        }
    }
    best.map(|(_, found)| found)
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// A link: its rate, and now and then a time without any, or an end.
fn link() -> impl Strategy<Value = Steps> {
    let gap = proptest::option::of((0u64..300, 1u64..200));
    (1u64..20, gap, proptest::option::weighted(0.05, 200u64..2000)).prop_map(|(mbps, gap, dry)| {
        let mut steps = Steps::constant(Rate::from_mbps(mbps * 50));
        if let Some((from, long)) = gap {
            steps.reserve(at(from), at(from + long), Rate::from_mbps(mbps * 30));
        }
        if let Some(end) = dry {
            steps.reserve(at(end), Time::MAX, Rate::MAX);
        }
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_search_finds_what_trying_everything_finds(
        links in proptest::collection::vec(link(), 22),
        specs in proptest::collection::vec((1u32..8, 1u64..4, 0u64..100), 1..13),
        hosts in proptest::sample::subsequence(vec![NodeId(7), NodeId(8), NodeId(9), NodeId(10)], 0..4),
        last in any::<bool>(),
    ) {
        let mut network = Network::of_rates(&[Rate::ZERO; 22]);
        for (number, steps) in (0..).zip(links) {
            network.set(LinkId(number), steps);
        }
        let server = NodeId(0);
        let updates: Vec<_> = specs
            .iter()
            .map(|(worker, size, available)| Update {
                worker: NodeId(*worker),
                path: path(NodeId(*worker), server),
                // Few sizes: equal results are common.
                size: Bytes::new(size * 1_000_000),
                norm: 1.0,
                version: 0,
                available: at(*available / 50 * 50),
            })
            .collect();
        let now = at(10);
        let route = |from, to| Ok(path(from, to));
        let found = aggregate(now, &network, &updates, server, &hosts, last, route).ok();
        prop_assert_eq!(found, slowly(now, &network, &updates, server, &hosts, last));
    }
}
