//! Payload packets out: whose turn it is, and how many leave at once.

use laxity_interface::{Ecn, Time};
use rand_core::Rng;
use smallvec::SmallVec;

use super::{
    Connection, Shared,
    packets::{body_ref, put_frame},
};
use crate::{
    config::{ClassRule, JobOrder},
    ids::{JobId, SendId},
    path::{Content, Control},
    send::{Pool, SendJob},
    slack::{Class, LaneKind},
    transmit::{Batch, MAX_BATCH, MAX_SEGMENTS, Memory, Transmit},
    wire::DataHeader,
};

/// Payload shorter than this is copied into the packet: gathering costs more than it saves.
const GATHER_FROM: usize = 512;
/// A job's introduction is repeated with the data at most this often before it is confirmed, each time
/// after this many packets: without it they are all for nothing.
const INTRODUCTIONS: u64 = 3;
const INTRODUCE_EVERY: u64 = 16;

impl Connection {
    /// A batch of payload packets of one job.
    pub(super) fn transmit_payload<M: Memory>(
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
            let Some(job) = self.pick(kind, shared.config.job_order) else { continue };
            if let Some(transmit) = self.transmit_job(now, kind, job, shared, memory, batch) {
                self.note_pause(kind);
                return Some(transmit);
            }
        }
        None
    }

    /// Tells the sampler if the lane has nothing more to send: what it measures next then says more
    /// about the application than about the network.
    pub(super) fn note_pause(&mut self, kind: LaneKind) {
        let more = self.has_payload(kind);
        let lane = &mut self.lanes[kind as usize];
        lane.pacer.wait(more && lane.has_room());
        if !more {
            lane.sampler.on_app_limited(lane.in_flight);
        }
    }

    /// Jobs with something to send on a lane.
    fn waiting(&self, kind: LaneKind) -> impl Iterator<Item = &SendJob> {
        let eager = self.open.as_ref().map_or(0, |open| open.eager_bytes);
        let may = move |job: &&SendJob| job.introduced || job.bytes_sent < eager;
        self.sends.values().filter(may).filter(move |job| job.has(kind))
    }

    /// Whether a lane has something to send.
    pub(super) fn has_payload(&self, kind: LaneKind) -> bool {
        let stashed = self.lanes[kind as usize].stash.as_ref();
        stashed.is_some_and(|(job, _)| self.sends.contains_key(job))
            || self.waiting(kind).next().is_some()
    }

    /// Whose turn it is on a lane: strict priority, then earliest deadline, then least left where
    /// classes follow that, else by the order among equals.
    fn pick(&self, kind: LaneKind, order: JobOrder) -> Option<JobId> {
        if let Some((job, _)) = self.lanes[kind as usize].stash
            && self.sends.contains_key(&job)
        {
            return Some(job);
        }
        self.waiting(kind)
            .min_by(|a, b| {
                let key = |job: &SendJob| (job.priority, job.deadline.unwrap_or(Time::MAX));
                let urgency = key(a).cmp(&key(b)).then(a.place.total_cmp(&b.place));
                urgency.then_with(|| match order {
                    JobOrder::Fair => a.served.total_cmp(&b.served),
                    JobOrder::Oldest => a.id.cmp(&b.id),
                })
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
        let rate = lane.rate();
        let room = lane.window() - lane.in_flight;
        let rtt = self.rtt.smoothed();
        let burst = match shared.config.max_burst {
            Some(packets) => packets * packet as u64,
            None => {
                let idle = lane.in_flight < packet as u64;
                lane.pacer.burst(rate, rtt, packet as u64, idle) + lane.pacer.owed(now, rate, rtt)
            }
        };
        let burst = burst.min(room.max(1)) as usize;
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
        let lane = &mut self.lanes[kind as usize];
        if lane.pacer.sent(now, rate, total as u64, rtt, jitter) {
            // What is measured now says more about this host than about the network.
            lane.sampler.on_app_limited(lane.in_flight);
        }
        let class = self.note_sent(id, total, kind, shared.config.class_rule);
        Some(self.transmit(Ecn::Ect0, class, segment, total, Some(shared)))
    }

    /// The class in which a job's packets travel on a lane. Where classes follow slack, what has none
    /// is in the first; where they follow what is left, that counts for all.
    fn class_of(&self, id: JobId, kind: LaneKind, rule: ClassRule) -> Class {
        let follows = kind == LaneKind::Slack || rule == ClassRule::Remaining;
        let job = self.sends.get(&id).filter(|_| follows);
        job.map_or(Class::EXACT, |job| job.class)
    }

    /// Keeps a job's books after a batch; returns the class its packets travel in.
    fn note_sent(&mut self, id: JobId, total: usize, kind: LaneKind, rule: ClassRule) -> Class {
        let class = self.class_of(id, kind, rule);
        let Some(job) = self.sends.get_mut(&id) else { return class };
        job.served += total as f64 / job.weight;
        let due = (job.pieces_sent / INTRODUCE_EVERY).min(INTRODUCTIONS);
        if !job.introduced && due > job.introductions {
            job.introductions = due;
            self.queue(Control::Open(id));
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
        let class = self.class_of(id, kind, shared.config.class_rule);
        self.record(now, size, Some(kind), class, stamp, contents, true, shared);
        Some(size)
    }
}
