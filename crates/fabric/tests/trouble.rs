//! Errors name who, what and why; and nobody waits for ever.

mod common;

use std::collections::BTreeMap;

use bytes::Bytes;
use common::World;
use laxity_fabric::{
    Algorithm, Element, Engine, Group, LossPolicy, OnLoss, OpError, Operation, Options, Rank,
    ReduceOp, StartError,
    carrier::{
        Arrival, Event,
        memory::{Death, Faults},
    },
};
use laxity_interface::{Fraction, Span, Time};

const SUM: Operation = Operation::AllReduce(ReduceOp::Sum);

fn numbers(count: usize) -> Bytes {
    Bytes::from(vec![0; count * 4])
}

#[test]
fn another_length_or_operation_is_an_error_that_names_both_sides() {
    for algorithm in [Algorithm::Transpose, Algorithm::Ring, Algorithm::HalvingDoubling] {
        let options = Options { algorithm, ..Options::default() };
        let group = Group::world(3);
        let mut world = World::new(3, Faults::none(1));
        let odd = Rank::new(1);
        let (results, took) = world.run_late(
            &group,
            |_| SUM,
            f32::TYPE,
            |rank| numbers(if rank == odd { 7 } else { 5 }),
            &options,
            &BTreeMap::new(),
        );
        assert!(took < Span::from_ms(10), "nobody waits for the limit");
        for result in results {
            let error = result.unwrap().expect_err("they do not agree");
            let OpError::Mismatch { one, other, .. } = &error else { panic!("{error}") };
            assert!(*one == odd || *other == odd, "{error}");
            let text = error.to_string();
            assert!(text.contains("of 5 f32") && text.contains("of 7 f32"), "{text}");
            assert!(text.contains("rank 1"), "{text}");
        }
    }
    let group = Group::world(3);
    let mut world = World::new(3, Faults::none(1));
    let other = |rank: Rank| match rank.get() {
        2 => Operation::AllReduce(ReduceOp::Max),
        _ => SUM,
    };
    let options = Options::default();
    let (results, _) =
        world.run_late(&group, other, f32::TYPE, |_| numbers(5), &options, &BTreeMap::new());
    for result in results {
        let text = result.unwrap().expect_err("they do not agree").to_string();
        assert!(text.contains("(max)") && text.contains("(sum)"), "{text}");
    }
}

#[test]
fn a_dead_rank_is_named_to_everybody() {
    for algorithm in [Algorithm::Transpose, Algorithm::Ring, Algorithm::HalvingDoubling] {
        let options = Options { algorithm, ..Options::default() };
        let group = Group::world(6);
        let dead = Rank::new(3);
        let faults = Faults { deaths: vec![Death { rank: dead, after: 0 }], ..Faults::none(1) };
        let mut world = World::new(6, faults);
        let (results, took) = world.run_late(
            &group,
            |_| SUM,
            f32::TYPE,
            |_| numbers(100),
            &options,
            &BTreeMap::new(),
        );
        assert!(took < Span::from_ms(10), "found out after {took}");
        for (rank, result) in results.into_iter().enumerate() {
            let Some(result) = result else {
                assert_eq!(rank, dead.index());
                continue;
            };
            let error = result.expect_err("a contribution is missing");
            let OpError::Lost { rank, reason, .. } = &error else { panic!("{error}") };
            assert_eq!((*rank, reason.as_str()), (dead, "it died"));
        }
    }
}

