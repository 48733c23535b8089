//! Packets out.

use laxity_interface::{Ecn, Span, Time};
use rand_core::Rng;
use smallvec::SmallVec;

use super::{Connection, Shared, handshake::Handshake};
use crate::{
    ids::{JobId, SendId},
    path::{Content, Control, Pacer, Sent, Stamp},
    send::{Body, Pool},
    slack::{Class, LaneKind},
    transmit::{Batch, BodyRef, MAX_BATCH, MAX_SEGMENTS, Memory, Part, Transmit},
    wire::{DataHeader, Frame, Piece, put_chunk, put_message},
};

/// Payload shorter than this is copied into the packet: gathering costs more than it saves.
const GATHER_FROM: usize = 512;
/// A job's introduction is repeated with the data at most this often before it is confirmed.
const INTRODUCTIONS: u64 = 3;

impl Connection {
    /// The next batch of packets, if any is due.
    pub(crate) fn poll_transmit<M: Memory>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        memory: &M,
        batch: &mut Batch,
    ) -> Option<Transmit> {
        batch.clear();
        let transmit = self
            .transmit_hello(now, batch)
            .or_else(|| self.transmit_control(now, shared, memory, batch))
            .or_else(|| self.transmit_payload(now, shared, memory, batch))?;
        self.last_sent = now;
        Some(transmit)
    }

    fn transmit_hello(&mut self, now: Time, batch: &mut Batch) -> Option<Transmit> {
        let rtt = self.rtt.smoothed();
        match &mut self.handshake {
            Handshake::Calling(caller) if caller.next() <= now => {
                caller.hello(now, self.local, rtt * 2, &mut batch.head);
            }
            _ => return None,
        }
        batch.push_head(0);
        Some(self.transmit(Ecn::NotEct, Class::EXACT, batch.head.len(), batch.head.len(), None))
    }

    fn transmit(
        &self,
        ecn: Ecn,
        class: Class,
        segment: usize,
        total: usize,
        shared: Option<&Shared>,
    ) -> Transmit {
        let dscp = shared.map(|shared| shared.config.dscp.dscp(class)).unwrap_or_default();
        Transmit { to: self.address, ecn, dscp, segment, total }
    }

    /// One packet of acknowledgement and control frames, filled up with payload that fits whole.
    fn transmit_control<M: Memory>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        memory: &M,
        batch: &mut Batch,
    ) -> Option<Transmit> {
        let remote = self.open.as_ref()?.remote;
        let ack_due = self.ack.now || self.ack.due.is_some_and(|due| due <= now);
        if !ack_due && self.control.is_empty() && self.closing.is_none() {
            return None;
        }
        let room = self.frame_room();
        let number = self.sent.next_number();
        let header = DataHeader { destination: remote, number: number as u32 };
        batch.head.extend_from_slice(&header.encode());
        let base = batch.head.len();
        // With other frames to send, an answer that is not due yet rides along.
        let ack = self.received.ack(now, shared.active_senders, 32);
        if let Some(ack) = ack.filter(|_| ack_due || self.ack.waiting > 0) {
            Frame::Ack(ack).put(&mut batch.head, room);
            self.ack = super::AckState::default();
        }
        let mut contents: SmallVec<[Content; 1]> = SmallVec::new();
        if let Some(code) = self.closing {
            Frame::Close { code }.put(&mut batch.head, room);
            self.control.clear();
        }
        let mut opened = None;
        for _ in 0..self.control.len() {
            let Some(control) = self.control.pop_front() else { break };
            let mark = batch.head.len();
            let left = room - (mark - base);
            if !self.put_control(control, left, mark == base, &mut batch.head) {
                continue;
            }
            if batch.head.len() - base > room {
                batch.head.truncate(mark);
                self.control.push_front(control);
                break;
            }
            contents.push(Content::Control(control));
            match control {
                Control::Open(job) => opened = Some(job),
                Control::Probe(_) | Control::Ping => shared.stats.probes += 1,
                _ => {}
            }
        }
        if batch.head.len() == base {
            batch.clear();
            return None;
        }
        let mut lane = None;
        if let Some(job) = opened {
            lane = self.fill_up(job, base + room, memory, &mut batch.head, &mut contents);
        }
        let tracked = !contents.is_empty();
        let size = self.seal(number, 0, &[], batch);
        let stamp = lane.map(|lane| self.lanes[lane as usize].sent(now, size as u64));
        self.record(now, size, lane, stamp.unwrap_or_default(), contents, tracked, shared);
        let ecn = if lane.is_some() { Ecn::Ect0 } else { Ecn::NotEct };
        Some(self.transmit(ecn, Class::EXACT, size, size, Some(shared)))
    }

    /// Small jobs travel with their introduction: adds payload as long as all of a piece fits.
    fn fill_up<M: Memory>(
        &mut self,
        id: JobId,
        end: usize,
        memory: &M,
        head: &mut Vec<u8>,
        contents: &mut SmallVec<[Content; 1]>,
    ) -> Option<LaneKind> {
        let peer = self.id;
        let job = self.sends.get_mut(&id)?;
        // Chunk frames run to the packet's end, so only one can ride along.
        let single = matches!(job.pool, Pool::Chunks(_));
        let fits = match &job.pool {
            Pool::Chunks(pool) => {
                pool.count() == 1 && job.open.bytes as usize + 24 <= end.saturating_sub(head.len())
            }
            Pool::Messages(_) => job.open.bytes as usize + 32 <= end.saturating_sub(head.len()),
        };
        let kind = LaneKind::ALL.into_iter().find(|lane| job.has(*lane))?;
        if !fits || self.lanes[kind as usize].stash.is_some() {
            return None;
        }
        let mut used = None;
        while head.len() + 64 < end
            && let Some(piece) = job.take(kind)
        {
            let body = job.pool.body(piece);
            if head.len() + body.bytes + 40 > end {
                self.lanes[kind as usize].stash = Some((id, piece));
                break;
            }
            put_frame(head, id, job.index_width(), &body, &job.pool);
            let at = body_ref(SendId { peer, job: id }, &body);
            head.extend_from_slice(memory.bytes(&at));
            contents.push(Content::Piece(id, piece));
            job.bytes_sent += body.bytes as u64;
            used = Some(kind);
            if single {
                break;
            }
        }
        used
    }

    /// Writes one control frame; false if it no longer means anything.
    fn put_control(
        &mut self,
        control: Control,
        room: usize,
        alone: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let frame = match control {
            Control::Open(job) => match self.sends.get(&job) {
                Some(found) => Frame::JobOpen(job, found.open.clone()),
                None => return false,
            },
            Control::Window(job) => match self.sends.get(&job) {
                Some(found) => {
                    Frame::Window { job, bytes: found.open.bytes, counts: found.counts() }
                }
                None => return false,
            },
            Control::Probe(job) => match self.sends.get_mut(&job) {
                Some(found) if found.wants_probe() || found.probe.is_some() => {
                    let round = found.probe.unwrap_or(found.rounds + 1);
                    (found.probe, found.rounds) = (Some(round), round);
                    Frame::Probe { job, round }
                }
                _ => return false,
            },
            Control::Status(job) => match self.recvs.get_mut(&job) {
                Some(found) if found.ended.is_none() => {
                    let space = found.first_wanting();
                    let frame = Frame::Status {
                        job,
                        round: found.last_round,
                        last: false,
                        space,
                        received: found.received(),
                        runs: found.missing(space, 0),
                    };
                    found.answered();
                    frame
                }
                _ => return false,
            },
            Control::Final(job, space, from) => {
                // A part reaches as far as a whole packet lets it, always the same, so it goes alone.
                if !alone {
                    self.control.push_back(control);
                    return false;
                }
                return self.put_final(job, space, from, room, out);
            }
            Control::Hold(job) if self.holding.contains(&job) => Frame::Hold(job),
            Control::Hold(_) => return false,
            Control::Go(job) => Frame::Go(job),
            Control::ResetSent(job) | Control::ResetReceived(job) => {
                let by_receiver = matches!(control, Control::ResetReceived(_));
                match self.resets.get(&(job, by_receiver)) {
                    Some(&code) => Frame::Reset { job, by_receiver, code },
                    None => return false,
                }
            }
            Control::Ping => Frame::Ping,
        };
        frame.put(out, room);
        true
    }

    fn put_final(
        &mut self,
        job: JobId,
        space: u16,
        from: u64,
        room: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(found) = self.recvs.get_mut(&job) else { return false };
        let runs = found.missing(space, from);
        let total = runs.to;
        let frame = Frame::Status {
            job,
            round: found.last_round,
            last: true,
            space,
            received: found.received(),
            runs,
        };
        let reach = frame.put(out, room);
        if reach < total && !found.parts.contains_key(&(space, reach)) {
            found.parts.insert((space, reach), false);
            self.queue(Control::Final(job, space, reach));
        }
        true
    }

    /// A batch of payload packets of one job.
    fn transmit_payload<M: Memory>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        memory: &M,
        batch: &mut Batch,
    ) -> Option<Transmit> {
        self.open.as_ref()?;
        for kind in LaneKind::ALL {
            let lane = &self.lanes[kind as usize];
            if lane.pacer.next() > now || !lane.has_room() {
                continue;
            }
            let Some(job) = self.pick(kind) else {
                let lane = &mut self.lanes[kind as usize];
                if lane.in_flight > 0 {
                    lane.sampler.on_app_limited(lane.in_flight);
                }
                continue;
            };
            if let Some(transmit) = self.transmit_job(now, kind, job, shared, memory, batch) {
                return Some(transmit);
            }
        }
        None
    }

    /// Whose turn it is on a lane: strict priority, then earliest deadline, then least served.
    fn pick(&self, kind: LaneKind) -> Option<JobId> {
        if let Some((job, _)) = self.lanes[kind as usize].stash
            && self.sends.contains_key(&job)
        {
            return Some(job);
        }
        let eager = self.open.as_ref().map_or(0, |open| open.eager_bytes);
        self.sends
            .values()
            .filter(|job| (job.introduced || job.bytes_sent < eager) && job.has(kind))
            .min_by(|a, b| {
                let key =
                    |job: &crate::send::SendJob| (job.priority, job.deadline.unwrap_or(Time::MAX));
                key(a).cmp(&key(b)).then(a.served.total_cmp(&b.served))
            })
            .map(|job| job.id)
    }

    fn transmit_job<M: Memory>(
        &mut self,
        now: Time,
        kind: LaneKind,
        id: JobId,
        shared: &mut Shared,
        memory: &M,
        batch: &mut Batch,
    ) -> Option<Transmit> {
        let packet = self.open.as_ref()?.max_datagram;
        let lane = &self.lanes[kind as usize];
        let rate = lane.controller.rate();
        let room = lane.controller.window() - lane.in_flight;
        let burst =
            Pacer::burst(rate, self.rtt.smoothed(), packet as u64).min(room.max(1)) as usize;
        let (mut segment, mut total, mut packets) = (0, 0, 0);
        while packets < MAX_SEGMENTS && total + packet <= MAX_BATCH && total < burst {
            let limit = if packets == 0 { packet } else { segment };
            let Some(size) = self.put_payload(now, kind, id, limit, shared, memory, batch) else {
                break;
            };
            if packets == 0 {
                segment = size;
            }
            total += size;
            packets += 1;
            if size < segment {
                break;
            }
        }
        if packets == 0 {
            return None;
        }
        let jitter = f64::from(shared.rng.next_u32()) / f64::from(u32::MAX);
        self.lanes[kind as usize].pacer.sent(now, rate, total as u64, jitter);
        let class = self.note_sent(id, total, packets, kind);
        Some(self.transmit(Ecn::Ect0, class, segment, total, Some(shared)))
    }

    /// Keeps a job's books after a batch; returns the class its packets travel in.
    fn note_sent(&mut self, id: JobId, total: usize, packets: usize, kind: LaneKind) -> Class {
        let Some(job) = self.sends.get_mut(&id) else { return Class::EXACT };
        job.served += total as f64 / job.weight;
        let class = if kind == LaneKind::Exact { Class::EXACT } else { job.class };
        let unconfirmed = !job.introduced && job.pieces_sent <= INTRODUCTIONS * 16;
        let wants_probe = job.wants_probe();
        if unconfirmed && packets > 0 {
            self.queue(Control::Open(id));
        }
        if wants_probe {
            self.queue(Control::Probe(id));
        }
        class
    }

    /// Writes one payload packet of at most `limit` bytes; returns its size.
    #[expect(clippy::too_many_arguments, reason = "one packet needs all of them, once")]
    fn put_payload<M: Memory>(
        &mut self,
        now: Time,
        kind: LaneKind,
        id: JobId,
        limit: usize,
        shared: &mut Shared,
        memory: &M,
        batch: &mut Batch,
    ) -> Option<usize> {
        let open = self.open.as_ref()?;
        let (remote, encrypts, overhead) =
            (open.remote, open.sealer.encrypts(), open.sealer.overhead());
        let number = self.sent.next_number();
        let from = batch.head.len();
        let header = DataHeader { destination: remote, number: number as u32 };
        batch.head.extend_from_slice(&header.encode());
        let base = batch.head.len();
        let mut contents: SmallVec<[Content; 1]> = SmallVec::new();
        let mut gathered = None;
        loop {
            let lane = &mut self.lanes[kind as usize];
            let stash = lane.stash.take_if(|(job, _)| *job == id);
            let Some(job) = self.sends.get_mut(&id) else { break };
            let Some(piece) = stash.map(|(_, piece)| piece).or_else(|| job.take(kind)) else {
                break;
            };
            let body = job.pool.body(piece);
            let mark = batch.head.len();
            put_frame(&mut batch.head, id, job.index_width(), &body, &job.pool);
            if batch.head.len() - from + body.bytes + overhead > limit {
                batch.head.truncate(mark);
                self.lanes[kind as usize].stash = Some((id, piece));
                break;
            }
            job.bytes_sent += body.bytes as u64;
            shared.stats.pieces_sent += 1;
            contents.push(Content::Piece(id, piece));
            let at = body_ref(SendId { peer: self.id, job: id }, &body);
            if body.bytes >= GATHER_FROM && !encrypts {
                gathered = Some(at);
                break;
            }
            batch.head.extend_from_slice(memory.bytes(&at));
            // Chunk frames have no length: they end the packet. So does a full one.
            if matches!(job.pool, Pool::Chunks(_)) || batch.head.len() - from + 64 > limit {
                break;
            }
        }
        if batch.head.len() == base {
            batch.head.truncate(from);
            return None;
        }
        let payload = gathered.as_ref().map_or(&[][..], |at| memory.bytes(at));
        let size = self.seal_gathered(number, from, gathered, payload, batch);
        let stamp = self.lanes[kind as usize].sent(now, size as u64);
        self.record(now, size, Some(kind), stamp, contents, true, shared);
        Some(size)
    }

    fn seal(&mut self, number: u64, from: usize, payload: &[u8], batch: &mut Batch) -> usize {
        self.seal_gathered(number, from, None, payload, batch)
    }

    /// Seals the packet that starts at `from` and notes where its bytes are; returns its size.
    fn seal_gathered(
        &mut self,
        number: u64,
        from: usize,
        gathered: Option<BodyRef>,
        payload: &[u8],
        batch: &mut Batch,
    ) -> usize {
        let open = self.open.as_mut().expect("packets are built on open connections");
        let tail = open.sealer.seal(number, &mut batch.head, from, payload);
        batch.push_head(from);
        if let Some(body) = gathered {
            batch.parts.push(Part::Body(body));
        }
        let mut size = batch.head.len() - from + payload.len();
        if !open.sealer.encrypts() {
            let at = batch.head.len();
            batch.head.extend_from_slice(&tail);
            batch.push_head(at);
            size += tail.len();
        }
        size
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one record")]
    fn record(
        &mut self,
        now: Time,
        size: usize,
        lane: Option<LaneKind>,
        stamp: Stamp,
        contents: SmallVec<[Content; 1]>,
        tracked: bool,
        shared: &mut Shared,
    ) {
        shared.stats.packets_sent += 1;
        shared.stats.bytes_sent += size as u64;
        self.sent.push(Sent { at: now, bytes: size as u32, lane, stamp, contents }, tracked);
    }

    /// When the next packet could leave, if one is waiting; `now` or earlier means at once.
    pub(crate) fn next_transmit(&self) -> Option<Time> {
        if let Handshake::Calling(caller) = &self.handshake {
            return Some(caller.next());
        }
        self.open.as_ref()?;
        if self.ack.now || !self.control.is_empty() || self.closing.is_some() {
            return Some(Time::ZERO);
        }
        let lanes = LaneKind::ALL.into_iter().filter_map(|kind| {
            let lane = &self.lanes[kind as usize];
            (lane.has_room() && self.pick(kind).is_some()).then(|| lane.pacer.next())
        });
        lanes.chain(self.ack.due).min()
    }

    /// The most urgent job that waits to be sent, for choosing among peers.
    pub(crate) fn urgency(&self) -> u32 {
        if self.ack.now || !self.control.is_empty() {
            return 0;
        }
        self.sends.values().map(|job| job.priority).min().unwrap_or(0)
    }

    /// The longest that an acknowledgement of the other side may be delayed.
    pub(super) fn ack_allowance(&self, shared: &Shared) -> Span {
        (self.rtt.smoothed() / 8).min(shared.config.max_ack_delay)
    }
}

fn put_frame(head: &mut Vec<u8>, id: JobId, index_width: usize, body: &Body, pool: &Pool) {
    match pool {
        Pool::Chunks(_) => put_chunk(head, id, body.group_id, body.index, index_width),
        Pool::Messages(_) => {
            let piece = Piece {
                job: id,
                group: body.group_id,
                index: body.index,
                length: body.length,
                offset: body.offset,
                body: &[],
            };
            put_message(head, &piece, body.bytes);
        }
    }
}

fn body_ref(job: SendId, body: &Body) -> BodyRef {
    BodyRef { job, message: body.message, offset: body.offset, length: body.bytes }
}
