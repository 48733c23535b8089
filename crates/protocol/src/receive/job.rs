//! One job on its way in.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;
use laxity_interface::{GroupId, Span, Time};
use smallvec::SmallVec;

use super::{
    decide::{Decision, View, decide},
    space::Space,
};
use crate::{
    error::Progress,
    report::Ended,
    wire::{Counts, FrameKind, JobKind, JobOpen, Piece, Runs},
};

/// A long message of which some pieces are there.
#[derive(Debug)]
struct Partial {
    length: u64,
    pieces: FixedBitSet,
    left: u64,
}

/// What became of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placed {
    /// New; its message is not complete yet.
    Part,
    /// New, and its message is complete now.
    Whole,
    /// It was there.
    Duplicate,
}

/// Why a piece cannot be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// The application has not made room.
    Unclaimed,
    /// It contradicts the introduction: the peer is broken or lies.
    Violation,
    /// An open window has grown beyond what is accepted.
    TooLarge,
}

/// A job being received, or one that ended and whose last word is not confirmed.
#[derive(Debug)]
pub(crate) struct RecvJob {
    pub(crate) open: JobOpen,
    pub(crate) claimed: bool,
    /// Memory charged for it while nobody asked for it.
    pub(crate) charged: u64,
    pub(super) counts: SmallVec<[Counts; 2]>,
    final_counts: bool,
    spaces: SmallVec<[Space; 1]>,
    /// Arrived messages per group.
    pub(super) received: SmallVec<[u64; 2]>,
    partials: BTreeMap<(usize, u64), Partial>,
    pub(crate) bytes: u64,
    pub(super) duplicates: u64,
    /// Packets that the messages heard of take.
    pieces: u64,
    pub(super) started: Time,
    deadline: Option<Time>,
    limit: Option<Time>,
    /// The sender's last question and until when stragglers may come.
    probe: Option<(u64, Time)>,
    pub(crate) last_round: u64,
    /// Set when it is over: why.
    pub(crate) ended: Option<Ended>,
    /// Parts of the last word, by numbering and start, and whether each is confirmed.
    pub(crate) parts: BTreeMap<(u16, u64), bool>,
    /// When the remains of an ended job are let go even unconfirmed.
    pub(crate) forget_at: Option<Time>,
    /// More packets than this are not accepted: they would only cost memory.
    max_pieces: u64,
}

impl RecvJob {
    pub(crate) fn new(now: Time, open: JobOpen, max_pieces: u64) -> Self {
        let counts: SmallVec<[Counts; 2]> = open.groups.iter().map(|group| group.counts).collect();
        let (spaces, final_counts) = match open.kind {
            JobKind::Tensor { .. } => {
                let chunks = counts.iter().map(|count| count.total).sum();
                (SmallVec::from_iter([Space::new(chunks)]), true)
            }
            JobKind::Messages { open_window, .. } => {
                // An estimate is not worth memory before there are facts.
                let size = |count: &Counts| if open_window { 0 } else { count.total };
                (counts.iter().map(|count| Space::new(size(count))).collect(), !open_window)
            }
        };
        let after = |us: u64| (us > 0).then(|| now + Span::from_us(us));
        Self {
            deadline: after(open.deadline_us),
            limit: after(open.limit_us),
            claimed: false,
            charged: 0,
            received: counts.iter().map(|_| 0).collect(),
            counts,
            final_counts,
            spaces,
            partials: BTreeMap::new(),
            bytes: 0,
            duplicates: 0,
            pieces: 0,
            started: now,
            probe: None,
            last_round: 0,
            ended: None,
            parts: BTreeMap::new(),
            forget_at: None,
            max_pieces,
            open,
        }
    }

    /// Whether an introduction makes sense and fits, before anything is kept for it.
    pub(crate) fn is_sane(open: &JobOpen, max_pieces: u64) -> Result<(), bool> {
        let mut totals = open.groups.iter().map(|group| group.counts.total);
        let total = totals.try_fold(0u64, |sum, count| sum.checked_add(count));
        // `Err(true)`: too large; `Err(false)`: nonsense.
        let total = total.filter(|total| *total <= max_pieces).ok_or(true)?;
        if open.piece == 0 {
            return Err(false);
        }
        let piece = u64::from(open.piece);
        match open.kind {
            JobKind::Tensor { element, elements } => {
                let size = element.size() as u64;
                let sane = piece % size == 0
                    && elements.checked_mul(size) == Some(open.bytes)
                    && open.bytes.div_ceil(piece) == total;
                sane.then_some(()).ok_or(false)
            }
            JobKind::Messages { max_message, .. } => {
                let pieces = max_message.max(open.bytes).div_ceil(piece);
                (pieces <= max_pieces).then_some(()).ok_or(true)
            }
        }
    }

