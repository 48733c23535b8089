//! Peers that go while others still work, and peers that lie: one engine, its parcels by hand.

mod common;

use std::collections::BTreeMap;

use bytes::Bytes;
use common::World;
use laxity_fabric::{
    Algorithm, Element, Engine, Group, OnLoss, OpError, Operation, Options, Outcome, Rank,
    ReduceOp,
    carrier::{
        Arrival, Event, Lane, Parcel,
        memory::{Death, Faults},
    },
};
use laxity_interface::{Span, Time};

const SUM: Operation = Operation::AllReduce(ReduceOp::Sum);

const SECOND: Span = Span::from_secs(1);

fn rank(number: u32) -> Rank {
    Rank::new(number)
}

/// An engine that has started an operation on this many numbers.
fn started(
    number: u32,
    group: &Group,
    operation: Operation,
    count: usize,
    options: &Options,
) -> Engine {
    let mut engine = Engine::new(rank(number));
    let data = Bytes::from(vec![0; count * 4]);
    engine.start(Time::ZERO, group, operation, f32::TYPE, data, options).expect("it can start");
    engine
}

/// The parcels that an engine has for a rank.
fn parcels(engine: &mut Engine, to: u32) -> Vec<Parcel> {
    let all = std::iter::from_fn(|| engine.poll_parcel());
    all.filter(|parcel| parcel.to == rank(to)).collect()
}

fn arrives(engine: &mut Engine, from: u32, parcel: &Parcel) {
    let Parcel { envelope, body, .. } = parcel.clone();
    let arrival = Arrival { from: rank(from), envelope, body, missing: Vec::new() };
    assert!(engine.handle_event(Time::ZERO, Event::Arrived(arrival)).is_none());
}

fn goes(engine: &mut Engine, peer: u32) {
    let lost = Event::Lost { peer: rank(peer), reason: "it died".to_owned(), left: false };
    engine.handle_event(Time::ZERO, lost);
}

fn ended(engine: &mut Engine) -> Option<Result<Outcome, OpError>> {
    engine.poll_finished().map(|(_, result)| result)
}

#[test]
fn halving_notices_that_a_later_partner_is_gone() {
    let options = Options { algorithm: Algorithm::HalvingDoubling, ..Options::default() };
    let group = Group::world(4);
    // Rank 0 meets rank 2 first, and then rank 1.
    let mut engine = started(0, &group, SUM, 8, &options);
    goes(&mut engine, 1);
    let error = ended(&mut engine).expect("it cannot end well").expect_err("nor does it");
    let OpError::Lost { rank: who, .. } = &error else { panic!("{error}") };
    assert_eq!(*who, rank(1));
    // Who has done its part may go, as far as this rank is concerned.
    let mut engines: Vec<_> = (0..4).map(|at| started(at, &group, SUM, 8, &options)).collect();
    let mut last = Vec::new();
    for _ in 0..8 {
        for from in 0..4 {
            let out: Vec<_> = std::iter::from_fn(|| engines[from].poll_parcel()).collect();
            for parcel in out {
                match (from, parcel.to.index()) {
                    (2, 0) => last.push(parcel),
                    (_, to) => arrives(&mut engines[to], from as u32, &parcel),
                }
            }
        }
    }
    assert!(ended(&mut engines[0]).is_none());
    goes(&mut engines[0], 3); // With which it has nothing to do.
    assert!(ended(&mut engines[0]).is_none());
}

#[test]
fn a_child_that_has_sent_everything_may_leave_a_reduce() {
    let parents = [None, Some(0), Some(1), Some(1)];
    let options =
        Options { algorithm: Algorithm::Tree(parents.into()), segment: 4, ..Options::default() };
    let (group, reduce) = (Group::world(4), Operation::Reduce(ReduceOp::Sum, rank(0)));
    let mut middle = started(1, &group, reduce, 2, &options);
    let [quick, slow] = [2, 3].map(|at| parcels(&mut started(at, &group, reduce, 2, &options), 1));
    assert_eq!((quick.len(), slow.len()), (2, 2), "in two segments");
    quick.iter().for_each(|parcel| arrives(&mut middle, 2, parcel));
    arrives(&mut middle, 3, &slow[0]);
    goes(&mut middle, 2);
    assert_eq!(ended(&mut middle), None, "nothing is missing of rank 2");
    arrives(&mut middle, 3, &slow[1]);
    assert!(ended(&mut middle).expect("all is here").is_ok());
}

/// The word had a millisecond to arrive: over slow links the others heard only that this rank was gone.
#[test]
fn who_gives_up_has_time_to_say_so() {
    let options = Options { limit: Span::from_ms(50), ..Options::default() };
    let mut engine = started(0, &Group::world(2), SUM, 8, &options);
    let before = parcels(&mut engine, 1);
    assert!(
        !before.is_empty() && before.iter().all(|parcel| parcel.slack.limit <= Some(options.limit))
    );
    engine.handle_timeout(Time::ZERO + options.limit);
    assert!(matches!(ended(&mut engine), Some(Err(OpError::TimedOut { .. }))));
    let words = parcels(&mut engine, 1);
    assert!(!words.is_empty() && words.iter().all(|word| word.slack.limit >= Some(SECOND)));
}

