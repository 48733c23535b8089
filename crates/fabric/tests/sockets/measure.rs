//! Measurements of the carriers on loopback. Not tests: run them with
//! `cargo test --release -p laxity-fabric --test measure -- --ignored --nocapture --test-threads 1`.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    time::Instant,
};

use crate::common::{envelope, event, parcel, world};
use bytes::Bytes;
use laxity_fabric::{
    Rank,
    carrier::{Carrier, Event, Parcel, Slack},
    rendezvous::{Fabric, Transport},
};
use laxity_protocol::ElementType;

/// Arrivals and ends of parcels so far. Over all rounds: a fast rank's next parcel may come before a
/// slow one's last.
#[derive(Default)]
struct Counts {
    arrived: usize,
    sent: usize,
}

impl Counts {
    /// Waits until so many have come and as many are through.
    fn reach(&mut self, fabric: &mut Fabric, count: usize) {
        while self.arrived < count || self.sent < count {
            match event(fabric) {
                Event::Arrived(_) => self.arrived += 1,
                Event::Sent { .. } => self.sent += 1,
                // Others may be finished first.
                Event::Lost { reason, .. } if reason.contains("goodbye") => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A number from the environment.
fn number(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// `RANKS`, `MEGABYTES` and `ROUNDS` in the environment change the size.
#[test]
#[ignore = "a measurement"]
fn measure_all_to_all() {
    let (ranks, rounds) = (number("RANKS", 8), u64::from(number("ROUNDS", 3)));
    let size = number("MEGABYTES", 25) as usize * 1_000_000;
    for _ in 0..2 {
        for transport in crate::common::BOTH {
            let times = world(ranks, transport, move |mut fabric| {
                let me = fabric.rank().get();
                let (body, mut counts) = (Bytes::from(vec![1; size]), Counts::default());
                // The first round makes the connections.
                let times: Vec<f64> = (0..=rounds)
                    .map(|round| {
                        let start = Instant::now();
                        for to in (0..ranks).filter(|to| *to != me) {
                            let to = Rank::new(to);
                            let envelope = envelope(round, ElementType::F32, size / 4);
                            let body = body.clone();
                            fabric.submit(Parcel { to, envelope, body, slack: Slack::EXACT });
                        }
                        counts.reach(&mut fabric, (round as usize + 1) * (ranks as usize - 1));
                        start.elapsed().as_secs_f64()
                    })
                    .collect();
                fabric.shutdown(crate::common::LONG);
                times
            });
            let slowest = |round: usize| times.iter().map(|times| times[round]).fold(0.0, f64::max);
            let rounds: Vec<f64> = (1..=rounds as usize).map(slowest).collect();
            let best = rounds.iter().copied().fold(f64::MAX, f64::min);
            let gigabits = f64::from(ranks * (ranks - 1)) * size as f64 * 8.0 / best / 1e9;
            let name = transport.name();
            println!(
                "{name:7} {ranks} ranks, {size} bytes each: {rounds:.2?} s, {gigabits:.1} Gbit/s"
            );
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn measure_ping_pong() {
    const ROUNDS: usize = 20_000;
    raw_ping_pong(ROUNDS);
    for _ in 0..2 {
        for transport in crate::common::BOTH {
            let times = world(2, transport, |mut fabric| {
                let (me, other) = (fabric.rank().get(), 1 - fabric.rank().get());
                let mut times = Vec::with_capacity(ROUNDS);
                for round in 0..ROUNDS as u64 {
                    let start = Instant::now();
                    if me == 0 {
                        fabric.submit(parcel(other, round, 64));
                    }
                    while !matches!(event(&mut fabric), Event::Arrived(_)) {}
                    if me == 1 {
                        fabric.submit(parcel(other, round, 64));
                    }
                    times.push(start.elapsed().as_nanos() as u64);
                }
                fabric.shutdown(crate::common::LONG);
                times
            });
            show(transport.name(), times.into_iter().next().expect("rank 0"));
        }
    }
}

/// The floor: two threads that block on one socket.
fn raw_ping_pong(rounds: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a call");
        stream.set_nodelay(true).expect("a setting");
        let mut buffer = [0; 64];
        while stream.read_exact(&mut buffer).is_ok() {
            stream.write_all(&buffer).expect("listens");
        }
    });
    let mut stream = TcpStream::connect(address).expect("listens");
    stream.set_nodelay(true).expect("a setting");
    let mut times = Vec::with_capacity(rounds);
    let mut buffer = [0; 64];
    for _ in 0..rounds {
        let start = Instant::now();
        stream.write_all(&buffer).expect("listens");
        stream.read_exact(&mut buffer).expect("answers");
        times.push(start.elapsed().as_nanos() as u64);
    }
    drop(stream);
    other.join().expect("no panic");
    show("raw tcp", times);
}

fn show(name: &str, mut times: Vec<u64>) {
    times.sort_unstable();
    let at = |part: f64| times[(times.len() as f64 * part) as usize] as f64 / 1000.0;
    println!("{name:7} 64 B there and back: p50 {:.1} us, p99 {:.1} us", at(0.5), at(0.99));
}

/// How long a small urgent parcel takes while a large one is under way to the same rank.
#[test]
#[ignore = "a measurement"]
fn measure_urgent() {
    for transport in [Transport::Tcp, Transport::Laxity] {
        world(2, transport, move |mut fabric| {
            if fabric.rank() == Rank::new(1) {
                for _ in 0..20 {
                    let start = Instant::now();
                    let mut order = Vec::new();
                    while order.len() < 2 {
                        if let Event::Arrived(arrival) = event(&mut fabric) {
                            order.push((arrival.body.len(), start.elapsed()));
                        }
                    }
                    println!("{:7} {order:?}", transport.name());
                    fabric.submit(parcel(0, 1, 1));
                }
                fabric.shutdown(crate::common::LONG);
                return;
            }
            let large = Bytes::from(vec![1; 100_000_000]);
            for round in 0..20 {
                let mut parcel = parcel(1, 2 * round, 0);
                (parcel.body, parcel.slack.priority) = (large.clone(), 5);
                fabric.submit(parcel);
                fabric.submit(crate::common::parcel(1, 2 * round + 1, 64));
                while !matches!(event(&mut fabric), Event::Arrived(_)) {}
            }
            fabric.shutdown(crate::common::LONG);
        });
    }
}
