//! What packets cost the processor of one host in an all-to-all exchange, without any socket.
//!
//! ```text
//! cargo run --release -p laxity-protocol --example cost -- [--keyed [--cipher aes-256-gcm]] [--peers 7] [--rounds 20]
//!     [--loss 0.001]
//! ```
//!
//! A host sends a tensor of 3.1 MB to each of its peers and receives one from each, over links of 1 Gbit/s
//! and 0.5 ms, as in a transpose on eight hosts. Only that host's calls are timed: packets go in by
//! trains of six, as a network card's receive offload hands them over, and out by batches.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use laxity_interface::{Bytes, Ecn, Fraction, Rate, Span, Time};
use laxity_protocol::{
    Batch, BodyRef, CipherChoice, Config, ElementType, Endpoint, Event, Key, Memory, Part, PeerId,
    Piece, RecvId, SendRequest, Sink, Transmit,
};

const TENSOR: usize = 3_125_000;
const DELAY: Span = Span::from_us(250);
const RATE: Rate = Rate::from_gbps(1);
/// What receive offload joins, as measured in a lab.
const TRAIN: usize = 6;

struct Tensor(Vec<u8>);

impl Memory for Tensor {
    fn bytes(&self, body: &BodyRef) -> &[u8] {
        &self.0[body.offset as usize..body.offset as usize + body.length]
    }
}

/// Receives everything into one place: what is copied is copied, where to does not matter.
struct Place(Vec<u8>);

impl Sink for Place {
    fn place(&mut self, _: RecvId, piece: &Piece<'_>) {
        let at = piece.index as usize * 4;
        self.0[at..at + piece.body.len()].copy_from_slice(piece.body);
    }
}

/// One host's line to the switch and the switch's to it.
#[derive(Default)]
struct Line {
    free: Time,
    packets: VecDeque<(Time, usize, Ecn, Vec<u8>)>,
}

struct Host {
    endpoint: Endpoint,
    address: SocketAddr,
    line: Line,
}

#[derive(Default)]
struct Cost {
    receive: Duration,
    send: Duration,
    received: u64,
    sent: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str, default: f64| {
        let at = arguments.iter().position(|argument| argument == name);
        let given = at.and_then(|at| arguments.get(at + 1));
        given.map_or(default, |text| text.parse().expect("a number after the option"))
    };
    let keyed = arguments.iter().any(|argument| argument == "--keyed");
    let cipher = arguments.iter().position(|argument| argument == "--cipher");
    let cipher =
        cipher.and_then(|at| arguments.get(at + 1)).map_or_else(CipherChoice::default, |name| {
            name.parse().unwrap_or_else(|error| panic!("{error}"))
        });
    let config = match keyed {
        true => Config { cipher, ..Config::keyed(Key::new([7; 32])) },
        false => Config::insecure(),
    };
    let (peers, rounds) = (value("--peers", 7.0) as usize, value("--rounds", 20.0) as usize);
    let mut exchange = Exchange::new(peers, &config, value("--loss", 0.001));
    for _ in 0..rounds {
        exchange.round();
    }
    let Cost { receive, send, received, sent } = exchange.cost;
    let per = |time: Duration, packets: u64| time.as_nanos() as f64 / packets as f64;
    println!("{received} packets received, {:.0} ns each", per(receive, received));
    println!("{sent} packets sent, {:.0} ns each", per(send, sent));
    println!("{:.1} ms a round", (receive + send).as_secs_f64() * 1e3 / rounds as f64);
}

struct Exchange {
    hosts: Vec<Host>,
    now: Time,
    memory: Tensor,
    place: Place,
    batch: Batch,
    cost: Cost,
    /// Connections of the first host.
    out: Vec<PeerId>,
    /// Of the others, to the first.
    back: Vec<Option<PeerId>>,
    ended: usize,
    losses: Losses,
}

/// Every so many packets one is lost: no chance, so that runs can be compared.
struct Losses {
    every: u64,
    count: u64,
}

impl Losses {
    fn next(&mut self) -> bool {
        self.count += 1;
        self.every > 0 && self.count.is_multiple_of(self.every)
    }
}

