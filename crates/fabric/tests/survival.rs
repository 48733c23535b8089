//! Whatever is lost, late or dead: who returns a result returns the same, in time.

mod common;

use std::collections::BTreeMap;

use bytes::Bytes;
use common::{Results, World, bytes};
use laxity_fabric::{
    Adaptive, Algorithm, Deadline, Element, Group, Importance, LossPolicy, OnLoss, OpError,
    Operation, Options, Rank, ReduceOp,
    carrier::memory::{Death, Faults},
};
use laxity_interface::{Fraction, Span};
use laxity_link::{stream, uniform};

/// Draws of one case.
struct Draw(rand::Stream);

mod rand {
    pub(crate) struct Stream(Box<dyn FnMut() -> f64>);

    impl Stream {
        pub(crate) fn new(seed: u64) -> Self {
            let mut stream = super::stream(seed, "survival", 0);
            Self(Box::new(move || super::uniform(&mut stream)))
        }

        pub(crate) fn next(&mut self) -> f64 {
            (self.0)()
        }
    }
}

impl Draw {
    fn new(seed: u64) -> Self {
        Self(rand::Stream::new(seed))
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.0.next() * end as f64) as u64
    }

    fn chance(&mut self, part: f64) -> bool {
        self.0.next() < part
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
}

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

/// One random case.
#[derive(Debug)]
struct Case {
    ranks: u32,
    count: usize,
    operation: Operation,
    options: Options,
    faults: Faults,
    late: BTreeMap<Rank, Span>,
}

fn case(seed: u64) -> Case {
    let mut draw = Draw::new(seed);
    let ranks = 2 + draw.below(8) as u32;
    let any = |draw: &mut Draw| Rank::new(draw.below(u64::from(ranks)) as u32);
    let op = draw.one(&[ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max]);
    let operation = match draw.below(10) {
        0 => Operation::AllGather,
        1 => Operation::Broadcast(any(&mut draw)),
        2 => Operation::Barrier,
        _ => Operation::AllReduce(op),
    };
    let count = match operation {
        Operation::Barrier => 0,
        _ => draw.one(&[0, 1, 3, 40, 257, 3000]),
    };
    let least = fraction(draw.one(&[1.0, 1.0, 0.98, 0.9, 0.5, 0.0]));
    let importance = match draw.below(4) {
        0 if count > 2 => {
            let middle = count / 2;
            Importance::ByRange([(0..middle, least), (middle..count - 1, fraction(0.9))].into())
        }
        1 => Importance::ByMagnitude {
            classes: [(0.2, least), (0.6, fraction(0.95))].into(),
            above: Fraction::ONE,
            block: 1 + draw.below(64) as usize,
        },
        _ => Importance::Uniform(least),
    };
    let by_magnitude = matches!(importance, Importance::ByMagnitude { .. });
    let limit = Span::from_ms(draw.one(&[300, 1000, 5000]));
    let mut options = Options {
        algorithm: draw.one(&[
            Algorithm::Auto,
            Algorithm::Transpose,
            Algorithm::Ring,
            Algorithm::HalvingDoubling,
        ]),
        importance,
        policy: draw.one(&[
            LossPolicy::Zero,
            LossPolicy::MeanOfReceived,
            LossPolicy::Stale { max_age: 3, decay: 0.5 },
            LossPolicy::Feedback { max_age: 2, decay: 0.9 },
        ]),
        hadamard: !by_magnitude && draw.chance(0.2),
        on_loss: match draw.below(3) {
            0 => OnLoss::Fail,
            _ => OnLoss::Continue { at_least: 1 + draw.below(u64::from(ranks)) as usize },
        },
        deadline: match draw.below(3) {
            0 => Deadline::After(Span::from_ms(1 + draw.below(40))),
            1 => Deadline::Adaptive(Adaptive { warm_up: 1, ..Adaptive::default() }),
            _ => Deadline::None,
        },
        limit,
        segment: draw.one(&[64, 4096]),
        ..Options::default()
    };
    options.hadamard &= !matches!(options.policy, LossPolicy::Feedback { .. }); // Refused.
    let deaths = match draw.below(4) {
        0 | 1 => 0,
        2 => 1,
        _ => 1 + draw.below(u64::from(ranks) - 1),
    };
    let early = draw.chance(0.5);
    let death = |draw: &mut Draw| Death {
        rank: any(draw),
        after: draw.below(if early { 10 } else { u64::from(ranks) * 8 }),
    };
    let faults = Faults {
        jitter: Span::from_us(draw.one(&[0, 50, 2000])),
        loss: fraction(draw.one(&[0.0, 0.02, 0.3, 1.0])),
        chunk: draw.one(&[1, 7, 350]),
        failing: fraction(draw.one(&[0.0, 0.0, 0.0, 0.02])),
        deaths: (0..deaths).map(|_| death(&mut draw)).collect(),
        slow: if draw.chance(0.2) {
            vec![(any(&mut draw), Span::from_ms(draw.one(&[5, 60, 700])))]
        } else {
            Vec::new()
        },
        detection: Span::from_us(draw.one(&[20, 1000, 20_000])),
        ..Faults::none(seed)
    };
    let late = match draw.chance(0.3) {
        true => [(any(&mut draw), Span::from_ms(draw.one(&[1, 30, 400, 6000])))].into(),
        false => BTreeMap::new(),
    };
    Case { ranks, count, operation, options, faults, late }
}