#[test]
fn fewer_parts_than_at_least_are_no_result() {
    let options = Options {
        on_loss: OnLoss::Continue { at_least: 3 },
        limit: Span::from_ms(600),
        ..Options::default()
    };
    let group = Group::world(4);
    for operation in [Operation::Gather(rank(0)), Operation::AllToAll] {
        let death = |number| Death { rank: rank(number), after: 0 };
        let faults = Faults { deaths: vec![death(1), death(2)], ..Faults::none(1) };
        let mut world = World::new(4, faults);
        let data = |_| Bytes::from(vec![0; 16]);
        let none = BTreeMap::new();
        let (results, _) = world.run_late(&group, |_| operation, f32::TYPE, data, &options, &none);
        let error = results[0].clone().expect("alive").expect_err("two are too few");
        assert!(matches!(error, OpError::TooFew { left: 2, at_least: 3, .. }), "{error}");
    }
}

#[test]
fn who_is_late_is_left_out_as_soon_as_enough_are_here() {
    let options = Options {
        on_loss: OnLoss::Continue { at_least: 3 },
        limit: Span::from_ms(600),
        ..Options::default()
    };
    let group = Group::world(4);
    let (gather, reduce) = (Operation::Gather(rank(0)), Operation::Reduce(ReduceOp::Sum, rank(0)));
    for operation in [gather, reduce] {
        // After the patience of 100 ms, two are here; the third comes later.
        let late = [(rank(1), Span::from_ms(150)), (rank(2), Span::from_secs(10))].into();
        let mut world = World::new(4, Faults::none(1));
        let data = |_| Bytes::from(vec![0; 16]);
        let (results, _) = world.run_late(&group, |_| operation, f32::TYPE, data, &options, &late);
        let outcome = results[0].clone().expect("alive").expect("three are enough");
        assert_eq!(outcome.left_out, [rank(2)]);
        assert!(outcome.took <= Span::from_ms(300), "{}", outcome.took);
    }
}

#[test]
fn a_contribution_cannot_be_asked_for_where_nothing_is_folded() {
    let options = Options { on_loss: OnLoss::Continue { at_least: 2 }, ..Options::default() };
    let group = Group::world(3);
    let mut engine = started(1, &group, Operation::AllGather, 4, &options);
    let mut liar = parcels(&mut started(0, &group, Operation::AllGather, 4, &options), 1);
    let mut word = liar.pop().expect("its part");
    // "Nobody has shard 2: send me your contribution to it."
    (word.envelope.channel.lane, word.envelope.channel.step) = (Lane::Repair, 5 << 16);
    word.body = [0u64, 2].iter().flat_map(|number| number.to_le_bytes()).collect();
    arrives(&mut engine, 0, &word);
    let error = ended(&mut engine).expect("found out").expect_err("a lie");
    assert!(matches!(error, OpError::Nonsense { rank: who, .. } if who == rank(0)), "{error}");
}

#[test]
fn a_part_with_half_an_element_is_found_out() {
    let options = Options { algorithm: Algorithm::Ring, ..Options::default() };
    let group = Group::world(2);
    let mut engine = started(0, &group, Operation::AllGather, 4, &options);
    let mut liar = parcels(&mut started(1, &group, Operation::AllGather, 4, &options), 0);
    let mut part = liar.pop().expect("its part");
    part.body = [&part.body[..], &[1]].concat().into();
    arrives(&mut engine, 1, &part);
    let error = ended(&mut engine).expect("found out").expect_err("17 bytes are no four numbers");
    assert!(matches!(error, OpError::Nonsense { rank: who, .. } if who == rank(1)), "{error}");
}

/// Missing ranges count elements of the parcel's own type, which is whatever its sender says. An underflow.
#[test]
fn more_missing_than_there_is_is_found_out() {
    let group = Group::world(2);
    let on_loss = OnLoss::Continue { at_least: 1 };
    let lossy = Options::at_least(laxity_interface::Fraction::ZERO);
    let goes_on = Options { on_loss, ..Options::default() };
    let turns = [
        (Operation::AllToAll, Operation::AllToAll, &lossy),
        (Operation::AllToAll, Operation::AllToAll, &goes_on),
        (Operation::Recv(rank(1), 7), Operation::Send(rank(0), 7), &lossy),
    ];
    for (here, there, options) in turns {
        let mut engine = started(0, &group, here, 4, options);
        let Parcel { envelope, body, .. } =
            parcels(&mut started(1, &group, there, 4, options), 0).pop().expect("its part");
        let arrival = Arrival { from: rank(1), envelope, body, missing: vec![0..3, 5..16] };
        engine.handle_event(Time::ZERO, Event::Arrived(arrival));
        let error = ended(&mut engine).expect("found out").expect_err("there are no 14 numbers");
        assert!(matches!(error, OpError::Nonsense { rank: who, .. } if who == rank(1)), "{error}");
    }
}

/// The result did not fit into the receiver's place, which panicked.
#[test]
fn a_received_parcel_of_another_length_is_found_out() {
    let group = Group::world(2);
    let options = Options::default();
    for bytes in [0, 15, 20] {
        let mut engine = started(0, &group, Operation::Recv(rank(1), 7), 4, &options);
        let mut peer = started(1, &group, Operation::Send(rank(0), 7), 4, &options);
        let mut parcel = parcels(&mut peer, 0).pop().expect("its parcel");
        parcel.body = vec![0; bytes].into();
        arrives(&mut engine, 1, &parcel);
        let error = ended(&mut engine).expect("found out").expect_err("that is another length");
        assert!(matches!(error, OpError::Nonsense { rank: who, .. } if who == rank(1)), "{error}");
    }
}
