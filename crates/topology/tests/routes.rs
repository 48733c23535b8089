//! Whatever the network, a route is a path, the shortest, and over links that are up.

use laxity_interface::{Rate, Span};
use laxity_topology::{LinkId, NodeId, NodeKind, Routes, Topology};
use proptest::prelude::*;

/// Hosts, switches and cables between numbered nodes.
fn networks() -> impl Strategy<Value = Topology> {
    (2..8u32, 1..8u32).prop_flat_map(|(hosts, switches)| {
        let all = hosts + switches;
        let cables = prop::collection::vec((0..all, 0..all), 1..30);
        cables.prop_map(move |cables| {
            let mut net = Topology::builder();
            let mut nodes: Vec<_> = (0..hosts).map(|h| net.host(format!("h{h}"))).collect();
            nodes.extend((0..switches).map(|s| net.switch(format!("s{s}"))));
            for (a, b) in cables.into_iter().filter(|(a, b)| a != b) {
                net.cable(nodes[a as usize], nodes[b as usize], Rate::from_gbps(1), Span::ZERO);
            }
            net.build().unwrap()
        })
    })
}

/// Distance by trying all walks of growing length: slow, simple, independent.
fn distance(net: &Topology, from: NodeId, to: NodeId) -> Option<usize> {
    let mut reached = vec![from];
    for steps in 1..=net.node_count() {
        let mut next = Vec::new();
        for link in (0..net.links().len() as u32).map(LinkId).filter(|l| net.is_up(*l)) {
            let ends = net.link(link);
            let forwards = ends.from == from || net.kind(ends.from) == NodeKind::Switch;
            if reached.contains(&ends.from) && forwards {
                next.push(ends.to);
            }
        }
        if next.contains(&to) {
            return Some(steps);
        }
        reached.extend(next);
    }
    None
}

fn check(net: &Topology, hash: u64) -> Result<(), TestCaseError> {
    let routes = Routes::new(net);
    for from in net.hosts() {
        for to in net.hosts().iter().filter(|to| *to != from) {
            let expected = distance(net, *from, *to);
            match routes.path(net, *from, *to, hash) {
                Err(error) => {
                    prop_assert_eq!(expected, None);
                    let said = error.to_string();
                    prop_assert!(said.contains(net.name(*from).as_str()));
                    prop_assert!(said.contains(net.name(*to).as_str()));
                }
                Ok(path) => {
                    prop_assert_eq!(Some(path.len()), expected);
                    let mut at = *from;
                    for link in path.iter() {
                        prop_assert!(net.is_up(*link));
                        prop_assert_eq!(net.link(*link).from, at);
                        let index = net.host_index(*to).unwrap();
                        prop_assert!(routes.next_hops(at, index).contains(link));
                        at = net.link(*link).to;
                    }
                    prop_assert_eq!(at, *to);
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_route_is_a_shortest_path(net in networks(), hash: u64) {
        check(&net, hash)?;
    }

    #[test]
    fn routes_avoid_links_that_are_down(
        mut net in networks(),
        down in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        hash: u64,
    ) {
        prop_assume!(!net.links().is_empty());
        for link in down {
            net.fail(LinkId(link.index(net.links().len()) as u32));
        }
        check(&net, hash)?;
    }
}
