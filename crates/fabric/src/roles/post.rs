//! Words and tensors into parcels and back.
//!
//! The word travels exactly, as part 0; its tensor in parts from 1 on, which may lose elements. The
//! envelope's group is the sender's rank, its step the sender's incarnation.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use laxity_interface::{Rate, Time};
use laxity_protocol::ElementType;

use super::{
    codec::{Reader, WordError, Writer},
    ids::RoleKind,
    tensor::Tensor,
    words::Word,
};
use crate::{
    carrier::{Arrival, Channel, Envelope, Lane, Parcel, Signature, Slack},
    rank::{GroupId, Rank},
};

/// The layout of words.
const LAYOUT: u8 = 2;
/// The most words of one sender that wait for the rest of themselves.
const MOST_HALVES: usize = 64;
/// The most parts of one tensor.
const MOST_PARTS: u32 = 4096;
/// A tensor that is sent at a rate is cut into parts of about this size.
const PACED_PART: usize = 64 * 1024;

/// A word with what belongs to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Letter {
    /// Who says it.
    pub from: Rank,
    /// Which of the sender's roles.
    pub from_role: RoleKind,
    /// Which of the receiver's roles is meant.
    pub to_role: RoleKind,
    /// The latest epoch that the sender knows.
    pub epoch: u32,
    /// What is said.
    pub word: Word,
    /// The tensor that belongs to it.
    pub tensor: Option<Tensor>,
}

/// How a letter is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) to: Rank,
    pub(crate) role: RoleKind,
    pub(crate) epoch: u32,
    /// Of the tensor; the word itself is exact.
    pub(crate) slack: Slack,
    pub(crate) at: Time,
    pub(crate) rate: Option<Rate>,
}

impl Way {
    /// At once, exactly.
    pub(crate) fn to(to: Rank, role: RoleKind, epoch: u32) -> Self {
        Self { to, role, epoch, slack: Slack::EXACT, at: Time::ZERO, rate: None }
    }
}

/// Parcels of one role that have not left.
#[derive(Debug)]
pub(crate) struct Post {
    me: Rank,
    role: RoleKind,
    incarnation: u32,
    next: u64,
    order: u64,
    waiting: BTreeMap<(Time, u64), Parcel>,
}

impl Post {
    pub(crate) fn new(me: Rank, role: RoleKind, incarnation: u32) -> Self {
        Self { me, role, incarnation, next: 0, order: 0, waiting: BTreeMap::new() }
    }

    /// Takes a letter to be sent; returns its sequence, by which failures are reported.
    pub(crate) fn send(&mut self, way: Way, word: &Word, tensor: Option<&Tensor>) -> u64 {
        let sequence = u64::from(self.role as u8) << 56 | self.next;
        self.next += 1;
        let elements = tensor.map_or(0, Tensor::elements);
        let parts = match (way.rate, tensor) {
            (_, None) => 0,
            (None, Some(_)) => 1,
            (Some(_), Some(tensor)) => {
                let wanted = tensor.bytes().len().div_ceil(PACED_PART) as u32;
                wanted.clamp(1, MOST_PARTS.min(elements.max(1) as u32))
            }
        };
        let mut writer = Writer::for_word();
        writer.u8(LAYOUT);
        writer.u8(way.role as u8);
        writer.u8(self.role as u8);
        writer.u32(way.epoch);
        writer.u64(elements as u64);
        writer.u32(parts);
        word.encode(&mut writer);
        let envelope = |part, element| Envelope {
            channel: Channel {
                lane: Lane::Role,
                group: GroupId::new(self.me.get()),
                sequence,
                step: self.incarnation,
                part,
            },
            signature: Signature { kind: word.kind().into(), element, count: elements as u64 },
        };
        let head = Parcel {
            to: way.to,
            envelope: envelope(0, ElementType::U8),
            body: writer.finish().into(),
            slack: Slack { min_delivery: Slack::EXACT.min_delivery, ..way.slack },
        };
        let mut made = vec![(way.at, head)];
        if let Some(tensor) = tensor {
            let per = part_size(elements, parts);
            let mut at = way.at;
            for part in 0..parts {
                let range = part_range(elements, per, part);
                let body = tensor.bytes().slice(range.start * 4..range.end * 4);
                let takes = way
                    .rate
                    .map(|rate| rate.time_for(laxity_interface::Bytes::new(body.len() as u64)));
                let envelope = envelope(part + 1, ElementType::F32);
                made.push((at, Parcel { to: way.to, envelope, body, slack: way.slack }));
                at += takes.unwrap_or_default();
            }
        }
        for (at, parcel) in made {
            self.waiting.insert((at, self.order), parcel);
            self.order += 1;
        }
        sequence
    }

    /// Takes back what has not left of a letter.
    pub(crate) fn cancel(&mut self, sequence: u64) {
        self.waiting.retain(|_, parcel| parcel.envelope.channel.sequence != sequence);
    }

    /// Takes back everything for a rank.
    pub(crate) fn forget(&mut self, to: Rank) {
        self.waiting.retain(|_, parcel| parcel.to != to);
    }

    pub(crate) fn poll(&mut self, now: Time) -> Option<Parcel> {
        let first = self.waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.waiting.first_key_value().map(|((at, _), _)| *at)
    }
}

fn part_size(elements: usize, parts: u32) -> usize {
    elements.div_ceil(parts.max(1) as usize).max(1)
}

fn part_range(elements: usize, per: usize, part: u32) -> Range<usize> {
    let start = (part as usize).saturating_mul(per).min(elements);
    start..start.saturating_add(per).min(elements)
}