    fn group(&self, id: GroupId) -> Option<usize> {
        self.open.groups.iter().position(|group| group.id == id)
    }

    /// Judges a piece without changing anything but, if it is taken, the books.
    pub(crate) fn take(&mut self, piece: &Piece<'_>, kind: FrameKind) -> Result<Placed, Refused> {
        if self.ended.is_some() {
            return Ok(Placed::Duplicate);
        }
        let group = self.group(piece.group).ok_or(Refused::Violation)?;
        let placed = match (self.open.kind, kind) {
            (JobKind::Tensor { element, elements }, FrameKind::Chunk) => {
                self.take_chunk(group, piece, element.size() as u64, elements)?
            }
            (JobKind::Messages { max_message, .. }, FrameKind::Message | FrameKind::Part) => {
                self.take_message(group, piece, max_message)?
            }
            _ => return Err(Refused::Violation),
        };
        match placed {
            Placed::Duplicate => self.duplicates += 1,
            Placed::Part | Placed::Whole => self.bytes += piece.body.len() as u64,
        }
        Ok(placed)
    }

    fn take_chunk(
        &mut self,
        group: usize,
        piece: &Piece<'_>,
        size: u64,
        elements: u64,
    ) -> Result<Placed, Refused> {
        let per_chunk = u64::from(self.open.piece) / size;
        let expect = per_chunk.min(elements.checked_sub(piece.index).ok_or(Refused::Violation)?);
        if !piece.index.is_multiple_of(per_chunk) || expect == 0 || piece.length != expect * size {
            return Err(Refused::Violation);
        }
        let chunk = piece.index / per_chunk;
        if self.spaces[0].contains(chunk) {
            return Ok(Placed::Duplicate);
        }
        if !self.claimed {
            return Err(Refused::Unclaimed);
        }
        if self.received[group] == self.counts[group].total {
            return Err(Refused::Violation);
        }
        self.spaces[0].insert(chunk);
        self.received[group] += 1;
        Ok(Placed::Whole)
    }

    fn take_message(
        &mut self,
        group: usize,
        piece: &Piece<'_>,
        max_message: u64,
    ) -> Result<Placed, Refused> {
        let unit = u64::from(self.open.piece);
        let pieces = piece.length.div_ceil(unit).max(1);
        let expect = unit.min(piece.length - piece.offset.min(piece.length));
        let cut_well = piece.offset.is_multiple_of(unit) && piece.body.len() as u64 == expect;
        if piece.length > max_message || !cut_well {
            return Err(Refused::Violation);
        }
        if self.final_counts && piece.index >= self.counts[group].total {
            return Err(Refused::Violation);
        }
        if self.spaces[group].contains(piece.index) {
            return Ok(Placed::Duplicate);
        }
        if !self.claimed {
            return Err(Refused::Unclaimed);
        }
        let known = self.partials.get(&(group, piece.index));
        let at = (piece.offset / unit) as usize;
        if let Some(partial) = known {
            if partial.length != piece.length {
                return Err(Refused::Violation);
            }
            if partial.pieces.contains(at) {
                return Ok(Placed::Duplicate);
            }
        }
        // Only what is new counts: a repeated piece is no excess.
        if self.final_counts && self.bytes + piece.body.len() as u64 > self.open.bytes {
            return Err(Refused::Violation);
        }
        if known.is_none() {
            let growth = self.spaces[group].growth(piece.index);
            let bits = self.spaces.iter().map(Space::bits).sum::<u64>().saturating_add(growth);
            if self.pieces + pieces > self.max_pieces || bits > self.max_pieces * 2 {
                return Err(Refused::TooLarge);
            }
            self.pieces += pieces;
        }
        if pieces > 1 {
            let partial = self.partials.entry((group, piece.index)).or_insert_with(|| Partial {
                length: piece.length,
                pieces: FixedBitSet::with_capacity(pieces as usize),
                left: pieces,
            });
            partial.pieces.insert(at);
            partial.left -= 1;
            if partial.left > 0 {
                return Ok(Placed::Part);
            }
            self.partials.remove(&(group, piece.index));
        }
        self.spaces[group].insert(piece.index);
        self.received[group] += 1;
        Ok(Placed::Whole)
    }

    /// Whether a group's messages are handed over in order.
    pub(crate) fn is_ordered(&self, id: GroupId) -> bool {
        self.group(id).is_some_and(|at| self.open.groups[at].ordered)
    }

    /// Bytes that taking this piece would cost, besides its own, in books.
    pub(crate) fn cost(&self, piece: &Piece<'_>) -> u64 {
        let Some(group) = self.group(piece.group) else { return 0 };
        // What `take` will refuse costs nothing.
        let bits = self.spaces.get(group).map_or(0, |space| space.growth(piece.index));
        let parts = piece.length / u64::from(self.open.piece);
        bits.min(self.max_pieces * 2) / 8 + parts.min(self.max_pieces) / 8
    }