/// What a rank gives as element `i` of iteration `round`.
fn given(rank: Rank, i: usize, round: u64) -> f32 {
    ((rank.index() * 37 + i * 11 + round as usize * 5) % 101) as f32 / 101.0 - 0.3
}

fn data(rank: Rank, count: usize, round: u64) -> Bytes {
    (0..count).flat_map(|i| given(rank, i, round).to_le_bytes()).collect()
}

/// Runs three operations one after the other and checks each.
fn check(seed: u64, tally: &mut BTreeMap<&'static str, u64>) {
    let case = case(seed);
    let group = Group::world(case.ranks);
    let mut world = World::new(case.ranks, case.faults.clone());
    for round in 0..3 {
        let late = if round == 1 { case.late.clone() } else { BTreeMap::new() };
        let (results, longest) = world.run_late(
            &group,
            |_| case.operation,
            f32::TYPE,
            |rank| data(rank, case.count, round),
            &case.options,
            &late,
        );
        let slack = Span::from_ms(1);
        assert!(longest <= case.options.limit + slack, "{seed}: took {longest}\n{case:#?}");
        check_results(seed, &case, &group, round, &results, tally);
    }
}

fn check_results(
    seed: u64,
    case: &Case,
    group: &Group,
    round: u64,
    results: &Results,
    tally: &mut BTreeMap<&'static str, u64>,
) {
    let mut good = results.iter().flatten().filter_map(|result| result.as_ref().ok());
    if let Some(first) = good.next() {
        for other in good {
            assert_eq!(bytes(other), bytes(first), "{seed}, round {round}: values\n{case:#?}");
            assert_eq!(other.delivered, first.delivered, "{seed}: accounts\n{case:#?}");
            assert_eq!(other.left_out, first.left_out, "{seed}: who was left out\n{case:#?}");
            assert_eq!(other.missing, first.missing, "{seed}: what is missing\n{case:#?}");
        }
        let promised = case.options.importance.least().get();
        let least = first.least_delivered();
        assert!(least >= promised, "{seed}: {least} of {promised}\n{case:#?}");
        for (position, delivered) in first.delivered.iter().enumerate() {
            let counted = !first.left_out.contains(&group.rank(position));
            assert!(!counted || *delivered >= promised, "{seed}: {delivered} of {promised}");
        }
        check_mean(seed, case, group, round, &bytes(first));
        if !first.left_out.is_empty() {
            *tally.entry("without some").or_default() += 1;
        }
    }
    for result in results.iter().flatten() {
        let kind = match result {
            Ok(_) => "good",
            Err(OpError::Lost { .. }) => "lost",
            Err(OpError::TimedOut { .. }) => "timed out",
            Err(OpError::LeftOut { .. }) => "left out",
            Err(OpError::TooFew { .. }) => "too few",
            Err(OpError::Mismatch { .. } | OpError::Nonsense { .. }) => {
                panic!("{seed}: nobody lies here: {result:?}\n{case:#?}")
            }
            Err(_) => "other",
        };
        *tally.entry(kind).or_default() += 1;
    }
    let calm = case.faults.deaths.is_empty()
        && case.faults.failing == Fraction::ZERO
        && case.faults.slow.is_empty()
        && case.late.is_empty()
        && case.options.deadline == Deadline::None;
    if calm {
        let all = results.iter().all(|result| matches!(result, Some(Ok(_))));
        assert!(all, "{seed}: nothing happened, yet {results:?}\n{case:#?}");
    }
}

/// A mean of what was received lies between the smallest and the largest that was given.
fn check_mean(seed: u64, case: &Case, group: &Group, round: u64, result: &[u8]) {
    let mean = case.operation == Operation::AllReduce(ReduceOp::Mean);
    if !mean || case.options.policy != LossPolicy::MeanOfReceived || case.options.hadamard {
        return;
    }
    for (i, number) in bytemuck::pod_collect_to_vec::<u8, f32>(result).into_iter().enumerate() {
        let all = group.members().iter().map(|rank| given(*rank, i, round));
        let (low, high) = (all.clone().fold(1.0, f32::min), all.fold(-1.0, f32::max));
        let fits = number >= low - 1e-6 && number <= high + 1e-6;
        assert!(fits, "{seed}: element {i} is {number}, not in {low} to {high}\n{case:#?}");
    }
}

fn run(seeds: std::ops::Range<u64>) {
    let mut tally = BTreeMap::new();
    for seed in seeds {
        check(seed, &mut tally);
    }
    println!("{tally:?}");
    for kind in ["good", "lost", "timed out", "left out", "too few", "without some"] {
        assert!(tally.contains_key(kind), "no case ended with `{kind}`: {tally:?}");
    }
}

#[test]
fn results_are_the_same_on_all_ranks_that_have_one() {
    run(0..4000);
}

#[test]
#[ignore = "long; LAXITY_RUNS says how many cases"]
fn stress_results_are_the_same_on_all_ranks_that_have_one() {
    let runs = std::env::var("LAXITY_RUNS").ok().and_then(|runs| runs.parse().ok());
    run(10_000..10_000 + runs.unwrap_or(100_000));
}
