//! All connections behind one socket: who is who, what is due, what to send next.

mod accept;
mod commands;
mod presume;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
};

use laxity_interface::{Dscp, Ecn, Time};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

pub use commands::{LaneInfo, PeerInfo};
pub use presume::Presumed;

use crate::{
    config::Config,
    connection::{Connection, Handshake, Health, Shared},
    crypto::CookieJar,
    error::{Gone, JobError},
    event::Event,
    ids::PeerId,
    path::Intake,
    receive::Sink,
    stats::Stats,
    transmit::{Batch, Memory, Transmit},
    wire::{Accept, DecodeError, PacketKind, Refuse, Retry, peek_destination},
};

/// Answers to strangers waiting to be sent; more are dropped, strangers ask again.
const MAX_OUTBOX: usize = 256;

/// The protocol of one endpoint. It owns no socket and no clock.
///
/// Getters take `&self`; `handle_*` takes in what happened; verbs are the application's commands;
/// `poll_*` gives out what to do. After any mutation: drain [`poll_transmit`](Self::poll_transmit),
/// then [`poll_event`](Self::poll_event), then wait for a datagram or until
/// [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Endpoint {
    shared: Shared,
    jar: CookieJar,
    /// Boxed: the map keeps room for eleven in each of its nodes.
    connections: BTreeMap<PeerId, Box<Connection>>,
    /// Connections by the id that packets to them carry.
    by_id: BTreeMap<u32, PeerId>,
    /// Connections by who asked for them.
    by_caller: BTreeMap<(SocketAddr, u32), PeerId>,
    half_open: usize,
    next_peer: u64,
    outbox: VecDeque<(SocketAddr, Vec<u8>)>,
    /// Connections that changed and have to be looked at.
    dirty: BTreeSet<PeerId>,
    /// Connections that can send now: urgency, turn, who.
    ready: BTreeSet<(u32, u64, PeerId)>,
    turn: u64,
    /// When to look at which connection again.
    wakes: BTreeSet<(Time, PeerId)>,
}

