//! Helpers of the tests over real sockets.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::{
    net::SocketAddr,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use laxity_fabric::{
    GroupId, Rank,
    carrier::{Arrival, Carrier, Channel, Envelope, Event, Lane, Parcel, Signature, Slack},
    rendezvous::{Fabric, Secret, Settings, StoreServer, Transport},
};
use laxity_interface::Span;
use laxity_protocol::{ElementType, Key};

pub const BOTH: [Transport; 2] = [Transport::Tcp, Transport::Laxity];
/// Longer than anything takes on a machine that is only busy.
pub const LONG: Duration = Duration::from_secs(60);

pub fn secret() -> Secret {
    Secret::Key(Key::new([42; 32]))
}

/// A store at a free port of loopback.
pub fn store() -> StoreServer {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    StoreServer::bind(address, secret(), None, Duration::from_secs(5)).expect("a free port")
}

pub fn settings(store: &StoreServer, rank: u32, world: u32, transport: Transport) -> Settings {
    let address = store.address().to_string();
    let mut settings = Settings::new(Rank::new(rank), world, address, secret());
    (settings.transport, settings.patience) = (transport, LONG);
    settings
}

/// Joins all of a world, each in a thread of its own, and runs `work` there.
pub fn world<T: Send + 'static>(
    ranks: u32,
    transport: Transport,
    work: impl Fn(Fabric) -> T + Clone + Send + 'static,
) -> Vec<T> {
    world_with(ranks, transport, |_| {}, work)
}

/// The same with changed settings.
pub fn world_with<T: Send + 'static>(
    ranks: u32,
    transport: Transport,
    change: impl Fn(&mut Settings),
    work: impl Fn(Fabric) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let store = store();
    let threads: Vec<JoinHandle<T>> = (0..ranks)
        .map(|rank| {
            let mut settings = settings(&store, rank, ranks, transport);
            change(&mut settings);
            let work = work.clone();
            std::thread::spawn(move || work(Fabric::join(settings).expect("joins")))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
}

pub fn envelope(sequence: u64, element: ElementType, count: usize) -> Envelope {
    let channel = Channel { lane: Lane::Direct, group: GroupId::WORLD, sequence, step: 1, part: 2 };
    Envelope { channel, signature: Signature { kind: 1, element, count: count as u64 } }
}

/// Bytes that say what they are.
pub fn pattern(sequence: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|at| ((at * 31) ^ (at >> 8) ^ (sequence * 7)) as u8 | 1).collect()
}

pub fn parcel(to: u32, sequence: u64, bytes: usize) -> Parcel {
    Parcel {
        to: Rank::new(to),
        envelope: envelope(sequence, ElementType::U8, bytes),
        body: pattern(sequence, bytes).into(),
        slack: Slack::EXACT,
    }
}

/// The next event; fails the test instead of hanging.
pub fn event(carrier: &mut impl Carrier) -> Event {
    let until = carrier.now() + Span::from(LONG);
    carrier.wait_event(Some(until)).expect("an event within a minute")
}

/// Events until `enough`; arrivals are returned, in the order in which they came.
pub fn until(
    carrier: &mut impl Carrier,
    mut enough: impl FnMut(&[Arrival], usize) -> bool,
) -> Vec<Arrival> {
    let (mut arrivals, mut sent) = (Vec::new(), 0);
    while !enough(&arrivals, sent) {
        match event(carrier) {
            Event::Arrived(arrival) => arrivals.push(arrival),
            Event::Sent { .. } => sent += 1,
            // Others may be finished first.
            Event::Lost { reason, .. } if reason.contains("goodbye") => {}
            other => panic!("{other:?}"),
        }
    }
    arrivals
}

/// The next loss of a rank, letting arrivals and ends of parcels pass.
pub fn loss(carrier: &mut impl Carrier, of: u32) -> String {
    loop {
        match event(carrier) {
            Event::Lost { peer, reason, .. } if peer == Rank::new(of) => return reason,
            Event::Lost { peer, reason, .. } => panic!("{peer} is lost: {reason}"),
            _ => {}
        }
    }
}

/// Waits for something that another thread does.
pub fn eventually(mut look: impl FnMut() -> bool) {
    let start = Instant::now();
    while !look() {
        assert!(start.elapsed() < LONG, "still not after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}
