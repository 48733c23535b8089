//! Parcels over Laxity's own transport: bounded loss, deadlines, encryption.
//!
//! Each parcel is one job of the endpoint: a tensor of the envelope's element type whose label carries
//! the envelope. Everything that happens comes out of the endpoint's one queue, so there is no thread
//! beyond the endpoint's own, and jobs wait for each other by priority and age only. A connection is made
//! when the first parcel for a rank is submitted, and is used in both directions; the first jobs on it
//! carry a signed claim to the sender's rank.
//!
//! Arrivals that nobody takes are kept up to [`LaxitySettings::untaken_bytes`]; beyond that senders are
//! held until there is room.

mod label;
mod peers;
mod port;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use half::{bf16, f16};
use laxity_endpoint::{
    Arrived, DeliveryReport, ElementType, Endpoint, Gone, Happening, JobError, Missing, Outgoing,
    PeerId, Queue, ReceivedData, SendError, SendId, SendRequestError,
};
use laxity_interface::{Span, Time};

pub(crate) use self::port::LaxityPort;
pub use self::port::LaxitySettings;
use self::{
    label::{Label, What},
    peers::{Peers, Place, Waiting},
};
use super::tcp::hello::Credentials;
use crate::{
    carrier::{Arrival, Bell, Carrier, Envelope, Event, Parcel},
    collective::Network,
    rank::Rank,
    rendezvous::{client::Departure, refusals::Refusals},
};

/// Jobs under way to one rank at most; more parcels wait in the order of their priorities.
const UNDER_WAY: usize = 256;

/// Carries parcels over Laxity's endpoint.
pub struct LaxityCarrier {
    queue: Queue,
    me: Arc<Credentials>,
    peers: Peers,
    under_way: BTreeMap<SendId, Sending>,
    next: u64,
    events: VecDeque<Event>,
    /// When parcels that have not begun are given up.
    limits: BTreeSet<(Time, Rank, Place)>,
    departures: mpsc::Receiver<Departure>,
    /// Those that the last ring has brought.
    departing: Vec<Departure>,
    tell: mpsc::Sender<Departure>,
    refusals: Refusals,
    /// Connections whose other side was refused: closed when it has heard why.
    refused: BTreeSet<PeerId>,
    /// The bell was rung and no wait has ended by it.
    rung: Arc<AtomicBool>,
    start: Instant,
}

/// A job under way.
#[derive(Debug)]
struct Sending {
    to: Option<Rank>,
    /// Of parcels.
    envelope: Option<Envelope>,
}

impl fmt::Debug for LaxityCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaxityCarrier").field("rank", &self.rank()).finish_non_exhaustive()
    }
}

impl LaxityCarrier {
    pub(crate) fn new(port: LaxityPort, me: Arc<Credentials>, settings: &LaxitySettings) -> Self {
        let (tell, departures) = mpsc::channel();
        Self {
            queue: Queue::new(port.endpoint, settings.untaken_bytes),
            peers: Peers::new(me.roster.world()),
            me,
            under_way: BTreeMap::new(),
            next: 0,
            events: VecDeque::new(),
            limits: BTreeSet::new(),
            departures,
            departing: Vec::new(),
            tell,
            refusals: Refusals::default(),
            refused: BTreeSet::new(),
            rung: Arc::default(),
            start: Instant::now(),
        }
    }

