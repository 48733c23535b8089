//! Bugs that were found and fixed.

mod common;

use bytes::Bytes;
use common::{World, bytes};
use laxity_fabric::{
    Algorithm, Deadline, Element, Group, GroupId, Importance, LossPolicy, OnLoss, OpError,
    Operation, Options, Outcome, Rank, ReduceOp,
    carrier::{
        Carrier, Channel, Envelope, Event, Lane, Parcel, Signature, Slack,
        memory::{Death, Faults, carriers},
    },
};
use laxity_interface::{Fraction, Span};

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

/// A receiver knew of 257 parts at most, a table of ranges had no such limit.
#[test]
fn every_layer_can_have_a_minimum_of_its_own() {
    let group = Group::world(2);
    let table: Vec<_> =
        (0..600).map(|at| (2 * at..2 * at + 2, fraction(at as f64 / 1000.0))).collect();
    let importance = Importance::ByRange(table.into());
    let mut world = World::new(2, Faults::none(1));
    let options = Options { importance, ..Options::default() };
    let sum = Operation::AllReduce(ReduceOp::Sum);
    for outcome in world.run(&group, sum, f32::TYPE, alike(1200), &options) {
        assert_eq!(floats(&outcome), [3.0; 1200]);
    }
}

/// The bytes of such a block are more than can be counted, which was a panic.
#[test]
fn one_block_can_be_as_long_as_anything() {
    let group = Group::world(3);
    let classes = [(2.5, fraction(0.5))].into();
    let importance = Importance::ByMagnitude { classes, above: Fraction::ONE, block: usize::MAX };
    let mut world = World::new(3, lossy(0.9, 1));
    let options = Options { importance, ..Options::default() };
    let sum = Operation::AllReduce(ReduceOp::Sum);
    let all = world.run(&group, sum, f32::TYPE, alike(2000), &options);
    assert!(all[0].delivered[1] < 1.0 && all[0].delivered[2] == 1.0, "{:?}", all[0].delivered);
}

/// Each rank had an account of its own shard, as if something could have been lost, but of no other.
#[test]
fn an_exact_transpose_has_no_account() {
    let group = Group::world(3);
    let options = Options { algorithm: Algorithm::Transpose, ..Options::default() };
    let mut world = World::new(3, Faults::none(1));
    let sum = Operation::AllReduce(ReduceOp::Sum);
    for outcome in world.run(&group, sum, f32::TYPE, alike(10), &options) {
        assert_eq!((outcome.delivered, outcome.missing.len()), (vec![], 0));
    }
}

/// A rank that had its own shard ended, though others' shards that had been overtaken still had to get its
/// numbers: their owners waited for them until the time limit.
#[test]
fn a_ring_passes_on_what_was_overtaken() {
    let group = Group::world(5);
    let options = Options { algorithm: Algorithm::Ring, segment: 64, ..Options::default() };
    for seed in 0..20 {
        let faults = Faults { jitter: Span::from_ms(3), ..Faults::none(seed) };
        let mut world = World::new(5, faults);
        let operation = Operation::ReduceScatter(ReduceOp::Sum);
        for outcome in world.run(&group, operation, f32::TYPE, alike(200), &options) {
            assert_eq!(floats(&outcome), [15.0; 40]);
        }
    }
}

