//! A connection to one peer: handshake, packets in, packets out, timers, jobs.
//!
//! The struct is one; what it does is spread over the files of this folder by direction.

mod acks;
mod closed;
mod control;
mod frames;
mod handshake;
mod incoming;
mod jobs;
mod lane;
mod packets;
mod payload;
mod timers;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
};

use laxity_interface::{Rate, Span, Time};
use rand_chacha::ChaCha20Rng;

use closed::Closed;
pub(crate) use handshake::{Caller, Handshake, own_params};
use lane::Lane;
pub(crate) use timers::Health;

use crate::{
    config::Config,
    control::{ControllerKind, Start},
    crypto::{Cipher, Opener, Sealer, Secrets},
    event::Event,
    ids::{JobId, PeerId},
    path::{Control, Intake, Received, Rtt, Sent, SentPackets},
    receive::RecvJob,
    send::SendJob,
    slack::LaneKind,
    stats::Stats,
    wire::{DATA_HEADER, Params},
};

/// What all connections of an endpoint share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) events: VecDeque<Event>,
    pub(crate) stats: Stats,
    pub(crate) rng: ChaCha20Rng,
    /// Bytes charged for jobs nobody has claimed.
    pub(crate) unclaimed: u64,
    /// Peers with a job under way to here.
    pub(crate) active_senders: u64,
    /// What all peers send to here, together.
    pub(crate) intake: Intake,
}

/// Keys and rates, there once the handshake is through.
#[derive(Debug)]
struct Open {
    sealer: Sealer,
    opener: Opener,
    remote: u32,
    max_datagram: usize,
    /// Payload bytes of a job that may leave before the receiver has spoken.
    eager_bytes: u64,
    /// The peer has proved that it received our keys.
    confirmed: bool,
}

/// When to acknowledge.
#[derive(Debug, Default)]
struct AckState {
    /// Packets that want an answer.
    waiting: u64,
    /// When the answer is due.
    due: Option<Time>,
    /// At once.
    now: bool,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: PeerId,
    pub(crate) address: SocketAddr,
    pub(crate) local: u32,
    pub(crate) handshake: Handshake,
    open: Option<Open>,
    rtt: Rtt,
    sent: SentPackets,
    received: Received,
    ack: AckState,
    lanes: [Lane; 2],
    /// Control frames to send, oldest first, each once.
    control: VecDeque<Control>,
    pub(crate) sends: BTreeMap<JobId, SendJob>,
    pub(crate) recvs: BTreeMap<JobId, RecvJob>,
    next_job: u64,
    /// Received jobs that are over and forgotten.
    closed: Closed,
    /// Received jobs whose sender was told to wait.
    holding: BTreeSet<JobId>,
    resets: BTreeMap<(JobId, bool), u64>,
    /// CE marks the peer has reported.
    marks_seen: u64,
    /// How many send to the peer, and what it gets from them together.
    peer_senders: u64,
    peer_intake: Option<Rate>,
    /// Estimate of the loss towards here, from gaps in packet numbers.
    gaps: (u64, u64),
    loss_due: Option<Time>,
    /// Times in a row that nothing was heard, and when last (or when something was).
    probes: u32,
    probed: Time,
    /// How often the next control packet is sent: answers are rare where most packets are lost.
    copies: u32,
    /// Packet numbers below this have been used to measure the round trip.
    timed: u64,
    /// When the packet that is being looked at reached this host.
    pub(crate) arrived: Time,
    last_heard: Time,
    last_sent: Time,
    counts_as_sender: bool,
    /// Kept only for its memory: packets that are being found lost.
    lost: Vec<Sent>,
    /// This side is about to say farewell.
    pub(crate) closing: bool,
    /// The other side has.
    pub(crate) closed_by_peer: bool,
    /// Where it stands among the connections that can send.
    pub(crate) ready: Option<(u32, u64)>,
    /// When it wants to be looked at, as the endpoint knows it.
    pub(crate) wake: Option<Time>,
    /// The endpoint knows that it has to look at it.
    pub(crate) is_dirty: bool,
}

