//! When frames arrive: closed forms.

mod common;

use common::{World, hundred, slow, udp, us};
use laxity_interface::{Bytes, Ecn, Rate, Span, Time};
use laxity_switch::{Change, Fabric, HostId, MacAddress, PortConfig};

#[test]
fn one_packet_takes_its_bytes_and_the_delay() {
    let mut world = World::star(2, 1, &PortConfig { delay: Span::from_us(7), ..slow() });
    world.send(us(5), 0, &hundred(1, 0));
    assert_eq!(world.fabric.poll_timeout(), Some(us(112)), "exactly when it is due");
    world.run();
    assert_eq!(world.times(), [us(112)]);
    // Every size, at a rate that does not divide: (bytes + 24) · 8 / rate, rounded up.
    for size in [60, 333, 1514] {
        let rate = Rate::bps(299_792_458);
        let mut world = World::star(2, 1, &PortConfig::new(rate, Span::ZERO));
        world.send(Time::ZERO, 0, &udp(0, 1, size, 0, Ecn::NotEct, 1));
        world.run();
        assert_eq!(world.times(), [Time::ZERO + rate.time_for(Bytes::new(size as u64 + 24))]);
    }
}

#[test]
fn back_to_back_packets_follow_each_other_without_a_gap() {
    let mut world = World::star(2, 1, &PortConfig { delay: Span::from_us(7), ..slow() });
    for number in 0..50 {
        world.send(us(0), 0, &hundred(number, 0));
    }
    world.run();
    let expected: Vec<_> = (1..=50).map(|n| us(100 * n + 7)).collect();
    assert_eq!(world.times(), expected);
    assert_eq!(world.ports(), (0..50).collect::<Vec<_>>());
}

#[test]
fn an_idle_port_begins_anew() {
    let mut world = World::star(2, 1, &slow());
    for at in [0, 100, 350] {
        world.send(us(at), 0, &hundred(0, 0));
    }
    world.run();
    assert_eq!(world.times(), [us(100), us(200), us(450)]);
}

/// Two switches, all links of 100 Mbit/s except the trunk in the middle.
fn chain(trunk: Rate) -> (Fabric, HostId) {
    let mut builder = Fabric::builder(1);
    let [left, right] = [builder.add_switch(), builder.add_switch()];
    let [a, b] = [0, 1].map(|number| builder.add_host(MacAddress::of_host(number)));
    let port = |rate, delay| PortConfig::new(rate, Span::from_us(delay));
    let edge = Rate::from_mbps(100);
    builder.connect(a, left, port(edge, 1), port(edge, 1));
    builder.connect(left, right, port(trunk, 10), port(trunk, 10));
    builder.connect(b, right, port(edge, 3), port(edge, 3));
    (builder.build().unwrap(), a)
}

#[test]
fn each_hop_stores_and_forwards() {
    let (fabric, from) = chain(Rate::from_mbps(100));
    let mut world = World { fabric, arrivals: Vec::new() };
    for number in 0..10 {
        let frame = world.fabric.frame(&hundred(number, 0));
        world.fabric.handle_frame(us(0), from, frame);
    }
    world.run();
    // The first passes three links of 100 µs each; the others follow 100 µs apart.
    let expected: Vec<_> = (0..10).map(|n| us(300 + 14 + 100 * n)).collect();
    assert_eq!(world.times(), expected);
}

#[test]
fn the_slowest_hop_sets_the_pace() {
    let (fabric, from) = chain(Rate::from_mbps(50));
    let mut world = World { fabric, arrivals: Vec::new() };
    for number in 0..10 {
        let frame = world.fabric.frame(&hundred(number, 0));
        world.fabric.handle_frame(us(0), from, frame);
    }
    world.run();
    let expected: Vec<_> = (0..10).map(|n| us(100 + 200 + 100 + 14 + 200 * n)).collect();
    assert_eq!(world.times(), expected);
}

