//! Parcels between ranks over real sockets, by both carriers.

use std::time::{Duration, Instant};

use crate::common::{BOTH, LONG, envelope, event, parcel, pattern, until, world, world_with};
use laxity_fabric::{
    Rank,
    carrier::{AnyCarrier, Carrier, Event, Parcel, Slack},
    rendezvous::Fabric,
};
use laxity_interface::Span;
use laxity_protocol::ElementType;

fn finish(fabric: Fabric) {
    assert!(fabric.shutdown(LONG), "all have heard the goodbye");
}

#[test]
fn a_thousand_small_parcels_both_ways_in_any_order_of_tags() {
    const COUNT: u64 = 1000;
    for transport in BOTH {
        world(2, transport, |mut fabric| {
            let other = 1 - fabric.rank().get();
            for number in 0..COUNT {
                // 617 and 1000 have no common divisor: every tag once, in no order.
                let tag = number * 617 % COUNT;
                let mut parcel = parcel(other, tag, (tag % 300) as usize);
                parcel.slack.priority = (tag % 3) as u32;
                fabric.submit(parcel);
            }
            let arrivals = until(&mut fabric, |arrivals, sent| {
                arrivals.len() as u64 == COUNT && sent as u64 == COUNT
            });
            let mut tags: Vec<_> = arrivals.iter().map(|a| a.envelope.channel.sequence).collect();
            tags.sort_unstable();
            assert_eq!(tags, (0..COUNT).collect::<Vec<_>>(), "each once");
            for arrival in arrivals {
                let tag = arrival.envelope.channel.sequence;
                assert_eq!(arrival.envelope, envelope(tag, ElementType::U8, (tag % 300) as usize));
                assert_eq!(arrival.body, pattern(tag, (tag % 300) as usize));
                assert_eq!((arrival.from.get(), arrival.missing.len()), (other, 0));
            }
            finish(fabric);
        });
    }
}

#[test]
fn everybody_to_everybody_from_nothing_to_megabytes() {
    const SIZES: [usize; 6] = [0, 1, 64, 70_001, 256 << 10, 3_000_001];
    for transport in BOTH {
        world(4, transport, |mut fabric| {
            let me = fabric.rank().get();
            // To itself as well, and all call all at once.
            for to in 0..4 {
                for (number, size) in SIZES.into_iter().enumerate() {
                    fabric.submit(parcel(to, u64::from(me) * 10 + number as u64, size));
                }
            }
            let all = 4 * SIZES.len();
            let arrivals =
                until(&mut fabric, |arrivals, sent| arrivals.len() == all && sent == all);
            for arrival in arrivals {
                let tag = arrival.envelope.channel.sequence;
                assert_eq!(u64::from(arrival.from.get()), tag / 10);
                assert!(arrival.body == pattern(tag, SIZES[(tag % 10) as usize]), "tag {tag}");
                assert!(arrival.missing.is_empty());
            }
            finish(fabric);
        });
    }
}

#[test]
fn every_element_type_travels() {
    let types = [
        ElementType::U8,
        ElementType::I8,
        ElementType::I16,
        ElementType::I32,
        ElementType::I64,
        ElementType::F16,
        ElementType::Bf16,
        ElementType::F32,
        ElementType::F64,
    ];
    for transport in BOTH {
        world(2, transport, move |mut fabric| {
            let other = Rank::new(1 - fabric.rank().get());
            for (number, element) in types.into_iter().enumerate() {
                let body = pattern(number as u64, 1000 * element.size()).into();
                let envelope = envelope(number as u64, element, 1000);
                fabric.submit(Parcel { to: other, envelope, body, slack: Slack::EXACT });
            }
            let arrivals = until(&mut fabric, |arrivals, sent| arrivals.len() == 9 && sent == 9);
            for arrival in arrivals {
                let number = arrival.envelope.channel.sequence;
                let element = types[number as usize];
                assert_eq!(arrival.envelope, envelope(number, element, 1000));
                assert!(arrival.body == pattern(number, 1000 * element.size()));
            }
            finish(fabric);
        });
    }
}

#[test]
fn asking_does_not_wait_and_waiting_ends() {
    for transport in BOTH {
        // Alone: another that is finished first would be an event.
        world(1, transport, |mut fabric| {
            let now = fabric.now();
            assert_eq!(fabric.wait_event(Some(now)), None);
            let until = fabric.now() + Span::from_ms(20);
            assert_eq!(fabric.wait_event(Some(until)), None);
            assert!(fabric.now() >= until);
            finish(fabric);
        });
    }
}

#[test]
fn a_bell_ends_the_wait_that_is_and_the_one_that_will_be() {
    for transport in BOTH {
        world(1, transport, |mut fabric| {
            let (began, bell) = (Instant::now(), fabric.bell().expect("has one"));
            let end = fabric.now() + Span::from(LONG);
            bell.ring();
            assert_eq!(fabric.wait_event(Some(end)), None, "rung before");
            let rings = bell.clone();
            let ringer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                rings.ring();
            });
            assert_eq!(fabric.wait_event(Some(end)), None, "rung meanwhile");
            assert!(began.elapsed() < LONG / 2, "nobody waits for the time");
            ringer.join().unwrap();
            // And only those.
            let until = fabric.now() + Span::from_ms(20);
            assert_eq!(fabric.wait_event(Some(until)), None);
            assert!(fabric.now() >= until);
            finish(fabric);
            // Whoever still has it may ring.
            bell.ring();
        });
    }
}

