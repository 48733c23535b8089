//! Operations that go on without ranks: who is given time, who gets the result, who is told that there is none.

mod common;

use std::{
    cell::Cell,
    collections::{BTreeMap, VecDeque},
};

use bytes::Bytes;
use common::World;
use laxity_fabric::{
    Adaptive, Communicator, Deadline, Element, Engine, Group, Importance, OnLoss, OpError,
    Operation, Options, Rank, ReduceOp,
    carrier::{
        Arrival, Carrier, Event, Lane, Parcel,
        memory::{Death, Faults},
    },
};
use laxity_interface::{Fraction, Span, Time};

const SUM: Operation = Operation::AllReduce(ReduceOp::Sum);

fn ones(_: Rank) -> Bytes {
    Bytes::from([1.0f32; 100].map(f32::to_le_bytes).concat())
}

fn going_on(at_least: usize) -> Options {
    let on_loss = OnLoss::Continue { at_least };
    Options { on_loss, limit: Span::from_secs(60), ..Options::default() }
}

/// Never found out, within these tests.
const NEVER: Span = Span::from_secs(100_000);

/// Contributions had no time of their own once any rank was known to be gone: at the moment at which an owner
/// left a late one out, the others left that owner out.
#[test]
fn owners_have_their_time_though_another_rank_is_gone() {
    let group = Group::world(8);
    let [hangs, gone] = [6, 7].map(Rank::new);
    let options = Options { deadline: Deadline::After(Span::from_ms(50)), ..going_on(5) };
    let none = BTreeMap::new();
    for seed in 1..40 {
        // The one that hangs has sent its contributions to most.
        let deaths = vec![Death { rank: hangs, after: 6 }, Death { rank: gone, after: 0 }];
        let faults = Faults { deaths, detection: NEVER, ..Faults::none(seed) };
        let mut world = World::new(8, faults);
        for engine in &mut world.engines {
            let (peer, reason) = (gone, "it died".to_owned());
            engine.handle_event(Time::ZERO, Event::Lost { peer, reason, left: false });
        }
        let (results, took) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &none);
        for result in results.into_iter().take(6) {
            let left_out = result.expect("it lives").expect("six are enough").left_out;
            assert_eq!(left_out, [hangs, gone], "all others did their part");
        }
        assert!(took < Span::from_ms(200), "{took}");
    }
}

/// One that said that it has a shard of its own was not given that of the others, and waited for its limit.
#[test]
fn whenever_a_late_rank_comes_it_gets_what_the_others_agreed_on() {
    let group = Group::world(4);
    let options = Options { deadline: Deadline::After(Span::from_ms(10)), ..going_on(2) };
    for us in (15_000..25_000).step_by(10) {
        let mut world = World::new(4, Faults::none(us));
        let late = [(Rank::new(3), Span::from_us(us))].into();
        let (results, took) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &late);
        assert!(took < Span::from_ms(200), "{us} us late: somebody waited for {took}");
        let outcomes: Vec<_> = results.into_iter().map(|result| result.unwrap().unwrap()).collect();
        assert!(outcomes.iter().all(|one| common::bytes(one) == common::bytes(&outcomes[0])));
    }
}

/// The second view had everything from the first, so that all said so before all had said what it was: it was
/// committed at once, and the late one got nothing of what it had missed, and waited for its limit.
#[test]
fn a_late_rank_gets_the_result_though_another_died_meanwhile() {
    let group = Group::world(6);
    let [dies, comes] = [4, 1].map(Rank::new);
    let options = Options { deadline: Deadline::After(Span::from_ms(50)), ..going_on(1) };
    for operation in [SUM, Operation::AllGather, Operation::Barrier] {
        for after in 0..30 {
            let deaths = vec![Death { rank: dies, after }];
            let detection = Span::from_ms(20);
            let faults = Faults { deaths, detection, ..Faults::none(after) };
            let mut world = World::new(6, faults);
            let late = [(comes, Span::from_secs(3))].into();
            let data =
                |rank| if operation == Operation::Barrier { Bytes::new() } else { ones(rank) };
            let (results, took) =
                world.run_late(&group, |_| operation, f32::TYPE, data, &options, &late);
            assert!(
                took < Span::from_secs(1),
                "{operation:?}, {after}: somebody waited for {took}"
            );
            for result in results.into_iter().flatten() {
                let left_out = result.expect("all others live").left_out;
                assert!(left_out.contains(&comes), "{operation:?}, {after}: it came too late");
            }
        }
    }
}

