//! Parcels that wait to be written to one peer, and the frames they are cut into. No socket.

use std::{
    collections::{BTreeMap, VecDeque},
    io::IoSlice,
};

use bytes::Bytes;

use super::frame::{FRAME_BYTES, Head, Kind, MAX_OPEN};
use crate::carrier::{Envelope, Parcel};

/// Frames are fixed this many bytes ahead: enough for one large write, little enough to wait for.
const AHEAD_BYTES: usize = 2 * FRAME_BYTES;
/// And this many frames: what one call takes.
const AHEAD_FRAMES: usize = 64;

/// A parcel by its place in the order: priority, then age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) priority: u32,
    pub(super) parcel: u64,
}

/// What waits for one peer.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    parcels: BTreeMap<Place, Pending>,
    /// How many of them have begun.
    begun: usize,
    next: u64,
    /// Frames in the order in which they will leave.
    frames: VecDeque<Frame>,
    ahead: usize,
    /// Nothing after this.
    goodbye: bool,
}

#[derive(Debug)]
struct Pending {
    envelope: Envelope,
    body: Bytes,
    /// Bytes that are in frames.
    cut: usize,
    begun: bool,
}

#[derive(Debug)]
struct Frame {
    head: Vec<u8>,
    body: Bytes,
    /// Bytes of head and body that were written.
    written: usize,
    /// With this frame the parcel is through.
    ends: Option<Envelope>,
}

impl Outbox {
    /// Takes a parcel.
    pub(super) fn push(&mut self, parcel: Parcel) -> Place {
        self.next += 1;
        let place = Place { priority: parcel.slack.priority, parcel: self.next };
        let Parcel { envelope, body, .. } = parcel;
        self.parcels.insert(place, Pending { envelope, body, cut: 0, begun: false });
        place
    }

    /// Takes a parcel back. `None` if all of it is in frames: it can no longer be stopped.
    pub(super) fn withdraw(&mut self, place: Place) -> Option<Envelope> {
        let pending = self.parcels.remove(&place)?;
        self.begun -= usize::from(pending.begun);
        let mut head = Vec::new();
        Head { kind: Kind::Void, length: 0, parcel: place.parcel }.encode(&mut head);
        head.extend_from_slice(&pending.envelope.encode());
        self.add(Frame { head, body: Bytes::new(), written: 0, ends: None });
        Some(pending.envelope)
    }

    /// Says goodbye when all parcels are through.
    pub(super) fn say_goodbye(&mut self) {
        self.goodbye = true;
    }

    /// Whether everything was written.
    pub(super) fn is_empty(&self) -> bool {
        self.parcels.is_empty() && self.frames.is_empty() && !self.goodbye
    }

    /// All parcels that are not through, oldest of the most urgent first.
    pub(super) fn drain(&mut self) -> Vec<Envelope> {
        let cut = self.frames.drain(..).filter_map(|frame| frame.ends);
        let mut left: Vec<_> = cut.collect();
        left.extend(std::mem::take(&mut self.parcels).into_values().map(|p| p.envelope));
        *self = Self { next: self.next, ..Self::default() };
        left
    }

    /// What to write next, in one call. Empty: nothing.
    pub(super) fn slices(&mut self) -> Vec<IoSlice<'_>> {
        self.cut();
        let mut slices = Vec::with_capacity(2 * self.frames.len());
        for frame in &self.frames {
            let head = frame.written.min(frame.head.len());
            let body = frame.written - head;
            for part in [&frame.head[head..], &frame.body[body..]] {
                if !part.is_empty() {
                    slices.push(IoSlice::new(part));
                }
            }
        }
        slices
    }

    /// So many bytes were written; gives the parcels that are through with it.
    pub(super) fn wrote(&mut self, mut bytes: usize) -> Vec<Envelope> {
        let mut through = Vec::new();
        self.ahead -= bytes;
        while let Some(frame) = self.frames.front_mut() {
            let left = frame.head.len() + frame.body.len() - frame.written;
            if bytes < left {
                frame.written += bytes;
                break;
            }
            bytes -= left;
            through.extend(self.frames.pop_front().and_then(|frame| frame.ends));
        }
        through
    }

    /// Fixes the next frames.
    fn cut(&mut self) {
        while self.ahead < AHEAD_BYTES && self.frames.len() < AHEAD_FRAMES {
            let crowded = self.begun >= MAX_OPEN;
            let next = self.parcels.iter_mut().find(|(_, pending)| !crowded || pending.begun);
            let Some((&place, pending)) = next else {
                if std::mem::take(&mut self.goodbye) {
                    let mut head = Vec::new();
                    Head { kind: Kind::Goodbye, length: 0, parcel: 0 }.encode(&mut head);
                    self.add(Frame { head, body: Bytes::new(), written: 0, ends: None });
                }
                return;
            };
            let end = pending.body.len().min(pending.cut + FRAME_BYTES);
            let body = pending.body.slice(pending.cut..end);
            let mut head = Vec::with_capacity(64);
            let kind = if pending.begun { Kind::More } else { Kind::Open };
            Head { kind, length: body.len() as u32, parcel: place.parcel }.encode(&mut head);
            if kind == Kind::Open {
                head.extend_from_slice(&pending.envelope.encode());
                head.extend_from_slice(&(pending.body.len() as u64).to_le_bytes());
                pending.begun = true;
                self.begun += 1;
            }
            pending.cut = end;
            let whole = end == pending.body.len();
            let ends = whole.then_some(pending.envelope);
            if whole {
                self.parcels.remove(&place);
                self.begun -= 1;
            }
            self.add(Frame { head, body, written: 0, ends });
        }
    }

    fn add(&mut self, frame: Frame) {
        self.ahead += frame.head.len() + frame.body.len();
        self.frames.push_back(frame);
    }
}
