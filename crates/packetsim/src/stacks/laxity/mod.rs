//! The shipping `laxity-protocol`, in simulated packets.
//!
//! One endpoint per host without keys; one connection per pair of hosts, both ways. The transports
//! that it is compared with assume open connections, so connections here are presumed when a pair
//! first talks: no handshake, with the round trip of the empty network as first guess. A connection
//! keeps what it has learned from job to job, as it would in life, and takes one path.
//!
//! A flow whose messages come one by one is a job that announces how many there will be, as NetApprox' jobs
//! do (§6), and gets them as they are ready; it may end before the last of them.
//!
//! A flow is a job that ends the moment enough is there. Payload is zeros and is left out of packets
//! on the way; sizes, checksums and everything else are those of the real bytes.

mod settings;
mod squeeze;

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
};

use laxity_interface::{Finish, GroupId, Layout, Time};
use laxity_protocol::{
    Batch, BodyRef, DeliveryReport, Endpoint, Event, Memory, MessageOrder, Missing, Part, PeerId,
    Presumed, RecvId, SendId, SendRequest, SendRequestError,
};

pub use self::settings::Form;
use self::squeeze::{squeeze, unsqueeze};
use crate::{
    flow::{Flow, FlowId, HostId},
    packet::{Flags, Packet},
    random::mix,
    stack::{Context, Stack, Tally},
};

/// Headers around a datagram: UDP 8, IP 20, Ethernet 18.
pub const DATAGRAM_HEADER: u32 = 46;
/// The smallest frame.
const SMALLEST: u32 = 64;
const PORT: u16 = 4000;

/// The transport on one host.
#[derive(Debug)]
pub struct Laxity {
    form: Form,
    order: MessageOrder,
    layout: Layout,
    seed: [u8; 32],
    /// Made when the speed of the interface is known.
    endpoint: Option<Endpoint>,
    peers: BTreeMap<HostId, PeerId>,
    /// Flows of the jobs under way.
    sending: BTreeMap<SendId, FlowId>,
    /// Jobs whose messages come one by one: when the next is ready, and which it is.
    coming: BTreeMap<SendId, (Time, u32)>,
    receiving: BTreeMap<RecvId, FlowId>,
    /// Flows that wait for a job to end.
    waiting: VecDeque<FlowId>,
    batch: Batch,
    out: VecDeque<Packet>,
    buffer: Vec<u8>,
    /// The number by which hosts know this stack.
    stack: u8,
    data_packets: u64,
    control_packets: u64,
}

/// All payload is zeros.
struct Zeros;

impl Memory for Zeros {
    fn bytes(&self, body: &BodyRef) -> &[u8] {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        &ZEROS[..body.length]
    }
}

