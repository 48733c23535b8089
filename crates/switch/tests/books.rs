//! Nothing appears, nothing vanishes, and the same seed gives the same run.

mod common;

use common::{World, udp};
use laxity_interface::{Bytes, Ecn, Fraction, Rate, Span, Time};
use laxity_switch::{
    Change, Counters, Fabric, HostId, Limit, Loss, MacAddress, PortConfig, PortId, QueueConfig,
    QueueLayout,
};
use proptest::prelude::*;

const HOSTS: u16 = 4;
/// Ports of [`world`]: four links of hosts and two trunks, two directions each.
const PORTS: u32 = 12;

#[derive(Debug, Clone)]
enum Step {
    Send { from: u16, to: u16, size: usize, dscp: u8, ecn: u8, flow: u16 },
    Change(Change),
    Poll,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let hosts = 0..HOSTS;
    // One more destination than there are hosts: nobody.
    let send = (hosts.clone(), 0..=HOSTS, 60..1514usize, 0..64u8, 0..4u8, 0..50u16);
    let send = send.prop_map(|(from, to, size, dscp, ecn, flow)| Step::Send {
        from,
        to,
        size,
        dscp,
        ecn,
        flow,
    });
    let port = (0..PORTS).prop_map(PortId::new);
    let loss = prop_oneof![
        Just(Loss::None),
        (0.0..1.0).prop_map(|part| Loss::Random(Fraction::new(part).unwrap())),
        (0.0..1.0, 0.0..1.0).prop_map(|(begin, end)| Loss::Burst {
            begin: Fraction::new(begin).unwrap(),
            end: Fraction::new(end).unwrap(),
        }),
    ];
    let change = prop_oneof![
        (port.clone(), proptest::option::of(0..200u64))
            .prop_map(|(port, rate)| Change::Rate { port, rate: rate.map(Rate::from_mbps) }),
        (port.clone(), 0..500u64)
            .prop_map(|(port, us)| Change::Delay { port, delay: Span::from_us(us) }),
        (port.clone(), loss).prop_map(|(port, loss)| Change::Loss { port, loss }),
        (port, any::<bool>()).prop_map(|(port, up)| Change::Link { port, up }),
        (hosts, any::<bool>())
            .prop_map(|(host, up)| Change::Host { host: HostId::new(host.into()), up }),
    ];
    let step = prop_oneof![20 => send, 2 => change.prop_map(Step::Change), 5 => Just(Step::Poll)];
    proptest::collection::vec((0..200_000u64, step), 1..300)
}

/// Two leaves, two trunks, tiny queues, marks.
fn world(seed: u64) -> World {
    let queue = |limit| QueueConfig { limit, ecn: Some(Limit::Packets(1)) };
    let layout = QueueLayout {
        queues: vec![
            queue(Limit::Shared),
            queue(Limit::Bytes(Bytes::new(3000))),
            queue(Limit::Packets(2)),
            queue(Limit::Shared),
        ],
        class_of_dscp: std::array::from_fn(|dscp| dscp as u8 % 5),
        shared: Some(Bytes::new(5000)),
    };
    let port = PortConfig::new(Rate::from_mbps(100), Span::from_us(20)).with_layout(layout);
    let mut builder = Fabric::builder(seed);
    let leaves = [builder.add_switch(), builder.add_switch()];
    for number in 0..HOSTS {
        let host = builder.add_host(MacAddress::of_host(number));
        let leaf = leaves[usize::from(number % 2)];
        builder.connect(host, leaf, PortConfig::wire(Span::from_us(5)), port.clone());
    }
    for _ in 0..2 {
        builder.connect(leaves[0], leaves[1], port.clone(), port.clone());
    }
    World { fabric: builder.build().unwrap(), arrivals: Vec::new() }
}

fn play(seed: u64, steps: &[(u64, Step)], mut check: impl FnMut(&World)) -> World {
    let (mut world, mut now) = (world(seed), Time::ZERO);
    for (wait, step) in steps {
        now += Span::from_ns(*wait);
        match step {
            Step::Send { from, to, size, dscp, ecn, flow } => {
                let bytes = udp(*from, *to, *size, *dscp, Ecn::from_bits(*ecn), *flow);
                world.send(now, *from, &bytes);
            }
            Step::Change(change) => world.change(now, *change),
            Step::Poll => world.run_until(now),
        }
        check(&world);
    }
    world
}

