//! Nodes, links and the clock.

use std::{collections::BTreeMap, net::SocketAddr};

use laxity_interface::{Bytes, Ecn, Span, Time};
use laxity_link::{Link, PacketInfo, flip_bits};
use laxity_protocol::{Batch, Config, Endpoint, Event, PeerId, Piece, RecvId, Sink};

use super::{Action, Job, Rival, netstat, path::PathSpec, payload::NodeMemory, rival};

/// Where packets of the foreign flow come from and go to.
const RIVAL: usize = usize::MAX;

/// A datagram on its way.
#[derive(Clone, Debug)]
pub struct Packet {
    pub from: usize,
    pub to: usize,
    pub bytes: Vec<u8>,
}

/// An endpoint and what its application knows.
#[derive(Debug)]
pub struct Node {
    pub endpoint: Endpoint,
    pub address: SocketAddr,
    pub alive: bool,
    /// Until when its host does not run it, and what arrives meanwhile.
    stalled: Time,
    inbox: Vec<(Packet, Ecn, Time)>,
    /// A busy host: packets wait up to so long until the endpoint runs.
    busy: Span,
    /// State of the chance by which they wait.
    dice: u64,
    pub peers: BTreeMap<PeerId, usize>,
    pub log: Vec<(Time, Event)>,
}

impl Node {
    /// When it wants to run next and may.
    fn wakes(&self) -> Option<Time> {
        let inbox = (!self.inbox.is_empty()).then_some(self.stalled);
        let timer = self.endpoint.poll_timeout().map(|at| at.max(self.stalled));
        inbox.into_iter().chain(timer).min()
    }
}

/// Everything.
#[derive(Debug)]
pub struct World {
    pub title: String,
    pub now: Time,
    pub nodes: Vec<Node>,
    pub links: Vec<Link<Packet>>,
    /// Which link leads from where to where.
    route: BTreeMap<(usize, usize), usize>,
    pub jobs: Vec<Job>,
    actions: BTreeMap<(Time, u64), Action>,
    planned: u64,
    batch: Batch,
    /// A foreign flow, and the link that it shares.
    pub rival: Option<(Rival, usize)>,
    /// A hash of all packets, their times and places.
    pub trace: u64,
    pub packets: u64,
    /// Dies when so many packets were sent in all.
    pub kill: Option<(usize, u64)>,
    /// Forgets single events to save memory.
    pub keep_log: bool,
    still: u32,
}

/// Puts payload where the test can judge it.
struct Placer<'a> {
    jobs: &'a mut [Job],
    from: usize,
    to: usize,
}

impl Sink for Placer<'_> {
    fn place(&mut self, id: RecvId, piece: &Piece<'_>) {
        find_job(self.jobs, self.from, self.to, id).take(piece);
    }
}

pub(super) fn find_job(jobs: &mut [Job], from: usize, to: usize, id: RecvId) -> &mut Job {
    let fits = |job: &&mut Job| {
        job.from == from && job.to == to && job.id.is_some_and(|sent| sent.job == id.job)
    };
    jobs.iter_mut().find(fits).expect("only jobs that were sent arrive")
}

impl World {
    /// Nodes without links between them.
    pub fn new(title: impl Into<String>, seed: u64, configs: Vec<Config>) -> Self {
        let node = |(at, config): (usize, Config)| {
            let mut bytes = [at as u8; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            Node {
                endpoint: Endpoint::new(config, bytes),
                address: SocketAddr::from(([10, 0, 0, at as u8 + 1], 4000 + at as u16)),
                alive: true,
                stalled: Time::ZERO,
                inbox: Vec::new(),
                busy: Span::ZERO,
                dice: seed ^ at as u64,
                peers: BTreeMap::new(),
                log: Vec::new(),
            }
        };
        Self {
            title: title.into(),
            now: Time::ZERO,
            nodes: configs.into_iter().enumerate().map(node).collect(),
            links: Vec::new(),
            route: BTreeMap::new(),
            jobs: Vec::new(),
            actions: BTreeMap::new(),
            planned: 0,
            batch: Batch::default(),
            rival: None,
            trace: 0,
            packets: 0,
            kill: None,
            keep_log: true,
            still: 0,
        }
    }

    /// Adds a link; several pairs may share it.
    pub fn link(&mut self, pairs: &[(usize, usize)], spec: &PathSpec, seed: u64) {
        let index = self.links.len();
        self.links.push(spec.build(seed, index as u64));
        self.route.extend(pairs.iter().map(|pair| (*pair, index)));
    }

    pub fn plan(&mut self, at: Time, action: Action) {
        self.planned += 1;
        self.actions.insert((at, self.planned), action);
    }

    /// Adds a job that starts once its ends are connected.
    pub fn add(&mut self, job: Job) -> usize {
        self.jobs.push(job);
        self.jobs.len() - 1
    }

    /// The peer that node `node` calls when it means node `other`.
    pub fn peer(&self, node: usize, other: usize) -> Option<PeerId> {
        let node = self.nodes.get(node)?;
        node.peers.iter().find(|(_, at)| **at == other).map(|(peer, _)| *peer)
    }

    /// Does what comes next; false if nothing will ever happen again.
    pub fn step(&mut self) -> bool {
        let links = self.links.iter().filter_map(Link::poll_timeout);
        let nodes = self.nodes.iter().filter(|node| node.alive);
        let wakes = nodes.filter_map(Node::wakes);
        let planned = self.actions.first_key_value().map(|((at, _), _)| *at);
        let rival = self.rival.as_ref().and_then(|(rival, _)| rival.poll_timeout(self.now));
        let Some(next) = links.chain(wakes).chain(planned).chain(rival).min() else { return false };
        self.still = if next > self.now { 0 } else { self.still + 1 };
        assert!(self.still < 10_000, "time stands still at {}", self.now);
        self.now = next.max(self.now);
        for link in 0..self.links.len() {
            while let Some(delivery) = self.links[link].poll_delivery(self.now) {
                let mut packet = delivery.payload;
                if packet.from == RIVAL {
                    let number = u64::from_le_bytes(packet.bytes[..8].try_into().expect("eight"));
                    let (rival, _) = self.rival.as_mut().expect("its packets come from it");
                    rival.handle_packet(self.now, number);
                    continue;
                }
                if let Some(random) = delivery.corrupt {
                    flip_bits(&mut packet.bytes, random);
                }
                self.deliver(packet, delivery.info.ecn);
            }
        }
        for node in 0..self.nodes.len() {
            if !self.nodes[node].alive || self.nodes[node].stalled > self.now {
                continue;
            }
            for (packet, ecn, arrived) in std::mem::take(&mut self.nodes[node].inbox) {
                self.hand_over(packet, ecn, arrived);
            }
            if self.nodes[node].endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                self.nodes[node].endpoint.handle_timeout(self.now);
                self.drain(node);
            }
        }
        self.run_rival();
        while let Some(entry) = self.actions.first_entry()
            && entry.key().0 <= self.now
        {
            let action = entry.remove();
            self.act(action);
        }
        true
    }