#[test]
fn a_rank_out_of_reach_of_one_other_ends_it_for_all() {
    let (near, far) = (Rank::new(0), Rank::new(1));
    let lost = || Event::Lost { peer: far, reason: "no route".to_owned(), left: false };
    let options = Options { algorithm: Algorithm::Ring, ..Options::default() };
    let group = Group::world(4);
    // Rank 0 cannot reach rank 1, which lives: in a ring it waits for rank 0, and rank 0 not for it.
    let mut world = World::new(4, Faults::none(1));
    world.engines[near.index()].handle_event(Time::ZERO, lost());
    let none = BTreeMap::new();
    let (results, took) =
        world.run_late(&group, |_| SUM, f32::TYPE, |_| numbers(100), &options, &none);
    assert!(took < Span::from_ms(10), "nobody waits for the limit, but somebody took {took}");
    for result in results {
        let error = result.unwrap().expect_err("a part cannot get through");
        let OpError::Lost { rank, reason, .. } = &error else { panic!("{error}") };
        assert_eq!((*rank, reason.as_str()), (far, "no route"));
    }
    // The same, if it turns out while parcels are on their way.
    let mut engine = Engine::new(near);
    let id = engine.start(Time::ZERO, &group, SUM, f32::TYPE, numbers(100), &options).unwrap();
    assert_eq!(engine.poll_parcel().expect("the first part").to, far);
    engine.handle_event(Time::ZERO, lost());
    let (ended, result) = engine.poll_finished().expect("it cannot go on");
    assert!(ended == id && result.is_err());
}

#[test]
fn who_left_in_order_has_what_was_sent_to_it() {
    // Rank 1 has everything and is gone before this rank hears that its own part has arrived there;
    // rank 2 is late.
    let options = Options { algorithm: Algorithm::Transpose, ..Options::default() };
    let group = Group::world(3);
    let mut engines: Vec<_> = (0..3).map(|rank| Engine::new(Rank::new(rank))).collect();
    let start = |engine: &mut Engine| {
        let gather = Operation::AllGather;
        engine.start(Time::ZERO, &group, gather, f32::TYPE, numbers(1), &options).unwrap();
        std::iter::from_fn(|| engine.poll_parcel()).collect::<Vec<_>>()
    };
    let sent: Vec<_> = engines.iter_mut().map(start).collect();
    let mut arrive = |from: u32| {
        let to_me = sent[from as usize].iter().find(|parcel| parcel.to == Rank::new(0)).unwrap();
        let (envelope, body) = (to_me.envelope, to_me.body.clone());
        let arrival = Arrival { from: Rank::new(from), envelope, body, missing: Vec::new() };
        engines[0].handle_event(Time::ZERO, Event::Arrived(arrival));
        if from == 1 {
            let (peer, reason) = (Rank::new(1), "it said goodbye".to_owned());
            engines[0].handle_event(Time::ZERO, Event::Lost { peer, reason, left: true });
        }
        engines[0].poll_finished()
    };
    assert!(arrive(1).is_none(), "rank 2 is still to come");
    assert!(arrive(2).expect("everything is here").1.is_ok());
}

#[test]
fn the_others_go_on_without_a_dead_or_late_rank() {
    let options = Options {
        on_loss: OnLoss::Continue { at_least: 3 },
        limit: Span::from_secs(1),
        ..Options::default()
    };
    let group = Group::world(5);
    let (gone, ones) = (Rank::new(2), |_| numbers(100).iter().map(|_| 0).collect::<Bytes>());
    let faults = Faults { deaths: vec![Death { rank: gone, after: 1 }], ..Faults::none(1) };
    let mut world = World::new(5, faults);
    let none = BTreeMap::new();
    let (results, took) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &none);
    assert!(took < Span::from_ms(50), "a death is known at once, not after {took}");
    for result in results.into_iter().flatten() {
        assert_eq!(result.expect("four are enough").left_out, [gone]);
    }
    // Later operations too, from the start.
    let (results, _) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &none);
    assert!(results.into_iter().flatten().all(|result| result.unwrap().left_out == [gone]));

    let late = [(gone, Span::from_ms(700))].into();
    let mut world = World::new(5, Faults::none(1));
    let (results, _) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &late);
    for (rank, result) in results.into_iter().enumerate() {
        let outcome = result.unwrap().expect("the late one gets what the others agreed on");
        assert_eq!(outcome.left_out, [gone]);
        assert!(rank == gone.index() || outcome.took < Span::from_ms(500));
    }
}

