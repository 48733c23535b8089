//! Parcels as flows of a simulated network, without threads.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    ops::Range,
};

use bytes::Bytes;
use laxity_interface::{Fraction, Span, Time};
use laxity_packetsim::{Done, Driver, Flow, HostId, Messages, Ready};

use crate::{
    carrier::{Arrival, Envelope, Event, Parcel},
    rank::Rank,
};

/// Bytes of a chunk, the part of a body that arrives whole or not at all: fits one packet and holds a
/// whole number of elements of any type.
pub(super) const CHUNK: usize = 1400;

/// What ranks have given to the network and what they are to be told.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Given and not started, by rank and in its order: threads may be in any order, the simulation
    /// may not.
    given: BTreeMap<(Rank, u64), Parcel>,
    count: u64,
    /// Under way, by the tag of the flow.
    flights: BTreeMap<u64, Flight>,
    /// What senders hear later: the answer has a way to go.
    answers: BTreeMap<(Time, u64), Rank>,
    /// When flights are given up.
    limits: BTreeMap<(Time, u64), ()>,
    events: Vec<VecDeque<Event>>,
    /// Ranks that were told something since they were last asked for.
    told: Vec<Rank>,
    left: Vec<bool>,
    /// When a rank wants to go on.
    wake: Option<Time>,
    now: Time,
    answer_takes: Span,
    detection: Span,
}

#[derive(Debug)]
struct Flight {
    from: Rank,
    parcel: Parcel,
    /// Set when it has arrived and its sender has not heard yet.
    missing: Option<Vec<Range<usize>>>,
    /// Given up: whatever still comes is not reported.
    over: bool,
}

impl Traffic {
    /// Between so many ranks; `answer_takes` is the way of the last acknowledgement, `detection` the
    /// time until others notice that a rank has left.
    pub(super) fn new(ranks: usize, answer_takes: Span, detection: Span) -> Self {
        Self {
            given: BTreeMap::new(),
            count: 0,
            flights: BTreeMap::new(),
            answers: BTreeMap::new(),
            limits: BTreeMap::new(),
            events: vec![VecDeque::new(); ranks],
            told: Vec::new(),
            left: vec![false; ranks],
            wake: None,
            now: Time::ZERO,
            answer_takes,
            detection,
        }
    }

    /// Takes a parcel. `sequence` counts those of its rank.
    pub(super) fn give(&mut self, from: Rank, sequence: u64, parcel: Parcel) {
        self.given.insert((from, sequence), parcel);
    }

    /// The next event of a rank.
    pub(super) fn take(&mut self, rank: Rank) -> Option<Event> {
        self.events[rank.index()].pop_front()
    }

    /// When the simulation has to stop although nobody was told anything.
    pub(super) fn set_wake(&mut self, wake: Option<Time>) {
        self.wake = wake;
    }

    /// Ranks that have something to hear, each once.
    pub(super) fn told(&mut self) -> Vec<Rank> {
        let mut told = std::mem::take(&mut self.told);
        told.sort_unstable();
        told.dedup();
        told
    }

    /// A rank leaves; the others hear of it when they notice.
    pub(super) fn leave(&mut self, now: Time, rank: Rank) {
        self.left[rank.index()] = true;
        self.events[rank.index()].clear();
        // Answers with this number tell nobody of a flight: they tell all of a loss.
        self.answers.insert((now + self.detection, u64::MAX - u64::from(rank.get())), rank);
    }

    fn tell(&mut self, rank: Rank, event: Event) {
        if !self.left[rank.index()] {
            self.events[rank.index()].push_back(event);
            self.told.push(rank);
        }
    }

    /// Does what is due: answers, limits, losses.
    fn catch_up(&mut self, now: Time) {
        self.now = now;
        while let Some(entry) = self.answers.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, tag), rank) = entry.remove_entry();
            match self.flights.remove(&tag) {
                Some(Flight { from, parcel: Parcel { to, envelope, .. }, missing, .. }) => {
                    let missing = missing.unwrap_or_default();
                    self.tell(from, Event::Sent { to, envelope, missing });
                }
                None => self.tell_loss(rank),
            }
        }
        while let Some(entry) = self.limits.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, tag), ()) = entry.remove_entry();
            let under_way = |flight: &&mut Flight| flight.missing.is_none() && !flight.over;
            if let Some(flight) = self.flights.get_mut(&tag).filter(under_way) {
                flight.over = true;
                let (from, to, envelope) = (flight.from, flight.parcel.to, flight.parcel.envelope);
                self.tell_failed(from, to, envelope, "its time limit has passed");
            }
        }
    }

    fn tell_loss(&mut self, rank: Rank) {
        for other in (0..self.events.len() as u32).map(Rank::new).filter(|other| *other != rank) {
            self.tell(other, Event::Lost { peer: rank, reason: "it left".to_owned(), left: true });
        }
    }

    fn tell_failed(&mut self, from: Rank, to: Rank, envelope: Envelope, reason: &str) {
        let failed = |peer| Event::Failed { peer, envelope, reason: reason.to_owned() };
        self.tell(from, failed(to));
        self.tell(to, failed(from));
    }
}