impl Connection {
    pub(crate) fn new(
        now: Time,
        id: PeerId,
        address: SocketAddr,
        local: u32,
        handshake: Handshake,
        config: &Config,
    ) -> Self {
        let start = start(config, usize::from(config.max_datagram), config.initial_rtt);
        Self {
            id,
            address,
            local,
            handshake,
            open: None,
            rtt: Rtt::new(config.initial_rtt),
            sent: SentPackets::default(),
            received: Received::default(),
            ack: AckState::default(),
            lanes: lanes(config, &start),
            control: VecDeque::new(),
            sends: BTreeMap::new(),
            recvs: BTreeMap::new(),
            next_job: 0,
            closed: Closed::default(),
            holding: BTreeSet::new(),
            resets: BTreeMap::new(),
            marks_seen: 0,
            peer_senders: 1,
            peer_intake: None,
            gaps: (0, 0),
            loss_due: None,
            probes: 0,
            probed: now,
            copies: 1,
            timed: 0,
            arrived: now,
            last_heard: now,
            last_sent: now,
            counts_as_sender: false,
            lost: Vec::new(),
            closing: false,
            closed_by_peer: false,
            ready: None,
            wake: None,
            is_dirty: false,
        }
    }

    /// The handshake is through.
    pub(crate) fn establish(
        &mut self,
        now: Time,
        remote: u32,
        params: Params,
        secrets: Secrets,
        rtt: Option<Span>,
        config: &Config,
    ) {
        let (sealer, opener) = secrets.into_guards();
        if let Some(rtt) = rtt {
            self.rtt.guess(rtt);
        }
        let max_datagram = usize::from(params.max_datagram);
        self.lanes = lanes(config, &start(config, max_datagram, self.rtt.smoothed()));
        self.open = Some(Open {
            sealer,
            opener,
            remote,
            max_datagram,
            eager_bytes: u64::from(params.eager_bytes),
            confirmed: false,
        });
        self.last_heard = now;
    }

    /// The path carries less than was agreed on.
    pub(crate) fn shrink(&mut self, size: usize) {
        if let Some(open) = &mut self.open {
            open.max_datagram = open.max_datagram.min(size);
        }
    }

    /// The server proved that it has the key; now it waits for the client's first packet.
    pub(crate) fn greet(&mut self, now: Time, shared: &mut Shared) {
        self.trust(now, shared);
        self.queue(Control::Ping);
    }

    /// The other side is there and has the keys.
    pub(crate) fn trust(&mut self, now: Time, shared: &mut Shared) {
        if let Some(open) = &mut self.open {
            open.confirmed = true;
        }
        self.confirm(now, shared);
    }

    /// Starts the lanes anew with what is known of the path now.
    fn restart_lanes(&mut self, config: &Config) {
        let packet = self
            .open
            .as_ref()
            .map_or_else(|| usize::from(config.max_datagram), |open| open.max_datagram);
        self.lanes = lanes(config, &start(config, packet, self.rtt.smoothed()));
    }

    /// Whether jobs can flow.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the other side has proved that it is there and has the keys.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.confirmed)
    }

    /// What protects packets, if there is a key.
    pub(crate) fn cipher(&self) -> Option<Cipher> {
        self.open.as_ref()?.sealer.cipher()
    }

    /// Whether a job is under way in either direction.
    pub(crate) fn is_busy(&self) -> bool {
        !self.sends.is_empty() || self.recvs.values().any(|job| job.ended.is_none())
    }

    /// Round-trip time, as estimated.
    pub(crate) fn smoothed_rtt(&self) -> Span {
        self.rtt.smoothed()
    }

    /// What a lane does and why.
    pub(crate) fn lane(&self, kind: LaneKind) -> &Lane {
        &self.lanes[kind as usize]
    }

    /// Replaces a lane's controller.
    pub(crate) fn set_controller(
        &mut self,
        kind: LaneKind,
        controller: ControllerKind,
        config: &Config,
    ) {
        let packet = self
            .open
            .as_ref()
            .map_or_else(|| usize::from(config.max_datagram), |open| open.max_datagram);
        let start = start(config, packet, self.rtt.smoothed());
        self.lanes[kind as usize].set_controller(controller.build(&start));
    }

    /// Bytes of a packet that frames may use.
    fn frame_room(&self) -> usize {
        let open = self.open.as_ref().expect("asked only when open");
        open.max_datagram - DATA_HEADER - open.sealer.overhead()
    }

    fn queue(&mut self, control: Control) {
        if !self.control.contains(&control) {
            self.control.push_back(control);
        }
    }
}

fn start(config: &Config, packet: usize, rtt: Span) -> Start {
    Start {
        line_rate: config.line_rate,
        packet: packet as u64,
        rtt,
        initial_packets: config.initial_packets,
        slack_start: config.slack_start,
    }
}

fn lanes(config: &Config, start: &Start) -> [Lane; 2] {
    [
        Lane::new(LaneKind::Exact, config.exact_controller.build(start)),
        Lane::new(LaneKind::Slack, config.slack_controller.build(start)),
    ]
}
