//! The protocol with its memory and its waiters, under one lock.

use std::{
    collections::{BTreeMap, VecDeque},
    io::IoSlice,
    net::SocketAddr,
    sync::Arc,
    task::Waker,
    time::Instant,
};

use laxity_interface::{Span, Time};
use laxity_protocol::{
    Batch, ConnectError, DeliveryReport, ElementType, Endpoint, Event, Gone, JobError, JobKind,
    JobOpen, Memory, Part, PeerId, RecvId, ResetCode, SendId, Transmit,
};

use crate::{
    clock::Clock,
    error::RecvError,
    inbox::Inbox,
    payloads::{Arrivals, Payloads, Target},
    queue::{Happening, Line},
    store::Store,
    udp::{SendError as UdpError, Socket, Transmission},
};

/// Batches sent before looking at the socket again.
const BATCHES_PER_TURN: usize = 8;

/// How often memory that nobody uses is looked for.
const TIDY: Span = Span::from_secs(1);

/// Who turns the crank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Driver {
    Nobody,
    /// The I/O thread.
    Thread,
    /// A thread that waits in a blocking call: it has nothing better to do, and is awake already.
    Caller,
}

/// A job being sent, as its waiter sees it.
#[derive(Debug, Default)]
pub(crate) struct SendSlot {
    /// It is over; its outcome may have been fetched already.
    ended: bool,
    pub(crate) outcome: Option<Result<DeliveryReport, JobError>>,
    pub(crate) waker: Option<Waker>,
    /// Its end goes to the queue.
    queued: bool,
}

/// A job being received.
#[derive(Debug)]
pub(crate) struct RecvSlot {
    pub(crate) open: JobOpen,
    /// It is over; its outcome may have been fetched already.
    ended: bool,
    pub(crate) outcome: Option<Result<DeliveryReport, JobError>>,
    pub(crate) waker: Option<Waker>,
    /// The application has it in hand.
    pub(crate) accepted: bool,
    /// Who sends it.
    pub(crate) from: Option<SocketAddr>,
    /// Its end goes to the queue.
    pub(crate) queued: bool,
    /// The queue has set aside room for it.
    pub(crate) counted: bool,
}

impl RecvSlot {
    fn new(open: JobOpen, accepted: bool, from: Option<SocketAddr>) -> Self {
        Self {
            open,
            ended: false,
            outcome: None,
            waker: None,
            accepted,
            from,
            queued: false,
            counted: false,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended
    }
}

impl SendSlot {
    /// One whose end goes to the queue.
    pub(crate) fn queued() -> Self {
        Self { queued: true, ..Self::default() }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended
    }
}

/// A peer.
#[derive(Debug)]
pub(crate) struct PeerSlot {
    pub(crate) state: PeerState,
    pub(crate) waker: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PeerState {
    Connecting,
    Up,
    Failed(ConnectError),
    Gone(Gone),
}

/// A buffer that waits for the next tensor that fits it.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) ticket: u64,
    pub(crate) target: Option<Target>,
    pub(crate) bytes: u64,
    pub(crate) element: ElementType,
    pub(crate) job: Option<RecvId>,
}

/// Everything behind one socket.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) protocol: Endpoint,
    pub(crate) payloads: Payloads,
    pub(crate) arrivals: Arrivals,
    batch: Batch,
    /// A batch the socket had no room for.
    blocked: Option<(Transmit, Vec<u8>)>,
    pub(crate) sends: BTreeMap<SendId, SendSlot>,
    pub(crate) recvs: BTreeMap<RecvId, RecvSlot>,
    pub(crate) peers: BTreeMap<PeerId, PeerSlot>,
    /// Jobs nobody has accepted yet.
    pub(crate) offers: VecDeque<RecvId>,
    pub(crate) posted: VecDeque<Posted>,
    next_ticket: u64,
    /// Where everything goes, if there is a queue.
    pub(crate) line: Option<Line>,
    /// Rings when there is a new offer.
    inbox: Arc<Inbox>,
    pub(crate) driver: Driver,
    /// How often a caller has begun to drive.
    pub(crate) drives: u64,
    /// Threads that wait without driving.
    pub(crate) sleepers: usize,
    /// Until when the driver means to sleep.
    pub(crate) asleep_until: Option<Time>,
    pub(crate) shut_down: bool,
    /// Datagrams the operating system refused to send.
    pub(crate) send_failures: u64,
    changed: bool,
    /// When to look for memory that nobody uses.
    tidy_at: Time,
}

