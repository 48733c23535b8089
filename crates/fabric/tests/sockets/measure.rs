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

/// Waits until `count` arrivals have come and as many parcels are through.
fn drain(fabric: &mut Fabric, count: usize) {
    let (mut arrived, mut sent) = (0, 0);
    while arrived < count || sent < count {
        match event(fabric) {
            Event::Arrived(_) => arrived += 1,
            Event::Sent { .. } => sent += 1,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn measure_all_to_all() {
    const RANKS: u32 = 8;
    const SIZE: usize = 25_000_000;
    const ROUNDS: u64 = 3;
    for _ in 0..2 {
        for transport in crate::common::BOTH {
            let seconds = world(RANKS, transport, |mut fabric| {
                let me = fabric.rank().get();
                let body = Bytes::from(vec![1; SIZE]);
                let mut best = f64::MAX;
                for round in 0..=ROUNDS {
                    let start = Instant::now();
                    for to in (0..RANKS).filter(|to| *to != me) {
                        let to = Rank::new(to);
                        let envelope = envelope(round, ElementType::F32, SIZE / 4);
                        let body = body.clone();
                        fabric.submit(Parcel { to, envelope, body, slack: Slack::EXACT });
                    }
                    drain(&mut fabric, RANKS as usize - 1);
                    // The first makes the connections.
                    if round > 0 {
                        best = best.min(start.elapsed().as_secs_f64());
                    }
                }
                fabric.shutdown(crate::common::LONG);
                best
            });
            let slowest = seconds.into_iter().fold(0.0, f64::max);
            let bytes = f64::from(RANKS * (RANKS - 1)) * SIZE as f64;
            let gigabits = bytes * 8.0 / slowest / 1e9;
            println!("{:7} 8 x 7 x 25 MB: {slowest:.2} s, {gigabits:.1} Gbit/s", transport.name());
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
