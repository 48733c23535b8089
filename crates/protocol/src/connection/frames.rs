//! Frames in.

use laxity_interface::{Span, Time};

use super::{Connection, Shared, incoming::Taken};
use crate::{
    error::ResetCode,
    event::Event,
    ids::{JobId, RecvId},
    path::Control,
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
            Frame::JobOpen(job, open) => self.handle_open(now, job, open, shared),
            Frame::Window { job, bytes, counts } => {
                let Some(found) = self.recvs.get_mut(&job) else { return self.known(job) };
                if !found.close_window(bytes, counts) {
                    self.refuse(now, job, ResetCode::Violation, shared);
                }
                self.review(now, job, shared);
            }
            Frame::Probe { job, round } => return self.handle_probe(now, job, round, shared),
            Frame::Status { job, round, last, space, received, runs } => {
                let Some(found) = self.sends.get_mut(&job) else { return Taken::Yes };
                // A peer that answers knows the job.
                found.introduced = true;
                if found.status((round, last, space), received, runs) {
                    self.finish_send(now, job, shared);
                }
            }
            Frame::Hold(job) => {
                if let Some(found) = self.sends.get_mut(&job).filter(|job| !job.introduced) {
                    found.held = true;
                }
            }
            Frame::Go(job) => {
                if let Some(found) = self.sends.get_mut(&job) {
                    found.held = false;
                    found.introduced = true;
                }
            }
            Frame::Reset { job, by_receiver, code } => {
                self.handle_reset(now, job, by_receiver, ResetCode::from_wire(code), shared);
            }
            Frame::Close { .. } => self.closing = Some(0),
            Frame::Piece(piece, kind) => return self.handle_piece(now, &piece, kind, shared, sink),
        }
        Taken::Yes
    }

    /// Whether an unknown job is an old one (then the frame is merely late) or one whose
    /// introduction has not come.
    fn known(&self, job: JobId) -> Taken {
        let old = job.0 < self.closed_below || self.closed.contains(&job);
        if old { Taken::Yes } else { Taken::No }
    }

    fn handle_open(&mut self, now: Time, job: JobId, open: JobOpen, shared: &mut Shared) {
        if self.recvs.contains_key(&job) || self.known(job) == Taken::Yes {
            return;
        }
        let under_way = self.recvs.values().filter(|job| job.ended.is_none()).count();
        let limit = shared.config.max_pieces;
        let refusal = if job.0 >= self.closed_below + 64 * shared.config.max_jobs as u64 {
            // Numbers are given in order; a leap would only cost memory to remember.
            Some(ResetCode::Violation)
        } else if under_way >= shared.config.max_jobs {
            Some(ResetCode::TooMany)
        } else {
            match RecvJob::is_sane(&open, limit) {
                Ok(()) => None,
                Err(true) => Some(ResetCode::TooLarge),
                Err(false) => Some(ResetCode::Violation),
            }
        };
        if let Some(code) = refusal {
            self.resets.insert((job, true), code.to_wire());
            self.queue(Control::ResetReceived(job));
            self.close_job(job);
            return;
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
            self.holding.insert(job);
            self.queue(Control::Hold(job));
        }
        let claimed = found.claimed;
        self.recvs.insert(job, found);
        self.count_sender(shared);
        let id = RecvId { peer: self.id, job };
        shared.events.push_back(Event::Offered { id, open, claimed });
        // A job of nothing is over at once.
        self.review(now, job, shared);
    }

    fn handle_probe(&mut self, now: Time, job: JobId, round: u64, shared: &mut Shared) -> Taken {
        // Stragglers get an eighth of a round trip.
        let grace = (self.rtt.smoothed() / 8).min(Span::from_ms(5));
        let Some(found) = self.recvs.get_mut(&job) else { return self.known(job) };
        if found.ended.is_some() {
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
            if found.charged > 0 && is_window(&found.open) { piece.body.len() as u64 } else { 0 };
        if shared.unclaimed + window_charge > shared.config.unclaimed_limit.get() {
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
                    self.review(now, piece.job, shared);
                }
            }
            Err(Refused::Unclaimed) => {
                if self.holding.insert(piece.job) {
                    self.queue(Control::Hold(piece.job));
                }
                return Taken::No;
            }
            Err(Refused::Violation) => {
                self.refuse(now, piece.job, ResetCode::Violation, shared);
            }
        }
        Taken::Yes
    }
}

fn is_window(open: &JobOpen) -> bool {
    matches!(open.kind, JobKind::Messages { open_window: true, .. })
}

/// Tells the application of a whole message; exact groups in order, which may release several.
fn announce(found: &mut RecvJob, id: RecvId, piece: &Piece<'_>, shared: &mut Shared) {
    let group = piece.group;
    if !found.is_exact(group) {
        shared.events.push_back(Event::Message { id, group, index: piece.index });
        return;
    }
    while let Some(index) = found.next_in_order(group) {
        shared.events.push_back(Event::Message { id, group, index });
    }
}