impl Core {
    pub(crate) fn new(protocol: Endpoint, inbox: Arc<Inbox>) -> Self {
        Self {
            protocol,
            payloads: Payloads::default(),
            arrivals: Arrivals::default(),
            batch: Batch::default(),
            blocked: None,
            sends: BTreeMap::new(),
            recvs: BTreeMap::new(),
            peers: BTreeMap::new(),
            offers: VecDeque::new(),
            posted: VecDeque::new(),
            next_ticket: 0,
            line: None,
            inbox,
            driver: Driver::Nobody,
            drives: 0,
            sleepers: 0,
            asleep_until: None,
            shut_down: false,
            send_failures: 0,
            changed: false,
            tidy_at: Time::ZERO,
        }
    }

    /// Whether somebody would notice if nobody drove for the I/O thread's stand-by. What is left to do for
    /// a small job (an answer, at worst a repeat) can wait that long, and waking a thread for every one
    /// would cost more than the job.
    pub(crate) fn is_busy(&self) -> bool {
        /// What a fast link carries in a small part of the stand-by.
        const SMALL: usize = 64 << 10;
        let receiving = |slot: &RecvSlot| !slot.ended && slot.open.bytes > SMALL as u64;
        self.payloads.jobs.values().any(|source| source.exceeds(SMALL))
            || self.recvs.values().any(receiving)
    }

    /// Whether a batch waits for the socket.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// Whether waiters have something to look at; resets.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Does what is due and sends what may leave. Returns whether there is more to send right away.
    pub(crate) fn turn(&mut self, clock: &Clock, socket: &Socket) -> bool {
        let now = clock.now();
        if self.protocol.poll_timeout().is_some_and(|at| at <= now) {
            self.protocol.handle_timeout(now);
        }
        let more = self.flush(clock, socket);
        self.dispatch(now);
        if now >= self.tidy_at {
            self.tidy_at = now + TIDY;
            Store::global().tidy(Instant::now());
        }
        more
    }

    fn flush(&mut self, clock: &Clock, socket: &Socket) -> bool {
        if !self.send_blocked(socket) {
            return false;
        }
        for _ in 0..BATCHES_PER_TURN {
            let transmit =
                self.protocol.poll_transmit(clock.now(), &self.payloads, &mut self.batch);
            let Some(transmit) = transmit else { return false };
            if !self.send_batch(socket, &transmit) {
                return false;
            }
        }
        true
    }

    fn send_batch(&mut self, socket: &Socket, transmit: &Transmit) -> bool {
        let (batch, payloads) = (&self.batch, &self.payloads);
        let parts: Vec<IoSlice<'_>> = batch
            .parts
            .iter()
            .map(|part| match part {
                Part::Head(range) => IoSlice::new(&batch.head[range.clone()]),
                Part::Body(body) => IoSlice::new(payloads.bytes(body)),
            })
            .collect();
        match socket.send(&transmission(transmit, &parts)) {
            Err(UdpError::WouldBlock { sent, .. }) => {
                let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
                let left = bytes[(sent * transmit.segment).min(bytes.len())..].to_vec();
                self.blocked = Some((Transmit { total: left.len(), ..*transmit }, left));
                false
            }
            // Everything else is as if the network had lost it; the protocol copes.
            Err(_) => {
                self.send_failures += 1;
                true
            }
            Ok(_) => true,
        }
    }

    fn send_blocked(&mut self, socket: &Socket) -> bool {
        let Some((transmit, bytes)) = self.blocked.take() else { return true };
        match socket.send(&transmission(&transmit, &[IoSlice::new(&bytes)])) {
            Err(UdpError::WouldBlock { sent, .. }) => {
                let left = bytes[(sent * transmit.segment).min(bytes.len())..].to_vec();
                self.blocked = Some((Transmit { total: left.len(), ..transmit }, left));
                false
            }
            _ => true,
        }
    }

