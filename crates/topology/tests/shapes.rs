//! The shapes have the sizes, path lengths and capacities that a pencil gives.

use laxity_interface::{Rate, Span};
use laxity_topology::{
    Clos, FatTree, LinkId, NodeId, RouteError, Routes, Topology, TopologyError, flow_hash,
};

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Span = Span::from_us(1);

fn length(net: &Topology, routes: &Routes, from: &str, to: &str) -> usize {
    let (from, to) = (net.host(from).unwrap(), net.host(to).unwrap());
    routes.path(net, from, to, 0).unwrap().len()
}

/// All nodes whose numbers lie in `range`.
fn within(range: std::ops::Range<u32>) -> impl Fn(NodeId) -> bool {
    move |node| range.contains(&node.0)
}

#[test]
fn a_star_has_one_switch_and_two_links_a_host() {
    let net = Topology::star(16, RATE, DELAY).unwrap();
    assert_eq!((net.hosts().len(), net.switch_count(), net.links().len()), (16, 1, 32));
    let routes = Routes::new(&net);
    for host in 1..16 {
        assert_eq!(length(&net, &routes, "h0", &format!("h{host}")), 2);
    }
    assert_eq!(net.cut(|n| n.0 < 8), Rate::from_gbps(80));
}

#[test]
fn a_dumbbell_is_cut_in_the_middle() {
    let net = Topology::dumbbell(3, 5, RATE, Rate::from_gbps(1), DELAY).unwrap();
    assert_eq!((net.hosts().len(), net.links().len()), (8, 18));
    let routes = Routes::new(&net);
    assert_eq!(length(&net, &routes, "left0", "right4"), 3);
    assert_eq!(length(&net, &routes, "left0", "left1"), 2);
    let west = net.node("west").unwrap();
    assert_eq!(net.cut(|n| n.0 < 3 || n == west), Rate::from_gbps(1));
}

#[test]
fn a_leaf_spine_has_the_oversubscription_that_was_asked_for() {
    // Seed 001: 4 spines, 8 leaves, 16 servers a rack at 40 Gbit/s, 4:1.
    let net = Topology::leaf_spine(8, 4, 16, Rate::from_gbps(40), 4, DELAY).unwrap();
    assert_eq!((net.hosts().len(), net.switch_count()), (128, 12));
    assert_eq!(net.links().len(), 2 * (128 + 8 * 4));
    let leaf = net.node("leaf0").unwrap();
    let up: u64 = net
        .out_links(leaf)
        .iter()
        .map(|l| net.link(*l))
        .filter(|l| net.name(l.to).as_str().starts_with("spine"))
        .map(|l| l.capacity.as_bps())
        .sum();
    assert_eq!(Rate::bps(up * 4), Rate::from_gbps(16 * 40));
    let routes = Routes::new(&net);
    assert_eq!(length(&net, &routes, "h0", "h15"), 2);
    assert_eq!(length(&net, &routes, "h0", "h16"), 4);
}

#[test]
fn a_clos_has_parallel_cables() {
    let (uplink, cables) = (Rate::from_gbps(25), 2);
    let clos =
        Clos { leaves: 4, spines: 3, hosts: 8, rate: RATE, uplink, cables, delay: Span::ZERO };
    let net = clos.build().unwrap();
    assert_eq!(net.links().len(), 2 * (32 + 4 * 3 * 2));
    let routes = Routes::new(&net);
    let to = net.host_index(net.host("h31").unwrap()).unwrap();
    assert_eq!(routes.next_hops(net.node("leaf0").unwrap(), to).len(), 6);
    assert_eq!(routes.next_hops(net.node("spine1").unwrap(), to).len(), 2);
}

#[test]
fn fat_trees_follow_the_formulas() {
    for k in [2, 4, 6, 8, 16] {
        let net = Topology::fat_tree(k, RATE, DELAY).unwrap();
        let (hosts, switches) = (k * k * k / 4, 5 * k * k / 4);
        assert_eq!((net.hosts().len(), net.switch_count()), (hosts as usize, switches as usize));
        assert_eq!(net.links().len(), 2 * 3 * hosts as usize);
        // Pods lie behind the core switches in number: half of them against the rest.
        let (core, pod) = (k * k / 4, k + k * k / 4);
        let half = within(core..core + pod * (k / 2));
        assert_eq!(net.cut(half), Rate::from_gbps(u64::from(10 * hosts / 2)), "k = {k}");
    }
    let net = Topology::fat_tree(8, RATE, DELAY).unwrap();
    let routes = Routes::new(&net);
    assert_eq!(length(&net, &routes, "h0", "h1"), 2);
    assert_eq!(length(&net, &routes, "h0", "h4"), 4);
    assert_eq!(length(&net, &routes, "h0", "h127"), 6);
    // k/2 ways up from an edge switch and from an aggregation switch: (k/2)² paths.
    let to = net.host_index(net.host("h127").unwrap()).unwrap();
    assert_eq!(routes.next_hops(net.node("edge0").unwrap(), to).len(), 4);
    assert_eq!(routes.next_hops(net.node("agg0").unwrap(), to).len(), 4);
    assert_eq!(routes.next_hops(net.node("core0").unwrap(), to).len(), 1);
}

#[test]
fn a_fat_tree_takes_more_hosts_under_its_edges() {
    let tree = FatTree { k: 4, hosts_per_edge: Some(8), rate: RATE, delay: DELAY };
    let net = tree.build().unwrap();
    assert_eq!((net.hosts().len(), net.switch_count()), (64, 20));
}