impl Endpoint {
    /// A new endpoint. All its randomness comes from `seed`: drivers take it from the operating
    /// system, simulations count.
    pub fn new(config: Config, seed: [u8; 32]) -> Self {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        let shard = config.shard.0;
        Self {
            shared: Shared {
                config,
                events: VecDeque::new(),
                stats: Stats::default(),
                rng,
                unclaimed: 0,
                active_senders: 0,
                intake: Intake::default(),
            },
            jar: CookieJar::new(&secret),
            connections: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_caller: BTreeMap::new(),
            half_open: 0,
            // Ids of one shard never meet those of another.
            next_peer: u64::from(shard) << 48,
            outbox: VecDeque::new(),
            dirty: BTreeSet::new(),
            ready: BTreeSet::new(),
            turn: 0,
            wakes: BTreeSet::new(),
        }
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Takes a datagram that has just arrived. It is decrypted in place; payload goes to `sink`.
    pub fn handle_datagram<S: Sink>(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        datagram: &mut [u8],
        sink: &mut S,
    ) {
        self.handle_arrival(now, now, from, ecn, datagram, sink);
    }

    /// Takes a datagram that arrived some time ago, at `arrived`, and waited for this call: what it
    /// waited is not blamed on the network.
    pub fn handle_arrival<S: Sink>(
        &mut self,
        now: Time,
        arrived: Time,
        from: SocketAddr,
        ecn: Ecn,
        datagram: &mut [u8],
        sink: &mut S,
    ) {
        self.shared.stats.packets_received += 1;
        self.shared.stats.bytes_received += datagram.len() as u64;
        let (kind, destination) = match peek_destination(datagram) {
            Ok(found) => found,
            Err(DecodeError::Version(_)) => return self.refuse_version(from, datagram),
            Err(_) => {
                self.shared.stats.dropped_malformed += 1;
                return;
            }
        };
        if kind == PacketKind::Hello {
            return self.handle_hello(now, from, datagram);
        }
        let Some(&peer) = self.by_id.get(&destination) else {
            self.shared.stats.dropped_unknown += 1;
            return;
        };
        let Some(connection) = self.connections.get_mut(&peer) else { return };
        if connection.address != from {
            self.shared.stats.dropped_spoofed += 1;
            return;
        }
        let was_half_open = connection.is_open() && !connection.is_confirmed();
        match kind {
            PacketKind::Data => {
                connection.arrived = arrived.min(now);
                connection.handle_packet(now, ecn, datagram, &mut self.shared, sink);
                if was_half_open && connection.is_confirmed() {
                    self.half_open -= 1;
                }
                if connection.closed_by_peer {
                    return self.remove_closed(peer);
                }
                // Packets come in trains: all but the first find it done.
                if connection.is_dirty {
                    return;
                }
            }
            _ => self.handle_answer(now, peer, kind, datagram),
        }
        self.touch(peer);
    }

    /// Something about a connection has changed.
    fn touch(&mut self, peer: PeerId) {
        let known = self.connections.get_mut(&peer);
        if known.is_some_and(|connection| !std::mem::replace(&mut connection.is_dirty, true)) {
            self.dirty.insert(peer);
        }
    }

    /// Retry, Accept or Refuse: only a caller listens.
    fn handle_answer(&mut self, now: Time, peer: PeerId, kind: PacketKind, datagram: &[u8]) {
        let Some(connection) = self.connections.get_mut(&peer) else { return };
        let Handshake::Calling(caller) = &mut connection.handshake else { return };
        match kind {
            PacketKind::Retry => match Retry::get(datagram) {
                Ok(retry) => caller.retry(now, retry.cookie),
                Err(_) => self.shared.stats.dropped_malformed += 1,
            },
            PacketKind::Refuse => match Refuse::get(datagram) {
                Ok(refuse) => caller.hint = Some(refuse.why),
                Err(_) => self.shared.stats.dropped_malformed += 1,
            },
            _ => {
                let Ok(accept) = Accept::get(datagram) else {
                    self.shared.stats.dropped_malformed += 1;
                    return;
                };
                match caller.accept(now, &accept, datagram.len()) {
                    Some((params, server, secrets, rtt)) => {
                        let config = &self.shared.config;
                        connection.establish(now, server, params, secrets, rtt, config);
                        connection.greet(now, &mut self.shared);
                    }
                    None => self.shared.stats.dropped_unauthentic += 1,
                }
            }
        }
    }

    /// Does what is due. Call when the time of [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(at, peer)) = self.wakes.first() {
            if at > now {
                break;
            }
            self.wakes.pop_first();
            let Some(connection) = self.connections.get_mut(&peer) else { continue };
            connection.wake = None;
            let due = connection.next_timeout(&self.shared).is_some_and(|at| at <= now);
            if due && connection.handle_timeout(now, &mut self.shared) == Health::Over {
                self.remove(peer);
                continue;
            }
            self.touch(peer);
        }
    }

    /// The next batch of packets to send now, written into `batch`, or `None`.
    pub fn poll_transmit<M: Memory>(
        &mut self,
        now: Time,
        memory: &M,
        batch: &mut Batch,
    ) -> Option<Transmit> {
        if let Some((to, packet)) = self.outbox.pop_front() {
            batch.clear();
            batch.head.extend_from_slice(&packet);
            batch.push_head(0);
            self.shared.stats.packets_sent += 1;
            self.shared.stats.bytes_sent += packet.len() as u64;
            let (segment, total) = (packet.len(), packet.len());
            return Some(Transmit { to, ecn: Ecn::NotEct, dscp: Dscp::DEFAULT, segment, total });
        }
        while let Some(peer) = self.dirty.pop_first() {
            self.look_at(now, peer);
        }
        while let Some((_, _, peer)) = self.ready.pop_first() {
            let Some(connection) = self.connections.get_mut(&peer) else { continue };
            connection.ready = None;
            let transmit = connection.poll_transmit(now, &mut self.shared, memory, batch);
            if transmit.is_some() && connection.closing {
                // The farewell is out.
                self.remove(peer);
                return transmit;
            }
            self.look_at(now, peer);
            if transmit.is_some() {
                return transmit;
            }
            let again = self.connections.get_mut(&peer).and_then(|c| c.ready.take());
            debug_assert!(again.is_none(), "{peer:?} says it can send and does not");
            if let Some((urgency, turn)) = again {
                // Waiting for ever is better than turning in circles for ever.
                self.ready.remove(&(urgency, turn, peer));
            }
        }
        None
    }

    /// Puts a connection where it belongs: among those that can send, or to sleep until something is
    /// due.
    fn look_at(&mut self, now: Time, peer: PeerId) {
        let Some(connection) = self.connections.get_mut(&peer) else { return };
        connection.is_dirty = false;
        connection.ask_where_done(now);
        let transmit = connection.next_transmit();
        if let Some((urgency, turn)) = connection.ready.take() {
            self.ready.remove(&(urgency, turn, peer));
        }
        if transmit.is_some_and(|at| at <= now) {
            self.turn += 1;
            let place = (connection.urgency(self.shared.config.class_rule), self.turn);
            connection.ready = Some(place);
            self.ready.insert((place.0, place.1, peer));
        }
        let later = transmit.filter(|at| *at > now);
        let wake = [later, connection.next_timeout(&self.shared)].into_iter().flatten().min();
        if connection.wake == wake {
            return;
        }
        if let Some(old) = std::mem::replace(&mut connection.wake, wake) {
            self.wakes.remove(&(old, peer));
        }
        self.wakes.extend(wake.map(|at| (at, peer)));
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called. Valid after
    /// [`poll_transmit`](Self::poll_transmit) returned `None`.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.wakes.first().map(|&(at, _)| at)
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.shared.events.pop_front()
    }

    fn remove_closed(&mut self, peer: PeerId) {
        if let Some(connection) = self.connections.get_mut(&peer) {
            let address = connection.address;
            let error = |progress| JobError::PeerClosed { peer: address, progress };
            connection.fail_all(error, &mut self.shared);
            self.shared.events.push_back(Event::PeerGone(peer, Gone::Closed));
        }
        self.remove(peer);
    }

    fn remove(&mut self, peer: PeerId) {
        let Some(connection) = self.connections.remove(&peer) else { return };
        if connection.is_open() && !connection.is_confirmed() {
            self.half_open -= 1;
        }
        self.by_id.remove(&connection.local);
        self.by_caller.retain(|_, found| *found != peer);
        if let Some((urgency, turn)) = connection.ready {
            self.ready.remove(&(urgency, turn, peer));
        }
        self.dirty.remove(&peer);
        if let Some(wake) = connection.wake {
            self.wakes.remove(&(wake, peer));
        }
    }

    /// A connection id that is not taken and that steers to this endpoint's socket.
    fn fresh_id(&mut self) -> u32 {
        let (index, count) = self.shared.config.shard;
        loop {
            let [first, rest @ ..] = self.shared.rng.next_u32().to_be_bytes();
            let steered = u16::from(first - first % count) + u16::from(index);
            let Ok(first) = u8::try_from(steered) else { continue };
            let id = u32::from_be_bytes([first, rest[0], rest[1], rest[2]]);
            if !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    fn fresh_seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.shared.rng.fill_bytes(&mut seed);
        seed
    }

    fn answer(&mut self, to: SocketAddr, write: impl FnOnce(&mut Vec<u8>)) {
        if self.outbox.len() < MAX_OUTBOX {
            let mut packet = Vec::new();
            write(&mut packet);
            self.outbox.push_back((to, packet));
        }
    }
}