    /// Tells waiters what happened.
    pub(crate) fn dispatch(&mut self, now: Time) {
        while let Some(event) = self.protocol.poll_event() {
            self.changed = true;
            match event {
                Event::Connected(peer) => self.set_peer(peer, PeerState::Up),
                Event::ConnectFailed(peer, error) => self.set_peer(peer, PeerState::Failed(error)),
                Event::PeerGone(peer, gone) => self.set_peer(peer, PeerState::Gone(gone)),
                Event::Offered { id, open, claimed } => self.offer(now, id, open, claimed),
                Event::Message { id, group, index } => {
                    if let Some(target) = self.arrivals.get_mut(id) {
                        target.complete(group, index);
                    }
                    self.wake_recv(id);
                }
                Event::Received(id, report) => self.end_recv(id, Ok(report)),
                Event::RecvFailed(id, error) => self.end_recv(id, Err(error)),
                Event::Sent(id, report) => self.end_send(id, Ok(report)),
                Event::SendFailed(id, error) => self.end_send(id, Err(error)),
                _ => {}
            }
        }
    }

    fn set_peer(&mut self, peer: PeerId, state: PeerState) {
        if let Some(line) = &mut self.line {
            match state {
                PeerState::Connecting => {}
                PeerState::Up => line.ready.push_back(Happening::Connected(peer)),
                PeerState::Failed(error) => {
                    line.ready.push_back(Happening::ConnectFailed(peer, error));
                }
                PeerState::Gone(gone) => line.ready.push_back(Happening::Gone(peer, gone)),
            }
        }
        if state != PeerState::Up && !self.peers.contains_key(&peer) {
            return;
        }
        let slot = self.peers.entry(peer).or_insert(PeerSlot { state, waker: None });
        slot.state = state;
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }

    fn offer(&mut self, now: Time, id: RecvId, open: JobOpen, claimed: bool) {
        let from = self.protocol.peer(id.peer).map(|peer| peer.address);
        if let Some(posted) = self.posted.iter_mut().find(|posted| posted.fits(&open)) {
            let target = posted.target.take().expect("looked at in `fits`");
            posted.job = Some(id);
            self.arrivals.set(id, &open, target);
            self.protocol.claim(now, id);
            self.recvs.insert(id, RecvSlot::new(open, true, from));
            return;
        }
        if claimed {
            // A posted buffer may yet take over what came before it, all of it: then it must be clean.
            let target = match self.line {
                Some(_) => Target::recycled(&open),
                None => Target::owned(&open),
            };
            self.arrivals.set(id, &open, target);
        }
        self.recvs.insert(id, RecvSlot::new(open, false, from));
        if self.line.is_some() {
            return self.enqueue_offer(now, id);
        }
        self.offers.push_back(id);
        self.inbox.ring();
    }

    /// The oldest job nobody has accepted.
    pub(crate) fn take_offer(&mut self, now: Time) -> Option<RecvId> {
        let id = self.offers.pop_front()?;
        let slot = self.recvs.get_mut(&id)?;
        slot.accepted = true;
        if self.arrivals.get_mut(id).is_some() {
            // Its memory is the application's from here on.
            self.protocol.claim(now, id);
        }
        Some(id)
    }

    /// Offers a buffer to the next job that fits it.
    pub(crate) fn post(&mut self, mut posted: Posted) -> u64 {
        self.next_ticket += 1;
        posted.ticket = self.next_ticket;
        self.posted.push_back(posted);
        // A job that came before its buffer is not left standing.
        self.match_offers();
        self.next_ticket
    }

    fn match_offers(&mut self) {
        for at in 0..self.offers.len() {
            let id = self.offers[at];
            let Some(slot) = self.recvs.get(&id) else { continue };
            if let Some(posted) = self.posted.iter_mut().find(|posted| posted.fits(&slot.open)) {
                posted.job = Some(id);
                self.offers.remove(at);
                return;
            }
        }
    }