#[test]
fn racks_share_the_link_of_the_paper() {
    // Seed 000, figure 4: 3 racks of 12, 60 Gbit/s to the shared rack.
    let uplinks = [120, 120, 60].map(Rate::from_gbps);
    let net = Topology::racks(12, RATE, &uplinks, DELAY).unwrap();
    assert_eq!((net.hosts().len(), net.switch_count()), (36, 4));
    let routes = Routes::new(&net);
    let (a, b) = (net.host("r0h0").unwrap(), net.host("r2h11").unwrap());
    let path = routes.path(&net, a, b, 0).unwrap();
    let slowest = path.iter().map(|l| (net.link(*l).capacity, net.link_name(*l)));
    let shared = slowest.filter(|(rate, _)| *rate == uplinks[2]).map(|(_, name)| name);
    assert_eq!(shared.collect::<Vec<_>>(), ["core->rack2"]);
}

#[test]
fn equal_cost_paths_are_used_evenly() {
    let net = Topology::fat_tree(8, RATE, DELAY).unwrap();
    let routes = Routes::new(&net);
    let (a, b) = (net.host("h0").unwrap(), net.host("h127").unwrap());
    let mut count = vec![0u32; net.links().len()];
    let flows = 16_000;
    for flow in 0..flows {
        for link in routes.path(&net, a, b, flow_hash(a, b, flow)).unwrap().iter() {
            count[link.index()] += 1;
        }
    }
    // 16 paths; each link from an aggregation switch to a core carries 1000 of 16000, give or
    // take 5 standard deviations.
    let core = |l: &LinkId| net.name(net.link(*l).to).as_str().starts_with("core");
    let used: Vec<_> = (0..count.len() as u32)
        .map(LinkId)
        .filter(core)
        .map(|l| count[l.index()])
        .filter(|n| *n > 0)
        .collect();
    assert_eq!(used.len(), 16);
    assert!(used.iter().all(|n| n.abs_diff(1000) < 160), "{used:?}");
}

#[test]
fn what_cannot_be_reached_is_named() {
    let mut net = Topology::dumbbell(2, 2, RATE, RATE, DELAY).unwrap();
    let [west, east] = ["west", "east"].map(|name| net.node(name).unwrap());
    let [a, b, c] = ["left0", "right0", "left1"].map(|name| net.host(name).unwrap());
    let cut = net.fail_between(west, east).unwrap();
    assert_eq!(cut.len(), 2);
    let routes = Routes::new(&net);
    let error = routes.path(&net, a, b, 0).unwrap_err().to_string();
    assert!(error.contains("`right0` cannot be reached from `left0`"), "{error}");
    assert!(error.contains("2 are down"), "{error}");
    assert_eq!(routes.path(&net, a, c, 0).unwrap().len(), 2);
    net.restore(cut[0]);
    let routes = Routes::new(&net);
    assert!(routes.path(&net, a, b, 0).is_ok());
    assert!(routes.path(&net, b, a, 0).is_err());
    assert!(matches!(routes.path(&net, a, a, 0), Err(RouteError::SameHost { .. })));
    assert!(matches!(routes.path(&net, a, east, 0), Err(RouteError::NotAHost { .. })));
}

#[test]
fn bad_networks_are_named() {
    let said = |text: &str| Topology::from_toml(text).unwrap_err().to_string();
    let graph = |rest: &str| format!("kind = 'graph'\nhosts = ['a', 'b']\n{rest}");
    let missing = said(&graph("cables = [{ between = ['a', 'x'], rate = '1Gbps' }]"));
    assert!(missing.contains("link a -> x: there is no node `x`"), "{missing}");
    let zero = said(&graph("links = [{ from = 'a', to = 'b', rate = '0Gbps' }]"));
    assert!(zero.contains("link a -> b has capacity 0"), "{zero}");
    let own = said(&graph("links = [{ from = 'a', to = 'a', rate = '1Gbps' }]"));
    assert!(own.contains("a -> a leads from a node to itself"), "{own}");
    let twice = said(&graph("switches = ['a']"));
    assert!(twice.contains("two nodes named `a`"), "{twice}");
    let blank = said("kind = 'graph'\nhosts = ['a b']");
    assert!(blank.contains("`a b` cannot name a node"), "{blank}");
    let unknown = said(&graph("cable = []"));
    assert!(unknown.contains("unknown field `cable`"), "{unknown}");
    let kind = said("kind = 'torus'\nhosts = 3");
    assert!(kind.contains("unknown variant `torus`"), "{kind}");
    let odd = said("kind = 'fat-tree'\nk = 5\nrate = '1Gbps'");
    assert!(odd.contains("k is 5: give an even number"), "{odd}");
    let none = said("kind = 'star'\nhosts = 0\nrate = '1Gbps'");
    assert!(none.contains("hosts is 0"), "{none}");
    let negative = said("kind = 'star'\nhosts = -3\nrate = '1Gbps'");
    assert!(negative.contains("-3"), "{negative}");
    let json = Topology::from_json(r#"{ "kind": "star", "hosts": 2 }"#).unwrap_err().to_string();
    assert!(json.contains("missing field `rate`"), "{json}");

    let net = Topology::star(2, RATE, DELAY).unwrap();
    let host = net.host("h7").unwrap_err().to_string();
    assert!(host.contains("there is no host `h7`") && host.contains("h0, h1"), "{host}");
    assert!(net.host("switch").is_err());
    let [h0, h1] = ["h0", "h1"].map(|name| net.host(name).unwrap());
    assert!(matches!(net.link_between(h0, h1), Err(TopologyError::UnknownLink { .. })));
}