/// As above, and the coordinator dies too, after it has given the late one its shards or while it says that all is
/// well: what had been given in the view that was committed was forgotten when a later one came.
#[test]
fn what_a_late_rank_was_given_holds_though_it_hears_of_a_later_view() {
    let group = Group::world(6);
    let [coordinates, dies, comes] = [0, 4, 2].map(Rank::new);
    let options = Options { deadline: Deadline::After(Span::from_ms(50)), ..going_on(1) };
    for after in (40..50).flat_map(|one| (0..30).map(move |other| (one, other))) {
        let death = |rank, after| Death { rank, after };
        let deaths = vec![death(coordinates, after.0), death(dies, after.1)];
        let faults = Faults { deaths, ..Faults::none(after.0 + after.1) };
        let mut world = World::new(6, faults);
        let late = [(comes, Span::from_secs(3))].into();
        let (_, took) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &late);
        assert!(took < Span::from_secs(4), "{after:?}: somebody waited for {took}");
    }
}

/// Only the coordinator knew; the others waited for it until their limit, and named it.
#[test]
fn all_hear_that_a_root_took_its_data_along() {
    for ranks in [3, 4, 6] {
        let group = Group::world(ranks);
        let root = Rank::new(2);
        let deaths = vec![Death { rank: root, after: 0 }];
        let mut world = World::new(ranks, Faults { deaths, ..Faults::none(1) });
        let none = BTreeMap::new();
        let operation = |_| Operation::Broadcast(root);
        let (results, took) =
            world.run_late(&group, operation, f32::TYPE, ones, &going_on(2), &none);
        for error in results.into_iter().flatten().map(|result| result.expect_err("no data")) {
            assert!(matches!(&error, OpError::Lost { rank, .. } if *rank == root), "{error}");
        }
        assert!(took < Span::from_ms(100), "{took}");
    }
}

/// Everything that engines want sent, delivered at once; what `holds` wants held comes back.
fn exchange(engines: &mut [Engine], holds: impl Fn(Rank, &Parcel) -> bool) -> Vec<(Rank, Parcel)> {
    let mut held = Vec::new();
    loop {
        let mut parcels = Vec::new();
        for engine in engines.iter_mut() {
            let from = engine.rank();
            parcels.extend(std::iter::from_fn(|| engine.poll_parcel()).map(|one| (from, one)));
        }
        if parcels.is_empty() {
            return held;
        }
        for (from, parcel) in parcels {
            match holds(from, &parcel) {
                true => held.push((from, parcel)),
                false => arrive(engines, from, parcel),
            }
        }
    }
}

fn arrive(engines: &mut [Engine], from: Rank, parcel: Parcel) {
    let Parcel { to, envelope, body, .. } = parcel;
    let arrival = Arrival { from, envelope, body, missing: Vec::new() };
    engines[to.index()].handle_event(Time::ZERO, Event::Arrived(arrival));
}