    fn run_rival(&mut self) {
        let Some((rival, link)) = &mut self.rival else { return };
        rival.handle_timeout(self.now);
        while let Some(number) = rival.poll_packet(self.now) {
            let bytes = number.to_le_bytes().to_vec();
            let packet = Packet { from: RIVAL, to: RIVAL, bytes };
            let _ =
                self.links[*link].handle_packet(self.now, PacketInfo::new(rival::PACKET), packet);
        }
    }

    /// A datagram arrives, from wherever.
    pub fn deliver(&mut self, packet: Packet, ecn: Ecn) {
        let node = &mut self.nodes[packet.to];
        if !node.alive {
            return;
        }
        if node.stalled <= self.now && !node.busy.is_zero() {
            node.dice = node.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            node.stalled =
                self.now + node.busy.mul_f64((node.dice >> 40) as f64 / (1u64 << 24) as f64);
        }
        if node.stalled > self.now {
            return node.inbox.push((packet, ecn, self.now));
        }
        self.hand_over(packet, ecn, self.now);
    }

    /// The endpoint gets a datagram that reached its host at `arrived`.
    fn hand_over(&mut self, mut packet: Packet, ecn: Ecn, arrived: Time) {
        let (from, to) = (packet.from, packet.to);
        let address = self.nodes[from].address;
        let mut placer = Placer { jobs: &mut self.jobs, from, to };
        let bytes = &mut packet.bytes;
        let endpoint = &mut self.nodes[to].endpoint;
        endpoint.handle_arrival(self.now, arrived, address, ecn, bytes, &mut placer);
        self.drain(to);
    }

    /// A node's host is busy all the time: packets wait up to `most` until the endpoint runs.
    pub fn busy(&mut self, node: usize, most: Span) {
        self.nodes[node].busy = most;
    }

    /// A node's host is busy with something else for a while.
    pub fn stall(&mut self, node: usize, span: Span) {
        self.nodes[node].stalled = self.now + span;
    }

    /// Sends what a node wants to send and hears what it has to say.
    pub fn drain(&mut self, at: usize) {
        loop {
            // Who dies in the middle of sending has heard what it heard before.
            while self.nodes[at].alive && self.transmit(at) {}
            let Some(event) = self.nodes[at].endpoint.poll_event() else { return };
            self.hear(at, event);
        }
    }

    /// Sends one batch; false if there is none.
    fn transmit(&mut self, at: usize) -> bool {
        let node = &mut self.nodes[at];
        let memory = NodeMemory { node: at, peers: &node.peers };
        let transmit = node.endpoint.poll_transmit(self.now, &memory, &mut self.batch);
        let Some(transmit) = transmit else { return false };
        let to = usize::from(transmit.to.port() - 4000);
        let packets = self.batch.packets(&transmit, &memory);
        let sizes = packets.iter().map(Vec::len);
        assert_eq!(sizes.sum::<usize>(), transmit.total, "a batch is as large as it says");
        for bytes in packets {
            if self.kill.is_some_and(|(_, after)| after <= self.packets) {
                let (victim, _) = self.kill.take().expect("it was there");
                self.nodes[victim].alive = false;
                if victim == at {
                    return false;
                }
            }
            self.packets += 1;
            self.note(at, to, &bytes);
            let info = PacketInfo::new(Bytes::new(bytes.len() as u64))
                .with_ecn(transmit.ecn)
                .with_dscp(transmit.dscp);
            if let Some(&link) = self.route.get(&(at, to)) {
                let packet = Packet { from: at, to, bytes };
                let _ = self.links[link].handle_packet(self.now, info, packet);
            }
        }
        true
    }

    fn note(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.trace as u32);
        hasher.update(bytes);
        let packet = u64::from(hasher.finalize()) ^ self.now.as_ps() ^ (from * 256 + to) as u64;
        self.trace = (self.trace ^ packet).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }

    /// Runs until `done` or until nothing happens any more or the time is up.
    pub fn run_until(&mut self, limit: Time, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if self.now >= limit || !self.step() {
                return done(self);
            }
        }
        true
    }

    /// Runs for so long.
    pub fn run_for(&mut self, span: Span) {
        let end = self.now + span;
        self.run_until(end, |_| false);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}\n{}", self.title, netstat::snapshot(self));
        }
    }
}