/// Checks every port's books, packets and bytes.
fn check_ports(counters: &Counters) -> Result<(), TestCaseError> {
    for port in &counters.ports {
        let mut sent = 0;
        for queue in &port.queues {
            let gone = queue.full.packets + queue.down.packets;
            let known = queue.sent.packets + gone + queue.backlog.packets;
            prop_assert_eq!(queue.offered.packets, known, "{}", port.port);
            let gone = queue.full.bytes + queue.down.bytes;
            let known = queue.sent.bytes + gone + queue.backlog.bytes;
            prop_assert_eq!(queue.offered.bytes, known, "{}", port.port);
            prop_assert!(queue.backlog.packets <= queue.max_packets);
            prop_assert!(queue.marked.packets <= queue.offered.packets);
            sent += queue.sent.packets;
        }
        let gone = port.lost.packets + port.cut.packets;
        prop_assert_eq!(
            sent,
            port.delivered.packets + gone + port.on_wire.packets,
            "{}",
            port.port
        );
        // The limits hold at every moment.
        if port.queues.len() == 4 {
            prop_assert!(port.queues[1].max_bytes <= Bytes::new(3000));
            prop_assert!(port.queues[2].max_packets <= 2);
            let shared = port.queues[0].backlog.bytes + port.queues[3].backlog.bytes;
            prop_assert!(shared <= Bytes::new(5000));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_goes_in_comes_out_or_is_accounted_for(seed: u64, steps in steps()) {
        let mut verdict = Ok(());
        let mut world = play(seed, &steps, |world| {
            if verdict.is_ok() {
                verdict = check_ports(&world.fabric.counters());
            }
        });
        verdict?;
        // In the end every port works, and everything comes out.
        let now = world.fabric.now();
        for port in (0..PORTS).map(PortId::new) {
            world.change(now, Change::Rate { port, rate: Some(Rate::from_mbps(100)) });
        }
        world.run();
        let counters = world.fabric.counters();
        check_ports(&counters)?;
        let offered = steps.iter().filter(|(_, step)| matches!(step, Step::Send { .. })).count();
        let mut gone = counters.unroutable.packets;
        for port in &counters.ports {
            prop_assert_eq!(port.on_wire.packets, 0);
            gone += port.lost.packets + port.cut.packets + port.full();
            gone += port.queues.iter().map(|queue| queue.down.packets).sum::<u64>();
        }
        prop_assert_eq!(offered as u64, world.arrivals.len() as u64 + gone);
        // Time never goes backwards, and headers are in order after marking.
        prop_assert!(world.times().is_sorted());
        for arrival in &world.arrivals {
            prop_assert_eq!(common::checksum(&arrival.bytes[14..34]), 0);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run(seed: u64, steps in steps()) {
        let trace = |seed| {
            let mut world = play(seed, &steps, |_| {});
            world.run_until(world.fabric.now() + Span::from_secs(1));
            (world.arrivals.clone(), world.fabric.counters())
        };
        prop_assert_eq!(trace(seed), trace(seed));
    }
}

/// A hash over a fixed run: a change of it is a change of results that were published with a seed.
#[test]
fn the_trace_of_a_seed_stays_what_it_is() {
    let mut world = world(42);
    for port in [PortId::new(3), PortId::new(8)] {
        let loss = Loss::Random(Fraction::new(0.1).unwrap());
        world.change(Time::ZERO, Change::Loss { port, loss });
    }
    for number in 0..5000u64 {
        let at = Time::ZERO + Span::from_us(number * 61);
        let (from, to) = ((number % 4) as u16, (number / 3 % 4) as u16);
        let size = 60 + (number * 131 % 1400) as usize;
        let ecn = Ecn::from_bits((number / 5) as u8);
        world.send(at, from, &udp(from, to, size, (number % 64) as u8, ecn, number as u16 % 50));
    }
    world.run();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    for arrival in &world.arrivals {
        arrival.at.as_ps().to_le_bytes().into_iter().for_each(&mut add);
        arrival.bytes.iter().copied().for_each(&mut add);
    }
    assert_eq!((world.arrivals.len(), hash), (3206, 6_407_008_779_545_185_990));
}