    /// How a posted buffer fared.
    pub(crate) fn posted_outcome(
        &mut self,
        now: Time,
        ticket: u64,
    ) -> Option<Result<DeliveryReport, RecvError>> {
        let posted = self.posted.iter_mut().find(|posted| posted.ticket == ticket)?;
        let Some(id) = posted.job else {
            // The next job does not fit: better an error than to wait past it. It stays on offer.
            let open = &self.recvs.get(self.offers.front()?)?.open;
            return Some(Err(misfit(open, posted.bytes, posted.element)));
        };
        if let Some(target) = posted.target.take() {
            self.adopt(now, id, target);
        }
        let outcome = self.recvs.get_mut(&id)?.outcome.take()?;
        Some(outcome.map_err(RecvError::from))
    }

    /// Moves a job that came before its buffer into it.
    fn adopt(&mut self, now: Time, id: RecvId, mut target: Target) {
        let Some(slot) = self.recvs.get_mut(&id) else { return };
        slot.accepted = true;
        let open = slot.open.clone();
        if let Some(Target::Tensor(buffer)) = self.arrivals.remove(id) {
            target.fill(buffer.bytes());
        }
        self.arrivals.set(id, &open, target);
        self.protocol.claim(now, id);
    }

    /// Takes a posted buffer back.
    pub(crate) fn unpost(&mut self, now: Time, ticket: u64) {
        let Some(at) = self.posted.iter().position(|posted| posted.ticket == ticket) else {
            return;
        };
        if let Some(id) = self.posted.remove(at).and_then(|posted| posted.job) {
            self.arrivals.remove(id);
            self.recvs.remove(&id);
            self.protocol.cancel_recv(now, id, ResetCode::Cancelled);
        }
    }

    fn wake_recv(&mut self, id: RecvId) {
        if let Some(waker) = self.recvs.get_mut(&id).and_then(|slot| slot.waker.take()) {
            waker.wake();
        }
    }

    fn end_recv(&mut self, id: RecvId, outcome: Result<DeliveryReport, JobError>) {
        let Some(slot) = self.recvs.get_mut(&id) else { return };
        let abandoned = !slot.accepted && outcome.is_err();
        (slot.ended, slot.outcome) = (true, Some(outcome));
        if slot.queued {
            return self.deliver(id);
        }
        self.wake_recv(id);
        if abandoned {
            // Nobody had asked for it; nobody needs to hear that it will not come.
            self.recvs.remove(&id);
            self.arrivals.remove(id);
            self.offers.retain(|offer| *offer != id);
        }
    }

    fn end_send(&mut self, id: SendId, outcome: Result<DeliveryReport, JobError>) {
        self.payloads.jobs.remove(&id);
        if self.sends.get(&id).is_some_and(|slot| slot.queued) {
            self.sends.remove(&id);
            if let Some(line) = &mut self.line {
                line.ready.push_back(Happening::Sent(id, outcome));
            }
        } else if let Some(slot) = self.sends.get_mut(&id) {
            (slot.ended, slot.outcome) = (true, Some(outcome));
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }
}

impl Posted {
    fn fits(&self, open: &JobOpen) -> bool {
        let JobKind::Tensor { element, .. } = open.kind else { return false };
        self.target.is_some() && element == self.element && open.bytes <= self.bytes
    }
}

/// Says why a job cannot go into a buffer.
pub(crate) fn misfit(open: &JobOpen, given: u64, wanted: ElementType) -> RecvError {
    let element = match open.kind {
        JobKind::Tensor { element, .. } => element.name(),
        JobKind::Messages { .. } => "messages",
    };
    RecvError::Buffer { needed: open.bytes, element, given, wanted: wanted.name() }
}

fn transmission<'a>(transmit: &Transmit, parts: &'a [IoSlice<'a>]) -> Transmission<'a> {
    Transmission {
        to: transmit.to,
        from: None,
        ecn: transmit.ecn,
        dscp: transmit.dscp,
        segment_size: transmit.segment,
        parts,
        total: transmit.total,
    }
}