/// The last word of an operation was still on its way when those who had it said goodbye, which was too few.
#[test]
fn who_leaves_with_the_result_does_not_take_it_from_others() {
    let group = Group::world(3);
    let last = Rank::new(2);
    let is_commit = |parcel: &Parcel| {
        let channel = parcel.envelope.channel;
        channel.lane == Lane::Repair && channel.step >> 16 == 3
    };
    for coordinator_answers in [false, true] {
        let mut engines: Vec<_> = (0..3).map(|rank| Engine::new(Rank::new(rank))).collect();
        for engine in &mut engines {
            let data = ones(engine.rank());
            engine.start(Time::ZERO, &group, SUM, f32::TYPE, data, &going_on(3)).unwrap();
        }
        let held = exchange(&mut engines, |_, parcel| parcel.to == last && is_commit(parcel));
        assert!(
            engines[..2].iter_mut().all(|one| one.poll_finished().is_some_and(|end| end.1.is_ok()))
        );
        let (peer, reason) = (Rank::new(1), "it said goodbye".to_owned());
        engines[2].handle_event(Time::ZERO, Event::Lost { peer, reason, left: true });
        assert!(engines[2].poll_finished().is_none(), "rank 0 may still know");
        match coordinator_answers {
            // It asked rank 0, which is done and remembers.
            true => drop(exchange(&mut engines, |_, _| false)),
            false => held.into_iter().for_each(|(from, one)| arrive(&mut engines, from, one)),
        }
        let (_, result) = engines[2].poll_finished().expect("it heard the last word");
        assert!(result.expect("all had everything").left_out.is_empty());
    }
}

/// As above, but nobody has a result: those who stay find that out, and do not wait for their limit.
#[test]
fn too_few_that_are_left_hear_so_though_one_left_in_order() {
    let group = Group::world(3);
    let mut engines: Vec<_> = (0..3).map(|rank| Engine::new(Rank::new(rank))).collect();
    for engine in &mut engines[..2] {
        let data = ones(engine.rank());
        engine.start(Time::ZERO, &group, SUM, f32::TYPE, data, &going_on(3)).unwrap();
    }
    for engine in &mut engines[..2] {
        let (peer, reason) = (Rank::new(2), "it said goodbye".to_owned());
        engine.handle_event(Time::ZERO, Event::Lost { peer, reason, left: true });
    }
    exchange(&mut engines, |_, parcel| parcel.to == Rank::new(2));
    for engine in &mut engines[..2] {
        let (_, result) = engine.poll_finished().expect("nobody is left to wait for");
        let error = result.expect_err("two are too few");
        assert!(matches!(error, OpError::TooFew { at_least: 3, .. }), "{error}");
    }
}

/// Says that rank 2 left in order.
fn hears_a_goodbye(engine: &mut Engine) {
    let (peer, reason) = (Rank::new(2), "it said goodbye".to_owned());
    engine.handle_event(Time::ZERO, Event::Lost { peer, reason, left: true });
}

/// As above, but only one of them waited for the other: the other did not say that it had given up, and the one
/// that hoped waited for its limit, because among two none can leave the other out for being late.
#[test]
fn who_finds_too_few_says_so() {
    let group = Group::world(3);
    let is_shard = |from, parcel: &Parcel| {
        from == Rank::new(2) && matches!(parcel.envelope.channel.step >> 16, 1 | 2)
    };
    for late in [None, Some(1)] {
        let mut engines: Vec<_> = (0..3).map(|rank| Engine::new(Rank::new(rank))).collect();
        let start = |engine: &mut Engine| {
            let data = ones(engine.rank());
            engine.start(Time::ZERO, &group, SUM, f32::TYPE, data, &going_on(3)).unwrap();
        };
        for (_, engine) in engines.iter_mut().enumerate().filter(|(at, _)| Some(*at) != late) {
            start(engine);
        }
        // The one that leaves has contributed.
        exchange(&mut engines, is_shard);
        engines[..2].iter_mut().for_each(hears_a_goodbye);
        late.into_iter().for_each(|late: usize| start(&mut engines[late]));
        exchange(&mut engines, |_, parcel| parcel.to == Rank::new(2));
        for engine in &mut engines[..2] {
            let (_, result) = engine.poll_finished().expect("nobody is left to wait for");
            let error = result.expect_err("two are too few");
            assert!(matches!(error, OpError::TooFew { at_least: 3, .. }), "{late:?}: {error}");
        }
    }
}

