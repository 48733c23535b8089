//! Nothing appears, nothing vanishes, limits hold, and the same seed gives the same run.

mod harness;

use harness::{
    blast::{DROPPABLE, Look, TRIMMABLE, blasting, packets},
    dctcp, flow, port,
};
use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{
    Fault, Limits, NicSetup, Outcome, PortSetup, Routing, Schedule, SeriesSetup, Setup, Trouble,
    stacks::dctcp::DctcpConfig,
};
use laxity_topology::{LinkId, Topology};
use proptest::prelude::*;

fn net() -> Topology {
    Topology::leaf_spine(3, 2, 3, Rate::from_gbps(10), 2, Span::from_ns(300)).unwrap()
}

fn balanced(outcome: &Outcome) -> bool {
    outcome.sent == outcome.delivered + outcome.drops + outcome.under_way
        && outcome.sent == outcome.tally.data_packets + outcome.tally.control_packets
}

fn ports() -> impl Strategy<Value = PortSetup> {
    let buffer = (2_000u64..60_000).prop_map(Bytes::new);
    (0u8..5, buffer).prop_map(|(kind, buffer)| match kind {
        0 => PortSetup::fifo(buffer, Some(Bytes::new(6_000))),
        1 => PortSetup::slack(buffer, 5),
        2 => PortSetup::ranked(buffer),
        3 => PortSetup::trimming(buffer, 4),
        _ => PortSetup::fifo(buffer, None).with_droppable_above(Bytes::new(4_000)),
    })
}

type Burst = (u16, u16, u32, u32, u8, u32, u8, u64);

fn bursts() -> impl Strategy<Value = Vec<Burst>> {
    let burst = (0u16..9, 1u16..9, 1u32..60, 64u32..1518, 0u8..9, 0u32..9, 0u8..4, 0u64..100);
    prop::collection::vec(burst, 1..12)
}

fn schedule(bursts: &[Burst]) -> Schedule {
    Schedule::new(bursts.iter().map(|&(from, offset, count, size, class, rank, flags, start)| {
        assert!(flags <= DROPPABLE | TRIMMABLE);
        let look = Look { class, rank, flags };
        let flow = packets(from, (from + offset) % 9, count, size, look);
        (Time::ZERO + Span::from_us(start), flow)
    }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packets_in_are_packets_out_lost_or_under_way(
        port in ports(),
        bursts in bursts(),
        seed in any::<u64>(),
        spray in any::<bool>(),
        nic in 1u32..5,
        until in 1u64..300,
        loss in 0u8..2,
    ) {
        let mut setup = Setup::new(net(), port.clone(), seed);
        setup.nic = NicSetup { queue_packets: nic };
        setup.routing = if spray { Routing::Spray } else { Routing::Ecmp };
        if loss > 0 {
            let probability = Fraction::new(0.05).unwrap();
            setup.faults.push(Fault::everywhere(Trouble::Loss { probability }));
            let extra = Span::from_us(3);
            setup.faults.push(Fault::everywhere(Trouble::Late { probability, extra }));
        }
        let (mut simulation, arrivals) = blasting(&setup);
        let links: Vec<_> = (0..setup.topology.links().len() as u32).map(LinkId).collect();
        simulation.record(SeriesSetup { interval: Span::from_ns(900), links });
        let mut driver = schedule(&bursts);
        // In the middle and at the end.
        let middle = simulation.run(&mut driver, Limits::until(Time::ZERO + Span::from_us(until)));
        prop_assert!(balanced(&middle), "{middle:?}");
        let outcome = simulation.run(&mut driver, Limits::default());
        prop_assert!(balanced(&outcome));
        prop_assert_eq!(arrivals.lock().unwrap().len() as u64, outcome.delivered);
        if outcome.under_way > 0 {
            // It ended early because every flow had ended: only whole flows count as ended.
            prop_assert!(outcome.unfinished.is_empty());
        }
        // No sample of any switch port is above any limit.
        for series in [middle.series.unwrap(), outcome.series.unwrap()] {
            for own in series.links {
                let from = setup.topology.link(own.link).from;
                for sample in own.samples {
                    if setup.topology.host_index(from).is_some() {
                        prop_assert!(sample.packets <= nic);
                        continue;
                    }
                    prop_assert!(sample.waiting() <= port.buffer.get());
                    for (queue, waiting) in port.queues.iter().zip(sample.queues) {
                        prop_assert!(queue.limit.is_none_or(|limit| waiting <= limit.get()));
                    }
                }
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace(port in ports(), bursts in bursts(), seed in any::<u64>()) {
        let mut setup = Setup::new(net(), port, seed);
        setup.routing = Routing::Spray;
        let run = || {
            let (mut simulation, arrivals) = blasting(&setup);
            let outcome = simulation.run(&mut schedule(&bursts), Limits::default());
            let arrivals = arrivals.lock().unwrap().clone();
            (outcome.trace_hash, outcome.events, outcome.drops, outcome.end, arrivals)
        };
        prop_assert_eq!(run(), run());
    }
}

fn permutation(seed: u64, pieces: &[u64]) -> Outcome {
    let mut setup = Setup::new(net(), port(), seed);
    let probability = Fraction::new(0.003).unwrap();
    setup.faults = vec![Fault::everywhere(Trouble::Loss { probability })];
    let mut simulation = dctcp(&setup, &DctcpConfig::strong());
    let flows = (0..9).map(|host| flow(host, (host + 4) % 9, 400_000));
    let mut driver = Schedule::new(flows.map(|flow| (Time::ZERO, flow)));
    for until in pieces {
        let outcome = simulation.run(&mut driver, Limits::until(Time::from_ps(*until)));
        assert!(balanced(&outcome));
    }
    simulation.run(&mut driver, Limits::default())
}

#[test]
fn the_trace_depends_on_the_seed_and_on_nothing_else() {
    let whole = permutation(1, &[]);
    assert_eq!(whole.unfinished, []);
    assert!(whole.drops > 0);
    // In one piece or in many.
    let pieces = permutation(1, &[1, 20_000_000, 20_000_001, 333_333_333]);
    assert_eq!(pieces.trace_hash, whole.trace_hash);
    assert_eq!(pieces.events, whole.events);
    assert_ne!(permutation(2, &[]).trace_hash, whole.trace_hash);
}

#[test]
fn events_are_counted_to_the_last() {
    let setup = Setup::new(net(), port(), 1);
    let flows = [(Time::ZERO, flow(0, 8, 400_000))];
    let whole = dctcp(&setup, &DctcpConfig::strong())
        .run(&mut Schedule::new(flows.clone()), Limits::default());
    let mut simulation = dctcp(&setup, &DctcpConfig::strong());
    let mut driver = Schedule::new(flows);
    let limits = Limits { max_events: 100, ..Limits::default() };
    let mut last = simulation.run(&mut driver, limits);
    while last.stopped == laxity_packetsim::Stopped::Events {
        assert_eq!(last.events % 100, 0);
        last = simulation.run(&mut driver, limits);
    }
    assert_eq!((last.events, last.trace_hash), (whole.events, whole.trace_hash));
}