#[test]
fn time_limits_name_whom_they_waited_for() {
    let options = Options { limit: Span::from_ms(20), ..Options::default() };
    let group = Group::world(3);
    let mut world = World::new(3, Faults::none(1));
    let late = [(Rank::new(1), Span::from_secs(10))].into();
    let (results, _) = world.run_late(&group, |_| SUM, f32::TYPE, |_| numbers(10), &options, &late);
    for (rank, result) in results.into_iter().enumerate() {
        let error = result.unwrap().expect_err("one comes too late");
        let OpError::TimedOut { waiting_for, .. } = &error else { panic!("{rank}: {error}") };
        assert_eq!(*waiting_for, [Rank::new(1)], "{error}");
        assert!(error.to_string().contains("rank 1"), "{error}");
    }
}

#[test]
fn who_is_too_far_behind_is_told_and_memory_is_bounded() {
    let group = Group::world(2);
    let mut engines: Vec<_> =
        (0..2).map(|rank| Engine::with_limit(Rank::new(rank), 100_000)).collect();
    let options = Options::default();
    let start = |engine: &mut Engine| {
        engine.start(Time::ZERO, &group, SUM, f32::TYPE, numbers(10_000), &options).unwrap()
    };
    for _ in 0..10 {
        start(&mut engines[0]);
    }
    let mut carried = 0;
    while let Some(parcel) = engines[0].poll_parcel() {
        let (from, envelope, body) = (Rank::new(0), parcel.envelope, parcel.body);
        let arrival = Arrival { from, envelope, body, missing: vec![] };
        let event = Event::Arrived(arrival);
        assert!(engines[1].handle_event(Time::ZERO, event).is_none());
        carried += 1;
    }
    assert_eq!(carried, 10);
    let ids: Vec<_> = (0..10).map(|_| start(&mut engines[1])).collect();
    let mut ended = BTreeMap::new();
    while let Some((id, result)) = engines[1].poll_finished() {
        ended.insert(id, result);
    }
    assert!(!ended.contains_key(&ids[0]), "what came of the first one was kept");
    let last = ended[&ids[9]].as_ref().expect_err("the last one did not");
    let text = last.to_string();
    assert!(text.contains("100000 bytes") && text.contains("rank 0"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let mut engine = Engine::new(Rank::new(0));
    let group = Group::world(4);
    let options = Options::default();
    let mut start = |operation, data: Bytes, options: &Options| {
        engine.start(Time::ZERO, &group, operation, f32::TYPE, data, options).expect_err("nonsense")
    };
    let stranger = Rank::new(9);
    assert_eq!(
        start(Operation::Broadcast(stranger), numbers(1), &options),
        StartError::Stranger(stranger)
    );
    assert_eq!(
        start(SUM, Bytes::from_static(b"abc"), &options),
        StartError::Ragged { bytes: 3, element: "f32" }
    );
    assert_eq!(
        start(Operation::AllToAll, numbers(5), &options),
        StartError::Uneven { count: 5, parts: 4 }
    );
    let tree = Algorithm::Tree([None, None, Some(0), Some(0)].into());
    let tree = Options { algorithm: tree, ..Options::default() };
    assert_eq!(start(SUM, numbers(4), &tree), StartError::NotATree(4));
    let policy = LossPolicy::Feedback { max_age: 1, decay: 1.0 };
    let turned = Options { policy, hadamard: true, ..Options::at_least(Fraction::ZERO) };
    assert!(start(SUM, numbers(4), &turned).to_string().contains("cannot be fed back"));
    let own = Rank::new(0);
    assert_eq!(start(Operation::Send(own, 1), numbers(4), &options), StartError::Oneself(own));
    assert!(engine.poll_parcel().is_none());
}
