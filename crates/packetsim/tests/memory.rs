//! Ports that share the memory of their switch: thresholds that move with what is free.

mod harness;

use harness::{
    blast::{Look, PLAIN, blasting, packets},
    star,
};
use laxity_interface::{Bytes, Time};
use laxity_packetsim::{
    Flow, Limits, Outcome, PortSetup, Schedule, Setup, SetupError, SharedMemory,
};

const PACKET: u32 = 1500;

/// Flows all at once through a star whose switch has memory for so many packets.
fn run(hosts: u32, port: PortSetup, memory: Option<(u64, f64)>, flows: Vec<Flow>) -> Outcome {
    let mut setup = Setup::new(star(hosts), port, 1);
    setup.memory = memory.map(|(packets, share)| SharedMemory {
        total: Bytes::new(packets * u64::from(PACKET)),
        share,
    });
    let (mut simulation, _) = blasting(&setup);
    let mut driver = Schedule::new(flows.into_iter().map(|flow| (Time::ZERO, flow)));
    simulation.run(&mut driver, Limits::default())
}

fn fifo() -> PortSetup {
    PortSetup::fifo(Bytes::from_mib(1), None)
}

/// Two hosts send so many packets each to one receiver, for each of so many receivers, so one packet
/// of each pair has to wait. What a port can hold is what arrives beyond one of each pair.
fn pairs(receivers: u16, count: u32) -> Vec<Flow> {
    let pair = |to: u16| [2 * to, 2 * to + 1].map(|from| (from, 2 * receivers + to));
    (0..receivers)
        .flat_map(pair)
        .map(|(from, to)| packets(from, to, count, PACKET, PLAIN))
        .collect()
}

/// n full queues hold share / (1 + n · share) of the memory each, rounded up: the last packet that
/// fits is not yet part of what is taken when it asks.
#[test]
fn full_queues_hold_their_share_of_what_is_free() {
    for (receivers, memory, share, each) in [
        (1, 19, 1.0, 10),
        (2, 29, 1.0, 10),
        (1, 29, 2.0, 20),
        (2, 49, 2.0, 20),
        (1, 29, 0.5, 10),
        (2, 39, 0.5, 10),
    ] {
        let hosts = 3 * u32::from(receivers);
        let outcome = run(hosts, fifo(), Some((memory, share)), pairs(receivers, 60));
        let arrived = u64::from(receivers) * (60 + each);
        assert_eq!(outcome.delivered, arrived, "{receivers} of {memory} packets, share {share}");
    }
}

/// A share without bounds leaves one limit: the memory.
#[test]
fn all_of_the_memory_is_there_for_whoever_comes_first() {
    let outcome = run(6, fifo(), Some((24, 1e9)), pairs(2, 60));
    assert_eq!(outcome.delivered, 2 * 60 + 24);
}

/// Limits of queues and ports stay what they are, and without contention nothing changes.
#[test]
fn ports_keep_their_own_limits() {
    let narrow = PortSetup::fifo(Bytes::new(5 * u64::from(PACKET)), None);
    let outcome = run(3, narrow, Some((1000, 1.0)), pairs(1, 60));
    assert_eq!(outcome.delivered, 60 + 5);
    let plenty = run(6, fifo(), Some((10_000, 1.0)), pairs(2, 60));
    let own = run(6, fifo(), None, pairs(2, 60));
    assert_eq!((plenty.trace_hash, plenty.end), (own.trace_hash, own.end));
}

/// What left is free again: the second wave finds what the first found.
#[test]
fn memory_comes_back() {
    let wave = |at: u64| pairs(2, 60).into_iter().map(move |flow| (at, flow));
    let mut setup = Setup::new(star(6), fifo(), 1);
    setup.memory = Some(SharedMemory { total: Bytes::new(29 * u64::from(PACKET)), share: 1.0 });
    let (mut simulation, _) = blasting(&setup);
    let flows = wave(0).chain(wave(1_000_000_000));
    let mut driver = Schedule::new(flows.map(|(at, flow)| (Time::from_ps(at), flow)));
    let outcome = simulation.run(&mut driver, Limits::default());
    assert_eq!(outcome.delivered, 2 * 2 * (60 + 10));
}

/// In queues by rank the threshold decides how much waits, the rank who does.
#[test]
fn the_best_ranks_have_the_shared_memory() {
    let good = Look { rank: 1, ..PLAIN };
    let bad = Look { rank: 9, ..PLAIN };
    let flows = vec![packets(0, 2, 60, PACKET, bad), packets(1, 2, 60, PACKET, good)];
    let port = PortSetup::ranked(Bytes::from_mib(1));
    let outcome = run(3, port, Some((20, 1.0)), flows);
    assert_eq!(outcome.delivered, 60 + 10, "as many as with first in, first out");
    assert_eq!(outcome.unfinished.len(), 1, "all of the better flow arrived");
}

#[test]
fn a_share_of_nothing_is_refused() {
    for share in [0.0, -1.0, f64::NAN] {
        let mut setup = Setup::new(star(3), fifo(), 1);
        setup.memory = Some(SharedMemory { total: Bytes::new(100_000), share });
        let error = laxity_packetsim::Simulation::new(&setup, |_| Vec::new()).unwrap_err();
        assert!(matches!(error, SetupError::BadShare { .. }), "{error}");
    }
}