impl Exchange {
    fn new(peers: usize, config: &Config, loss: f64) -> Self {
        let host = |at: usize| Host {
            endpoint: Endpoint::new(config.clone(), [at as u8 + 1; 32]),
            address: SocketAddr::from(([10, 0, 0, at as u8 + 1], 1)),
            line: Line::default(),
        };
        let mut hosts: Vec<_> = (0..=peers).map(host).collect();
        let addresses: Vec<_> = hosts.iter().map(|host| host.address).collect();
        let connect = |to: &SocketAddr| hosts[0].endpoint.connect(Time::ZERO, *to).expect("room");
        let out = addresses[1..].iter().map(connect).collect();
        let mut exchange = Self {
            hosts,
            now: Time::ZERO,
            memory: Tensor((0..TENSOR).map(|byte| (byte % 251) as u8).collect()),
            place: Place(vec![0; TENSOR]),
            batch: Batch::default(),
            cost: Cost::default(),
            out,
            back: vec![None; peers],
            ended: 0,
            losses: Losses { every: if loss > 0.0 { (1.0 / loss) as u64 } else { 0 }, count: 0 },
        };
        exchange.run(|exchange| exchange.back.iter().all(Option::is_some));
        exchange.cost = Cost::default();
        exchange
    }

    fn round(&mut self) {
        let most = Fraction::new(0.98).expect("between 0 and 1");
        let job = SendRequest::tensor(ElementType::F32, TENSOR as u64 / 4, most);
        let (now, wanted) = (self.now, self.ended + 2 * self.out.len());
        for at in 0..self.out.len() {
            let back = self.back[at].expect("connected");
            self.hosts[0].endpoint.send(now, self.out[at], &job).expect("a job fits");
            self.hosts[at + 1].endpoint.send(now, back, &job).expect("a job fits");
        }
        self.run(|exchange| exchange.ended >= wanted);
    }

    fn run(&mut self, is_done: impl Fn(&Self) -> bool) {
        while !is_done(self) {
            for at in 0..self.hosts.len() {
                self.turn(at);
            }
            let lines = self.hosts.iter().filter_map(|host| host.line.packets.front());
            let timers = self.hosts.iter().filter_map(|host| host.endpoint.poll_timeout());
            let next = lines.map(|(at, ..)| *at).chain(timers).min().expect("something is due");
            // Hosts look at their sockets now and then, not at every packet.
            self.now = next.max(self.now + Span::from_us(70));
        }
    }

    fn turn(&mut self, at: usize) {
        let now = self.now;
        let addresses: Vec<_> = self.hosts.iter().map(|host| host.address).collect();
        let host = &mut self.hosts[at];
        let mut came = Vec::new();
        while host.line.packets.front().is_some_and(|(time, ..)| *time <= now) {
            came.extend(host.line.packets.pop_front());
        }
        // Packets of one sender come in trains.
        for trains in came.chunks_mut(TRAIN * addresses.len()) {
            trains.sort_by_key(|(_, from, ..)| *from);
        }
        let began = Instant::now();
        let before = host.endpoint.stats().packets_received;
        for (time, from, ecn, packet) in &mut came {
            let (from, place) = (addresses[*from], &mut self.place);
            host.endpoint.handle_arrival(now, *time, from, *ecn, packet, place);
        }
        host.endpoint.handle_timeout(now);
        if at == 0 {
            self.cost.receive += began.elapsed();
            self.cost.received += host.endpoint.stats().packets_received - before;
        }
        loop {
            let host = &mut self.hosts[at];
            let (began, before) = (Instant::now(), host.endpoint.stats().packets_sent);
            let transmit = host.endpoint.poll_transmit(now, &self.memory, &mut self.batch);
            if at == 0 {
                self.cost.send += began.elapsed();
                self.cost.sent += host.endpoint.stats().packets_sent - before;
            }
            let Some(transmit) = transmit else { break };
            self.carry(at, &transmit);
        }
        while let Some(event) = self.hosts[at].endpoint.poll_event() {
            match event {
                Event::Connected(peer) if at > 0 => self.back[at - 1] = Some(peer),
                Event::Received(..) => self.ended += 1,
                _ => {}
            }
        }
    }

    /// The way through the switch: both lines take turns, nothing overflows.
    fn carry(&mut self, from: usize, transmit: &Transmit) {
        let to = self.hosts.iter().position(|host| host.address == transmit.to).expect("a host");
        let mut bytes = Vec::with_capacity(transmit.total);
        for part in &self.batch.parts {
            match part {
                Part::Head(range) => bytes.extend_from_slice(&self.batch.head[range.clone()]),
                Part::Body(body) => bytes.extend_from_slice(self.memory.bytes(body)),
            }
        }
        let mut lost = Vec::new();
        for packet in bytes.chunks(transmit.segment) {
            lost.push(packet.len() > 500 && self.losses.next());
        }
        let line = &mut self.hosts[to].line;
        for (packet, lost) in bytes.chunks(transmit.segment).zip(lost) {
            if lost {
                continue;
            }
            line.free =
                line.free.max(self.now + DELAY) + RATE.time_for(Bytes::new(packet.len() as u64));
            line.packets.push_back((line.free, from, transmit.ecn, packet.to_vec()));
        }
    }
}
