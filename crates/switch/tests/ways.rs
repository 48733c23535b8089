//! Where frames go: several switches, equal ways, broadcasts, cut cables.

mod common;

use std::collections::BTreeSet;

use common::{Arrival, World, hundred, slow, udp, us};
use laxity_interface::{Bytes, Ecn, Rate, Span};
use laxity_switch::{
    BuildError, Change, Fabric, HostId, Link, MacAddress, NodeId, PortConfig, SwitchId,
};

/// Two leaves with two hosts each, and `spines` between them.
fn leaf_spine(spines: usize) -> (World, Vec<[Link; 2]>) {
    let mut builder = Fabric::builder(1);
    let leaves = [builder.add_switch(), builder.add_switch()];
    for number in 0..4 {
        let host = builder.add_host(MacAddress::of_host(number));
        builder.connect(host, leaves[usize::from(number / 2)], PortConfig::default(), slow());
    }
    let trunks = (0..spines)
        .map(|_| {
            let spine = builder.add_switch();
            leaves.map(|leaf| builder.connect(leaf, spine, slow(), slow()))
        })
        .collect();
    (World { fabric: builder.build().unwrap(), arrivals: Vec::new() }, trunks)
}

#[test]
fn flows_share_equal_ways_and_a_flow_keeps_to_one() {
    let (mut world, trunks) = leaf_spine(4);
    for flow in 0..1000u16 {
        for repeat in 0..3 {
            let at = us(u64::from(flow) * 2000 + repeat * 500);
            world.send(at, 0, &udp(0, 2, 100, 0, Ecn::NotEct, flow));
        }
    }
    world.run();
    assert_eq!(world.arrivals.len(), 3000);
    let counters = world.fabric.counters();
    let used = trunks.iter().map(|[up, _]| counters.ports[up.there.index()].delivered.packets);
    let used: Vec<_> = used.collect();
    assert_eq!(used.iter().sum::<u64>(), 3000);
    for packets in used {
        assert_eq!(packets % 3, 0, "a flow was split");
        // Five standard deviations around 250 flows: 5·sqrt(1000·0.25·0.75) = 68.
        assert!((182 * 3..=318 * 3).contains(&packets), "{packets}");
    }
}

#[test]
fn neighbours_talk_past_the_trunk() {
    let (mut world, trunks) = leaf_spine(2);
    world.send(us(0), 0, &udp(0, 1, 1226, 0, Ecn::NotEct, 1));
    world.run();
    assert_eq!(world.times(), [us(100)]);
    let counters = world.fabric.counters();
    for [up, _] in trunks {
        assert_eq!(counters.ports[up.there.index()].queues[0].offered.packets, 0);
    }
}

#[test]
fn a_broadcast_reaches_everyone_once_and_not_its_sender() {
    let (mut world, _) = leaf_spine(3);
    let mut arp = udp(1, 0, 60, 0, Ecn::NotEct, 1);
    arp[..6].fill(0xff);
    arp[12..14].copy_from_slice(&[8, 6]);
    world.send(us(0), 1, &arp);
    world.run();
    let mut hosts: Vec<_> = world.arrivals.iter().map(|arrival| arrival.host).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [0, 2, 3]);
    assert!(world.arrivals.iter().all(|arrival| arrival.bytes == arp));
}

#[test]
fn frames_to_nobody_are_counted() {
    let mut world = World::star(2, 1, &slow());
    world.send(us(0), 0, &udp(0, 9, 100, 0, Ecn::NotEct, 1));
    world.send(us(0), 0, &udp(0, 0, 100, 0, Ecn::NotEct, 1));
    world.send(us(0), 0, &[1, 2, 3]);
    world.send(us(0), 0, &[]);
    world.run();
    let counters = world.fabric.counters();
    assert_eq!(counters.unroutable.packets, 4);
    assert_eq!(counters.unroutable.bytes, Bytes::new(203));
    assert!(world.arrivals.is_empty());
}