/// A word that came, and how its tensor is cut.
#[derive(Debug)]
struct Head {
    letter: Letter,
    elements: u64,
    parts: u32,
}

#[derive(Debug, Default)]
struct Half {
    head: Option<Head>,
    parts: BTreeMap<u32, Arrival>,
}

/// Puts letters together. Holds a bounded number of unfinished ones of each sender.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    halves: BTreeMap<(Rank, u32, u64), Half>,
}

impl Inbox {
    /// Takes a parcel of the lane of roles; gives a letter when it is complete.
    pub(crate) fn handle(&mut self, arrival: Arrival) -> Result<Option<Letter>, WordError> {
        let channel = arrival.envelope.channel;
        let from = arrival.from;
        if channel.lane != Lane::Role {
            return Err(WordError::Frame { what: "it is not on the lane of roles" });
        }
        if channel.group.get() != from.get() {
            return Err(WordError::Frame { what: "its envelope names another sender" });
        }
        let key = (from, channel.step, channel.sequence);
        if channel.part == 0 {
            let head = read_head(&arrival)?;
            if head.parts == 0 {
                return Ok(Some(head.letter));
            }
            self.half(key)?.head = Some(head);
        } else {
            if arrival.envelope.signature.element != ElementType::F32
                || !arrival.body.len().is_multiple_of(4)
                || channel.part > MOST_PARTS
            {
                return Err(WordError::Frame { what: "its tensor is not in f32 elements" });
            }
            self.half(key)?.parts.insert(channel.part, arrival);
        }
        let half = self.halves.get(&key).expect("just filled");
        let Some(head) = &half.head else { return Ok(None) };
        if half.parts.len() < head.parts as usize {
            return Ok(None);
        }
        let Half { head, parts } = self.halves.remove(&key).unwrap_or_default();
        let Some(Head { mut letter, elements, parts: count }) = head else { return Ok(None) };
        letter.tensor = Some(join(elements, count, parts)?);
        Ok(Some(letter))
    }

    fn half(&mut self, key: (Rank, u32, u64)) -> Result<&mut Half, WordError> {
        let of_sender = (key.0, 0, 0)..=(key.0, u32::MAX, u64::MAX);
        if !self.halves.contains_key(&key) && self.halves.range(of_sender).count() >= MOST_HALVES {
            let (what, count) = ("unfinished words", MOST_HALVES as u64 + 1);
            return Err(WordError::TooMany { what, count, most: MOST_HALVES });
        }
        Ok(self.halves.entry(key).or_default())
    }

    /// A parcel on the way here will not come.
    pub(crate) fn forget_one(&mut self, from: Rank, channel: &Channel) {
        self.halves.remove(&(from, channel.step, channel.sequence));
    }

    /// Nothing more comes from a rank.
    pub(crate) fn forget(&mut self, from: Rank) {
        self.halves.retain(|(sender, ..), _| *sender != from);
    }
}

fn read_head(arrival: &Arrival) -> Result<Head, WordError> {
    if !arrival.missing.is_empty() {
        return Err(WordError::Frame { what: "part of the word itself is missing" });
    }
    let mut reader = Reader::new(&arrival.body);
    let layout = reader.u8("layout")?;
    if layout != LAYOUT {
        return Err(WordError::Unknown { what: "layout", value: layout.into() });
    }
    let mut role = || {
        let byte = reader.u8("role")?;
        RoleKind::from_byte(byte)
            .ok_or_else(|| WordError::Unknown { what: "role", value: byte.into() })
    };
    let (to_role, from_role) = (role()?, role()?);
    let epoch = reader.u32("epoch")?;
    let (elements, parts) = (reader.u64("elements")?, reader.u32("parts")?);
    let word = Word::decode(&mut reader)?;
    reader.end()?;
    if word.has_tensor() != (parts > 0) || (parts > 0) != (elements > 0) {
        return Err(WordError::Frame { what: "a tensor without its word, or the other way round" });
    }
    if parts > MOST_PARTS || u64::from(parts) > elements.max(1) {
        let (count, most) = (parts.into(), MOST_PARTS as usize);
        return Err(WordError::TooMany { what: "parts", count, most });
    }
    let letter = Letter { from: arrival.from, from_role, to_role, epoch, word, tensor: None };
    Ok(Head { letter, elements, parts })
}

/// Makes one tensor of its parts.
fn join(elements: u64, count: u32, parts: BTreeMap<u32, Arrival>) -> Result<Tensor, WordError> {
    let came: u64 = parts.values().map(|part| part.body.len() as u64 / 4).sum();
    let wrong = WordError::Tensor { announced: elements, came };
    if came != elements {
        return Err(wrong);
    }
    let per = part_size(elements as usize, count);
    let mut missing: Vec<Range<usize>> = Vec::new();
    let mut bodies = Vec::with_capacity(count as usize);
    for (place, (number, part)) in (0..count).zip(parts) {
        let range = part_range(elements as usize, per, place);
        if number != place + 1 || range.len() * 4 != part.body.len() {
            return Err(wrong);
        }
        for gap in part.missing {
            let gap = gap.start + range.start..gap.end.min(range.len()) + range.start;
            match missing.last_mut().filter(|last| last.end >= gap.start) {
                Some(last) => last.end = last.end.max(gap.end),
                None if gap.is_empty() => {}
                None => missing.push(gap),
            }
        }
        bodies.push(part.body);
    }
    let bytes = match &bodies[..] {
        [only] => only.clone(),
        _ => Bytes::from(bodies.concat()),
    };
    Ok(Tensor::arrived(bytes, missing))
}
