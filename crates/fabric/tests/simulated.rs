//! Collectives over simulated packets.

use std::thread;

use laxity_fabric::{
    Algorithm, Communicator, Options, Outcome, ReduceOp,
    carrier::{Carrier, simulated},
};
use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{Fault, PortSetup, Scheme, Setup, Trouble};
use laxity_topology::Topology;

/// What one rank had in the end, and when.
type End = (Vec<u32>, Outcome, Time);

fn network(ranks: u32, buffer_kib: u64, seed: u64) -> Setup {
    let star = Topology::star(ranks, Rate::from_gbps(10), Span::from_us(2)).unwrap();
    Setup::new(star, PortSetup::fifo_packets(Bytes::from_kib(buffer_kib), Some(65)), seed)
}

fn all_reduce(
    setup: &Setup,
    scheme: &str,
    ranks: u32,
    length: usize,
    options: &Options,
) -> Vec<End> {
    let scheme: Scheme = scheme.parse().unwrap();
    let carriers = simulated::carriers(setup, scheme, ranks).unwrap();
    let threads: Vec<_> = carriers
        .into_iter()
        .map(|carrier| {
            let options = options.clone();
            thread::spawn(move || {
                let mut ranks_ = Communicator::new(carrier, ranks);
                let rank = ranks_.rank().get();
                let mut data: Vec<f32> =
                    (0..length).map(|at| (at as u32 % 97 + rank) as f32).collect();
                let outcome = ranks_.all_reduce(&mut data, ReduceOp::Mean, &options).unwrap();
                let now = ranks_.carrier().now();
                (data.into_iter().map(f32::to_bits).collect(), outcome, now)
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn expected(ranks: u32, at: usize) -> f32 {
    (at as u32 % 97) as f32 + (ranks - 1) as f32 / 2.0
}

#[test]
fn every_algorithm_gives_the_mean_over_every_transport() {
    for scheme in ["laxity", "dctcp", "ndp"] {
        for algorithm in [Algorithm::Transpose, Algorithm::Ring, Algorithm::HalvingDoubling] {
            let options = Options { algorithm: algorithm.clone(), ..Options::default() };
            for (data, ..) in all_reduce(&network(5, 256, 1), scheme, 5, 4_321, &options) {
                for (at, bits) in data.iter().enumerate() {
                    assert_eq!(
                        f32::from_bits(*bits),
                        expected(5, at),
                        "{scheme} {algorithm:?} {at}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_times_whatever_the_threads_do() {
    let run = |seed| -> Vec<Time> {
        let ends = all_reduce(&network(8, 32, seed), "laxity", 8, 50_000, &Options::default());
        ends.into_iter().map(|(.., at)| at).collect()
    };
    let first = run(3);
    for _ in 0..3 {
        assert_eq!(run(3), first);
    }
}

#[test]
fn a_lossy_network_leaves_all_ranks_with_the_same_bits_and_no_less_than_was_promised() {
    for seed in 1..=4 {
        let mut setup = network(8, 64, seed);
        let what = Trouble::Loss { probability: Fraction::new(0.05).unwrap() };
        setup.faults.push(Fault::everywhere(what));
        let options = Options::at_least(Fraction::new(0.9).unwrap());
        let ends = all_reduce(&setup, "laxity", 8, 100_000, &options);
        let lost: usize = ends.iter().map(|(_, outcome, _)| outcome.missing.len()).sum();
        assert!(lost > 0, "seed {seed}: a network that loses 5 % lost nothing");
        for (data, ..) in &ends {
            assert_eq!(*data, ends[0].0, "seed {seed}");
        }
        for (_, outcome, _) in &ends {
            assert!(outcome.least_delivered() >= 0.9, "seed {seed}: {outcome:?}");
        }
    }
}

/// The last chunk of a shard is shorter than the others, so as many chunks are not as many elements.
#[test]
fn a_short_last_chunk_keeps_the_promise_too() {
    let lossy = Trouble::Loss { probability: Fraction::new(0.1).unwrap() };
    for scheme in ["laxity", "atp-full", "bounded", "dctcp-es", "ndp-ss"] {
        // A shard is half of it, and a chunk has 350 elements.
        for length in [0, 1, 7, 351, 2 * 350 + 1, 2 * 6_825, 2 * 6_825 + 1, 2 * 7_000] {
            for at_least in [0.0, 1e-9, 0.5, 0.95, 0.999_999] {
                let mut setup = network(2, 64, length as u64);
                setup.faults.push(Fault::everywhere(lossy.clone()));
                let options = Options::at_least(Fraction::new(at_least).unwrap());
                let ends = all_reduce(&setup, scheme, 2, length, &options);
                let what = format!("{length} numbers, {at_least} of them, by {scheme}");
                for (data, outcome, _) in &ends {
                    assert_eq!(*data, ends[0].0, "{what}");
                    assert_eq!(outcome.delivered, ends[0].1.delivered, "{what}");
                    assert!(outcome.least_delivered() >= at_least, "{what}");
                }
            }
        }
    }
}

/// Some transports only count what has come.
#[test]
fn what_a_transport_does_not_name_is_missing_all_the_same() {
    for scheme in ["bounded", "dctcp-es", "dctcp-ss", "ndp-ss"] {
        let options = Options::at_least(Fraction::new(0.5).unwrap());
        let ends = all_reduce(&network(2, 64, 1), scheme, 2, 100_000, &options);
        let outcome = &ends[0].1;
        let holes: usize = outcome.missing.iter().map(|thin| thin.elements.len()).sum();
        assert!(holes > 10_000, "{scheme} stops at a half, and {holes} elements are missing");
        assert!(outcome.least_delivered() >= 0.5, "{scheme}");
    }
}

#[test]
fn two_hundred_and_fifty_six_ranks_in_one_process() {
    let ends = all_reduce(&network(256, 512, 1), "laxity", 256, 20_000, &Options::default());
    assert_eq!(ends.len(), 256);
    assert!(ends.iter().all(|(data, ..)| *data == ends[0].0));
}

#[test]
fn more_ranks_than_hosts_are_refused() {
    let error = simulated::carriers(&network(4, 64, 1), "laxity".parse().unwrap(), 5).unwrap_err();
    assert_eq!(error.to_string(), "5 ranks need as many hosts; the network has 4");
}
