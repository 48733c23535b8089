//! Bugs that were found and fixed.

mod common;

use bytes::Bytes;
use common::{World, bytes};
use laxity_fabric::{
    Element, Group, LossPolicy, Operation, Options, Outcome, Rank, ReduceOp,
    carrier::memory::Faults,
};
use laxity_interface::Fraction;

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn lossy(loss: f64, seed: u64) -> Faults {
    Faults { loss: fraction(loss), chunk: 50, ..Faults::none(seed) }
}

fn floats(outcome: &Outcome) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(&bytes(outcome))
}

/// As many times the number `1 + rank`.
fn alike(count: usize) -> impl Fn(Rank) -> Bytes {
    move |rank| (0..count).flat_map(|_| (1.0 + rank.get() as f32).to_le_bytes()).collect()
}

/// The largest of rotated numbers, turned back, is no number that anybody gave.
#[test]
fn minimum_maximum_and_product_are_not_rotated() {
    let group = Group::world(3);
    for (op, want) in [(ReduceOp::Min, 1.0), (ReduceOp::Max, 3.0), (ReduceOp::Product, 6.0)] {
        for operation in [Operation::AllReduce(op), Operation::Reduce(op, Rank::new(1))] {
            let options = Options { hadamard: true, ..Options::at_least(fraction(0.9)) };
            let mut world = World::new(3, Faults::none(1));
            let all = world.run(&group, operation, f32::TYPE, alike(2000), &options);
            assert_eq!(floats(&all[1]), [want; 2000], "{operation:?}");
        }
    }
}

/// A stream that had a maximum added what was lost of it to the next sum, or took the maximum for the
/// mean of the last operation.
#[test]
fn a_maximum_leaves_nothing_to_the_sums_of_its_stream() {
    let group = Group::world(4);
    for policy in [
        LossPolicy::Feedback { max_age: 5, decay: 1.0 },
        LossPolicy::Stale { max_age: 5, decay: 1.0 },
    ] {
        let mut world = World::new(4, lossy(0.5, 1));
        let options = Options { policy, ..Options::at_least(fraction(0.5)) };
        let max = Operation::AllReduce(ReduceOp::Max);
        let all = world.run(&group, max, f32::TYPE, |_| alike(2000)(Rank::new(99)), &options);
        assert!(!all[0].missing.is_empty(), "something must be lost here");
        let sum = Operation::AllReduce(ReduceOp::Mean);
        let all = world.run(&group, sum, f32::TYPE, alike(2000), &options);
        assert!(floats(&all[0]).iter().all(|mean| *mean <= 4.0), "{policy:?}");
    }
}

/// A barrier between two operations of a stream counted as one of them, so that what was lost came back
/// smaller, or not at all.
#[test]
fn what_remembers_nothing_does_not_age_a_stream() {
    let group = Group::world(2);
    let mut world = World::new(2, lossy(0.5, 2));
    let policy = LossPolicy::Feedback { max_age: 1, decay: 1.0 };
    let options = Options { policy, ..Options::at_least(fraction(0.5)) };
    let sum = Operation::AllReduce(ReduceOp::Sum);
    let first = floats(&world.run(&group, sum, f32::TYPE, alike(2000), &options)[0]);
    assert!(first.iter().any(|sum| *sum < 3.0), "something must be lost here");
    for _ in 0..3 {
        world.run(&group, Operation::Barrier, u8::TYPE, |_| Bytes::new(), &Options::default());
    }
    let exact = Options { policy, ..Options::default() };
    let second = floats(&world.run(&group, sum, f32::TYPE, alike(2000), &exact)[0]);
    let both: Vec<f32> = first.iter().zip(&second).map(|(a, b)| a + b).collect();
    assert_eq!(both, [6.0; 2000]);
}

/// The last mean was added to rotated numbers as it was, and then turned with them.
#[test]
fn stale_numbers_stand_in_for_lost_ones_of_a_rotated_tensor() {
    let group = Group::world(4);
    let numbers =
        |_: Rank| -> Bytes { (0..4000).flat_map(|i| (i as f32).sin().to_le_bytes()).collect() };
    let policy = LossPolicy::Stale { max_age: 1, decay: 1.0 };
    let mut world = World::new(4, lossy(0.5, 3));
    let mean = Operation::AllReduce(ReduceOp::Mean);
    let exact = Options { policy, ..Options::default() };
    world.run(&group, mean, f32::TYPE, numbers, &exact);
    let options = Options { policy, hadamard: true, ..Options::at_least(fraction(0.5)) };
    let all = world.run(&group, mean, f32::TYPE, numbers, &options);
    assert!(!all[0].missing.is_empty(), "something must be lost here");
    for (i, number) in floats(&all[0]).iter().enumerate() {
        // What is lost is what the others give, so nothing is.
        assert!((number - (i as f32).sin()).abs() < 1e-5, "element {i} is {number}");
    }
}
