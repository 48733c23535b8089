//! Datagrams of people who are not connected, or pretend to be somebody else.

use laxity_interface::{Span, Time};
use laxity_protocol::{
    Config, Event, Key,
    wire::{Frame, PacketKind, Refusal, Refuse},
};

use crate::{
    ADDRESS,
    harness::{
        self, Action, PathSpec, World,
        raw::{Host, Raw, hello},
    },
    host, pair, raw, small_job, tensor,
};

#[test]
fn truncated_packets_are_counted_and_dropped() {
    let mut host = host();
    let mut raw = raw(&mut host);
    raw.say(&mut host, &tensor());
    let whole = raw.packet(&[1, 1, 1, 1]);
    let before = host.stat("dropped_unauthentic") + host.stat("dropped_malformed");
    for length in 0..whole.len() {
        host.feed(raw.address, &whole[..length]);
    }
    let dropped = host.stat("dropped_unauthentic") + host.stat("dropped_malformed") - before;
    assert_eq!(dropped, whole.len() as u64);
    let greeting = hello(5, None, 1400);
    for length in 0..1200 {
        assert!(host.feed(raw.address, &greeting[..length]).is_empty(), "{length}");
    }
    assert_eq!(host.endpoint.peers().count(), 1);
    // A frame that ends too early inside a packet that is itself whole.
    let malformed = host.stat("dropped_malformed");
    raw.say_bytes(&mut host, &[3, 0]);
    assert_eq!(host.stat("dropped_malformed"), malformed + 1);
}

#[test]
fn oversized_datagrams_are_no_harm() {
    let mut host = host();
    let raw = raw(&mut host);
    for kind in 0..16 {
        let mut packet = vec![0xff; 65_535];
        packet[0] = 0x10 | kind;
        packet[1..5].copy_from_slice(&raw.server.to_be_bytes());
        host.feed(raw.address, &packet);
    }
    let dropped = host.stat("dropped_malformed") + host.stat("dropped_unauthentic");
    assert!(dropped >= 12, "{dropped}");
    assert_eq!(host.endpoint.peers().count(), 1);
}

#[test]
fn another_version_is_told_so() {
    let mut host = host();
    let mut greeting = hello(5, None, 1400);
    greeting[0] = 0x20;
    let answers = host.feed("10.0.0.9:1".parse().unwrap(), &greeting);
    let refuse = Refuse::get(&answers[0].1).unwrap();
    assert_eq!((refuse.client, refuse.why), (5, Refusal::Version));
    assert_eq!(host.stat("dropped_malformed"), 1);
    assert_eq!(refuse.why.to_string(), "the peer speaks another protocol version");
    // Nothing but a greeting is answered.
    assert!(host.feed("10.0.0.9:1".parse().unwrap(), &[0x24; 1400]).is_empty());
}

fn connect_error(client: Config, server: Config) -> String {
    let mut world = World::new("keys", 1, vec![client, server]);
    for pair in [(0, 1), (1, 0)] {
        world.link(&[pair], &PathSpec::ideal(), 1);
    }
    world.plan(Time::ZERO, Action::Connect(0, 1));
    world.run_for(Span::from_secs(6));
    let error = world.nodes[0].log.iter().find_map(|(_, event)| match event {
        Event::ConnectFailed(_, error) => Some(error.to_string()),
        _ => None,
    });
    error.expect("it cannot connect")
}

#[test]
fn a_wrong_key_is_refused_with_the_reason() {
    let config = |byte| Config::keyed(Key::new([byte; 32]));
    let refused = "10.0.0.2:4001 refused the connection: ";
    assert_eq!(
        connect_error(config(1), config(2)),
        format!("{refused}the peer does not have this key")
    );
    let mixed = format!("{refused}one side uses a key and the other runs without (--insecure)");
    assert_eq!(connect_error(config(1), Config::insecure()), mixed);
    assert_eq!(connect_error(Config::insecure(), config(1)), mixed);
}

#[test]
fn a_replayed_hello_makes_no_second_connection() {
    let mut host = host();
    let address = ADDRESS.parse().unwrap();
    let answers = host.feed(address, &hello(77, None, 1400));
    let cookie = laxity_protocol::wire::Retry::get(&answers[0].1).unwrap().cookie;
    let greeting = hello(77, Some(cookie), 1400);
    let first = host.feed(address, &greeting);
    let again = host.feed(address, &greeting);
    assert_eq!(first, again, "the same answer while it may not have been heard");
    let accept = laxity_protocol::wire::Accept::get(&first[0].1).unwrap();
    let mut raw = Raw { address, client: 77, server: accept.server, number: 0 };
    raw.say_bytes(&mut host, &[1]);
    assert!(host.feed(address, &greeting).is_empty(), "and none afterwards");
    assert_eq!(host.endpoint.peers().count(), 1);
    // Elsewhere the cookie is worth nothing: the answer is another one, and nothing is kept.
    let stranger = "10.0.0.8:7000".parse().unwrap();
    let answers = host.feed(stranger, &greeting);
    assert_eq!(answers[0].1[0], PacketKind::Retry.first_byte());
    assert_eq!(host.endpoint.peers().count(), 1);
}