impl Laxity {
    /// On the host of this number, in a network whose ports have this layout.
    pub fn new(form: Form, layout: Layout, host: HostId, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..10].copy_from_slice(&host.0.to_le_bytes());
        Self {
            form,
            order: form.order(),
            layout,
            seed: bytes,
            endpoint: None,
            peers: BTreeMap::new(),
            sending: BTreeMap::new(),
            coming: BTreeMap::new(),
            receiving: BTreeMap::new(),
            waiting: VecDeque::new(),
            batch: Batch::default(),
            out: VecDeque::new(),
            buffer: Vec::new(),
            stack: 0,
            data_packets: 0,
            control_packets: 0,
        }
    }

    /// The same with messages in another order.
    #[must_use]
    pub(crate) fn with_order(self, order: MessageOrder) -> Self {
        Self { order, ..self }
    }

    /// The protocol itself, once it has had something to do.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// The connection with another host, presumed if there was none.
    fn connect(&mut self, other: HostId, cx: &Context<'_>) -> (&mut Endpoint, PeerId) {
        let (form, layout, seed) = (self.form, self.layout, self.seed);
        let fresh = || Endpoint::new(form.config(cx.line_rate, layout), seed);
        let endpoint = self.endpoint.get_or_insert_with(fresh);
        let known = |peer: &PeerId| endpoint.peer(*peer).is_some();
        let peer = match self.peers.get(&other).copied().filter(known) {
            Some(peer) => peer,
            None => {
                let presumed = Presumed {
                    to: address(other),
                    local: u32::from(other.0) + 1,
                    remote: u32::from(cx.host.0) + 1,
                    caller: cx.host < other,
                    rtt: cx.base_rtt,
                };
                let peer = endpoint.insecure_presume(cx.now, &presumed);
                let peer = peer.expect("no keys, and one connection per host");
                self.peers.insert(other, peer);
                peer
            }
        };
        (endpoint, peer)
    }

    fn send(&mut self, id: FlowId, cx: &Context<'_>) {
        let flow = cx.flow(id);
        let sizes = (0..flow.messages.count()).map(|at| u64::from(flow.messages.size(at)));
        let gradual = flow.ready.is_gradual() && flow.messages.count() > 0;
        let mut request = match gradual {
            false => SendRequest::messages(sizes, flow.min_delivery),
            true => SendRequest::announced(
                flow.messages.count().into(),
                flow.messages.total(),
                sizes.max().unwrap_or(0),
                flow.min_delivery,
            ),
        };
        request.finish = Finish::Enough;
        request.order = self.order;
        request.label = id.0.to_le_bytes().to_vec();
        let (endpoint, peer) = self.connect(flow.to, cx);
        match endpoint.send(cx.now, peer, &request) {
            Ok(job) => {
                self.sending.insert(job, id);
                if gradual {
                    self.coming.insert(job, (cx.started(id) + flow.ready.after(0), 0));
                    self.push_ready(cx);
                }
            }
            Err(SendRequestError::TooManyJobs(_)) => self.waiting.push_back(id),
            Err(error) => panic!("{id:?} cannot be sent: {error}"),
        }
    }

    /// Hands over the messages that are ready.
    fn push_ready(&mut self, cx: &Context<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let sending = &self.sending;
        self.coming.retain(|job, (at, next)| {
            let id = sending[job];
            let (flow, started) = (cx.flow(id), cx.started(id));
            while *at <= cx.now {
                let size = u64::from(flow.messages.size(*next));
                let pushed = endpoint.push(*job, GroupId(0), size);
                pushed.unwrap_or_else(|error| panic!("{id:?}, message {next}: {error}"));
                *next += 1;
                if *next == flow.messages.count() {
                    return false;
                }
                *at = started + flow.ready.after(*next);
            }
            true
        });
    }

    /// Hears what the endpoint has to say.
    fn hear(&mut self, cx: &mut Context<'_>) {
        let mut ended = false;
        while let Some(event) = self.endpoint.as_mut().and_then(Endpoint::poll_event) {
            match event {
                Event::Offered { id, open, .. } => {
                    let label = open.label.try_into().expect("labels are numbers of flows");
                    self.receiving.insert(id, FlowId(u32::from_le_bytes(label)));
                    let endpoint = self.endpoint.as_mut().expect("it has spoken");
                    endpoint.claim(cx.now, id);
                }
                Event::Received(id, report) => {
                    let flow = self.receiving.remove(&id).expect("it was offered");
                    let missing = missing_messages(&report);
                    let bytes = delivered_bytes(cx.flow(flow), &missing);
                    let received = report.groups[0].received as u32;
                    cx.finish_without(flow, received, bytes, false, missing);
                }
                Event::RecvFailed(id, _) => {
                    if let Some(flow) = self.receiving.remove(&id) {
                        cx.finish(flow, 0, 0, true);
                    }
                }
                Event::Sent(id, _) | Event::SendFailed(id, _) => {
                    self.sending.remove(&id);
                    self.coming.remove(&id);
                    ended = true;
                }
                _ => {}
            }
        }
        if ended {
            for flow in std::mem::take(&mut self.waiting) {
                self.send(flow, cx);
            }
        }
    }

    /// Takes one batch from the endpoint.
    fn fill(&mut self, cx: &Context<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let pieces = endpoint.stats().pieces_sent;
        let Some(transmit) = endpoint.poll_transmit(cx.now, &Zeros, &mut self.batch) else {
            return;
        };
        let to = host(transmit.to);
        let carries = endpoint.stats().pieces_sent > pieces;
        let counter = if carries { &mut self.data_packets } else { &mut self.control_packets };
        *counter += transmit.total.div_ceil(transmit.segment) as u64;
        let job = self.batch.parts.iter().find_map(|part| match part {
            Part::Body(body) => Some(body.job),
            Part::Head(_) => None,
        });
        let flow = job.and_then(|job| self.sending.get(&job)).copied().unwrap_or(FlowId(u32::MAX));
        let (low, high) = (cx.host.min(to), cx.host.max(to));
        let hash = mix(u64::from(low.0) << 16 | u64::from(high.0)) as u32;
        let stack = self.stack;
        squeeze(&self.batch, &transmit, |datagram| {
            self.out.push_back(Packet {
                size: (datagram.length() as u32 + DATAGRAM_HEADER).max(SMALLEST),
                from: cx.host,
                to,
                flow,
                hash,
                stack,
                class: transmit.dscp.get(),
                ecn: transmit.ecn,
                flags: Flags::NONE,
                kind: 0,
                rank: 0,
                sequence: datagram.hole.0 as u64,
                acknowledged: datagram.hole.1 as u64,
                part: (0, 0),
                stamp: cx.now,
                body: Some(datagram.bytes.into_boxed_slice()),
            });
        });
    }
}

