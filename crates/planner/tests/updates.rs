//! Updates of a model: the examples of seed 003, and what a pencil gives.

use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_planner::{
    Network,
    updates::{Collective, Update, UpdateReason, aggregate, all_reduce, drop_late, order},
};
use laxity_topology::{NodeId, Path, RouteError, Routes, Topology};

const MB: u64 = 1_000_000;

fn at(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

/// A star: hosts 0 to n−1, one update of 10 MB takes 1 s at 80 Mbit/s.
fn star(hosts: u32) -> (Topology, Routes) {
    let net = Topology::star(hosts, Rate::from_mbps(80), Span::ZERO).unwrap();
    let routes = Routes::new(&net);
    (net, routes)
}

fn update(net: &Topology, routes: &Routes, worker: u32, server: u32, size: u64) -> Update {
    let (worker, server) = (net.hosts()[worker as usize], net.hosts()[server as usize]);
    let path = routes.path(net, worker, server, 0).unwrap();
    let size = Bytes::new(size);
    Update { worker, path, size, norm: 1.0, version: 0, available: Time::ZERO }
}

#[test]
fn updates_go_one_after_the_other_shortest_first() {
    let (net, routes) = star(5);
    let sizes = [30, 10, 20, 40];
    let updates: Vec<_> =
        (1..).zip(sizes).map(|(w, mb)| update(&net, &routes, w, 0, mb * MB)).collect();
    let ordering = order(Time::ZERO, &Network::of(&net), &updates, 0).unwrap();
    let places: Vec<_> = ordering.updates.iter().map(|one| one.update).collect();
    let ends: Vec<_> = ordering.updates.iter().map(|one| one.ends).collect();
    assert_eq!(places, [1, 2, 0, 3]);
    assert_eq!(ends, [1, 3, 6, 10].map(at));
    assert_eq!(ordering.mean_commit(Time::ZERO), Span::from_secs(5));
    // The i-th commit comes i updates after the version that all were computed from.
    assert_eq!(ordering.mean_delay(), 1.5);
}

#[test]
fn updates_that_do_not_meet_go_at_the_same_time() {
    let (net, routes) = star(4);
    let updates = [update(&net, &routes, 2, 0, 10 * MB), update(&net, &routes, 3, 1, 10 * MB)];
    let ordering = order(Time::ZERO, &Network::of(&net), &updates, 0).unwrap();
    assert!(ordering.updates.iter().all(|one| one.ends == at(1)));
}

#[test]
fn a_worker_behind_a_slow_link_does_not_hold_up_the_others() {
    // Figure 5: g1 takes 10 s behind 10 Mbit/s, the others 0.1 s.
    let mut builder = Topology::builder();
    let hosts: Vec<_> = (0..4).map(|h| builder.host(format!("h{h}"))).collect();
    let switch = builder.switch("switch");
    for (host, mbps) in hosts.iter().zip([1000, 10, 1000, 1000]) {
        builder.cable(*host, switch, Rate::from_mbps(mbps), Span::ZERO);
    }
    let net = builder.build().unwrap();
    let routes = Routes::new(&net);
    let view = Network::of(&net);
    let updates: Vec<_> =
        (1..4).map(|worker| update(&net, &routes, worker, 0, 12_500_000)).collect();
    let plan = drop_late(Time::ZERO, &view, &updates, 0, Some(5), 10.0).unwrap();
    let [(0, UpdateReason::HoldsUp { takes, usual })] = plan.dropped[..] else {
        panic!("{:?}", plan.dropped)
    };
    assert_eq!((takes, usual), (Span::from_secs(10), Span::from_ms(100)));
    assert_eq!(plan.kept.updates.len(), 2);
    // Without a bound nobody has to wait for it, so it is sent.
    let all = drop_late(Time::ZERO, &view, &updates, 0, None, 10.0).unwrap();
    assert!(all.dropped.is_empty());
}

#[test]
fn updates_beyond_the_bound_are_not_sent() {
    let (net, routes) = star(6);
    let mut updates: Vec<_> =
        (1..6).map(|worker| update(&net, &routes, worker, 0, 10 * MB)).collect();
    updates[0].version = 100;
    for update in &mut updates[1..] {
        update.version = 98;
    }
    let plan = drop_late(Time::ZERO, &Network::of(&net), &updates, 100, Some(4), 10.0).unwrap();
    assert!(plan.kept.updates.iter().all(|one| one.delay <= 4));
    let [(_, reason)] = plan.dropped[..] else { panic!("{:?}", plan.dropped) };
    assert_eq!(reason, UpdateReason::TooStale { delay: 5, bound: 4 });
}

/// Figures 2 and 6: six updates, one idle host that receives a little more slowly. While u1 to u3
/// travel for 3 s, u4 and u5 are summed in 2.4 s; u6 would make it 3.6 s and stays out.
#[test]
fn the_sixth_update_stays_out_of_the_second_group() {
    let mut builder = Topology::builder();
    let hosts: Vec<_> = (0..8).map(|h| builder.host(format!("h{h}"))).collect();
    let switch = builder.switch("switch");
    for (at, host) in hosts.iter().enumerate() {
        let rate = Rate::bps(80_000_000);
        builder.link(*host, switch, rate, Span::ZERO);
        let down = if at == 7 { Rate::bps(80_000_000 * 10 / 12) } else { rate };
        builder.link(switch, *host, down, Span::ZERO);
    }
    let net = builder.build().unwrap();
    let routes = Routes::new(&net);
    let updates: Vec<_> = (1..7).map(|worker| update(&net, &routes, worker, 0, 10 * MB)).collect();
    let route =
        |from: NodeId, to: NodeId| -> Result<Path, RouteError> { routes.path(&net, from, to, 0) };
    let view = Network::of(&net);
    let found =
        aggregate(Time::ZERO, &view, &updates, hosts[0], &hosts[7..], false, route).unwrap();
    let groups: Vec<_> = found.groups.iter().map(|g| (g.at, g.updates.clone())).collect();
    let expected = [(None, vec![0, 1, 2]), (Some(hosts[7]), vec![3, 4]), (None, vec![5])];
    assert_eq!(groups, expected);
    assert_eq!(found.commits, [1, 2, 3, 4, 4, 5].map(at));
    // All direct would be 3.5 s.
    assert!(found.mean_commit(Time::ZERO) < Span::from_ms(3200));
    let nobody = aggregate(Time::ZERO, &view, &updates, hosts[0], &[], false, route).unwrap();
    assert_eq!(nobody.mean_commit(Time::ZERO), Span::from_ms(3500));
    // A synchronous server wants the last one early.
    let last = aggregate(Time::ZERO, &view, &updates, hosts[0], &hosts[7..], true, route).unwrap();
    assert!(last.last() <= found.last());
}

#[test]
fn an_all_reduce_knows_its_formulas() {
    let (net, routes) = star(8);
    let size = Bytes::new(80 * MB); // 8 s at 80 Mbit/s
    let route = |from: NodeId, to: NodeId| routes.path(&net, from, to, 0);
    let choice =
        all_reduce(Time::ZERO, &net, &Network::of(&net), net.hosts(), size, route).unwrap();
    let takes = |wanted: fn(&Collective) -> bool| {
        let found = choice.predictions.iter().find(|one| wanted(&one.collective)).unwrap();
        found.takes
    };
    // 2 (n−1)/n · S/B for both; the tree is bound by 2 S/B where a host has a parent and a child.
    assert_eq!(takes(|way| *way == Collective::Ring), Span::from_secs(14));
    assert_eq!(takes(|way| *way == Collective::HalvingDoubling), Span::from_secs(14));
    assert!(takes(|way| matches!(way, Collective::Tree(_))) >= Span::from_secs(16));
}

#[test]
fn a_slow_host_becomes_a_leaf() {
    let mut builder = Topology::builder();
    let hosts: Vec<_> = (0..8).map(|h| builder.host(format!("h{h}"))).collect();
    let switch = builder.switch("switch");
    for (at, host) in hosts.iter().enumerate() {
        let mbps = if at == 3 { 10 } else { 80 };
        builder.cable(*host, switch, Rate::from_mbps(mbps), Span::ZERO);
    }
    let net = builder.build().unwrap();
    let routes = Routes::new(&net);
    let route = |from: NodeId, to: NodeId| routes.path(&net, from, to, 0);
    let size = Bytes::new(10 * MB);
    let choice =
        all_reduce(Time::ZERO, &net, &Network::of(&net), net.hosts(), size, route).unwrap();
    let Collective::Tree(tree) = &choice.best().collective else { panic!("{choice}") };
    let slow = hosts[3];
    assert!(!tree.parents.contains(&Some(slow)), "{tree:?}");
    // The slow host sends and receives 8 s worth once; a ring passes 14 s through it.
    let ring = choice.predictions.iter().find(|one| one.collective == Collective::Ring).unwrap();
    assert_eq!(ring.takes, Span::from_secs(14));
    assert!(choice.best().takes < Span::from_secs(10), "{choice}");
}

#[test]
fn bad_updates_are_named() {
    let (net, routes) = star(3);
    let view = Network::of(&net);
    let good = update(&net, &routes, 1, 0, 10);
    let said = |update: Update| order(Time::ZERO, &view, &[update], 0).unwrap_err().to_string();
    assert!(said(Update { size: Bytes::ZERO, ..good.clone() }).contains("update 0 has size 0"));
    assert!(said(Update { norm: f64::NAN, ..good.clone() }).contains("norm NaN"));
    assert!(said(Update { norm: -2.0, ..good.clone() }).contains("norm -2"));
    assert!(said(Update { path: [77].into(), ..good.clone() }).contains("crosses link 77"));
    let mut dry = view.clone();
    dry.reserve(good.path[0], Time::ZERO, Time::MAX, Rate::MAX);
    let stuck = order(Time::ZERO, &dry, &[good], 0).unwrap_err().to_string();
    assert!(stuck.contains("update 0 never arrives"), "{stuck}");
}

proptest::proptest! {
    /// The short way to t_end says what the residual of the path says, to the picosecond; and a
    /// reservation takes from each moment what it says.
    #[test]
    fn the_short_way_is_the_long_way(
        pieces in proptest::collection::vec(
            proptest::collection::vec((0u64..20, 0u64..5), 1..8), 1..10),
        from in 0u64..25,
        size in 1u64..40,
    ) {
        use laxity_planner::Steps;
        let steps = |pieces: &Vec<(u64, u64)>| {
            Steps::new(pieces.iter().map(|(secs, rate)| (at(*secs), Rate::bps(8 * rate))))
        };
        let all: Vec<_> = pieces.iter().map(steps).collect();
        let mut network = Network::of_rates(&vec![Rate::ZERO; all.len()]);
        let links: Vec<_> = (0..all.len() as u32).map(laxity_topology::LinkId).collect();
        for (link, steps) in links.iter().zip(&all) {
            network.set(*link, steps.clone());
        }
        let path: Path = links.into();
        let residual = network.residual(&path);
        for secs in 0..30 {
            let least = all.iter().map(|steps| steps.at(at(secs))).min();
            proptest::prop_assert_eq!(Some(residual.at(at(secs))), least);
        }
        let long = residual.t_end(at(from), Bytes::new(size));
        proptest::prop_assert_eq!(network.t_end(&path, at(from), Bytes::new(size)), long);
        if let Some(long) = long {
            let used = residual.used(at(from), long);
            let before = all[0].clone();
            network.reserve_path(&path, &used);
            for secs in 0..30 {
                let left = before.at(at(secs)).as_bps() - used.at(at(secs)).as_bps();
                proptest::prop_assert_eq!(network.link(path[0]).at(at(secs)).as_bps(), left);
            }
        }
    }
}
