//! Control packets out: acknowledgements, introductions, questions, last words.

use laxity_interface::{Ecn, Time};
use smallvec::SmallVec;

use super::{
    AckState, Connection, Shared,
    packets::{body_ref, put_frame},
};
use crate::{
    ids::{JobId, SendId},
    path::{Content, Control},
    send::Pool,
    slack::{Class, LaneKind},
    transmit::{Batch, Memory, Transmit},
    wire::{Ack, DataHeader, Frame},
};

impl Connection {
    /// One packet of acknowledgement and control frames, filled up with payload that fits whole.
    pub(super) fn transmit_control<M: Memory>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        memory: &M,
        batch: &mut Batch,
    ) -> Option<Transmit> {
        let remote = self.open.as_ref()?.remote;
        let ack_due = self.ack.now || self.ack.due.is_some_and(|due| due <= now);
        if !ack_due && self.control.is_empty() && !self.closing {
            return None;
        }
        let room = self.frame_room();
        let number = self.sent.next_number();
        let header = DataHeader { destination: remote, number: number as u32 };
        batch.head.extend_from_slice(&header.encode());
        let base = batch.head.len();
        // With other frames to send, an answer that is not due yet rides along.
        let ack = self.received.ack(now, 32);
        if let Some(ack) = ack.filter(|_| ack_due || self.ack.waiting > 0) {
            let active_senders = shared.active_senders;
            // Who is alone knows what it gets.
            let intake = if active_senders > 1 { shared.intake.bytes_per_ms() } else { 0 };
            Frame::Ack(Ack { active_senders, intake, ..ack }).put(&mut batch.head, room);
            self.ack = AckState::default();
        }
        let mut contents: SmallVec<[Content; 1]> = SmallVec::new();
        if self.closing {
            Frame::Close { code: 1 }.put(&mut batch.head, room);
            self.control.clear();
        }
        let mut opened = None;
        // A question travels where what it asks about travels: in a queue that is served earlier it
        // would overtake that, and the answer would call lost what is only late. Nothing else should
        // wait with it. If there is no answer either, the next question is whether anybody is there.
        let last = if self.probes < 2 { self.sent.last_class() } else { Class::EXACT };
        let mut class = Class::EXACT;
        for _ in 0..self.control.len() {
            let Some(control) = self.control.pop_front() else { break };
            let mark = batch.head.len();
            let asks = matches!(control, Control::Probe(_) | Control::Ping);
            if last != Class::EXACT && mark > base && asks != (class != Class::EXACT) {
                self.control.push_back(control);
                continue;
            }
            let left = room - (mark - base);
            if !self.put_control(now, control, left, mark == base, &mut batch.head) {
                continue;
            }
            if batch.head.len() - base > room {
                batch.head.truncate(mark);
                debug_assert!(mark > base, "{control:?} never fits a packet");
                if mark > base {
                    self.control.push_front(control);
                }
                break;
            }
            contents.push(Content::Control(control));
            if asks {
                class = last;
            }
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
        if self.copies > 1 && !contents.is_empty() {
            self.copies -= 1;
            for content in &contents {
                if let Content::Control(control) = *content {
                    self.queue(control);
                }
            }
        } else if self.control.is_empty() {
            self.copies = 1;
        }
        let mut lane = None;
        if let Some(job) = opened {
            lane = self.fill_up(job, base + room, memory, &mut batch.head, &mut contents);
        }
        let pieces = contents.iter().filter(|content| matches!(content, Content::Piece(..)));
        shared.stats.pieces_sent += pieces.count() as u64;
        let tracked = !contents.is_empty();
        let size = self.seal(number, 0, &[], batch);
        let stamp = lane.map(|lane| self.lanes[lane as usize].sent(now, size as u64));
        self.record(now, size, lane, class, stamp.unwrap_or_default(), contents, tracked, shared);
        if let Some(lane) = lane {
            self.note_pause(lane);
        }
        let ecn = if lane.is_some() { Ecn::Ect0 } else { Ecn::NotEct };
        Some(self.transmit(ecn, class, size, size, Some(shared)))
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
        let room = end.saturating_sub(head.len() + 40);
        if let Pool::Chunks(_) = job.pool {
            // Chunk frames run to the packet's end, so only one can ride along: the last, which is
            // shorter than the others and would otherwise be a batch of its own.
            let (piece, kind) = job.take_last(room)?;
            let body = job.pool.body(piece);
            put_frame(head, id, job.index_width(), &body, &job.pool);
            head.extend_from_slice(memory.bytes(&body_ref(SendId { peer, job: id }, &body)));
            contents.push(Content::Piece(id, piece));
            job.bytes_sent += body.bytes as u64;
            return Some(kind);
        }
        let kind = LaneKind::ALL.into_iter().find(|lane| job.has(*lane))?;
        if job.open.bytes as usize > room || self.lanes[kind as usize].stash.is_some() {
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
        }
        used
    }

    /// Writes one control frame; false if it no longer means anything.
    fn put_control(
        &mut self,
        now: Time,
        control: Control,
        room: usize,
        alone: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let rtt = self.rtt.smoothed();
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
                    let round = found.ask(now, rtt);
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
                        ended: None,
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
            ended: found.ended,
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
}
