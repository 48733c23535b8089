//! A job as the test knows it: what was sent, what arrived, what both sides said in the end.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;
use laxity_interface::{GroupId, Span, Time};
use laxity_protocol::{
    DeliveryReport, JobError, JobId, JobOpen, Payload, Piece, SendId, SendRequest,
};

use super::payload::expected;

/// When the receiving application makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    AtOnce,
    After(Span),
    Never,
}

#[derive(Clone, Debug)]
pub struct Early {
    job: JobId,
    group: GroupId,
    place: [u64; 3],
    body: Vec<u8>,
}

impl Early {
    fn new(piece: &Piece<'_>) -> Self {
        let place = [piece.index, piece.length, piece.offset];
        Self { job: piece.job, group: piece.group, place, body: piece.body.to_vec() }
    }

    fn piece(&self) -> Piece<'_> {
        let [index, length, offset] = self.place;
        Piece { job: self.job, group: self.group, index, length, offset, body: &self.body }
    }
}

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    pub from: usize,
    pub to: usize,
    /// After the connection came about.
    pub at: Span,
    pub request: SendRequest,
    /// Messages added later (when, after the start) and when the window is closed.
    pub pushes: Vec<(Span, GroupId, u64)>,
    pub close_at: Span,
    pub claim: Claim,
    pub cancel_send: Option<Span>,
    pub cancel_recv: Option<Span>,

    pub id: Option<SendId>,
    /// The connection was gone before it started.
    pub skipped: bool,
    /// There were too many jobs at once.
    pub overbooked: bool,
    /// Group place and size of each message in the order handed in.
    pub messages: Vec<(usize, u64)>,
    /// Message numbers of each group.
    pub by_group: Vec<Vec<u64>>,
    pub started: Option<Time>,
    pub offered: Option<(Time, JobOpen)>,
    pub announced: Vec<Vec<u64>>,
    pub chunks: FixedBitSet,
    pub pieces: BTreeMap<(usize, u64), BTreeSet<u64>>,
    pub placed_bytes: u64,
    pub early: Vec<Early>,
    pub sender: Option<(Time, Result<DeliveryReport, JobError>)>,
    pub receiver: Option<(Time, Result<DeliveryReport, JobError>)>,
}

impl Job {
    pub fn new(from: usize, to: usize, request: SendRequest) -> Self {
        let groups = request.groups.len();
        let mut job = Self {
            from,
            to,
            at: Span::ZERO,
            request,
            pushes: Vec::new(),
            close_at: Span::ZERO,
            claim: Claim::AtOnce,
            cancel_send: None,
            cancel_recv: None,
            id: None,
            skipped: false,
            overbooked: false,
            messages: Vec::new(),
            by_group: vec![Vec::new(); groups],
            started: None,
            offered: None,
            announced: vec![Vec::new(); groups],
            chunks: FixedBitSet::new(),
            pieces: BTreeMap::new(),
            placed_bytes: 0,
            early: Vec::new(),
            sender: None,
            receiver: None,
        };
        if let Payload::Messages { sizes, .. } = job.request.payload.clone() {
            for (group, size) in sizes {
                job.note_message(group, size);
            }
        }
        job
    }

    pub fn is_window(&self) -> bool {
        match &self.request.payload {
            Payload::Messages { estimate, .. } => !estimate.is_empty(),
            Payload::Announced { .. } => true,
            Payload::Tensor { .. } => false,
        }
    }

    /// Messages of a group: those that were announced, or those that came.
    pub fn count(&self, group: usize) -> u64 {
        match &self.request.payload {
            Payload::Announced { counts, .. } => counts[group],
            _ => self.by_group[group].len() as u64,
        }
    }

    pub fn note_message(&mut self, group: GroupId, size: u64) {
        let at = self.place(group);
        self.by_group[at].push(self.messages.len() as u64);
        self.messages.push((at, size));
    }

    pub fn place(&self, group: GroupId) -> usize {
        let at = self.request.groups.iter().position(|spec| spec.id == group);
        at.expect("only groups of the job appear")
    }

    /// Bytes per element of a tensor.
    pub fn element(&self) -> Option<(u64, u64)> {
        match &self.request.payload {
            Payload::Tensor { element, elements, .. } => Some((element.size() as u64, *elements)),
            Payload::Messages { .. } | Payload::Announced { .. } => None,
        }
    }

    fn name(&self) -> (usize, usize, JobId) {
        (self.from, self.to, self.id.expect("it was sent").job)
    }

    /// The receiver was offered the job.
    pub fn offer(&mut self, now: Time, open: &JobOpen) {
        assert!(self.offered.is_none(), "offered twice");
        self.offered = Some((now, open.clone()));
        for early in std::mem::take(&mut self.early) {
            self.take(&early.piece());
        }
    }

    /// Checks a piece that arrives and notes it.
    pub fn take(&mut self, piece: &Piece<'_>) {
        let who = self.name();
        assert!(self.receiver.is_none(), "{who:?}: placed after the end");
        let Some((_, open)) = &self.offered else {
            // A small job travels with its introduction: its bytes are here before its event.
            self.early.push(Early::new(piece));
            return;
        };
        self.placed_bytes += piece.body.len() as u64;
        if let Some((size, _)) = self.element() {
            let per_chunk = u64::from(open.piece) / size;
            let chunk = (piece.index / per_chunk) as usize;
            self.chunks.grow(chunk + 1);
            assert!(!self.chunks.put(chunk), "{who:?}: chunk {chunk} was placed twice");
            let right = expected(who, 0, piece.index * size, piece.body.len());
            assert!(piece.body == right, "{who:?}: wrong bytes in chunk {chunk}");
            return;
        }
        let at = self.place(piece.group);
        let number = self.by_group[at][piece.index as usize];
        assert_eq!(piece.length, self.messages[number as usize].1, "{who:?}: wrong length");
        let right = expected(who, number, piece.offset, piece.body.len());
        assert!(piece.body == right, "{who:?}: wrong bytes in message {number}");
        let new = self.pieces.entry((at, piece.index)).or_default().insert(piece.offset);
        assert!(new, "{who:?}: message {number} at {} was placed twice", piece.offset);
    }
}