#[test]
fn a_cut_cable_loses_what_is_in_it_and_flows_take_another_way() {
    let (mut world, trunks) = leaf_spine(2);
    for number in 0..100 {
        world.send(us(0), 0, &udp(0, 2, 1226, 0, Ecn::NotEct, number));
    }
    world.change(us(50), Change::Link { port: trunks[0][0].back, up: false });
    let cut = world.fabric.counters().ports[trunks[0][0].there.index()].clone();
    assert!(!cut.up && cut.cut.packets == 1);
    let gone = cut.cut.packets + cut.queues[0].down.packets;
    for number in 0..100 {
        world.send(us(100_000), 0, &udp(0, 2, 1226, 0, Ecn::NotEct, number));
    }
    world.run();
    assert_eq!(world.arrivals.len() as u64, 200 - gone);
    let late = world.arrivals.iter().filter(|arrival| arrival.at > us(100_000));
    let late: BTreeSet<_> = late.map(Arrival::port).collect();
    assert_eq!(late.len(), 100, "every flow found the other way");
    // Mended, it is used again.
    world.change(us(200_000), Change::Link { port: trunks[0][0].there, up: true });
    let before = world.fabric.counters().ports[trunks[0][0].there.index()].delivered.packets;
    for number in 0..100 {
        world.send(us(200_000), 0, &udp(0, 2, 100, 0, Ecn::NotEct, number));
    }
    world.run();
    let after = world.fabric.counters().ports[trunks[0][0].there.index()].delivered.packets;
    assert!(after > before + 20, "{before} to {after}");
}

#[test]
fn a_host_that_is_gone_neither_sends_nor_receives() {
    let mut world = World::star(3, 1, &PortConfig { delay: Span::from_us(50), ..slow() });
    world.send(us(0), 0, &hundred(0, 0));
    world.send(us(0), 0, &hundred(1, 0));
    world.send(us(0), 0, &hundred(2, 0));
    // One on the wire, one being sent, one waiting: all gone.
    world.change(us(120), Change::Host { host: HostId::new(1), up: false });
    world.send(us(130), 0, &hundred(3, 0));
    world.send(us(130), 1, &udp(1, 0, 100, 0, Ecn::NotEct, 4));
    world.run_until(us(1000));
    assert!(world.arrivals.is_empty());
    let down = world.down(1);
    assert_eq!((down.cut.packets, down.queues[0].down.packets), (2, 2));
    world.change(us(1000), Change::Host { host: HostId::new(1), up: true });
    world.send(us(1000), 0, &hundred(5, 0));
    world.run();
    assert_eq!((world.ports(), world.times()), (vec![5], vec![us(1150)]));
}

#[test]
fn a_fabric_that_cannot_work_is_refused() {
    let port = PortConfig::default;
    let mac = MacAddress::of_host;
    let mut builder = Fabric::builder(1);
    let host = builder.add_host(mac(0));
    assert_eq!(builder.build().unwrap_err(), BuildError::Host { host, links: 0 });

    let mut builder = Fabric::builder(1);
    let (a, b) = (builder.add_host(mac(0)), builder.add_host(mac(1)));
    builder.connect(a, b, port(), port());
    assert!(matches!(builder.build(), Err(BuildError::Link { .. })));

    let mut builder = Fabric::builder(1);
    let host = builder.add_host(mac(0));
    builder.connect(host, SwitchId::new(0), port(), port());
    let node = NodeId::Switch(SwitchId::new(0));
    assert_eq!(builder.build().unwrap_err(), BuildError::Unknown { node });

    let mut builder = Fabric::builder(1);
    let switch = builder.add_switch();
    for _ in 0..2 {
        let host = builder.add_host(mac(0));
        builder.connect(host, switch, port(), port());
    }
    assert!(matches!(builder.build(), Err(BuildError::Address { .. })));

    let mut builder = Fabric::builder(1);
    for number in 0..2 {
        let (host, switch) = (builder.add_host(mac(number)), builder.add_switch());
        builder.connect(host, switch, port(), PortConfig::new(Rate::from_gbps(1), Span::ZERO));
    }
    assert!(matches!(builder.build(), Err(BuildError::Apart { .. })));
}
