//! Frames in.

use laxity_interface::{Span, Time};

use super::{Connection, Shared, incoming::Taken};
use crate::{
    config::Config,
    error::ResetCode,
    event::Event,
    ids::{JobId, RecvId},
    receive::{Placed, RecvJob, Refused, Sink},
    wire::{Frame, FrameKind, JobKind, JobOpen, Piece},
};

impl Connection {
    pub(super) fn handle_frame<S: Sink>(
        &mut self,
        now: Time,
        frame: Frame<'_>,
        shared: &mut Shared,
        sink: &mut S,
    ) -> Taken {
        match frame {
            Frame::Padding | Frame::Ping => {}
            Frame::Ack(ack) => self.handle_ack(now, &ack, shared),
            Frame::JobOpen(job, open) => return self.handle_open(now, job, open, shared),
            Frame::Window { job, bytes, counts } => {
                let Some(found) = self.recvs.get_mut(&job) else { return self.known(job) };
                if !found.close_window(bytes, counts) {
                    self.refuse(job, ResetCode::Violation, shared);
                }
                self.review(now, job, shared);
            }
            Frame::Probe { job, round } => return self.handle_probe(now, job, round, shared),
            Frame::Status { job, round, ended, space, received, runs } => {
                let Some(found) = self.sends.get_mut(&job) else { return Taken::Yes };
                // A peer that answers knows the job.
                found.introduced = true;
                if found.status((round, ended, space), received, runs) {
                    self.finish_send(now, job, shared);
                }
            }
            Frame::Hold(job) => {
                if let Some(found) = self.sends.get_mut(&job) {
                    found.hold();
                }
            }
            Frame::Go(job) => {
                if let Some(found) = self.sends.get_mut(&job) {
                    found.release(now);
                }
            }
            Frame::Reset { job, by_receiver, code } => {
                self.handle_reset(job, by_receiver, ResetCode::from_wire(code), shared);
            }
            Frame::Close { .. } => self.closed_by_peer = true,
            Frame::Piece(piece, kind) => return self.handle_piece(now, &piece, kind, shared, sink),
        }
        Taken::Yes
    }

    /// Whether an unknown job is an old one (then the frame is merely late) or one whose
    /// introduction has not come.
    fn known(&self, job: JobId) -> Taken {
        if self.closed.contains(job) { Taken::Yes } else { Taken::No }
    }

    fn handle_open(&mut self, now: Time, job: JobId, open: JobOpen, shared: &mut Shared) -> Taken {
        if self.recvs.contains_key(&job) || self.known(job) == Taken::Yes {
            return Taken::Yes;
        }
        if self.resets.len() >= remembered(&shared.config) {
            // A peer that does not listen to refusals gets no more of them.
            return Taken::No;
        }
        let under_way = self.recvs.values().filter(|job| job.ended.is_none()).count();
        let limit = shared.config.max_pieces;
        let refusal = if under_way >= shared.config.max_jobs {
            Some(ResetCode::TooMany)
        } else {
            match RecvJob::is_sane(&open, limit) {
                Ok(()) => None,
                Err(true) => Some(ResetCode::TooLarge),
                Err(false) => Some(ResetCode::Violation),
            }
        };
        if let Some(code) = refusal {
            self.tell_reset(job, true, code);
            self.close_job(job, shared);
            return Taken::Yes;
        }
        if self.recvs.len() - under_way >= remembered(&shared.config)
            && let Some((&oldest, _)) = self.recvs.iter().find(|(_, job)| job.ended.is_some())
        {
            // A peer that does not confirm last words cannot make us keep them all.
            self.forget_recv(oldest, shared);
        }
        let mut found = RecvJob::new(now, open.clone(), limit);
        // One bit per message, and the bytes; an open window is charged as its messages come.
        let bits: u64 = open.groups.iter().map(|group| group.counts.total / 8 + 1).sum();
        let charge = bits + if is_window(&open) { 0 } else { open.bytes };
        if shared.unclaimed + charge <= shared.config.unclaimed_limit.get() {
            found.claimed = true;
            found.charged = charge;
            shared.unclaimed += charge;
        } else {
            self.hold(job);
        }
        let claimed = found.claimed;
        self.recvs.insert(job, found);
        self.count_sender(shared);
        let id = RecvId { peer: self.id, job };
        shared.events.push_back(Event::Offered { id, open, claimed });
        // A job of nothing is over at once.
        self.review(now, job, shared);
        Taken::Yes
    }

    fn handle_probe(&mut self, now: Time, job: JobId, round: u64, shared: &mut Shared) -> Taken {
        // Stragglers get an eighth of a round trip.
        let grace = (self.rtt.smoothed() / 8).min(Span::from_ms(5));
        let forget_at = self.keeps_last_words(now, shared);
        let Some(found) = self.recvs.get_mut(&job) else {
            let known = self.known(job);
            // Who still asks has not heard our last word, and we have no other.
            if known == Taken::Yes && self.resets.len() < remembered(&shared.config) {
                self.tell_reset(job, true, ResetCode::Forgotten);
            }
            return known;
        };
        if found.ended.is_some() {
            found.forget_at = Some(forget_at);
            return Taken::Yes;
        }
        found.probed(now, round, grace);
        self.review(now, job, shared);
        Taken::Yes
    }

    fn handle_piece<S: Sink>(
        &mut self,
        now: Time,
        piece: &Piece<'_>,
        kind: FrameKind,
        shared: &mut Shared,
        sink: &mut S,
    ) -> Taken {
        let Some(found) = self.recvs.get_mut(&piece.job) else { return self.known(piece.job) };
        let id = RecvId { peer: self.id, job: piece.job };
        let window_charge =
            if found.charged > 0 { found.cost(piece) + piece.body.len() as u64 } else { 0 };
        let window_charge = if is_window(&found.open) { window_charge } else { 0 };
        if window_charge > 0
            && shared.unclaimed + window_charge > shared.config.unclaimed_limit.get()
        {
            self.hold(piece.job);
            return Taken::No;
        }
        match found.take(piece, kind) {
            Ok(Placed::Duplicate) => shared.stats.pieces_duplicate += 1,
            Ok(placed) => {
                found.charged += window_charge;
                shared.unclaimed += window_charge;
                shared.stats.pieces_placed += 1;
                sink.place(id, piece);
                if placed == Placed::Whole {
                    if kind != FrameKind::Chunk {
                        announce(found, id, piece, shared);
                    }
                    if found.may_end(now) {
                        self.review(now, piece.job, shared);
                    }
                }
            }
            Err(Refused::Unclaimed) => {
                self.hold(piece.job);
                return Taken::No;
            }
            Err(Refused::Violation) => self.refuse(piece.job, ResetCode::Violation, shared),
            Err(Refused::TooLarge) => self.refuse(piece.job, ResetCode::TooLarge, shared),
        }
        Taken::Yes
    }
}

/// How many jobs that are over may be remembered because the peer has not confirmed their end.
fn remembered(config: &Config) -> usize {
    4 * config.max_jobs + 16
}

fn is_window(open: &JobOpen) -> bool {
    matches!(open.kind, JobKind::Messages { open_window: true, .. })
}

/// Tells the application of a whole message; ordered groups in order, which may release several.
fn announce(found: &mut RecvJob, id: RecvId, piece: &Piece<'_>, shared: &mut Shared) {
    let group = piece.group;
    if !found.is_ordered(group) {
        shared.events.push_back(Event::Message { id, group, index: piece.index });
        return;
    }
    while let Some(index) = found.next_in_order(group) {
        shared.events.push_back(Event::Message { id, group, index });
    }
}
