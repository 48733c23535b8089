//! The guarantee under everything a network can do, in virtual time.

mod harness;

use std::panic::{AssertUnwindSafe, catch_unwind};

use harness::scenario::{Weather, build};
use laxity_interface::{Span, Time};

/// What a run came to.
#[derive(Default, Debug)]
struct Tally {
    runs: u64,
    jobs: u64,
    kept: u64,
    packets: u64,
    trace: u64,
}

/// Runs the scenario of a seed to its end; panics where the promise is broken.
fn run(seed: u64) -> Tally {
    let (mut world, weather) = build(seed);
    world.finish(Time::ZERO + Span::from_secs(200));
    let kept = |job: &&harness::Job| {
        matches!((&job.sender, &job.receiver), (Some((_, Ok(_))), Some((_, Ok(_)))))
    };
    if weather == Weather::Fair {
        for job in &world.jobs {
            // Too many at once is the sender's own fault.
            assert!(kept(&job) || job.refused(), "in fair weather every job succeeds");
        }
    }
    Tally {
        runs: 1,
        jobs: world.jobs.len() as u64,
        kept: world.jobs.iter().filter(kept).count() as u64,
        packets: world.packets,
        trace: world.trace,
    }
}

fn run_all(seeds: impl Iterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let one = catch_unwind(AssertUnwindSafe(|| run(seed)));
        let Ok(one) = one else {
            panic!("seed {seed} broke the promise; replay with LAXITY_SEED={seed}");
        };
        tally.runs += one.runs;
        tally.jobs += one.jobs;
        tally.kept += one.kept;
        tally.packets += one.packets;
        tally.trace = tally.trace.wrapping_mul(31).wrapping_add(one.trace);
    }
    println!("{tally:?}");
    tally
}

fn assert_mostly_kept(tally: &Tally) {
    // Killed peers and networks that are gone for longer than a job has time are part of the game.
    assert!(tally.kept * 10 >= tally.jobs * 7, "{tally:?}");
}

/// Seeds that go into the default run; half of them in each of two threads.
const SEEDS: u64 = 16_000;

#[test]
fn the_promise_is_kept_or_a_named_error_comes_in_time() {
    assert_mostly_kept(&run_all((0..SEEDS).step_by(2)));
}

#[test]
fn the_promise_is_kept_or_a_named_error_comes_in_time_too() {
    assert_mostly_kept(&run_all((1..SEEDS).step_by(2)));
}

/// Found by the stress test. In 909183 the receiver ends by a deadline and its last word is lost; full
/// queues made its probe timeout longer than the wait for the dead, after which it forgot the word
/// without having repeated it.
const ONCE_BROKEN: [u64; 1] = [909_183];

#[test]
fn seeds_that_once_broke_the_promise() {
    run_all(ONCE_BROKEN.into_iter());
}

#[test]
#[ignore = "takes minutes; LAXITY_RUNS says how many, LAXITY_SEED where to begin"]
fn stress() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let runs = number("LAXITY_RUNS").unwrap_or(1_000_000);
    let first = number("LAXITY_SEED").unwrap_or(SEEDS);
    assert_mostly_kept(&run_all(first..first + runs));
}

#[test]
fn replay() {
    if let Some(seed) = std::env::var("LAXITY_SEED").ok().and_then(|text| text.parse().ok()) {
        println!("{:?}", run(seed));
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for seed in 0..40 {
        assert_eq!(run(seed).trace, run(seed).trace, "seed {seed}");
    }
}