#[test]
fn parcels_for_nobody_fail() {
    for transport in BOTH {
        world(1, transport, |mut fabric| {
            fabric.submit(parcel(7, 1, 10));
            match event(&mut fabric) {
                Event::Failed { peer, reason, .. } => {
                    assert_eq!(peer, Rank::new(7));
                    assert!(reason.contains("world of 1"), "{reason}");
                }
                other => panic!("{other:?}"),
            }
        });
    }
}

/// A receiver that takes nothing holds its senders; what it holds is bounded; later all is there.
#[test]
fn who_takes_nothing_is_not_flooded() {
    const ROOM: u64 = 4 << 20;
    const SIZE: usize = 1 << 20;
    const COUNT: u64 = 64;
    for transport in BOTH {
        world_with(
            2,
            transport,
            |settings| {
                settings.tcp.untaken_bytes = ROOM;
                settings.laxity.untaken_bytes = ROOM;
            },
            |mut fabric| {
                let (ask, say) = (10_000, 10_001);
                if fabric.rank() == Rank::new(0) {
                    for tag in 0..COUNT {
                        fabric.submit(parcel(1, tag, SIZE));
                    }
                    // What is not held up goes on meanwhile.
                    let mut sent = 0;
                    let end = fabric.now() + Span::from_secs(2);
                    while let Some(event) = fabric.wait_event(Some(end)) {
                        assert!(matches!(event, Event::Sent { .. }), "{event:?}");
                        sent += 1;
                    }
                    assert!(sent < COUNT, "all of it is gone, and nobody has taken any");
                    let mut store = fabric.open_store().expect("it is there");
                    store.set("counted", b"").expect("room");
                    until(&mut fabric, |arrivals, more| {
                        arrivals.len() == 1 && sent + more as u64 == COUNT
                    });
                    fabric.submit(parcel(1, say, 0));
                    until(&mut fabric, |_, sent| sent == 1);
                } else {
                    let mut store = fabric.open_store().expect("it is there");
                    store.wait(&["counted"], LONG).expect("the other one counts");
                    if let AnyCarrier::Tcp(carrier) = fabric.carrier() {
                        let held = carrier.held_bytes();
                        assert!(held >= ROOM / 2, "only {held} bytes came");
                        // One turn's worth beyond the room, and the parcel under way.
                        assert!(held <= ROOM + 3 * SIZE as u64, "{held} bytes are held");
                    }
                    let arrivals = until(&mut fabric, |arrivals, _| arrivals.len() as u64 == COUNT);
                    for arrival in arrivals {
                        let tag = arrival.envelope.channel.sequence;
                        assert!(arrival.body == pattern(tag, SIZE));
                    }
                    fabric.submit(parcel(0, ask, 0));
                    until(&mut fabric, |arrivals, _| arrivals.len() == 1);
                }
                finish(fabric);
            },
        );
    }
}

#[test]
fn a_limit_ends_a_parcel_that_does_not_get_through() {
    for transport in BOTH {
        world_with(
            2,
            transport,
            |settings| {
                settings.tcp.untaken_bytes = 1 << 20;
                settings.laxity.untaken_bytes = 1 << 20;
            },
            |mut fabric| {
                if fabric.rank() == Rank::new(0) {
                    // The other takes nothing for now, and so the later ones stay here.
                    for tag in 0..64 {
                        let mut parcel = parcel(1, tag, 1 << 20);
                        parcel.slack.limit = Some(Span::from_ms(300));
                        fabric.submit(parcel);
                    }
                    let (mut sent, mut failed) = (0, 0);
                    while sent + failed < 64 {
                        match event(&mut fabric) {
                            Event::Sent { .. } => sent += 1,
                            Event::Failed { peer, .. } => {
                                assert_eq!(peer, Rank::new(1));
                                failed += 1;
                            }
                            other => panic!("{other:?}"),
                        }
                    }
                    assert!(failed > 0, "63 MiB went into 1 MiB");
                    fabric.submit(parcel(1, 99, 5));
                    until(&mut fabric, |_, sent| sent == 1);
                } else {
                    std::thread::sleep(Duration::from_secs(1));
                    loop {
                        match event(&mut fabric) {
                            Event::Arrived(arrival) => {
                                let tag = arrival.envelope.channel.sequence;
                                assert!(arrival.body == pattern(tag, arrival.body.len()));
                                if tag == 99 {
                                    break;
                                }
                                assert_eq!(arrival.body.len(), 1 << 20);
                            }
                            Event::Failed { peer, .. } => assert_eq!(peer, Rank::new(0)),
                            other => panic!("{other:?}"),
                        }
                    }
                }
                finish(fabric);
            },
        );
    }
}
