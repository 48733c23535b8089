//! What loss makes of results, against a direct computation from what really arrived.

mod common;

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use common::{World, bytes};
use laxity_fabric::{
    Element, Group, Importance, LossPolicy, Operation, Options, Outcome, Rank, ReduceOp,
    carrier::{Lane, memory::Faults},
    shard,
};
use laxity_interface::Fraction;

const COUNT: usize = 5000;

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn given(rank: Rank, i: usize) -> f32 {
    ((rank.index() * 5 + i * 11) % 101) as f32 / 101.0 - 0.5
}

fn data(rank: Rank) -> Bytes {
    (0..COUNT).flat_map(|i| given(rank, i).to_le_bytes()).collect()
}

fn lossy(loss: f64, seed: u64) -> Faults {
    Faults { loss: fraction(loss), chunk: 50, ..Faults::none(seed) }
}

fn floats(outcome: &Outcome) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(&bytes(outcome))
}

/// What each rank's contribution lacked, in elements of the tensor, as the network delivered it.
fn lost(world: &World, ranks: usize) -> BTreeMap<Rank, Vec<Range<usize>>> {
    let mut lost: BTreeMap<Rank, Vec<Range<usize>>> = BTreeMap::new();
    for (to, arrival) in &world.arrivals {
        let channel = arrival.envelope.channel;
        if channel.lane == Lane::Collective && channel.step >> 16 == 0 {
            let start = shard(COUNT, ranks, to.index()).start;
            let gaps = arrival.missing.iter().map(|gap| gap.start + start..gap.end + start);
            lost.entry(arrival.from).or_default().extend(gaps);
        }
    }
    lost
}

#[test]
fn a_mean_is_that_of_what_arrived() {
    for (ranks, loss, op, seed) in [
        (2u32, 0.3, ReduceOp::Mean, 1),
        (5, 0.05, ReduceOp::Mean, 2),
        (8, 0.5, ReduceOp::Sum, 3),
        (8, 0.02, ReduceOp::Sum, 4),
    ] {
        let group = Group::world(ranks);
        let mut world = World::new(ranks, lossy(loss, seed));
        let options = Options::at_least(fraction(0.4));
        let all = world.run(&group, Operation::AllReduce(op), f32::TYPE, data, &options);
        let lost = lost(&world, ranks as usize);
        assert!(lost.values().any(|gaps| !gaps.is_empty()), "something must be lost here");
        let result = floats(&all[0]);
        for (i, number) in result.iter().enumerate() {
            let here = |rank: &&Rank| {
                lost.get(rank).is_none_or(|gaps| !gaps.iter().any(|gap| gap.contains(&i)))
            };
            let here: Vec<_> = group.members().iter().filter(here).collect();
            // By position and in f32, like the library.
            let sum = here.iter().fold(0.0f32, |sum, rank| sum + given(**rank, i));
            let want = match op {
                ReduceOp::Mean => sum / here.len() as f32,
                _ if here.len() == ranks as usize => sum,
                _ => sum * ranks as f32 / here.len() as f32,
            };
            assert_eq!(*number, want, "element {i} of {op:?} over {ranks} ranks");
        }
        for outcome in &all {
            let gone: usize = lost.values().flatten().map(ExactSizeIterator::len).sum();
            let said: f64 = outcome.delivered.iter().map(|part| (1.0 - part) * COUNT as f64).sum();
            assert!((said - gone as f64).abs() < 1e-6, "{said} were said to be lost, {gone} were");
            assert!(outcome.least_delivered() >= 0.4 && !outcome.missing.is_empty());
        }
    }
}

#[test]
fn what_is_lost_comes_back_with_the_next_one() {
    let (ranks, group) = (4, Group::world(4));
    let run = |policy| {
        let mut world = World::new(ranks, lossy(0.2, 7));
        let options = Options { policy, ..Options::at_least(fraction(0.5)) };
        let mut total = vec![0.0f64; COUNT];
        for _ in 0..30 {
            let sum = Operation::AllReduce(ReduceOp::Sum);
            let all = world.run(&group, sum, f32::TYPE, data, &options);
            total.iter_mut().zip(floats(&all[0])).for_each(|(a, b)| *a += f64::from(b));
        }
        let want = |i| group.members().iter().map(|rank| f64::from(given(*rank, i))).sum::<f64>();
        let error = |(i, total): (usize, &f64)| (total - 30.0 * want(i)).abs();
        total.iter().enumerate().map(error).sum::<f64>() / COUNT as f64
    };
    let zero = run(LossPolicy::Zero);
    let feedback = run(LossPolicy::Feedback { max_age: 5, decay: 1.0 });
    // What is missing at the end is only what the last operations lost.
    assert!(feedback < zero / 4.0, "error {feedback} with feedback, {zero} without");
}

