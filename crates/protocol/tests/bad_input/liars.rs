//! Peers that are connected and break the rules, or do not listen.

use laxity_interface::{Bytes, GroupId, Span, Time};
use laxity_protocol::{
    Config, Event, JobError, JobId, JobKind, Piece, SendRequest,
    wire::{Ack, Frame, put_message},
};

use crate::{
    BYTES, failure,
    harness::{
        self, Claim, Job, fraction,
        raw::{open, read},
    },
    host, messages, pair, raw, small_job, tensor,
};

#[test]
fn a_replayed_data_packet_is_placed_once() {
    let mut host = host();
    let mut raw = raw(&mut host);
    raw.say(&mut host, &tensor());
    raw.chunk(&mut host, 0, 0, 100);
    let mut frames = Vec::new();
    laxity_protocol::wire::put_chunk(&mut frames, JobId(0), GroupId(0), 100, 4);
    frames.resize(frames.len() + 100, 0);
    let packet = raw.packet(&frames);
    for _ in 0..5 {
        host.feed(raw.address, &packet);
    }
    assert_eq!(host.placed.0.len(), 2);
    assert_eq!(host.stat("dropped_replayed"), 4);
}

#[test]
fn a_job_of_uncountably_many_messages_is_too_large() {
    for total in [(1 << 62) - 1, 1 << 40, (16 << 20) + 1] {
        let mut host = host();
        let mut raw = raw(&mut host);
        let answer = raw.say(&mut host, &messages(1000, total, 10)).join(" ");
        assert!(answer.contains("Reset { job: JobId(0), by_receiver: true, code: 2 }"), "{answer}");
        assert!(host.events.iter().all(|event| !matches!(event, Event::Offered { .. })));
        assert!(host.endpoint.unclaimed().is_zero());
    }
    // 2^63 does not fit the wire at all: eight bytes carry 62 bits.
    assert_eq!(laxity_protocol::wire::varint::MAX, (1 << 62) - 1);
}

#[test]
fn a_sender_reads_that_its_job_is_too_large() {
    let mut world = pair(Config::insecure(), small_job());
    world.nodes[1].endpoint =
        laxity_protocol::Endpoint::new(Config { max_pieces: 3, ..Config::insecure() }, [5; 32]);
    world.finish(Time::ZERO + Span::from_secs(10));
    let Some((_, Err(error))) = &world.jobs[0].sender else { panic!("it was refused") };
    assert!(error.to_string().contains("the job is larger than it accepts"), "{error}");
}

#[test]
fn an_empty_message_is_delivered_like_any_other() {
    let mut world =
        pair(Config::insecure(), Job::new(0, 1, SendRequest::messages([0, 5, 0], fraction(1.0))));
    world.finish(Time::ZERO + Span::from_secs(10));
    assert_eq!(world.jobs[0].announced, [[0, 1, 2]]);
}

#[test]
fn a_receiver_that_never_claims_costs_it_nothing_and_the_sender_its_time_limit() {
    let limit = Bytes::from_kib(64);
    let config = Config { unclaimed_limit: limit, ..Config::insecure() };
    let request = SendRequest {
        time_limit: Some(Span::from_secs(2)),
        ..SendRequest::tensor(BYTES, 10_000_000, fraction(0.9))
    };
    let mut world = pair(config, Job { claim: Claim::Never, ..Job::new(0, 1, request) });
    world.run_until(Time::MAX, |world| {
        assert!(world.nodes[1].endpoint.unclaimed() <= limit);
        world.settled()
    });
    let job = &world.jobs[0];
    assert_eq!(job.placed_bytes, 0);
    let Some((at, Err(JobError::TimeLimit { progress, .. }))) = &job.sender else {
        panic!("{:?}", job.sender)
    };
    assert!(at.since(job.started.unwrap()) <= Span::from_ms(2001));
    assert_eq!(progress.received, 0);
    let sent = world.nodes[0].endpoint.stats().bytes_sent;
    assert!(sent < 2_000_000, "a sender that was told to wait does not go on: {sent}");
}