/// As above, where a parcel failed: whoever lacked a contribution gave up, and told nobody.
#[test]
fn who_lacks_contributions_says_so() {
    let group = Group::world(2);
    let [one, two] = [0, 1].map(Rank::new);
    let mut engines = [one, two].map(Engine::new);
    for engine in &mut engines {
        let data = ones(engine.rank());
        engine.start(Time::ZERO, &group, SUM, f32::TYPE, data, &going_on(2)).unwrap();
    }
    let is_contribution =
        |parcel: &Parcel| parcel.to == one && parcel.envelope.channel.step >> 16 == 0;
    let held = exchange(&mut engines, |_, parcel| is_contribution(parcel));
    for (peer, Parcel { envelope, .. }) in held {
        let reason = "given up".to_owned();
        engines[0].handle_event(Time::ZERO, Event::Failed { peer, envelope, reason });
    }
    exchange(&mut engines, |_, _| false);
    for engine in &mut engines {
        let (_, result) = engine.poll_finished().expect("nobody is left to wait for");
        let error = result.expect_err("one is too few");
        assert!(matches!(error, OpError::TooFew { at_least: 2, .. }), "{error}");
    }
}

/// The one that was left out as late knew the result as soon as it came, and the other needed no more than to know
/// that: it waited for its limit.
#[test]
fn who_comes_late_is_no_longer_in_the_way() {
    let group = Group::world(3);
    let root = Rank::new(0);
    let options = Options { deadline: Deadline::After(Span::from_ms(50)), ..going_on(1) };
    let late = [(Rank::new(1), Span::from_ms(300))].into();
    for seed in 1..40 {
        // It dies while it tells the others that it goes on without the late one.
        let deaths = vec![Death { rank: root, after: 5 }];
        let faults = Faults { deaths, detection: Span::from_ms(20), ..Faults::none(seed) };
        let mut world = World::new(3, faults);
        let operation = |_| Operation::Broadcast(root);
        let (_, took) = world.run_late(&group, operation, f32::TYPE, ones, &options, &late);
        assert!(took < Span::from_secs(1), "{seed}: somebody waited for {took}");
    }
}

/// What had come before an operation started ended it at once, and what had come behind that was forgotten, also the
/// question of one that waited for an answer.
#[test]
fn who_ends_as_soon_as_it_starts_answers_those_who_asked() {
    let group = Group::world(4);
    let [late, waits] = [3, 2].map(Rank::new);
    let options = Options { deadline: Deadline::After(Span::from_ms(50)), ..going_on(2) };
    let mut engines: Vec<_> = (0..4).map(|rank| Engine::new(Rank::new(rank))).collect();
    let start = |engine: &mut Engine| {
        let data = ones(engine.rank());
        engine.start(Time::ZERO, &group, SUM, f32::TYPE, data, &options).unwrap();
    };
    engines[..3].iter_mut().for_each(start);
    let is_commit = |parcel: &Parcel| parcel.envelope.channel.step >> 16 == 3;
    for ms in [50, 100, 150, 200] {
        exchange(&mut engines, |_, parcel| parcel.to == waits && is_commit(parcel));
        let now = Time::ZERO + Span::from_ms(ms);
        engines[..3].iter_mut().for_each(|engine| engine.handle_timeout(now));
    }
    exchange(&mut engines, |_, parcel| parcel.to == waits && is_commit(parcel));
    assert!(
        engines[..2].iter_mut().all(|one| one.poll_finished().is_some_and(|end| end.1.is_ok()))
    );
    let (peer, reason) = (Rank::new(0), "it died".to_owned());
    engines[2].handle_event(Time::ZERO, Event::Lost { peer, reason, left: false });
    // Only the late one gets its question.
    exchange(&mut engines, |from, parcel| from == waits && parcel.to != late);
    assert!(engines[2].poll_finished().is_none(), "the last word has not come");
    start(&mut engines[3]);
    exchange(&mut engines, |_, parcel| ![waits, late].contains(&parcel.to));
    for engine in &mut engines[2..] {
        let (_, result) = engine.poll_finished().expect("the last word has come");
        assert_eq!(result.expect("three are enough").left_out, [late]);
    }
}