#[test]
fn due_times_do_not_depend_on_when_they_are_asked_for() {
    let run = |step: u64| {
        let mut world = World::star(3, 1, &PortConfig { delay: Span::from_us(30), ..slow() });
        for at in 0..200 {
            world.send(
                us(at * 37),
                (at % 2) as u16 * 2,
                &udp(0, 1, 600, 0, Ecn::NotEct, at as u16),
            );
            if at % step == 0 {
                world.run_until(us(at * 37));
            }
        }
        world.run_until(us(1_000_000));
        (world.ports(), world.times())
    };
    assert_eq!(run(1), run(1000));
    assert_eq!(run(1), run(7));
}

#[test]
fn a_new_rate_holds_for_the_rest_of_the_frame() {
    let mut world = World::star(2, 1, &slow());
    let port = world.fabric.downlink(HostId::new(1));
    for number in 0..3 {
        world.send(us(0), 0, &hundred(number, 0));
    }
    // Half of the second frame is left: 50 µs of work at 100 Mbit/s, 200 at 25.
    world.change(us(150), Change::Rate { port, rate: Some(Rate::from_mbps(25)) });
    // A port of rate zero holds what it has.
    world.change(us(450), Change::Rate { port, rate: Some(Rate::ZERO) });
    world.run_until(us(10_000));
    assert_eq!(world.times(), [us(100), us(350)]);
    assert_eq!(world.fabric.poll_timeout(), None);
    // A quarter of the third frame had been sent.
    world.change(us(10_000), Change::Rate { port, rate: Some(Rate::from_mbps(100)) });
    world.run();
    assert_eq!(world.times()[2], us(10_075));
    // Without a rate everything leaves at once.
    world.send(us(20_000), 0, &hundred(3, 0));
    world.send(us(20_000), 0, &hundred(4, 0));
    world.change(us(20_010), Change::Rate { port, rate: None });
    world.run();
    assert_eq!(world.times()[3..], [us(20_010), us(20_010)]);
}

#[test]
fn a_shorter_wire_lets_nothing_overtake() {
    let mut world = World::star(2, 1, &PortConfig { delay: Span::from_us(500), ..slow() });
    let port = world.fabric.downlink(HostId::new(1));
    world.send(us(0), 0, &hundred(0, 0));
    world.send(us(0), 0, &hundred(1, 0));
    world.change(us(150), Change::Delay { port, delay: Span::from_us(10) });
    world.send(us(700), 0, &hundred(2, 0));
    world.run();
    assert_eq!(world.times(), [us(600), us(600), us(810)]);
    assert_eq!(world.ports(), [0, 1, 2]);
}

#[test]
fn frames_on_their_last_link_can_be_had_early_and_in_order() {
    let (mut fabric, a) = chain(Rate::from_mbps(50));
    for number in 0..3 {
        let frame = fabric.frame(&hundred(number, 0));
        fabric.handle_frame(Time::ZERO, a, frame);
    }
    // What a driver that looks every 40 us and takes what comes in the next 30 sees, and when.
    let mut early = Vec::new();
    for step in 0..60 {
        let now = us(40 * step);
        while let Some((_, _, due)) = fabric.poll_frame_until(now, now + Span::from_us(30)) {
            assert!(due <= now + Span::from_us(30), "{due} at {now}");
            early.push(due);
        }
    }
    let (mut fabric, a) = chain(Rate::from_mbps(50));
    for number in 0..3 {
        let frame = fabric.frame(&hundred(number, 0));
        fabric.handle_frame(Time::ZERO, a, frame);
    }
    let due: Vec<_> = std::iter::from_fn(|| fabric.poll_frame(us(10_000))).map(|it| it.2).collect();
    assert_eq!(early, due, "looking early changes no time");
    assert_eq!(due.len(), 3);
    // A wire that is made shorter brings the next one sooner, and the fabric knows.
    let frame = fabric.frame(&hundred(3, 0));
    fabric.handle_frame(us(20_000), a, frame);
    let before = fabric.poll_timeout().expect("one is on its way");
    let delay = Span::ZERO;
    fabric.handle_change(us(20_000), Change::Delay { port: fabric.uplink(a), delay });
    assert_eq!(fabric.poll_timeout(), Some(before - Span::from_us(1)));
}
