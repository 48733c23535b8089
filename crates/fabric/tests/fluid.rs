//! Closed forms of parcels over shared links.

use bytes::Bytes;
use laxity_fabric::{
    GroupId, Rank,
    carrier::{Channel, Envelope, Event, Lane, Parcel, Signature, Slack, fluid::Network},
};
use laxity_interface::{Rate, Span, Time};
use laxity_protocol::ElementType;

/// What a link carries in a second; three flows share it without a remainder.
const MB: usize = 3_000_000;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn parcel(to: u32, sequence: u64, bytes: usize) -> Parcel {
    let group = GroupId::new(0);
    let channel = Channel { lane: Lane::Direct, group, sequence, step: 0, part: 0 };
    let signature = Signature { kind: 0, element: ElementType::F32, count: bytes as u64 / 4 };
    let envelope = Envelope { channel, signature };
    Parcel { to: Rank::new(to), envelope, body: vec![0; bytes].into(), slack: Slack::EXACT }
}

/// When each parcel arrives, by its sequence.
fn arrivals(network: &mut Network) -> Vec<(u64, Time)> {
    let mut found = Vec::new();
    while let Some(next) = network.next_event() {
        while let Some((_, event)) = network.take(next) {
            if let Event::Arrived(arrival) = event {
                found.push((arrival.envelope.channel.sequence, next));
            }
        }
    }
    found.sort_unstable();
    found
}

/// Links of 3 MB a second.
fn network(ranks: u32) -> Network {
    Network::new(ranks, Rate::from_mbps(24), Span::ZERO)
}

#[test]
fn one_after_the_other_and_together_end_at_the_same_time() {
    let mut shared = network(4);
    for from in 1..4 {
        shared.submit(Time::ZERO, Rank::new(from), parcel(0, from.into(), MB));
    }
    assert_eq!(arrivals(&mut shared), [(1, at(3000)), (2, at(3000)), (3, at(3000))]);
    let mut in_turn = network(4);
    let mut found = Vec::new();
    for from in 1..4 {
        in_turn.submit(at(1000 * u64::from(from - 1)), Rank::new(from), parcel(0, from.into(), MB));
        found.extend(arrivals(&mut in_turn));
    }
    assert_eq!(found, [(1, at(1000)), (2, at(2000)), (3, at(3000))]);
}

#[test]
fn what_one_cannot_use_the_others_get() {
    // 1 sends at a quarter of the others' rate; 2 gets the other three quarters.
    let mut network = network(3);
    network.set_host(Time::ZERO, Rank::new(1), Rate::from_mbps(6), Rate::from_mbps(6));
    network.submit(Time::ZERO, Rank::new(1), parcel(0, 1, MB));
    network.submit(Time::ZERO, Rank::new(2), parcel(0, 2, 3 * MB));
    assert_eq!(arrivals(&mut network), [(1, at(4000)), (2, at(4000))]);
}

#[test]
fn a_link_that_changes_on_the_way() {
    let mut network = network(2);
    network.submit(Time::ZERO, Rank::new(1), parcel(0, 1, 2 * MB));
    network.set_host(at(1000), Rank::new(0), Rate::from_mbps(24), Rate::from_mbps(6));
    // A second at full rate, the other half at a quarter of it.
    assert_eq!(arrivals(&mut network), [(1, at(5000))]);
    assert_eq!(network.carried(Rank::new(1)), (2 * MB as u64, 0));
    assert_eq!(network.carried(Rank::new(0)), (0, 2 * MB as u64));
}

#[test]
fn the_least_priority_has_what_others_leave() {
    let mut network = network(3);
    let mut last = parcel(0, 1, MB);
    last.slack.priority = u32::MAX;
    network.submit(Time::ZERO, Rank::new(1), last);
    network.submit(at(500), Rank::new(2), parcel(0, 2, MB));
    // Half of it, then nothing for a second, then the rest.
    assert_eq!(arrivals(&mut network), [(1, at(2000)), (2, at(1500))]);
}

#[test]
fn words_take_the_latency_only_and_senders_hear_of_the_end() {
    let mut network = Network::new(2, Rate::from_mbps(24), Span::from_ms(2));
    let mut word = parcel(0, 1, 0);
    word.envelope.signature.element = ElementType::U8;
    word.body = Bytes::from(vec![0; MB]);
    network.submit(Time::ZERO, Rank::new(1), word);
    assert_eq!(network.next_event(), Some(at(2)));
    assert!(matches!(network.take(at(2)), Some((to, Event::Arrived(_))) if to == Rank::new(0)));
    assert_eq!((network.take(at(3)), network.next_event()), (None, Some(at(4))));
    assert!(matches!(network.take(at(4)), Some((to, Event::Sent { .. })) if to == Rank::new(1)));
}

#[test]
fn a_dead_rank_frees_its_bandwidth_and_is_told_of() {
    let mut network = network(3);
    network.submit(Time::ZERO, Rank::new(1), parcel(0, 1, MB));
    network.submit(Time::ZERO, Rank::new(2), parcel(0, 2, MB));
    network.kill(at(1000), Rank::new(1));
    let mut lost = 0;
    let mut arrived = Vec::new();
    while let Some(next) = network.next_event() {
        while let Some((_, event)) = network.take(next) {
            match event {
                Event::Lost { peer, .. } => lost += u32::from(peer == Rank::new(1)),
                Event::Arrived(arrival) => {
                    arrived.push((arrival.envelope.channel.sequence, next));
                }
                _ => {}
            }
        }
    }
    // Half of both was there after a second.
    assert_eq!((lost, arrived), (2, vec![(2, at(1500))]));
}