/// All of them are told of the one that died, whoever found it out and gave up first.
#[test]
fn who_gives_up_for_another_is_not_blamed_for_it() {
    let group = Group::world(4);
    let mut engines: Vec<_> = (0..4).map(|rank| Engine::new(Rank::new(rank))).collect();
    for engine in &mut engines[..3] {
        let data = ones(engine.rank());
        engine.start(Time::ZERO, &group, SUM, f32::TYPE, data, &going_on(4)).unwrap();
    }
    let (peer, reason) = (Rank::new(3), "it died".to_owned());
    engines[0].handle_event(Time::ZERO, Event::Lost { peer, reason, left: false });
    exchange(&mut engines, |_, parcel| parcel.to == peer);
    for engine in &mut engines[..3] {
        let (_, result) = engine.poll_finished().expect("nobody is left to wait for");
        match result.expect_err("three are too few") {
            OpError::TooFew { left: 3, without, .. } => assert_eq!(without, [peer]),
            other => panic!("{other}"),
        }
    }
}

/// It ended the operation for all, and blamed whoever had sent what did not fit.
#[test]
fn who_is_too_far_behind_is_left_out_and_the_others_go_on() {
    let group = Group::world(4);
    let slow = Rank::new(3);
    let mut world = World::new(4, Faults::none(1));
    world.engines[3] = Engine::with_limit(slow, 100);
    let late = [(slow, Span::from_ms(1))].into();
    let (results, took) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &going_on(3), &late);
    assert!(took < Span::from_secs(1), "{took}");
    for (rank, result) in results.into_iter().enumerate() {
        match (rank, result.unwrap()) {
            (3, Err(OpError::TooFarBehind { .. })) => {}
            (0..3, Ok(outcome)) => assert_eq!(outcome.left_out, [slow]),
            (_, other) => panic!("rank {rank}: {other:?}"),
        }
    }
}

/// Each operation took as long as it waited for the one that hangs, and the next deadline followed that.
#[test]
fn deadlines_do_not_follow_themselves() {
    let group = Group::world(4);
    let options = Options { deadline: Deadline::Adaptive(Default::default()), ..going_on(2) };
    let hangs = Rank::new(3);
    let none = BTreeMap::new();
    let faults = Faults { jitter: Span::from_us(500), ..Faults::none(1) };
    let all_well = |world: &mut World| {
        for _ in 0..20 {
            world.run(&group, SUM, f32::TYPE, ones, &options);
        }
    };
    let mut world = World::new(4, faults.clone());
    all_well(&mut world);
    let sent = world.arrivals.iter().filter(|(_, arrival)| arrival.from == hangs).count() as u64;
    let deaths = vec![Death { rank: hangs, after: sent }];
    let mut world = World::new(4, Faults { deaths, detection: NEVER, ..faults });
    all_well(&mut world);
    let mut longest = Vec::new();
    for _ in 0..20 {
        let (results, took) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &none);
        let mut left_out = results.iter().flatten().map(|one| &one.as_ref().unwrap().left_out);
        assert!(left_out.all(|ranks| *ranks == [hangs]));
        longest.push(took);
    }
    assert!(longest[19] < longest[0] * 2, "{longest:?}");
}

/// And they do follow a network that became slow.
#[test]
fn deadlines_follow_contributions_that_came_late() {
    let group = Group::world(3);
    let options = Options { deadline: Deadline::Adaptive(Default::default()), ..going_on(2) };
    let mut world = World::new(3, Faults::none(1));
    for _ in 0..20 {
        world.run(&group, SUM, f32::TYPE, ones, &options);
    }
    let late = [(Rank::new(2), Span::from_ms(5))].into();
    let mut without = 0;
    for _ in 0..20 {
        let (results, _) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &late);
        let outcome = results[0].as_ref().unwrap().as_ref().unwrap();
        without += usize::from(!outcome.left_out.is_empty());
    }
    assert!((1..5).contains(&without), "rank 2 was left out {without} times");
}

