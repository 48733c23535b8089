//! Jobs that say how many messages will follow, before they are there.

mod harness;

use harness::{Action, Job, PathSpec, World, fraction};
use laxity_interface::{Bytes, Finish, GroupId, Span, Time};
use laxity_protocol::{
    Config, Ended, GroupSpec, MessageOrder, Payload, SendRequest, SendRequestError,
};

const GAP: Span = Span::from_ms(2);
const FAR: Time = Time::from_ps(60_000_000_000_000);

/// So many messages of 900 bytes, one every 2 ms.
fn job(count: u64, least: f64, order: MessageOrder) -> Job {
    let request = SendRequest::announced(count, count * 900, 900, fraction(least));
    let request = SendRequest { finish: Finish::Enough, order, ..request };
    let pushes = (0..count).map(|at| (GAP * at, GroupId(0), 900)).collect();
    Job { pushes, close_at: GAP * count, ..Job::new(0, 1, request) }
}

fn run(path: &PathSpec, seed: u64, job: Job) -> World {
    let config = Config::insecure();
    let mut world = World::new("announced", seed, vec![config.clone(), config]);
    for pair in [(0, 1), (1, 0)] {
        world.link(&[pair], path, seed);
    }
    world.plan(Time::ZERO, Action::Connect(0, 1));
    world.add(job);
    world.finish(FAR);
    world
}

/// When it ended at the receiver, counted from its start, and how.
fn end(world: &World) -> (Span, Ended) {
    let job = &world.jobs[0];
    let Some((at, Ok(report))) = &job.receiver else { panic!("{:?}", job.receiver) };
    assert!(matches!(&job.sender, Some((_, Ok(_)))), "{:?}", job.sender);
    (at.since(job.started.unwrap()), report.ended)
}

#[test]
fn it_ends_with_enough_before_the_last_message_is_there() {
    for (least, last) in [(0.5, 19u64), (0.9, 35), (1.0, 39)] {
        for order in [MessageOrder::FewestRemaining, MessageOrder::FewestRemainingOfAll] {
            let (took, ended) = end(&run(&PathSpec::ideal(), 1, job(40, least, order)));
            // The last message that is needed is ready then, and has a short way.
            let ready = GAP * last;
            assert!(took > ready && took < ready + Span::from_ms(1), "{least}: {took}");
            assert_eq!(ended, if least < 1.0 { Ended::Enough } else { Ended::Complete });
        }
    }
}

#[test]
fn what_gets_lost_is_sent_again_while_the_next_is_awaited() {
    for seed in 0..20 {
        let path = PathSpec::ideal().with_loss(0.2);
        let (took, _) = end(&run(&path, seed, job(40, 0.9, MessageOrder::FewestRemaining)));
        // With what was lost left alone, up to four messages more would have to be awaited.
        assert!(took < GAP * 39, "seed {seed}: {took}");
    }
}

#[test]
fn the_first_pass_of_lost_last_is_over_when_all_have_come() {
    let path = PathSpec::ideal().with_loss(0.25);
    for seed in 0..10 {
        let (took, _) = end(&run(&path, seed, job(40, 1.0, MessageOrder::LostLast)));
        assert!(took > GAP * 39, "seed {seed}: {took}");
    }
}

#[test]
fn promises_survive_losses_and_several_groups() {
    for seed in 0..60 {
        let path = PathSpec { queue: Bytes::from_kib(64), ..PathSpec::ideal() }.with_loss(0.15);
        let groups = vec![
            GroupSpec { id: GroupId(0), min_delivery: fraction(1.0) },
            GroupSpec { id: GroupId(7), min_delivery: fraction(0.6) },
        ];
        let sizes = |at: u64| 1 + (at * 977 + seed * 13) % 6000;
        let pushes: Vec<_> = (0..50u64)
            .map(|at| {
                (
                    Span::from_us(40) * at,
                    if at % 5 == 0 { GroupId(0) } else { GroupId(7) },
                    sizes(at),
                )
            })
            .collect();
        let bytes = pushes.iter().map(|push| push.2).sum();
        let payload = Payload::Announced { counts: vec![10, 40], bytes, max_message: 6000 };
        let finish = if seed % 2 == 0 { Finish::Enough } else { Finish::FirstPass };
        let request =
            SendRequest { payload, groups, finish, ..job(1, 0.5, MessageOrder::Given).request };
        let close_at = Span::from_ms(10);
        // `finish` of the harness checks reports against what really arrived.
        end(&run(&path, seed, Job { pushes, close_at, ..Job::new(0, 1, request) }));
    }
}

#[test]
fn no_more_and_no_less_than_was_announced() {
    let mut world = run(&PathSpec::ideal(), 1, job(2, 1.0, MessageOrder::Given));
    let peer = world.peer(0, 1).unwrap();
    let now = world.now;
    let endpoint = &mut world.nodes[0].endpoint;
    let request = SendRequest::announced(2, 1000, 900, fraction(0.5));
    let id = endpoint.send(now, peer, &request).unwrap();
    let push = |endpoint: &mut laxity_protocol::Endpoint, size| endpoint.push(id, GroupId(0), size);
    assert_eq!(
        push(endpoint, 901),
        Err(SendRequestError::MessageTooLong { size: 901, limit: 900 })
    );
    assert_eq!(push(endpoint, 600), Ok(0));
    let left = SendRequestError::Announced { messages: 1, bytes: 400 };
    assert_eq!(push(endpoint, 401), Err(left.clone()));
    assert_eq!(endpoint.close_window(id), Err(left));
    assert_eq!(push(endpoint, 400), Ok(1));
    assert_eq!(push(endpoint, 1), Err(SendRequestError::NotOpen));
    let few = SendRequest {
        payload: Payload::Announced { counts: vec![], bytes: 0, max_message: 0 },
        ..request
    };
    assert_eq!(
        endpoint.send(now, peer, &few),
        Err(SendRequestError::Estimate { groups: 1, given: 0 })
    );
}