    /// Messages of an ordered group that can be handed over in order now.
    pub(crate) fn next_in_order(&mut self, id: GroupId) -> Option<u64> {
        let at = self.group(id)?;
        self.spaces[at].next_in_order()
    }

    /// The final counts of an open window. False: they contradict what arrived.
    pub(crate) fn close_window(&mut self, bytes: u64, counts: SmallVec<[Counts; 2]>) -> bool {
        if self.final_counts {
            return true;
        }
        let ordered = self.open.groups.iter().map(|group| group.ordered);
        let known = self.spaces.iter().zip(ordered);
        let total = counts.iter().fold(0u64, |sum, count| sum.saturating_add(count.total));
        let fits = counts.len() == self.counts.len()
            && total <= self.max_pieces
            && bytes >= self.bytes
            && counts.iter().zip(known).all(|(count, (space, ordered))| {
                count.total >= space.end() && (!ordered || count.required == count.total)
            });
        if fits {
            self.counts = counts;
            self.final_counts = true;
            self.open.bytes = bytes;
        }
        fits
    }

    /// The sender asks.
    pub(crate) fn probed(&mut self, now: Time, round: u64, grace: Span) {
        self.last_round = self.last_round.max(round);
        if self.probe.is_none_or(|(old, _)| old < round) {
            self.probe = Some((round, now + grace));
        }
    }

    /// The sender was answered.
    pub(crate) fn answered(&mut self) {
        self.probe = None;
    }

    /// Whether every group has its minimum, and the counts are final.
    fn is_enough(&self) -> bool {
        let mut pairs = self.counts.iter().zip(&self.received);
        self.final_counts && pairs.all(|(count, got)| *got >= count.required)
    }

    /// Whether [`decide`](Self::decide) may say anything but to wait. Cheaper: asked for every packet.
    pub(crate) fn may_end(&self, now: Time) -> bool {
        let past = |time: Option<Time>| time.is_some_and(|time| time <= now);
        self.is_enough() || past(self.limit) || past(self.probe.map(|(_, until)| until))
    }

    /// When to decide again if nothing comes; in the past if there is something to do at once.
    pub(crate) fn next_look(&self, now: Time) -> Option<Time> {
        if !self.may_end(now) {
            let grace = self.probe.map(|(_, until)| until);
            return self.limit.into_iter().chain(grace).min();
        }
        match self.decide(now) {
            Decision::Wait(until) => until,
            _ => Some(Time::ZERO),
        }
    }

    /// What to do now.
    pub(crate) fn decide(&self, now: Time) -> Decision {
        let pairs = || self.counts.iter().zip(&self.received);
        decide(&View {
            now,
            complete: self.final_counts && pairs().all(|(count, got)| *got == count.total),
            enough: self.is_enough(),
            finish: self.open.finish,
            grace_until: self.probe.map(|(_, until)| until),
            deadline: self.deadline,
            limit: self.limit,
        })
    }

    /// Arrived messages per group.
    pub(crate) fn received(&self) -> SmallVec<[u64; 2]> {
        self.received.clone()
    }

    /// How many numberings there are.
    pub(crate) fn space_count(&self) -> u16 {
        self.spaces.len() as u16
    }

    fn space_total(&self, space: usize) -> u64 {
        match self.open.kind {
            JobKind::Tensor { .. } => self.counts.iter().map(|count| count.total).sum(),
            JobKind::Messages { .. } => self.counts[space].total,
        }
    }

    /// What is missing in a numbering, from `from` on.
    pub(crate) fn missing(&self, space: u16, from: u64) -> Runs {
        let space = usize::from(space);
        let total = self.space_total(space);
        self.spaces[space].missing(from.min(total), total)
    }

    /// The first numbering with something missing that is required.
    pub(crate) fn first_wanting(&self) -> u16 {
        if let JobKind::Tensor { .. } = self.open.kind {
            return 0;
        }
        let pairs = self.counts.iter().zip(&self.received);
        pairs.map(|(count, got)| *got < count.required).position(|wants| wants).unwrap_or(0) as u16
    }

    /// How far the group got that is furthest from its goal.
    pub(crate) fn progress(&self) -> Progress {
        let short = |at: &usize| self.counts[*at].required.saturating_sub(self.received[*at]);
        let worst = (0..self.counts.len()).max_by_key(short).unwrap_or(0);
        Progress {
            group: self.open.groups[worst].id,
            received: self.received[worst],
            required: self.counts[worst].required,
            total: self.counts[worst].total,
        }
    }

    pub(crate) fn limit(&self) -> Span {
        Span::from_us(self.open.limit_us)
    }
}