/// Each parcel of a contribution counted as an operation of its own, so that one that was late in five parcels moved
/// the tail for the next hundred.
#[test]
fn a_late_contribution_counts_once_however_many_parcels_it_has() {
    let group = Group::world(3);
    let least = |tenths: usize| Fraction::new(tenths as f64 / 10.0).expect("a fraction");
    let ranges = (0..10).map(|at| (at * 10..at * 10 + 10, least(at)));
    let importance = Importance::ByRange(ranges.collect());
    let deadline = Deadline::Adaptive(Default::default());
    let options = Options { deadline, importance, ..going_on(2) };
    let mut world = World::new(3, Faults::none(1));
    let mut run = |late: Span| {
        let late = [(Rank::new(2), late)].into();
        let (results, _) = world.run_late(&group, |_| SUM, f32::TYPE, ones, &options, &late);
        results[0].as_ref().unwrap().as_ref().unwrap().left_out.clone()
    };
    for _ in 0..130 {
        assert!(run(Span::ZERO).is_empty());
    }
    // What the first brings late has come when the third starts, and nothing more.
    for _ in 0..3 {
        assert_eq!(run(Span::from_ms(20)), [Rank::new(2)]);
    }
}

/// What came late of a stream that was forgotten was remembered for the next of that name.
#[test]
fn what_is_forgotten_does_not_come_back_late() {
    let group = Group::world(3);
    let rule = Adaptive { warm_up: 1, ..Adaptive::default() };
    let options = Options { deadline: Deadline::Adaptive(rule), ..going_on(2) };
    let late = Rank::new(2);
    let mut engines: Vec<_> = (0..3).map(|rank| Engine::new(Rank::new(rank))).collect();
    let start = |engine: &mut Engine| {
        let data = ones(engine.rank());
        engine.start(Time::ZERO, &group, SUM, f32::TYPE, data, &options).unwrap();
    };
    engines[..2].iter_mut().for_each(start);
    let is_late = |from, parcel: &Parcel| from == late || parcel.to == late;
    for seconds in [10, 20, 30, 40] {
        exchange(&mut engines, is_late);
        let now = Time::ZERO + Span::from_secs(seconds);
        engines[..2].iter_mut().for_each(|engine| engine.handle_timeout(now));
    }
    assert!(engines[0].poll_finished().is_some_and(|(_, end)| end.is_ok()));
    start(&mut engines[2]);
    let held = exchange(&mut engines, is_late);
    engines[0].forget(options.stream);
    held.into_iter().for_each(|(from, parcel)| arrive(&mut engines, from, parcel));
    start(&mut engines[0]);
    let patience = engines[0].poll_timeout();
    assert_eq!(patience, Some(Time::ZERO + Span::from_secs(10)), "nothing was measured");
}

/// A carrier of rank 0 with a clock that is set, and events that have come.
struct Script {
    now: Cell<Time>,
    come: VecDeque<Event>,
}

impl Carrier for Script {
    fn rank(&self) -> Rank {
        Rank::new(0)
    }

    fn now(&self) -> Time {
        self.now.get()
    }

    fn submit(&mut self, _: Parcel) {}

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        let event = self.come.pop_front();
        if let (None, Some(until)) = (&event, until) {
            self.now.set(self.now.get().max(until));
        }
        // The application computes before it looks.
        self.now.set(self.now.get().max(Time::ZERO + Span::from_ms(60)));
        event
    }
}

/// What a rank finds when it has computed for long was not late: the first of what had come was taken in, and
/// then the others left out.
#[test]
fn what_came_while_nobody_looked_is_not_late() {
    let group = Group::world(4);
    let options = Options { deadline: Deadline::After(Span::from_ms(20)), ..going_on(1) };
    let gather = Operation::Gather(Rank::new(0));
    let mut come = VecDeque::new();
    for from in (1..4).map(Rank::new) {
        let mut engine = Engine::new(from);
        engine.start(Time::ZERO, &group, gather, f32::TYPE, ones(from), &options).unwrap();
        let Parcel { envelope, body, .. } = engine.poll_parcel().expect("its part");
        come.push_back(Event::Arrived(Arrival { from, envelope, body, missing: Vec::new() }));
    }
    let mut ranks = Communicator::new(Script { now: Cell::new(Time::ZERO), come }, 4);
    let mut all = [0.0f32; 400];
    let outcome = ranks.gather(&[1.0; 100], &mut all, Rank::new(0), &options).unwrap();
    assert_eq!((outcome.left_out, all), (vec![], [1.0; 400]));
}
