//! Everything that can be set, with its default and what it costs.

use laxity_interface::{Bytes, Layout, Rate, Span};

use crate::{
    control::ControllerKind,
    crypto::{CipherChoice, Key},
    slack::DscpMap,
};

/// Settings of an endpoint. The defaults suit a datacenter or office network: round trips from tens
/// of microseconds to tens of milliseconds, links from 100 Mbit/s to 100 Gbit/s.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who may talk to this endpoint: holders of any of these keys. The first is used for connecting.
    pub keys: Keys,
    /// Which ciphers may protect packets, where there are keys. Default [`CipherChoice::Fastest`].
    pub cipher: CipherChoice,
    /// The largest datagram to send and take, in bytes of UDP payload. A path that does not carry it
    /// falls back to [`BASE_DATAGRAM`]. Default 1452 (Ethernet under IPv6).
    pub max_datagram: u16,
    /// Controller for groups that may lose something. Default [`ControllerKind::Laxity`].
    pub slack_controller: ControllerKind,
    /// Controller for groups that may not. Default [`ControllerKind::Laxity`].
    pub exact_controller: ControllerKind,
    /// Speed of the interface, if known. It caps the rate and makes shares fair under incast.
    /// Default: unknown.
    pub line_rate: Option<Rate>,
    /// Packets that may leave before anything is known about a path. Default 32.
    pub initial_packets: u64,
    /// First rate of the papers' controllers ([`ControllerKind::Slack`],
    /// [`ControllerKind::FixedTlr`]). Default: the initial packets per round trip.
    pub slack_start: Option<Rate>,
    /// Payload packets that leave at once at most. Default: as many as the host's timers need to keep
    /// the rate, up to a batch. Only hosts whose timers cost nothing (simulated ones) should say 1.
    pub max_burst: Option<u64>,
    /// An epoch is a round trip, but not shorter than this. Default 5 µs.
    pub min_epoch: Span,
    /// Round trip assumed before one was measured. Default 50 ms: it only paces handshake repeats.
    pub initial_rtt: Span,
    /// Jobs that end with enough send no more than enough, and what gets lost. Default true; the papers'
    /// protocols send everything.
    pub only_enough: bool,
    /// Whose turn it is among jobs to one peer that nothing else tells apart. Default
    /// [`JobOrder::Fair`].
    pub job_order: JobOrder,
    /// How a job's class in the network is chosen. Default [`ClassRule::Remaining`], which suits
    /// [`Layout::Shared`] and networks that nobody set up; see [`on`](Self::on).
    pub class_rule: ClassRule,
    /// Code points of the classes.
    pub dscp: DscpMap,
    /// An answer to payload waits at most this long. Default 500 µs, and never more than an eighth of
    /// a round trip.
    pub max_ack_delay: Span,
    /// A peer that owes an answer and was silent for this long is dead. Default 5 s.
    pub dead_after: Span,
    /// Connections without jobs are watched like those with: asked every quarter of `dead_after`, and
    /// dead after it. Default false: an idle connection costs no packets.
    pub watch_idle: bool,
    /// A connection without jobs is let go after this long. Default 10 minutes.
    pub idle_after: Span,
    /// How long to try to connect. Default 5 s.
    pub connect_timeout: Span,
    /// The time limit of jobs that do not state one. Default 10 minutes.
    pub time_limit: Span,
    /// Peers at once. Default 4096; an idle one takes a few kilobytes.
    pub max_peers: usize,
    /// Half-open connections at once, from strangers. Default 1024.
    pub max_half_open: usize,
    /// Jobs at once per peer and direction. Default 64.
    pub max_jobs: usize,
    /// Packets a job may consist of; a receiver keeps one bit for each. Default 16 Mi.
    pub max_pieces: u64,
    /// Bytes of jobs that are received before an application asked for them, over all peers.
    /// Larger jobs wait for [`Endpoint::claim`](crate::Endpoint::claim). Default 32 MiB.
    pub unclaimed_limit: Bytes,
    /// Low bits of this endpoint's connection ids, so that a kernel filter can steer packets to one
    /// of several sockets: `(index, count)`. Default `(0, 1)`.
    pub shard: (u8, u8),
}

/// Datagrams of this size pass every network that matters (1280-byte IPv6 minimum, less headers).
pub const BASE_DATAGRAM: u16 = 1232;

/// Whose turn it is among jobs to one peer with the same priority and deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum JobOrder {
    /// All of them, by their weights. Jobs of different users should not wait for each other.
    #[default]
    Fair,
    /// The oldest first, as on a stream. For jobs that are steps of one computation: what was needed
    /// first ends first.
    Oldest,
}

/// The smallest datagram that makes sense: handshake packets and introductions have to fit.
pub const MIN_DATAGRAM: u16 = 1200;

/// Who may talk.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Holders of one of these.
    Keyed(Vec<Key>),
    /// Everybody. Packets carry a checksum against accidents and nothing against people.
    Insecure,
}

/// How the class of a job's packets is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassRule {
    /// Everything travels as ordinary traffic.
    Ordinary,
    /// The class follows what is left to deliver, anew each epoch: whoever needs least goes first, in
    /// this host too. For [`Layout::Shared`], and harmless where code points mean nothing. In the tiny
    /// queues of [`Layout::Slack`] large jobs would lose most of what they send.
    Remaining,
    /// The class follows the target loss rate, anew each epoch, for [`Layout::Slack`]. (The paper's.)
    Dynamic,
    /// The class of the first epoch, for ever (the paper's ATP_FixPrio).
    First,
}

impl ClassRule {
    /// The rule for ports of this layout.
    pub const fn on(layout: Layout) -> Self {
        match layout {
            Layout::Single | Layout::Shared => Self::Remaining,
            Layout::Slack => Self::Dynamic,
        }
    }
}

impl Config {
    /// The defaults with these keys.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            cipher: CipherChoice::default(),
            max_datagram: 1452,
            slack_controller: ControllerKind::Laxity,
            exact_controller: ControllerKind::Laxity,
            line_rate: None,
            initial_packets: 32,
            slack_start: None,
            max_burst: None,
            min_epoch: Span::from_us(5),
            initial_rtt: Span::from_ms(50),
            only_enough: true,
            job_order: JobOrder::Fair,
            class_rule: ClassRule::on(Layout::Shared),
            dscp: DscpMap::default(),
            max_ack_delay: Span::from_us(500),
            dead_after: Span::from_secs(5),
            watch_idle: false,
            idle_after: Span::from_secs(600),
            connect_timeout: Span::from_secs(5),
            time_limit: Span::from_secs(600),
            max_peers: 4096,
            max_half_open: 1024,
            max_jobs: 64,
            max_pieces: 16 << 20,
            unclaimed_limit: Bytes::from_mib(32),
            shard: (0, 1),
        }
    }

    /// With one key.
    pub fn keyed(key: Key) -> Self {
        Self::new(Keys::Keyed(vec![key]))
    }

    /// Without.
    pub fn insecure() -> Self {
        Self::new(Keys::Insecure)
    }

    /// The same for a network whose ports have this layout. All hosts should be told the same.
    #[must_use]
    pub fn on(mut self, layout: Layout) -> Self {
        self.class_rule = ClassRule::on(layout);
        self
    }
}
