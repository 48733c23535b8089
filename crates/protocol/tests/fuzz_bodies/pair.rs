//! Two endpoints and the packets between them, which the fuzzer may touch.

use std::{collections::BTreeSet, net::SocketAddr};

use laxity_interface::{Bytes, Ecn, Span, Time};
use laxity_protocol::{
    Batch, BodyRef, Config, Endpoint, Event, Key, Memory, PeerId, Piece, RecvId, SendId, Sink,
    wire::{Accept, PacketKind},
};

pub struct Zeros(Vec<u8>);

impl Memory for Zeros {
    fn bytes(&self, body: &BodyRef) -> &[u8] {
        &self.0[..body.length]
    }
}

/// Notes that nothing is placed twice.
#[derive(Default)]
pub struct Once(BTreeSet<(RecvId, u16, u64, u64)>);

impl Sink for Once {
    fn place(&mut self, job: RecvId, piece: &Piece<'_>) {
        let new = self.0.insert((job, piece.group.0, piece.index, piece.offset));
        assert!(new, "placed twice");
    }
}

pub struct Pair {
    pub now: Time,
    pub ends: [Endpoint; 2],
    pub addresses: [SocketAddr; 2],
    /// Packets on their way to each side.
    pub wire: [Vec<(Ecn, Vec<u8>)>; 2],
    pub peers: [Option<PeerId>; 2],
    pub sends: [Vec<SendId>; 2],
    pub recvs: [Vec<RecvId>; 2],
    /// Connection ids of client and server, once they went over the wire.
    pub ids: Option<(u32, u32)>,
    placed: [Once; 2],
    memory: Zeros,
    batch: Batch,
}

impl Pair {
    pub fn new(keyed: bool) -> Self {
        let mut config = match keyed {
            true => Config::keyed(Key::new([1; 32])),
            false => Config::insecure(),
        };
        config.max_pieces = 4096;
        config.max_jobs = 6;
        config.unclaimed_limit = Bytes::from_kib(64);
        config.time_limit = Span::from_ms(300);
        config.dead_after = Span::from_secs(1);
        let end = |seed| Endpoint::new(config.clone(), [seed; 32]);
        Self {
            now: Time::ZERO + Span::from_ms(1),
            ends: [end(1), end(2)],
            addresses: [SocketAddr::from(([10, 0, 0, 1], 1)), SocketAddr::from(([10, 0, 0, 2], 1))],
            wire: Default::default(),
            peers: [None; 2],
            sends: Default::default(),
            recvs: Default::default(),
            ids: None,
            placed: Default::default(),
            memory: Zeros(vec![0; 16_384]),
            batch: Batch::default(),
        }
    }

    /// Hands a datagram to a side, in the name of the other or of a stranger.
    pub fn deliver(&mut self, to: usize, from: SocketAddr, ecn: Ecn, mut bytes: Vec<u8>) {
        let sink = &mut self.placed[to];
        self.ends[to].handle_datagram(self.now, from, ecn, &mut bytes, sink);
        self.drain(to);
    }

    /// The oldest packet on its way to a side arrives.
    pub fn deliver_next(&mut self, to: usize) -> bool {
        if self.wire[to].is_empty() {
            return false;
        }
        let (ecn, bytes) = self.wire[to].remove(0);
        self.deliver(to, self.addresses[1 - to], ecn, bytes);
        true
    }

    pub fn drain(&mut self, side: usize) {
        let end = &mut self.ends[side];
        while let Some(sent) = end.poll_transmit(self.now, &self.memory, &mut self.batch) {
            for packet in self.batch.packets(&sent, &self.memory) {
                if packet[0] == PacketKind::Accept.first_byte()
                    && let Ok(accept) = Accept::get(&packet)
                {
                    self.ids = Some((accept.client, accept.server));
                }
                // Whatever goes elsewhere or is too much is lost.
                if sent.to == self.addresses[1 - side] && self.wire[1 - side].len() < 500 {
                    self.wire[1 - side].push((sent.ecn, packet));
                }
            }
        }
        while let Some(event) = end.poll_event() {
            match event {
                Event::Connected(peer) => self.peers[side] = Some(peer),
                Event::Offered { id, .. } => self.recvs[side].push(id),
                Event::Received(_, report) => {
                    for group in &report.groups {
                        assert!(group.received >= group.required, "the promise");
                        assert!(group.received <= group.total);
                    }
                }
                _ => {}
            }
        }
    }

    /// Lets time pass; timers fire.
    pub fn advance(&mut self, span: Span) {
        self.now += span;
        for side in 0..2 {
            let mut turns = 0;
            while self.ends[side].poll_timeout().is_some_and(|at| at <= self.now) {
                self.ends[side].handle_timeout(self.now);
                self.drain(side);
                turns += 1;
                assert!(turns < 1000, "timers that are never content");
            }
        }
    }

    /// From here on nothing goes wrong: every job must end within its time limit.
    pub fn settle(&mut self) {
        let end = self.now + Span::from_secs(5);
        while self.now < end && (0..2).any(|side| self.is_busy(side)) {
            while self.deliver_next(0) || self.deliver_next(1) {}
            let wakes = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
            let Some(next) = wakes else { break };
            self.advance(next.since(self.now).max(Span::from_us(10)));
        }
        for side in 0..2 {
            assert!(!self.is_busy(side), "a job never ended");
            assert!(self.ends[side].unclaimed().is_zero(), "room that nobody uses");
        }
    }

    fn is_busy(&self, side: usize) -> bool {
        let end = &self.ends[side];
        let mut infos = end.peers().filter_map(|peer| end.peer(peer));
        infos.any(|info| info.sending + info.receiving > 0)
    }

    /// Nobody can make an endpoint keep more than its configuration allows.
    pub fn check_bounds(&self) {
        for end in &self.ends {
            let config = end.config();
            assert!(end.unclaimed() <= config.unclaimed_limit);
            for info in end.peers().filter_map(|peer| end.peer(peer)) {
                assert!(info.receiving <= config.max_jobs);
                assert!(info.ending <= 4 * config.max_jobs + 16);
            }
        }
    }
}
