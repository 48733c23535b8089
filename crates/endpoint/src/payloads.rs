//! Memory of jobs: what is being sent stays where the application has it, what is received is written
//! to its final place.
#![allow(unsafe_code)] // Pointers into buffers that a blocked caller lends.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use laxity_interface::GroupId;
use laxity_protocol::{BodyRef, JobKind, JobOpen, Memory, Piece, RecvId, SendId, Sink};

use crate::{element::Buffer, prefetch, store::Store};

/// Payload of a job being sent.
#[derive(Debug)]
pub(crate) enum Source {
    /// Lent by a caller that waits for the job's end.
    Lent(Lent<*const u8>),
    /// Owned (or shared) by the job.
    Owned(Bytes),
    /// Separate messages.
    Messages(Vec<Bytes>),
}

impl Source {
    /// Whether there is more to send than this. Messages count as more: there may be thousands, and more
    /// to come.
    pub(crate) fn exceeds(&self, bytes: usize) -> bool {
        match self {
            Self::Lent(lent) => lent.length > bytes,
            Self::Owned(owned) => owned.len() > bytes,
            Self::Messages(_) => true,
        }
    }
}

/// A piece of memory whose owner promised to keep it until the job's slot is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent<P> {
    start: P,
    length: usize,
}

// SAFETY: the pointer is only used under the core's lock, and the lender keeps the memory alive and
// does not touch it (writes) or only reads it (reads) until the slot was removed under that lock.
unsafe impl<P> Send for Lent<P> {}

impl Lent<*const u8> {
    /// The caller must keep `bytes` borrowed until the job's source is removed from [`Payloads`].
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr(), length: bytes.len() }
    }
}

impl Lent<*mut u8> {
    /// The caller must keep `bytes` exclusively borrowed until the target is removed from
    /// [`Arrivals`].
    pub(crate) fn write(bytes: &mut [u8]) -> Self {
        Self { start: bytes.as_mut_ptr(), length: bytes.len() }
    }
}

/// Payload of all jobs being sent.
#[derive(Debug, Default)]
pub(crate) struct Payloads {
    pub(crate) jobs: BTreeMap<SendId, Source>,
}

impl Memory for Payloads {
    fn bytes(&self, body: &BodyRef) -> &[u8] {
        let (from, to) = (body.offset as usize, body.offset as usize + body.length);
        match self.jobs.get(&body.job) {
            Some(Source::Lent(lent)) => {
                // SAFETY: alive by the lender's promise, and nobody writes to it.
                piece_of(unsafe { std::slice::from_raw_parts(lent.start, lent.length) }, from, to)
            }
            Some(Source::Owned(bytes)) => piece_of(bytes, from, to),
            Some(Source::Messages(messages)) => &messages[body.message as usize][from..to],
            None => unreachable!("the protocol asks only for jobs under way"),
        }
    }
}

/// A piece of a tensor, of which the next piece is likely to be sent next.
fn piece_of(tensor: &[u8], from: usize, to: usize) -> &[u8] {
    assert!(to <= tensor.len(), "a chunk inside its tensor");
    prefetch::behind(to - from, &tensor[to..]);
    &tensor[from..to]
}

/// A message that arrived whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Its group.
    pub group: GroupId,
    /// Its number inside the group.
    pub index: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where a received job's bytes go.
#[derive(Debug)]
pub(crate) enum Target {
    /// A buffer lent by a caller that waits.
    Lent(Lent<*mut u8>),
    /// A tensor's own memory.
    Tensor(Buffer),
    /// Messages: those in the making, and those that can be handed over.
    Messages { parts: BTreeMap<(GroupId, u64), Vec<u8>>, ready: VecDeque<Message> },
}

impl Target {
    /// Memory for a job that is received without anybody's buffer.
    pub(crate) fn owned(open: &JobOpen) -> Self {
        match open.kind {
            JobKind::Tensor { .. } => Self::Tensor(Buffer::zeroed(open.bytes as usize)),
            JobKind::Messages { .. } => {
                Self::Messages { parts: BTreeMap::new(), ready: VecDeque::new() }
            }
        }
    }