impl Stack for Laxity {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        self.stack = cx.flow(id).stack;
        self.send(id, cx);
        self.hear(cx);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.stack = packet.stack;
        self.connect(packet.from, cx);
        let endpoint = self.endpoint.as_mut().expect("connected");
        let hole = (packet.sequence as usize, packet.acknowledged as usize);
        unsqueeze(packet.body.as_deref().unwrap_or(&[]), hole, &mut self.buffer);
        let from = address(packet.from);
        endpoint.handle_datagram(cx.now, from, packet.ecn, &mut self.buffer, &mut ());
        self.hear(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.push_ready(cx);
        if let Some(endpoint) = &mut self.endpoint
            && endpoint.poll_timeout().is_some_and(|due| due <= cx.now)
        {
            endpoint.handle_timeout(cx.now);
        }
        self.hear(cx);
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        if self.out.is_empty() {
            self.push_ready(cx);
            self.fill(cx);
            self.hear(cx);
        }
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let message = self.coming.values().map(|(at, _)| *at).min();
        self.endpoint.as_ref()?.poll_timeout().into_iter().chain(message).min()
    }

    fn tally(&self) -> Tally {
        let Some(endpoint) = &self.endpoint else { return Tally::default() };
        let stats = endpoint.stats();
        Tally {
            data_packets: self.data_packets,
            again: stats.pieces_repeated,
            control_packets: self.control_packets,
            // There are none: silence is answered by a question.
            timeouts: 0,
            wasted_credits: 0,
        }
    }
}

/// Addresses say which host it is.
fn address(host: HostId) -> SocketAddr {
    let [high, low] = host.0.to_be_bytes();
    SocketAddr::from(([10, 0, high, low], PORT))
}

fn host(address: SocketAddr) -> HostId {
    match address {
        SocketAddr::V4(address) => {
            let [_, _, high, low] = address.ip().octets();
            HostId(u16::from_be_bytes([high, low]))
        }
        SocketAddr::V6(_) => unreachable!("hosts have addresses of version 4"),
    }
}

/// Numbers of the messages that are missing.
fn missing_messages(report: &DeliveryReport) -> Vec<(u32, u32)> {
    let Missing::Messages(groups) = &report.missing else { return Vec::new() };
    let ranges = groups.iter().flat_map(|(_, ranges)| ranges);
    ranges.map(|(from, to)| (*from as u32, *to as u32)).collect()
}

/// Bytes of the messages that arrived whole.
fn delivered_bytes(flow: &Flow, missing: &[(u32, u32)]) -> u64 {
    let lost = missing.iter().flat_map(|(from, to)| *from..*to);
    let lost: u64 = lost.map(|message| u64::from(flow.messages.size(message))).sum();
    flow.messages.total() - lost
}