/// Nobody was named.
#[test]
fn too_few_says_who_is_missing() {
    let group = Group::world(3);
    let gone = [1, 2].map(Rank::new);
    let sum = ReduceOp::Sum;
    for operation in [Operation::Reduce(sum, Rank::new(0)), Operation::ReduceScatter(sum)] {
        let deaths = gone.map(|rank| Death { rank, after: 0 }).to_vec();
        let mut world = World::new(3, Faults { deaths, ..Faults::none(1) });
        let options = Options { on_loss: OnLoss::Continue { at_least: 2 }, ..Options::default() };
        let late = Default::default();
        let (results, _) =
            world.run_late(&group, |_| operation, f32::TYPE, alike(8), &options, &late);
        match results[0].as_ref().unwrap() {
            Err(
                error @ OpError::TooFew { left: 1, at_least: 2, without, late_after: None, .. },
            ) => {
                assert_eq!(without[..], gone);
                assert!(error.to_string().ends_with("without: rank 1, rank 2"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The list ended with the last rank that was there; and ranks that were left out counted as whole.
#[test]
fn what_was_delivered_is_listed_for_all_of_the_group() {
    let group = Group::world(4);
    let on_loss = OnLoss::Continue { at_least: 2 };
    let options =
        Options { on_loss, limit: Span::from_ms(600), ..Options::at_least(fraction(0.9)) };
    let exact = Options { importance: Importance::EXACT, ..options.clone() };
    for operation in [Operation::AllToAll, Operation::Gather(Rank::new(0)), Operation::AllGather] {
        for options in [&options, &exact] {
            let mut world = World::new(4, Faults::none(1));
            let late = [(Rank::new(3), Span::from_ms(300))].into();
            let (results, _) =
                world.run_late(&group, |_| operation, f32::TYPE, alike(8), options, &late);
            let outcome = results[0].as_ref().unwrap().as_ref().unwrap();
            assert_eq!(outcome.left_out, [Rank::new(3)]);
            assert_eq!(outcome.delivered, [1.0, 1.0, 1.0, 0.0], "{operation:?}");
            assert_eq!((outcome.mean_delivered(), outcome.least_delivered()), (0.75, 1.0));
        }
    }
    let mut world = World::new(4, Faults::none(1));
    let operation = Operation::Scatter(Rank::new(1));
    let given = |rank: Rank| alike(if rank.get() == 1 { 8 } else { 2 })(rank);
    for outcome in world.run(&group, operation, f32::TYPE, given, &options) {
        assert_eq!(outcome.delivered, [1.0; 4]);
    }
}

/// A deadline of nothing was a patience of nothing: ranks looked again and again without time passing.
#[test]
fn a_deadline_of_nothing_ends() {
    let group = Group::world(4);
    for operation in [
        Operation::AllReduce(ReduceOp::Sum),
        Operation::Reduce(ReduceOp::Sum, Rank::new(0)),
        Operation::AllToAll,
        Operation::Barrier,
    ] {
        let mut world = World::new(4, Faults::none(1));
        let options = Options {
            on_loss: OnLoss::Continue { at_least: 3 },
            deadline: Deadline::After(Span::ZERO),
            limit: Span::from_secs(6),
            ..Options::default()
        };
        let given = alike(if operation == Operation::Barrier { 0 } else { 8 });
        let late = [(Rank::new(2), Span::from_ms(1)), (Rank::new(3), Span::from_secs(1))].into();
        let (results, _) = world.run_late(&group, |_| operation, f32::TYPE, given, &options, &late);
        let outcome = results[0].as_ref().unwrap().as_ref().unwrap();
        assert_eq!(outcome.left_out, [Rank::new(3)], "{operation:?}");
    }
}

/// Who waited in memory was woken when time moved on, and not for what arrived without time passing: a
/// parcel without latency, or one whose deadline was over and that might lose everything.
#[test]
fn what_arrives_at_once_wakes_its_receiver() {
    let faults = Faults { latency: Span::ZERO, ..Faults::none(1) };
    let mut carriers = carriers(2, faults);
    let (mut receiver, mut sender) = (carriers.pop().unwrap(), carriers.pop().unwrap());
    let waits = std::thread::spawn(move || receiver.wait_event(None));
    // Time has moved on, so the other one waits.
    assert_eq!(sender.wait_event(Some(sender.now() + Span::from_ms(1))), None);
    let channel =
        Channel { lane: Lane::Direct, group: GroupId::WORLD, sequence: 0, step: 0, part: 0 };
    let signature = Signature { kind: 0, element: u8::TYPE, count: 0 };
    let envelope = Envelope { channel, signature };
    let (to, body) = (Rank::new(1), Bytes::new());
    sender.submit(Parcel { to, envelope, body, slack: Slack::EXACT });
    assert!(matches!(sender.wait_event(None), Some(Event::Sent { .. })));
    assert!(
        matches!(sender.wait_event(None), Some(Event::Lost { .. })),
        "it has what it waited for"
    );
    assert!(matches!(waits.join().unwrap(), Some(Event::Arrived(_))));
}

/// What was lost of it was listed, but not how much arrived.
#[test]
fn a_lossy_receive_says_how_much_arrived() {
    let mut world = World::new(2, lossy(0.5, 2));
    let [from, to] = [1, 0].map(Rank::new);
    let turn = |rank| match rank == from {
        true => Operation::Send(to, 7),
        false => Operation::Recv(from, 7),
    };
    let options = Options::at_least(fraction(0.25));
    let (group, late) = (Group::world(2), Default::default());
    let (results, _) = world.run_late(&group, turn, f32::TYPE, alike(1000), &options, &late);
    let outcome = results[0].as_ref().unwrap().as_ref().unwrap();
    let gone: usize = outcome.missing.iter().map(|thin| thin.elements.len()).sum();
    let here = 1.0 - gone as f64 / 1000.0;
    assert!(gone > 0 && here >= 0.25);
    assert_eq!(outcome.delivered, [1.0, here]);
    assert_eq!((outcome.least_delivered(), outcome.mean_delivered()), (here, here));
}

/// It said only that 0 ranks are left.
#[test]
fn ranks_that_live_and_are_late_are_told_from_those_that_are_gone() {
    let group = Group::world(5);
    let faults = Faults { jitter: Span::from_us(400), ..Faults::none(3) };
    let on_loss = OnLoss::Continue { at_least: 4 };
    let limit = Span::from_us(900);
    for deadline in [Deadline::None, Deadline::After(Span::from_ms(80))] {
        let mut world = World::new(5, faults.clone());
        let options = Options { on_loss, limit, deadline, ..Options::default() };
        let sum = Operation::AllReduce(ReduceOp::Sum);
        let late = Default::default();
        let (results, _) = world.run_late(&group, |_| sum, f32::TYPE, alike(100), &options, &late);
        let few = |error: &OpError| matches!(error, OpError::TooFew { late_after: Some(_), .. });
        let mut errors = results.iter().flatten().filter_map(|result| result.as_ref().err());
        let error = errors.find(|error| few(error)).expect("150 us are too little");
        assert!(error.to_string().contains("were later than 150us"), "{error}");
    }
}