    /// The same in memory that was used before: what does not arrive must be cleared at the end.
    pub(crate) fn recycled(open: &JobOpen) -> Self {
        match open.kind {
            JobKind::Tensor { .. } => Self::Tensor(Store::global().lend(open.bytes as usize)),
            JobKind::Messages { .. } => Self::owned(open),
        }
    }

    fn place(&mut self, piece: &Piece<'_>, element: usize) {
        let at = piece.index as usize * element;
        match self {
            Self::Lent(lent) => {
                // SAFETY: alive and exclusive by the lender's promise; received bytes lie in the
                // socket's buffers, never in the lender's.
                let tensor = unsafe { std::slice::from_raw_parts_mut(lent.start, lent.length) };
                write_piece(tensor, at, piece.body);
            }
            Self::Tensor(buffer) => write_piece(buffer.bytes_mut(), at, piece.body),
            Self::Messages { parts, .. } => {
                let message = parts.entry((piece.group, piece.index)).or_default();
                message.resize(piece.length as usize, 0);
                let at = piece.offset as usize;
                message[at..at + piece.body.len()].copy_from_slice(piece.body);
            }
        }
    }

    /// Starts with what came before there was this place.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        let whole = Piece {
            job: laxity_protocol::JobId(0),
            group: GroupId(0),
            index: 0,
            length: bytes.len() as u64,
            offset: 0,
            body: bytes,
        };
        self.place(&whole, 1);
    }

    /// A message is whole: it can be handed over.
    pub(crate) fn complete(&mut self, group: GroupId, index: u64) {
        if let Self::Messages { parts, ready } = self
            && let Some(bytes) = parts.remove(&(group, index))
        {
            ready.push_back(Message { group, index, bytes });
        }
    }
}

/// Puts a piece in its place; the next piece is likely to belong behind it.
fn write_piece(tensor: &mut [u8], at: usize, body: &[u8]) {
    assert!(at + body.len() <= tensor.len(), "a chunk inside its tensor");
    let (now, soon) = tensor[at..].split_at_mut(body.len());
    now.copy_from_slice(body);
    prefetch::behind(body.len(), soon);
}

/// Where bytes of all jobs being received go.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    jobs: BTreeMap<RecvId, (Target, usize)>,
    /// Pieces that came in the same packet as their job's introduction, before it could be looked at.
    early: Vec<(RecvId, Early)>,
}

#[derive(Debug)]
struct Early {
    group: GroupId,
    index: u64,
    length: u64,
    offset: u64,
    body: Vec<u8>,
}

impl Sink for Arrivals {
    fn place(&mut self, job: RecvId, piece: &Piece<'_>) {
        if let Some((target, element)) = self.jobs.get_mut(&job) {
            target.place(piece, *element);
            return;
        }
        let Piece { group, index, length, offset, body, .. } = *piece;
        self.early.push((job, Early { group, index, length, offset, body: body.to_vec() }));
    }
}

impl Arrivals {
    /// Gives a job its place.
    pub(crate) fn set(&mut self, job: RecvId, open: &JobOpen, mut target: Target) {
        let element = match open.kind {
            JobKind::Tensor { element, .. } => element.size(),
            JobKind::Messages { .. } => 1,
        };
        for (_, early) in self.early.extract_if(.., |(id, _)| *id == job) {
            let Early { group, index, length, offset, body } = early;
            let piece = Piece { job: job.job, group, index, length, offset, body: &body };
            target.place(&piece, element);
        }
        self.jobs.insert(job, (target, element));
    }

    /// A job's place.
    pub(crate) fn get_mut(&mut self, job: RecvId) -> Option<&mut Target> {
        self.jobs.get_mut(&job).map(|(target, _)| target)
    }

    /// Takes a job's memory away; nothing is written to it after this.
    pub(crate) fn remove(&mut self, job: RecvId) -> Option<Target> {
        self.early.retain(|(id, _)| *id != job);
        self.jobs.remove(&job).map(|(target, _)| target)
    }
}