#[test]
fn a_window_that_nobody_claims_stays_within_the_limit() {
    let limit = Bytes::from_kib(16);
    let config = Config { unclaimed_limit: limit, ..Config::insecure() };
    let payload = laxity_protocol::Payload::Messages {
        sizes: vec![(GroupId(0), 1000); 200],
        estimate: vec![0],
        max_message: 1000,
    };
    let request = SendRequest {
        payload,
        time_limit: Some(Span::from_secs(1)),
        ..SendRequest::messages([], fraction(0.5))
    };
    let mut world = pair(config, Job { claim: Claim::Never, ..Job::new(0, 1, request) });
    world.run_until(Time::MAX, |world| {
        assert!(world.nodes[1].endpoint.unclaimed() <= limit);
        world.settled()
    });
    assert!(world.jobs[0].placed_bytes <= limit.get());
    assert!(matches!(world.jobs[0].sender, Some((_, Err(JobError::TimeLimit { .. })))));
    assert!(world.nodes[1].endpoint.unclaimed().is_zero());
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_is_not_believed() {
    let mut host = host();
    let mut raw = raw(&mut host);
    let peer = host.endpoint.peers().next().unwrap();
    let request = SendRequest::tensor(BYTES, 50_000, fraction(1.0));
    let id = host.endpoint.send(host.now, peer, &request).unwrap();
    host.wait(Span::from_us(100));
    let ack = Ack { ranges: [(0, 1 << 40)].into_iter().collect(), ..Ack::default() };
    raw.say(&mut host, &Frame::Ack(ack));
    assert_eq!(host.stat("acks_refused"), 1);
    assert_eq!(host.endpoint.send_progress(id).unwrap().received, 0);
}

#[test]
fn a_chunk_outside_the_tensor_ends_the_job() {
    for (first, bytes) in [(1000, 100), (1 << 60, 100), (50, 100), (0, 99), (0, 101), (900, 200)] {
        let mut host = host();
        let mut raw = raw(&mut host);
        raw.say(&mut host, &tensor());
        let answer = raw.chunk(&mut host, 0, first, bytes).join(" ");
        assert!(answer.contains("Reset { job: JobId(0), by_receiver: true, code: 4 }"), "{answer}");
        let text = failure(&host);
        assert!(text.contains("10.0.0.7:7000 was refused here"), "{text}");
        assert!(text.contains("contradicts the job's introduction"), "{text}");
        assert!(host.placed.0.is_empty());
        assert!(host.endpoint.unclaimed().is_zero());
    }
}

#[test]
fn more_chunks_in_a_group_than_announced_end_the_job() {
    let mut host = host();
    let mut raw = raw(&mut host);
    let kind = JobKind::Tensor { element: BYTES, elements: 1000 };
    let mut two = open(kind, 1000, 100, 2, 2);
    let mut other = two.groups[0];
    (other.id, other.counts.total, other.counts.required) = (GroupId(1), 8, 8);
    two.groups.push(other);
    raw.say(&mut host, &Frame::JobOpen(JobId(0), two));
    for chunk in 0..2 {
        assert!(!raw.chunk(&mut host, 0, chunk * 100, 100).join(" ").contains("Reset"));
    }
    raw.chunk(&mut host, 0, 200, 100);
    assert!(failure(&host).contains("contradicts"));
    assert_eq!(host.placed.0.len(), 2);
}

#[test]
fn more_bytes_than_announced_end_the_job() {
    let mut host = host();
    let mut raw = raw(&mut host);
    raw.say(&mut host, &messages(100, 3, 90));
    let mut say = |index, length: usize| {
        let mut frames = Vec::new();
        let (job, group) = (JobId(0), GroupId(0));
        let piece = Piece { job, group, index, length: length as u64, offset: 0, body: &[] };
        put_message(&mut frames, &piece, length);
        frames.resize(frames.len() + length, 0);
        raw.say_bytes(&mut host, &frames);
        host.placed.0.len()
    };
    assert_eq!(say(0, 90), 1);
    assert_eq!(say(0, 90), 1, "a repeated message is not more");
    assert_eq!(say(1, 11), 1, "101 of 100");
    assert!(failure(&host).contains("contradicts"));
}

#[test]
fn random_frames_of_a_connected_peer_do_no_harm() {
    let mut dice = harness::scenario::Dice::new(2, "frames");
    let mut host = host();
    let mut raw = raw(&mut host);
    for _ in 0..30_000 {
        let length = dice.below(60) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| dice.below(64) as u8).collect();
        // Everything but a farewell.
        bytes.iter_mut().filter(|byte| **byte == 10).for_each(|byte| *byte = 11);
        if let Some(first) = bytes.first_mut() {
            *first = dice.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18]);
        }
        let packet = raw.packet(&bytes);
        for (_, answer) in host.feed(raw.address, &packet) {
            read(&answer);
        }
    }
    let peer = host.endpoint.peers().next().unwrap();
    let info = host.endpoint.peer(peer).unwrap();
    let config = host.endpoint.config();
    assert!(info.receiving <= config.max_jobs, "{info:?}");
    assert!(info.ending <= 4 * config.max_jobs + 16, "{info:?}");
    assert!(host.endpoint.unclaimed() <= config.unclaimed_limit);
}