#[test]
fn reflected_packets_are_not_taken_for_the_other_sides() {
    for config in [Config::insecure(), Config::keyed(Key::new([3; 32]))] {
        let mut world = pair(config, small_job());
        world.run_until(Time::MAX, |world| world.jobs[0].started.is_some());
        // Everything node 0 sends comes back to it as well, its own id in place of the other's.
        let before = *world.nodes[0].endpoint.stats();
        let mut seen = Vec::new();
        let mut batch = laxity_protocol::Batch::default();
        world.run_until(Time::MAX, |world| world.jobs[0].sender.is_some());
        let node = &mut world.nodes[0];
        let peer = node.endpoint.peers().next().unwrap();
        node.endpoint.send(world.now, peer, &small_job().request).unwrap();
        let memory = harness::raw::Zeros::default();
        while let Some(sent) = node.endpoint.poll_transmit(world.now, &memory, &mut batch) {
            seen.extend(batch.packets(&sent, &memory));
        }
        assert!(!seen.is_empty());
        for packet in &seen {
            let address = world.nodes[1].address;
            let endpoint = &mut world.nodes[0].endpoint;
            let ecn = laxity_interface::Ecn::NotEct;
            endpoint.handle_datagram(world.now, address, ecn, &mut packet.clone(), &mut ());
        }
        let after = world.nodes[0].endpoint.stats();
        let refused = after.dropped_unknown + after.dropped_unauthentic
            - before.dropped_unknown
            - before.dropped_unauthentic;
        assert_eq!(refused, seen.len() as u64);
        assert_eq!(after.pieces_placed, before.pieces_placed);
    }
}

#[test]
fn a_spoofed_source_is_counted_and_dropped() {
    let mut host = host();
    let mut raw = raw(&mut host);
    raw.say(&mut host, &tensor());
    let mut close = Vec::new();
    Frame::Close { code: 1 }.put(&mut close, 100);
    let packet = raw.packet(&close);
    host.feed("10.0.0.66:7000".parse().unwrap(), &packet);
    assert_eq!(host.stat("dropped_spoofed"), 1);
    assert_eq!(host.endpoint.peers().count(), 1, "nobody else can end a connection");
}

#[test]
fn a_flood_of_hellos_keeps_memory_bounded() {
    let config = Config { max_half_open: 50, ..Config::insecure() };
    let mut host = Host::new(config);
    for client in 0..20_000u32 {
        let address = std::net::SocketAddr::from(([10, 1, (client >> 8) as u8, client as u8], 9));
        host.feed(address, &hello(client, None, 1400));
    }
    assert_eq!(host.endpoint.peers().count(), 0, "nothing is kept for who has no cookie");
    let mut refused = 0;
    for client in 0..200 {
        let address = std::net::SocketAddr::from(([10, 2, 0, client as u8], 9));
        let answers = host.feed(address, &hello(client, None, 1400));
        let cookie = laxity_protocol::wire::Retry::get(&answers[0].1).unwrap().cookie;
        let answers = host.feed(address, &hello(client, Some(cookie), 1400));
        refused += usize::from(answers[0].1[0] == PacketKind::Refuse.first_byte());
    }
    assert_eq!((host.endpoint.peers().count(), refused), (50, 150));
    assert_eq!(host.stat("hellos_refused"), 150);
    host.wait(Span::from_secs(6));
    assert_eq!(host.endpoint.peers().count(), 0, "half-open connections are let go");
}

#[test]
fn answers_that_nobody_fetches_do_not_pile_up() {
    let mut host = host();
    let ecn = laxity_interface::Ecn::NotEct;
    for client in 0..5000u32 {
        let address = std::net::SocketAddr::from(([10, 1, 0, 1], 9));
        let mut greeting = hello(client, None, 1400);
        host.endpoint.handle_datagram(host.now, address, ecn, &mut greeting, &mut ());
    }
    assert_eq!(host.drain().len(), 256);
}

#[test]
fn a_spoofed_refusal_does_not_stop_a_connection() {
    let mut world = pair(Config::insecure(), small_job());
    world.step();
    // A stranger who sees the Hello answers first, in the server's name.
    let link = world.links[0].in_flight();
    assert!(link > 0);
    let client = {
        let mut sniffed = None;
        let now = world.links[0].poll_timeout().unwrap();
        world.now = now;
        while let Some(delivery) = world.links[0].poll_delivery(now) {
            sniffed = Some(delivery.payload);
        }
        let hello = sniffed.unwrap();
        let id = laxity_protocol::wire::Hello::get(&hello.bytes).unwrap().client;
        world.deliver(hello, laxity_interface::Ecn::NotEct);
        id
    };
    let mut bytes = Vec::new();
    Refuse { client, why: Refusal::Full }.put(&mut bytes);
    let forged = harness::world::Packet { from: 1, to: 0, bytes };
    world.deliver(forged, laxity_interface::Ecn::NotEct);
    world.finish(Time::ZERO + Span::from_secs(10));
    assert!(matches!(world.jobs[0].sender, Some((_, Ok(_)))), "a refusal is only a hint");
}

#[test]
fn garbage_of_every_kind_is_dropped() {
    let mut dice = harness::scenario::Dice::new(1, "garbage");
    for config in [Config::insecure(), Config::keyed(Key::new([3; 32]))] {
        let mut host = Host::new(config);
        for _ in 0..20_000 {
            let length = dice.below(1500) as usize;
            let mut bytes: Vec<u8> = (0..length).map(|_| dice.below(256) as u8).collect();
            if let Some(first) = bytes.first_mut() {
                *first = 0x10 | (*first & 7);
            }
            for (_, answer) in host.feed(ADDRESS.parse().unwrap(), &bytes) {
                assert!(answer.len() <= bytes.len(), "never more than was sent");
            }
        }
        assert_eq!(host.endpoint.peers().count(), 0);
    }
}
