//! Without contention every completion time is known to the picosecond.

mod harness;

use harness::{flow, port, run};
use laxity_interface::{Bytes, Rate, Span};
use laxity_packetsim::{HostId, Setup, ideal_time, packet_sizes, stacks::dctcp::DctcpConfig};
use laxity_topology::{Cable, Clos, Graph, Racks, Topology};

fn networks() -> Vec<(&'static str, Topology)> {
    let (rate, delay) = (Rate::from_gbps(40), Span::from_ns(650));
    let cable = |a: &str, b: &str, mbps| Cable {
        between: [a.into(), b.into()],
        rate: Rate::from_mbps(mbps),
        delay: Span::from_ns(mbps),
    };
    let graph = Graph {
        hosts: ["a", "b"].map(String::from).to_vec(),
        switches: ["s", "t", "u"].map(String::from).to_vec(),
        cables: vec![
            cable("a", "s", 25_000),
            cable("s", "t", 7_001),
            cable("t", "u", 33_333),
            cable("u", "b", 9_999),
        ],
        links: Vec::new(),
    };
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 4,
        rate,
        uplink: Rate::from_gbps(100),
        cables: 2,
        delay,
    };
    let uplinks = [100, 10, 25].map(Rate::from_gbps).to_vec();
    let racks = Racks { hosts: 3, rate, uplinks, delay };
    vec![
        ("star", Topology::star(4, rate, delay).unwrap()),
        ("dumbbell", Topology::dumbbell(3, 3, rate, Rate::from_gbps(10), delay).unwrap()),
        ("leaf-spine", Topology::leaf_spine(4, 2, 4, rate, 2, delay).unwrap()),
        ("clos", clos.build().unwrap()),
        ("fat-tree", Topology::fat_tree(4, rate, delay).unwrap()),
        ("racks", racks.build().unwrap()),
        ("graph", graph.build().unwrap()),
    ]
}

/// Store and forward: every link once for the first packet, then the slowest link for the others.
/// Exact where packets are alike.
fn closed_form(net: &Topology, path: &[laxity_topology::LinkId], packets: u64, size: u64) -> Span {
    let times = path.iter().map(|link| net.link(*link).capacity.time_for(Bytes::new(size)));
    let slowest = times.clone().max().unwrap();
    let delays: Span = path.iter().map(|link| net.link(*link).delay).sum();
    times.sum::<Span>() + delays + slowest * (packets - 1)
}

#[test]
fn a_lone_flow_takes_exactly_as_long_as_it_must() {
    // A window that is larger than the flow: what is left is packets and lines.
    let config = DctcpConfig { initial_window: 10_000, ..DctcpConfig::strong() };
    for (name, topology) in networks() {
        let setup = Setup::new(topology, port(), 1);
        let net = &setup.topology;
        let last = net.hosts().len() as u16 - 1;
        for (from, to) in [(0, last), (last, 0)] {
            for bytes in [0, 1, 1_459, 1_460, 1_461, 29_200, 100_000] {
                let outcome = run(&setup, &config, vec![flow(from, to, bytes)]);
                let took = outcome.done[0].finished.since(outcome.done[0].started);
                // Packets are never shorter than 64 bytes; the empty flow is one packet.
                let mut sizes: Vec<_> = packet_sizes(bytes).map(|size| size.max(64)).collect();
                if sizes.is_empty() {
                    sizes.push(64);
                }
                let ideal = ideal_time(&setup, sizes.iter().copied(), HostId(from), HostId(to));
                assert_eq!(took, ideal, "{name}: {bytes} bytes from {from} to {to}");
                if sizes.iter().all(|size| *size == sizes[0]) {
                    let routes = laxity_topology::Routes::new(net);
                    let (a, b) = (net.hosts()[from as usize], net.hosts()[to as usize]);
                    let path = routes.path(net, a, b, 0).unwrap();
                    let known = closed_form(net, &path, sizes.len() as u64, sizes[0].into());
                    assert_eq!(took, known, "{name}: {bytes} bytes from {from} to {to}");
                }
                assert_eq!((outcome.drops, outcome.marks), (0, outcome.marks));
                assert_eq!(outcome.tally.again, 0, "{name}");
            }
        }
    }
}

#[test]
fn the_base_round_trip_is_that_of_the_farthest_pair() {
    for (name, topology) in networks() {
        let setup = Setup::new(topology, port(), 1);
        let hosts = setup.topology.hosts().len() as u16;
        let ways = |size: u32| {
            let pairs = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
            pairs
                .filter(|(a, b)| a != b)
                .map(|(a, b)| ideal_time(&setup, [size], HostId(a), HostId(b)))
                .max()
                .unwrap()
        };
        let base = harness::dctcp(&setup, &DctcpConfig::strong()).base_rtt();
        assert_eq!(base, ways(1518) + ways(64), "{name}");
    }
}

#[test]
fn a_window_smaller_than_the_pipe_waits_for_its_answers() {
    // One packet at a time: every packet takes a whole round trip, the last only half of one.
    let config = DctcpConfig { initial_window: 1, gain: 1.0 / 16.0, ..DctcpConfig::strong() };
    let setup = Setup::new(harness::star(2), port(), 1);
    let outcome = run(&setup, &config, vec![flow(0, 1, 3 * 1460)]);
    let took = outcome.done[0].finished.since(outcome.done[0].started);
    let way = |size| ideal_time(&setup, [size], HostId(0), HostId(1));
    // Slow start: one packet, its answer, then the other two together.
    let pair = ideal_time(&setup, [1518, 1518], HostId(0), HostId(1));
    assert_eq!(took, way(1518) + way(64) + pair);
}