#[test]
fn stale_numbers_stand_in_for_lost_ones() {
    let ones = |rank: Rank| -> Bytes {
        (0..COUNT).flat_map(|_| (1.0 + 0.1 * rank.get() as f32).to_le_bytes()).collect()
    };
    let (ranks, group) = (4, Group::world(4));
    let run = |policy| {
        let mut world = World::new(ranks, lossy(0.3, 8));
        let options = Options { policy, ..Options::at_least(fraction(0.5)) };
        let mut error = 0.0;
        for _ in 0..5 {
            let mean = Operation::AllReduce(ReduceOp::Mean);
            let all = world.run(&group, mean, f32::TYPE, ones, &options);
            let want = |_| 1.15;
            let errors = floats(&all[0]).into_iter().enumerate().map(|(i, x)| (x - want(i)).abs());
            error = errors.sum::<f32>() / COUNT as f32;
        }
        error
    };
    // The ranks' numbers are alike, so the last mean is a good guess.
    let stale = run(LossPolicy::Stale { max_age: 4, decay: 1.0 });
    let zero = run(LossPolicy::Zero);
    assert!(stale < zero / 2.0, "error {stale} with stale numbers, {zero} with zeros");
}

/// The minimum delivery of each class holds for itself: the exact part arrives exactly.
#[test]
fn important_numbers_arrive() {
    let group = Group::world(4);
    let half = COUNT / 2;
    let tables = [
        Importance::ByRange([(half..COUNT, fraction(0.2))].into()),
        Importance::ByMagnitude {
            classes: [(0.25, fraction(0.2))].into(),
            above: Fraction::ONE,
            block: 1,
        },
    ];
    for (at, importance) in tables.into_iter().enumerate() {
        let mut world = World::new(4, lossy(0.6, 9));
        let policy = LossPolicy::Zero;
        let options = Options { importance, policy, ..Options::default() };
        let sum = Operation::AllReduce(ReduceOp::Sum);
        let all = world.run(&group, sum, f32::TYPE, data, &options);
        let result = floats(&all[0]);
        let important = |i: usize| match at {
            0 => i < half,
            _ => group.members().iter().all(|rank| given(*rank, i).abs() > 0.25),
        };
        let want = |i: usize| (0..4).fold(0.0f32, |sum, rank| sum + given(Rank::new(rank), i));
        let (mut kept, mut lost) = (0, 0);
        for (i, number) in result.iter().enumerate() {
            if important(i) {
                assert_eq!(*number, want(i), "element {i} by table {at}");
                kept += 1;
            } else {
                lost += usize::from(*number != want(i));
            }
        }
        assert!(kept > 100 && lost > 100, "{kept} kept and {lost} lost by table {at}");
    }
}

/// A rotated tensor loses a little everywhere instead of everything somewhere.
#[test]
fn a_rotation_spreads_what_is_lost() {
    let group = Group::world(4);
    let spike = |rank: Rank| -> Bytes {
        let number = |i: usize| if i.is_multiple_of(100) { 1.0 + rank.get() as f32 } else { 0.0 };
        (0..COUNT).flat_map(|i| number(i).to_le_bytes()).collect()
    };
    let worst = |hadamard, loss| {
        let mut world = World::new(4, lossy(loss, 10));
        let policy = LossPolicy::Zero;
        let options = Options { hadamard, policy, ..Options::at_least(fraction(0.8)) };
        let sum = Operation::AllReduce(ReduceOp::Sum);
        let all = world.run(&group, sum, f32::TYPE, spike, &options);
        assert!(all.iter().all(|one| bytes(one) == bytes(&all[0])));
        let want = |i: usize| if i.is_multiple_of(100) { 10.0 } else { 0.0 };
        let errors = floats(&all[0]).into_iter().enumerate().map(|(i, x)| (x - want(i)).abs());
        errors.fold(0.0, f32::max)
    };
    assert!(worst(true, 0.0) < 1e-4, "without loss it changes nothing but the last bits");
    let (rotated, plain) = (worst(true, 0.1), worst(false, 0.1));
    assert!(rotated < plain, "the worst error is {rotated} rotated, {plain} plain");
}

#[test]
fn other_operations_lose_no_more_than_allowed_and_say_what() {
    let group = Group::world(4);
    let mut world = World::new(4, lossy(0.5, 11));
    let options = Options::at_least(fraction(0.7));
    let root = Rank::new(2);
    for operation in [Operation::Gather(root), Operation::AllToAll] {
        for outcome in world.run(&group, operation, f32::TYPE, data, &options) {
            let holes: usize = outcome.missing.iter().map(|thin| thin.elements.len()).sum();
            let result = floats(&outcome);
            if result.is_empty() {
                continue;
            }
            assert!(holes > 0 && holes as f64 <= 0.3 * result.len() as f64, "{holes} holes");
            for thin in &outcome.missing {
                assert!(result[thin.elements.clone()].iter().all(|number| *number == 0.0));
            }
        }
    }
    let sum = ReduceOp::Sum;
    for operation in [Operation::ReduceScatter(sum), Operation::Reduce(sum, root)] {
        let all = world.run(&group, operation, f32::TYPE, data, &options);
        let folds = all.iter().filter(|outcome| !outcome.is_empty());
        for outcome in folds {
            assert!(outcome.least_delivered() >= 0.7 && outcome.least_delivered() < 1.0);
        }
    }
    // What everybody gets is exact, whatever the options allow.
    for outcome in world.run(&group, Operation::Broadcast(root), f32::TYPE, data, &options) {
        assert_eq!(bytes(&outcome), data(root));
        assert!(outcome.missing.is_empty());
    }
}