    /// Connections that were refused, and why: the latest few.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.list()
    }

    /// The endpoint, for its counters.
    pub fn endpoint(&self) -> &Endpoint {
        self.queue.endpoint()
    }

    /// What tells this carrier of ranks that are gone.
    pub(crate) fn departures(&self) -> impl Fn(Departure) + Send + 'static {
        let (tell, bell) = (self.tell.clone(), self.queue.bell());
        move |departure| {
            if tell.send(departure).is_ok() {
                bell.ring();
            }
        }
    }

    /// Carries everything that was submitted, says goodbye to all and waits until they have heard it,
    /// but no longer than `patience`. True if all have.
    pub fn shutdown(mut self, patience: Duration) -> bool {
        let deadline = crate::net::deadline(patience);
        if !self.settle(deadline, |this| this.peers.are_idle()) {
            return false;
        }
        // Who has not heard how its last parcel fared must not hear the goodbye first.
        let told = |this: &Self| {
            let connected = this.peers.connected();
            let mut infos = connected.iter().filter_map(|(_, peer)| this.queue.info(*peer));
            infos.all(|info| info.ending == 0)
        };
        if !self.settle(deadline, told) {
            return false;
        }
        for (to, connection) in self.peers.connected() {
            let label = self.label(What::Goodbye, to, None);
            let job = Outgoing::shared::<u8>(Bytes::new()).label(label.encode());
            if let Ok(id) = self.queue.send(connection, &job) {
                self.peers.at_mut(to).under_way += 1;
                self.under_way.insert(id, Sending { to: Some(to), envelope: None });
            }
        }
        self.settle(deadline, |this| this.peers.are_idle())
    }

    /// Handles what happens until something is so. False if it is not by `deadline`.
    fn settle(&mut self, deadline: Instant, is_so: impl Fn(&Self) -> bool) -> bool {
        /// Not everything that is waited for is told of.
        const LOOK_AGAIN: Duration = Duration::from_millis(1);
        while !is_so(self) {
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            if let Some(happening) = self.queue.wait(Some(deadline.min(now + LOOK_AGAIN))) {
                self.handle(happening);
            }
        }
        true
    }

    fn label(&mut self, what: What, to: Rank, envelope: Option<Envelope>) -> Label {
        let me = &self.me;
        let introduced = self.peers.at_mut(to).introduced;
        let claim = (!introduced).then(|| me.identity.claim(&me.roster, to, b""));
        Label { what, from: me.identity.rank(), envelope, claim }
    }

    fn fail(&mut self, peer: Rank, envelope: Envelope, reason: impl Into<String>) {
        self.events.push_back(Event::Failed { peer, envelope, reason: reason.into() });
    }

    /// Starts what may start.
    fn begin(&mut self, to: Rank) {
        loop {
            let now = self.now();
            let peer = self.peers.at_mut(to);
            let Some((connection, true)) = peer.connection else { return };
            if peer.under_way >= UNDER_WAY {
                return;
            }
            let Some((place, waiting)) = peer.waiting.pop_first() else { return };
            if let Some(limit) = waiting.limit {
                self.limits.remove(&(limit, to, place));
            }
            let envelope = waiting.parcel.envelope;
            let label = self.label(What::Parcel, to, Some(envelope)).encode();
            let slack = waiting.parcel.slack;
            let mut job = outgoing(envelope.signature.element, waiting.parcel.body)
                .min_delivery(slack.min_delivery)
                .priority(slack.priority)
                .label(label);
            if let Some(deadline) = waiting.deadline {
                job = job.deadline(deadline.since(now).to_std());
            }
            if let Some(limit) = waiting.limit {
                job = job.time_limit(limit.since(now).to_std());
            }
            match self.queue.send(connection, &job) {
                Ok(id) => {
                    self.peers.at_mut(to).under_way += 1;
                    self.under_way.insert(id, Sending { to: Some(to), envelope: Some(envelope) });
                }
                // The queue will say that the connection has ended, and how.
                Err(SendError::Request(SendRequestError::NoSuchPeer)) => {
                    self.fail(to, envelope, format!("the connection with {to} has ended"));
                }
                Err(error) => self.fail(to, envelope, error.to_string()),
            }
        }
    }

    fn call(&mut self, to: Rank) {
        let Some(at) = self.me.roster.member(to).map(|member| member.address) else { return };
        match self.queue.connect(at) {
            Ok(connection) => self.peers.called(to, connection),
            Err(error) => self.lose(to, &format!("cannot connect to {to} at {at}: {error}"), false),
        }
    }

    fn handle(&mut self, happening: Happening) {
        match happening {
            Happening::Connected(connection) => {
                if let Some(rank) = self.peers.rank_of(connection) {
                    self.peers.is_up(rank, connection);
                    self.begin(rank);
                }
            }
            Happening::ConnectFailed(connection, error) => {
                if let Some(rank) = self.peers.forget(connection)
                    && self.peers.at_mut(rank).connection.is_none()
                {
                    self.lose(rank, &format!("no connection with {rank}: {error}"), false);
                }
            }
            Happening::Gone(connection, how) => {
                self.refused.remove(&connection);
                if let Some(rank) = self.peers.forget(connection)
                    && how != Gone::Idle
                {
                    let at = self.me.roster.member(rank).map(|member| member.address.to_string());
                    let at = at.unwrap_or_default();
                    let how = match how {
                        Gone::Closed => "it closed the connection without a goodbye".to_owned(),
                        other => other.to_string(),
                    };
                    self.lose(rank, &format!("connection with {rank} at {at}: {how}"), true);
                }
            }
            Happening::Sent(id, outcome) => self.handle_sent(id, outcome),
            Happening::Received(arrived) => self.handle_arrived(*arrived),
            // Whoever rang, this comes after everything that had happened by then. A departure that is found now may
            // have been told of since, and what the departed had sent before may wait: it counts with the next ring.
            Happening::Rung => {
                for departure in std::mem::take(&mut self.departing) {
                    let rank = departure.rank;
                    if rank != self.rank() && self.peers.get_mut(rank).is_some() {
                        self.lose_for(rank, &departure.reason, true, departure.left);
                    }
                }
                self.departing.extend(self.departures.try_iter());
                if !self.departing.is_empty() {
                    self.queue.bell().ring();
                }
            }
            _ => {}
        }
    }

    fn handle_sent(&mut self, id: SendId, outcome: Result<DeliveryReport, JobError>) {
        let Some(Sending { to, envelope }) = self.under_way.remove(&id) else { return };
        let Some(to) = to else {
            // It has read why it was refused.
            return self.queue.close(id.peer);
        };
        let peer = self.peers.at_mut(to);
        peer.under_way -= 1;
        peer.introduced |= outcome.is_ok();
        if let Some(envelope) = envelope {
            match outcome {
                Ok(report) => {
                    let missing = missing(&report);
                    self.events.push_back(Event::Sent { to, envelope, missing });
                }
                Err(error) => {
                    if is_over(&error) {
                        self.lose(to, &format!("connection with {to}: {error}"), true);
                    }
                    self.fail(to, envelope, error.to_string());
                }
            }
        }
        self.begin(to);
    }

    fn handle_arrived(&mut self, arrived: Arrived) {
        let Arrived { id, from: at, open, outcome } = arrived;
        let at = at.map_or_else(|| "somebody".to_owned(), |at| at.to_string());
        let label = match Label::decode(&open.label) {
            Ok(label) => label,
            Err(what) => return self.refusals.add(format!("{at} sent {what}")),
        };
        if label.what == What::Refusal {
            let text = match &outcome {
                Ok((ReceivedData::Tensor { buffer, .. }, _)) => {
                    String::from_utf8_lossy(buffer.bytes()).into_owned()
                }
                _ => "refused".into(),
            };
            // Only whom this side has called can refuse it.
            if self.peers.rank_of(id.peer) == Some(label.from) {
                let from = label.from;
                self.lose(from, &format!("no connection with {from}: {text}"), true);
            }
            return;
        }
        let Some(from) = self.recognise(id.peer, &at, &label) else { return };
        if self.peers.at_mut(from).lost {
            return;
        }
        if label.what == What::Goodbye {
            let reason = format!("{from} at {at} has left: it said goodbye");
            return self.lose_for(from, &reason, false, true);
        }
        let Some(envelope) = label.envelope else { return };
        match outcome {
            Ok((ReceivedData::Tensor { buffer, .. }, report)) => {
                let (body, missing) = (Bytes::from_owner(buffer), missing(&report));
                let arrival = Arrival { from, envelope, body, missing };
                self.events.push_back(Event::Arrived(arrival));
            }
            Ok(_) => self.fail(from, envelope, format!("{from} at {at} sent no tensor")),
            // The end of the connection is told once, not for every parcel.
            Err(error) if is_over(&error) => {}
            Err(error) => self.fail(from, envelope, error.to_string()),
        }
    }

    /// Who is at the other side, if it has proved it.
    fn recognise(&mut self, connection: PeerId, at: &str, label: &Label) -> Option<Rank> {
        if self.peers.rank_of(connection) == Some(label.from) {
            return Some(label.from);
        }
        if self.refused.contains(&connection) {
            return None;
        }
        let here = self.me.identity.rank();
        let checked = match (&label.claim, at.parse()) {
            (Some(claim), Ok(address)) if claim.from == label.from => {
                let checked = self.me.roster.check(claim, address, here, b"");
                checked.map_err(|error| error.to_string())
            }
            _ => Err(format!("{} at {at} does not prove that it is", label.from)),
        };
        match checked {
            Ok(()) => {
                self.peers.is_up(label.from, connection);
                self.begin(label.from);
                Some(label.from)
            }
            Err(why) => {
                let refusal =
                    Label { what: What::Refusal, from: here, envelope: None, claim: None };
                let job = Outgoing::shared::<u8>(Bytes::from(why.clone().into_bytes()))
                    .label(refusal.encode())
                    .time_limit(Duration::from_secs(5));
                if let Ok(id) = self.queue.send(connection, &job) {
                    self.under_way.insert(id, Sending { to: None, envelope: None });
                }
                self.refused.insert(connection);
                self.refusals.add(why);
                None
            }
        }
    }

    /// Nothing more will come from a rank or reach it.
    fn lose(&mut self, rank: Rank, reason: &str, hang_up: bool) {
        self.lose_for(rank, reason, hang_up, false);
    }

    /// The same, of a rank that may have left in order.
    fn lose_for(&mut self, rank: Rank, reason: &str, hang_up: bool, left: bool) {
        let peer = self.peers.at_mut(rank);
        if std::mem::replace(&mut peer.lost, true) {
            return;
        }
        let waiting = std::mem::take(&mut peer.waiting);
        self.events.push_back(Event::Lost { peer: rank, reason: reason.to_owned(), left });
        for (place, waiting) in waiting {
            if let Some(limit) = waiting.limit {
                self.limits.remove(&(limit, rank, place));
            }
            self.fail(rank, waiting.parcel.envelope, reason);
        }
        if hang_up {
            for connection in self.peers.connections(rank) {
                self.queue.close(connection);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some(&(at, rank, place)) = self.limits.first()
            && at <= now
        {
            self.limits.pop_first();
            if let Some(waiting) = self.peers.at_mut(rank).waiting.remove(&place) {
                let reason = format!("not begun with {rank} within its time limit");
                self.fail(rank, waiting.parcel.envelope, reason);
            }
        }
    }
}

impl Carrier for LaxityCarrier {
    fn rank(&self) -> Rank {
        self.me.identity.rank()
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from(self.start.elapsed())
    }

    fn submit(&mut self, parcel: Parcel) {
        let (now, to, envelope) = (self.now(), parcel.to, parcel.envelope);
        if to == self.rank() {
            let (from, missing) = (to, Vec::new());
            self.events.push_back(Event::Sent { to, envelope, missing: Vec::new() });
            let arrival = Arrival { from, envelope, body: parcel.body, missing };
            return self.events.push_back(Event::Arrived(arrival));
        }
        let size = envelope.signature.element.size();
        if !parcel.body.len().is_multiple_of(size) {
            let bytes = parcel.body.len();
            let name = envelope.signature.element.name();
            return self.fail(to, envelope, format!("{bytes} bytes are no whole number of {name}"));
        }
        let Some(peer) = self.peers.get_mut(to) else {
            let world = self.me.roster.world();
            return self.fail(to, envelope, format!("there is no {to} in a world of {world}"));
        };
        if peer.lost {
            return self.fail(to, envelope, format!("{to} is lost"));
        }
        self.next += 1;
        let place = Place { priority: parcel.slack.priority, number: self.next };
        let deadline = parcel.slack.deadline.map(|span| now + span);
        let limit = parcel.slack.limit.map(|span| now + span);
        peer.waiting.insert(place, Waiting { parcel, deadline, limit });
        let connection = peer.connection;
        if let Some(limit) = limit {
            self.limits.insert((limit, to, place));
        }
        match connection {
            None => self.call(to),
            Some(_) => self.begin(to),
        }
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        loop {
            let now = self.now();
            self.handle_timeout(now);
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.rung.swap(false, Ordering::AcqRel) {
                return None;
            }
            let next = self.limits.first().map(|(at, ..)| *at);
            let wake = [until, next].into_iter().flatten().min();
            match self.queue.wait(wake.map(|at| self.start + at.since(Time::ZERO).to_std())) {
                Some(happening) => self.handle(happening),
                None if until.is_some_and(|until| until <= self.now()) => {
                    return self.events.pop_front();
                }
                None => {}
            }
        }
    }

    fn bell(&self) -> Option<Bell> {
        let (rung, bell) = (self.rung.clone(), self.queue.bell());
        Some(Bell::new(move || {
            rung.store(true, Ordering::Release);
            bell.ring();
        }))
    }

    /// Senders to one rank share its link without overfilling it, and every parcel is a job of its
    /// own: a ring's many parcels cost more than a crowd.
    fn expects(&self) -> Network {
        let usual = Network::default();
        Network { crowded: usual.bandwidth, ..usual }
    }
}

/// Whether a job failed because its connection did.
fn is_over(error: &JobError) -> bool {
    matches!(error, JobError::PeerDead { .. } | JobError::PeerClosed { .. } | JobError::Connect(_))
}

fn missing(report: &DeliveryReport) -> Vec<Range<usize>> {
    match &report.missing {
        Missing::Elements(ranges) => {
            ranges.iter().map(|(from, to)| *from as usize..*to as usize).collect()
        }
        Missing::Messages(_) => Vec::new(),
    }
}

fn outgoing(element: ElementType, body: Bytes) -> Outgoing<'static> {
    match element {
        ElementType::U8 => Outgoing::shared::<u8>(body),
        ElementType::I8 => Outgoing::shared::<i8>(body),
        ElementType::I16 => Outgoing::shared::<i16>(body),
        ElementType::I32 => Outgoing::shared::<i32>(body),
        ElementType::I64 => Outgoing::shared::<i64>(body),
        ElementType::F16 => Outgoing::shared::<f16>(body),
        ElementType::Bf16 => Outgoing::shared::<bf16>(body),
        ElementType::F32 => Outgoing::shared::<f32>(body),
        ElementType::F64 => Outgoing::shared::<f64>(body),
    }
}
