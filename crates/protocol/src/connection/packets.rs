//! Packets out.

use laxity_interface::{Ecn, Span, Time};
use smallvec::SmallVec;

use super::{Connection, Shared, handshake::Handshake};
use crate::{
    config::ClassRule,
    ids::{JobId, SendId},
    path::{Content, Sent, Stamp},
    send::{Body, Pool, SendJob},
    slack::{Class, LaneKind},
    transmit::{Batch, BodyRef, Memory, Part, Transmit},
    wire::{Piece, put_chunk, put_message},
};

/// Classes of the network, between two priorities of the application.
const CLASSES: u32 = 8;

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

    pub(super) fn transmit(
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

    pub(super) fn seal(
        &mut self,
        number: u64,
        from: usize,
        payload: &[u8],
        batch: &mut Batch,
    ) -> usize {
        self.seal_gathered(number, from, None, payload, batch)
    }

    /// Seals the packet that starts at `from` and notes where its bytes are; returns its size.
    pub(super) fn seal_gathered(
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
    pub(super) fn record(
        &mut self,
        now: Time,
        size: usize,
        lane: Option<LaneKind>,
        class: Class,
        stamp: Stamp,
        contents: SmallVec<[Content; 1]>,
        tracked: bool,
        shared: &mut Shared,
    ) {
        shared.stats.packets_sent += 1;
        shared.stats.bytes_sent += size as u64;
        // Where classes follow slack, their queues are too short to make anybody late.
        let ordered = shared.config.class_rule != ClassRule::Remaining;
        let class = if ordered { Class::EXACT } else { class };
        let number = self.sent.next_number();
        self.sent.push(
            Sent { number, at: now, bytes: size as u32, lane, class, stamp, contents },
            tracked,
        );
    }

    /// When the next packet could leave, if one is waiting; `now` or earlier means at once.
    pub(crate) fn next_transmit(&self) -> Option<Time> {
        if let Handshake::Calling(caller) = &self.handshake {
            return Some(caller.next());
        }
        self.open.as_ref()?;
        if self.ack.now || !self.control.is_empty() || self.closing {
            return Some(Time::ZERO);
        }
        let lanes = LaneKind::ALL.into_iter().filter_map(|kind| {
            let lane = &self.lanes[kind as usize];
            (lane.has_room() && self.has_payload(kind)).then(|| lane.pacer.next())
        });
        lanes.chain(self.ack.due).min()
    }

    /// The most urgent job that waits to be sent, for choosing among peers.
    pub(crate) fn urgency(&self, rule: ClassRule) -> u32 {
        if self.ack.now || !self.control.is_empty() {
            return 0;
        }
        // Priority first, then the class, where that says who needs least.
        let urgency = |job: &SendJob| {
            let class = u32::from(job.class.get());
            let class = if rule == ClassRule::Remaining { class } else { 0 };
            job.priority.saturating_mul(CLASSES).saturating_add(class)
        };
        self.sends.values().map(urgency).min().unwrap_or(0)
    }

    /// The longest that an acknowledgement of the other side may be delayed.
    pub(super) fn ack_allowance(&self, shared: &Shared) -> Span {
        self.ack_delay_among(self.peer_senders, shared)
    }

    /// How long an acknowledgement of this side may wait.
    pub(super) fn ack_delay(&self, shared: &Shared) -> Span {
        self.ack_delay_among(shared.active_senders, shared)
    }

    /// An eighth of a round trip for each sender, up to half of one: with many of them each sends
    /// little, and answers to single packets would cost everybody more than the packets do.
    fn ack_delay_among(&self, senders: u64, shared: &Shared) -> Span {
        (self.rtt.smoothed() / 8 * senders.clamp(1, 4)).min(shared.config.max_ack_delay)
    }
}

pub(super) fn put_frame(
    head: &mut Vec<u8>,
    id: JobId,
    index_width: usize,
    body: &Body,
    pool: &Pool,
) {
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

pub(super) fn body_ref(job: SendId, body: &Body) -> BodyRef {
    BodyRef { job, message: body.message, offset: body.offset, length: body.bytes }
}
