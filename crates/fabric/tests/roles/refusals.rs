//! What makes no sense is refused, with a message that names both sides.

use bytes::Bytes;
use laxity_fabric::{
    GroupId, Rank,
    carrier::{Arrival, Channel, Envelope, Event, Lane, Signature},
    roles::{
        Add, Node, Notice, Push, PushError, Server, ServerOptions, Version, Worker, WorkerOptions,
    },
};
use laxity_interface::Span;
use laxity_protocol::ElementType;
use proptest::prelude::*;

use crate::world::{Program, World, rank, secs};

fn server(elements: usize) -> Node {
    let options = ServerOptions::new([rank(1), rank(2)]);
    Node::new(rank(0)).with_server(Server::new(rank(0), vec![0.0; elements], Add, options).unwrap())
}

fn parcel(from: Rank, group: u32, part: u32, body: Vec<u8>) -> Event {
    let channel =
        Channel { lane: Lane::Role, group: GroupId::new(group), sequence: 0, step: 0, part };
    let element = if part == 0 { ElementType::U8 } else { ElementType::F32 };
    let signature = Signature { kind: 4, element, count: 0 };
    let envelope = Envelope { channel, signature };
    Event::Arrived(Arrival { from, envelope, body: Bytes::from(body), missing: Vec::new() })
}

fn refusal(node: &mut Node) -> Option<(Rank, String)> {
    std::iter::from_fn(|| node.poll_notice()).find_map(|notice| match notice {
        Notice::Refusal { from, what } => Some((from, what)),
        _ => None,
    })
}

#[test]
fn a_worker_with_another_shape_is_refused_naming_both_sides() {
    let mut world = World { latency: Span::from_us(10), ..World::default() };
    world.add(server(100));
    world.add(Node::new(rank(1)).with_worker(Worker::new(rank(1), WorkerOptions::default())));
    world.program(rank(1), Program::new(rank(0), 1, Span::ZERO, |_, _| vec![1.0; 90]));
    assert!(world.train(secs(1.0)));
    let [(_, reason)] = &world.programs[&rank(1)].dropped[..] else { panic!("not refused") };
    assert!(reason.contains("rank 1 sent 90") && reason.contains("rank 0 holds 100"), "{reason}");
    assert!(world.nodes[&rank(0)].server().unwrap().model().iter().all(|w| *w == 0.0));
}

#[test]
fn numbers_that_are_not_finite_do_not_reach_the_model() {
    let mut world = World { latency: Span::from_us(10), ..World::default() };
    world.add(server(2));
    let mut worker = Worker::new(rank(1), WorkerOptions::default());
    let mut push = Push::new(&[f32::NAN, 1.0], Version::default());
    let error = worker.push(secs(0.0), rank(0), push.clone()).unwrap_err();
    assert!(matches!(error, PushError::Norm { .. }), "{error}");
    push.norm = 1.0; // A lie.
    worker.push(secs(0.0), rank(0), push).unwrap();
    world.add(Node::new(rank(1)).with_worker(worker));
    world.run(secs(1.0));
    assert_eq!(world.nodes[&rank(0)].server().unwrap().model(), [0.0, 0.0]);
    let refused = world.told(rank(1)).any(|n| matches!(n, Notice::Dropped { .. }));
    assert!(refused);
}

#[test]
fn nobody_speaks_for_another() {
    let mut node = server(2);
    // Rank 2 sends what rank 1 would: first in the envelope, then in the word.
    node.handle_event(secs(0.0), parcel(rank(2), 1, 0, vec![1, 1, 0]));
    let (from, what) = refusal(&mut node).unwrap();
    assert!(from == rank(2) && what.contains("names another sender"), "{what}");

    let mut world = World::default();
    world.add(server(2));
    let mut worker = Worker::new(rank(1), WorkerOptions::default());
    worker.push(secs(0.0), rank(0), Push::new(&[1.0, 1.0], Version::default())).unwrap();
    let mut liar = Node::new(rank(1)).with_worker(worker);
    let mut node = server(2);
    while let Some(parcel) = liar.poll_parcel(secs(0.0)) {
        let mut envelope = parcel.envelope;
        envelope.channel.group = GroupId::new(2);
        let (from, body, missing) = (rank(2), parcel.body, Vec::new());
        let arrival = Arrival { from, envelope, body, missing };
        node.handle_event(secs(0.0), Event::Arrived(arrival));
    }
    let (from, what) = refusal(&mut node).unwrap();
    assert!(from == rank(2) && what.contains("rank 2 sent update 1 of rank 1"), "{what}");
    assert_eq!(node.server().unwrap().version().commits, 0);
}

#[test]
fn a_word_to_a_role_that_is_not_there_is_named() {
    let mut world = World::default();
    world.add(Node::new(rank(0)));
    let mut worker = Worker::new(rank(1), WorkerOptions::default());
    worker.get(rank(0), Version::default());
    world.add(Node::new(rank(1)).with_worker(worker));
    world.run(secs(0.1));
    let said = world.told(rank(0)).find_map(|notice| match notice {
        Notice::Refusal { what, .. } => Some(what.clone()),
        _ => None,
    });
    assert_eq!(said.unwrap(), "rank 1 spoke to the server at rank 0, which has none");
}

#[test]
fn unfinished_words_are_bounded() {
    let mut node = server(2);
    let mut refused = 0;
    for sequence in 0..1000 {
        let Event::Arrived(mut arrival) = parcel(rank(1), 1, 1, vec![0; 8]) else { unreachable!() };
        arrival.envelope.channel.sequence = sequence;
        node.handle_event(secs(0.0), Event::Arrived(arrival));
        refused += u32::from(refusal(&mut node).is_some());
    }
    assert_eq!(refused, 1000 - 64);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, nothing panics, nothing is committed, and the sender is named.
    #[test]
    fn garbage_is_refused_naming_the_sender(
        body in prop::collection::vec(any::<u8>(), 0..200),
        start in prop_oneof![Just(vec![]), Just(vec![1u8, 1, 0, 0, 0, 0, 0])],
        part in 0u32..3,
    ) {
        let mut node = server(2);
        let body = [start, body].concat();
        node.handle_event(secs(0.0), parcel(rank(1), 1, part, body));
        if let Some((from, what)) = refusal(&mut node) {
            prop_assert_eq!(from, rank(1));
            prop_assert!(what.contains("rank 1"), "{}", what);
        }
        prop_assert_eq!(node.server().unwrap().version().commits, 0);
    }
}