impl Driver for Traffic {
    fn poll_timeout(&self) -> Option<Time> {
        let answers = self.answers.first_key_value().map(|((at, _), _)| *at);
        let limits = self.limits.first_key_value().map(|((at, _), ())| *at);
        // A wake that is due stops the simulation and is not asked for again.
        let wake = self.wake.filter(|wake| *wake > self.now);
        answers.into_iter().chain(limits).chain(wake).min()
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        self.catch_up(now);
        while let Some(((from, _), parcel)) = self.given.pop_first() {
            if self.left[parcel.to.index()] {
                self.tell_failed(from, parcel.to, parcel.envelope, "the rank has left");
                continue;
            }
            let tag = self.count;
            self.count += 1;
            let size = parcel.envelope.signature.element.size();
            let flow = Flow {
                from: HostId(from.get() as u16),
                to: HostId(parcel.to.get() as u16),
                stack: 0,
                tag,
                messages: chunks(parcel.body.len()),
                ready: Ready::AtOnce,
                min_delivery: of_chunks(parcel.slack.min_delivery, parcel.body.len(), size),
            };
            if let Some(limit) = parcel.slack.limit {
                self.limits.insert((now + limit, tag), ());
            }
            self.flights.insert(tag, Flight { from, parcel, missing: None, over: false });
            return Some(flow);
        }
        None
    }

    fn handle_done(&mut self, done: &Done) {
        let flight = self.flights.get_mut(&done.tag).expect("a flow ends once");
        if flight.over {
            self.flights.remove(&done.tag);
            return;
        }
        let (from, to, envelope) = (flight.from, flight.parcel.to, flight.parcel.envelope);
        if done.short {
            self.flights.remove(&done.tag);
            return self.tell_failed(from, to, envelope, "the network gave the parcel up");
        }
        let size = envelope.signature.element.size();
        let length = flight.parcel.body.len();
        let least = of_chunks(flight.parcel.slack.min_delivery, length, size);
        let missing = elements(&missing_chunks(done, least), length, size);
        let body = without(&flight.parcel.body, &missing, size);
        flight.missing = Some(missing.clone());
        self.answers.insert((done.finished + self.answer_takes, done.tag), from);
        self.tell(to, Event::Arrived(Arrival { from, envelope, body, missing }));
    }

    fn is_done(&self) -> bool {
        !self.told.is_empty() || self.wake.is_some_and(|wake| wake <= self.now)
    }
}

/// A body in chunks. An empty one is as long as its envelope.
fn chunks(length: usize) -> Messages {
    let mut sizes = vec![CHUNK as u32; length / CHUNK];
    sizes.extend((!length.is_multiple_of(CHUNK)).then_some((length % CHUNK) as u32));
    match sizes.is_empty() {
        true => Messages::Equal { count: 1, bytes: Envelope::BYTES as u32 },
        false => Messages::Sizes(sizes.into()),
    }
}

/// How much of a body's chunks must arrive so that, whichever they are, at least this part of its
/// elements does: the last chunk may be shorter than those that are lost.
fn of_chunks(least: Fraction, length: usize, size: usize) -> Fraction {
    let elements = (length / size) as u64;
    let may_lack = elements - least.of(elements);
    if elements == 0 {
        // Without a body there is only the envelope, which always arrives.
        Fraction::ONE
    } else if may_lack == elements {
        Fraction::ZERO
    } else {
        let chunks = length.div_ceil(CHUNK) as u64;
        let required = chunks - may_lack / (CHUNK / size) as u64;
        Fraction::new(required as f64 / chunks as f64).expect("a part of all chunks")
    }
}

/// Which chunks are missing. Where a transport only says how many, they are taken for the last: it
/// sends in order and stops when enough has come, which it may count in bytes.
fn missing_chunks(done: &Done, least: Fraction) -> Cow<'_, [(u32, u32)]> {
    let came = done.delivered.max(least.of(done.messages.into()) as u32);
    match done.missing.is_empty() && came < done.messages {
        true => Cow::Owned(vec![(came, done.messages)]),
        false => Cow::Borrowed(&done.missing),
    }
}

/// Missing chunks in elements.
fn elements(chunks: &[(u32, u32)], length: usize, size: usize) -> Vec<Range<usize>> {
    let at = |chunk: u32| (chunk as usize * CHUNK).min(length) / size;
    chunks.iter().map(|(from, to)| at(*from)..at(*to)).filter(|range| !range.is_empty()).collect()
}

/// A body with zeros where something is missing.
fn without(body: &Bytes, missing: &[Range<usize>], size: usize) -> Bytes {
    if missing.is_empty() {
        return body.clone();
    }
    let mut bytes = body.to_vec();
    for range in missing {
        bytes[range.start * size..range.end * size].fill(0);
    }
    Bytes::from(bytes)
}
