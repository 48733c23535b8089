//! A peer made by hand: it speaks the wire format without a key and says what no honest peer would.

use std::net::SocketAddr;

use laxity_interface::{Ecn, GroupId, Span, Time};
use laxity_protocol::{
    Batch, BodyRef, Ciphers, Counts, Endpoint, Event, GroupOpen, JobId, JobKind, JobOpen, Memory,
    Piece, RecvId, Sink,
    wire::{Accept, Cursor, DataHeader, Frame, Hello, PacketKind, Params, Retry, put_chunk},
};

/// Memory of an endpoint whose payload does not matter.
#[derive(Debug)]
pub struct Zeros(pub Vec<u8>);

impl Default for Zeros {
    fn default() -> Self {
        Self(vec![0; 16_384])
    }
}

impl Memory for Zeros {
    fn bytes(&self, body: &BodyRef) -> &[u8] {
        &self.0[..body.length]
    }
}

/// Counts what was placed.
#[derive(Debug, Default)]
pub struct Count(pub Vec<(RecvId, u64, u64)>);

impl Sink for Count {
    fn place(&mut self, job: RecvId, piece: &Piece<'_>) {
        self.0.push((job, piece.index, piece.offset));
    }
}

/// An endpoint under test with a clock of its own.
#[derive(Debug)]
pub struct Host {
    pub endpoint: Endpoint,
    pub now: Time,
    pub memory: Zeros,
    pub placed: Count,
    pub events: Vec<Event>,
}

impl Host {
    pub fn new(config: laxity_protocol::Config) -> Self {
        Self {
            endpoint: Endpoint::new(config, [9; 32]),
            now: Time::ZERO + Span::from_ms(1),
            memory: Zeros::default(),
            placed: Count::default(),
            events: Vec::new(),
        }
    }

    /// Hands in a datagram; what the endpoint answers comes back, with where it goes.
    pub fn feed(&mut self, from: SocketAddr, bytes: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        self.now += Span::from_us(1);
        let mut bytes = bytes.to_vec();
        let sink = &mut self.placed;
        self.endpoint.handle_datagram(self.now, from, Ecn::NotEct, &mut bytes, sink);
        self.drain()
    }

    /// Lets time pass until then, step by step.
    pub fn wait(&mut self, span: Span) -> Vec<(SocketAddr, Vec<u8>)> {
        let end = self.now + span;
        let mut out = self.drain();
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| *at <= end) {
            self.now = at.max(self.now);
            self.endpoint.handle_timeout(self.now);
            out.extend(self.drain());
        }
        self.now = end;
        out
    }

    pub fn drain(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let (mut out, mut batch) = (Vec::new(), Batch::default());
        while let Some(transmit) = self.endpoint.poll_transmit(self.now, &self.memory, &mut batch) {
            let packets = batch.packets(&transmit, &self.memory);
            out.extend(packets.into_iter().map(|packet| (transmit.to, packet)));
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
        }
        out
    }

    pub fn stat(&self, name: &str) -> u64 {
        self.endpoint.stats().iter().find(|(known, _)| *known == name).expect("a counter").1
    }
}

/// The hand-made peer, connected.
#[derive(Debug)]
pub struct Raw {
    pub address: SocketAddr,
    pub client: u32,
    pub server: u32,
    pub number: u64,
}

pub fn plain_params(client: u32, server: u32, params: Params) -> Vec<u8> {
    let mut out = params.encode().to_vec();
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&client.to_be_bytes());
    hasher.update(&server.to_be_bytes());
    hasher.update(&params.encode());
    out.extend_from_slice(&hasher.finalize().to_be_bytes());
    out
}

pub fn hello(client: u32, cookie: Option<[u8; 24]>, size: usize) -> Vec<u8> {
    let params = Params { max_datagram: size as u16, eager_bytes: 1 << 19, ciphers: Ciphers::BASE };
    let handshake = plain_params(client, 0, params);
    let hello = Hello { route: 1, client, key_id: None, cookie, handshake: &handshake };
    let mut out = Vec::new();
    hello.put(&mut out, size);
    out
}

impl Raw {
    /// Goes through the handshake.
    pub fn connect(host: &mut Host, address: &str, client: u32) -> Self {
        let address = address.parse().expect("an address");
        let mut raw = Self::call(host, address, client);
        let greeting = raw.packet(&[1]);
        host.feed(address, &greeting);
        assert!(matches!(host.events.last(), Some(Event::Connected(_))));
        raw
    }

    /// The same without the last step, which proves that the answer was heard.
    pub fn call(host: &mut Host, address: SocketAddr, client: u32) -> Self {
        let answers = host.feed(address, &hello(client, None, 1400));
        let retry = Retry::get(&answers[0].1).expect("a cookie");
        let answers = host.feed(address, &hello(client, Some(retry.cookie), 1400));
        let accept = Accept::get(&answers[0].1).expect("an answer");
        Self { address, client, server: accept.server, number: 0 }
    }

    /// Seals frames into the next packet.
    pub fn packet(&mut self, frames: &[u8]) -> Vec<u8> {
        self.number += 1;
        self.numbered(self.number - 1, frames)
    }

    pub fn numbered(&self, number: u64, frames: &[u8]) -> Vec<u8> {
        let header = DataHeader { destination: self.server, number: number as u32 };
        let mut out = header.encode().to_vec();
        out.extend_from_slice(frames);
        let salt = self.client ^ self.server.rotate_left(16);
        let mut hasher = crc32fast::Hasher::new_with_initial(salt);
        hasher.update(&out);
        out.extend_from_slice(&hasher.finalize().to_be_bytes());
        out
    }

    /// Sends a frame and gives the frames that come back.
    pub fn say(&mut self, host: &mut Host, frame: &Frame<'_>) -> Vec<String> {
        let mut bytes = Vec::new();
        frame.put(&mut bytes, 1300);
        self.say_bytes(host, &bytes)
    }

    pub fn say_bytes(&mut self, host: &mut Host, frames: &[u8]) -> Vec<String> {
        let packet = self.packet(frames);
        let answers = host.feed(self.address, &packet);
        answers.iter().flat_map(|(_, bytes)| read(bytes)).collect()
    }

    pub fn chunk(&mut self, host: &mut Host, job: u64, first: u64, bytes: usize) -> Vec<String> {
        let mut frames = Vec::new();
        put_chunk(&mut frames, JobId(job), GroupId(0), first, 8);
        frames.resize(frames.len() + bytes, 0);
        self.say_bytes(host, &frames)
    }
}

/// The frames of a data packet, as text.
pub fn read(packet: &[u8]) -> Vec<String> {
    if packet[0] != PacketKind::Data.first_byte() {
        return Vec::new();
    }
    let mut cursor = Cursor::new(&packet[9..packet.len() - 4]);
    let mut out = Vec::new();
    while !cursor.is_empty() {
        out.push(format!("{:?}", Frame::get(&mut cursor).expect("honest frames")));
    }
    out
}

/// An introduction of one group.
pub fn open(kind: JobKind, bytes: u64, piece: u32, total: u64, required: u64) -> JobOpen {
    let counts = Counts { total, required };
    let group = GroupOpen { id: GroupId(0), counts, ordered: total == required };
    JobOpen {
        kind,
        bytes,
        piece,
        finish: laxity_interface::Finish::FirstPass,
        deadline_us: 0,
        limit_us: 1_000_000,
        groups: std::iter::once(group).collect(),
        label: Vec::new(),
    }
}
