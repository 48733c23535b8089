//! A network in memory, without threads and clocks.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use laxity_interface::{Fraction, Span, Time};

use super::Faults;
use crate::{
    carrier::{Arrival, Event, Parcel},
    chance::Chance,
    rank::Rank,
};

/// What is on its way between ranks. Drive it by hand to run many ranks in one thread.
#[derive(Debug)]
pub struct Network {
    faults: Faults,
    ranks: Vec<Peer>,
    /// Parcels of each pair so far: the chance of each is its own.
    counts: BTreeMap<(Rank, Rank), u64>,
}

#[derive(Debug, Default)]
struct Peer {
    /// What it will be told: when, of whom, in which order.
    events: BTreeMap<(Time, Rank, u64), Event>,
    submitted: u64,
    dead: bool,
    left: bool,
    /// Who it was told is lost, and when.
    knows: BTreeMap<Rank, Time>,
}

impl Network {
    /// Connects `ranks` ranks.
    pub fn new(ranks: u32, faults: Faults) -> Self {
        let ranks = (0..ranks).map(|_| Peer::default()).collect();
        Self { faults, ranks, counts: BTreeMap::new() }
    }

    /// Whether a rank is dead.
    pub fn is_dead(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].dead
    }

    /// When a living rank is told something next.
    pub fn next(&self) -> Option<Time> {
        let alive = (0..self.ranks.len() as u32).map(Rank::new).filter(|rank| !self.is_dead(*rank));
        alive.filter_map(|rank| self.next_for(rank)).min()
    }

    /// When a rank is told something next.
    pub fn next_for(&self, rank: Rank) -> Option<Time> {
        self.ranks[rank.index()].events.first_key_value().map(|((at, ..), _)| *at)
    }

    /// The next thing that a rank is told by now.
    pub fn take(&mut self, now: Time, rank: Rank) -> Option<Event> {
        let first = self.ranks[rank.index()].events.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Takes a parcel.
    pub fn submit(&mut self, now: Time, from: Rank, parcel: Parcel) {
        let Parcel { to, envelope, body, slack } = parcel;
        let sender = &mut self.ranks[from.index()];
        if sender.dead {
            return;
        }
        sender.submitted += 1;
        let dies = |death: &&super::Death| death.rank == from && death.after < sender.submitted;
        if self.faults.deaths.iter().find(dies).is_some() {
            return self.die(now, from);
        }
        if self.ranks[from.index()].knows.get(&to).is_some_and(|known| *known <= now) {
            let reason = format!("{to} is gone");
            return self.tell(
                now + self.faults.latency,
                from,
                to,
                Event::Failed { peer: to, envelope, reason },
            );
        }
        if self.ranks[to.index()].dead || self.ranks[to.index()].left {
            return; // It vanishes; the sender will learn of the death.
        }
        let count = self.counts.entry((from, to)).or_insert(0);
        *count += 1;
        let words = [self.faults.seed, u64::from(from.get()), u64::from(to.get()), *count];
        let mut chance = Chance::new(&words);
        let slow = self.faults.slow.iter().find(|(rank, _)| *rank == from).map(|(_, span)| *span);
        let on_the_way = self.faults.latency
            + self.faults.jitter.mul_f64(chance.uniform())
            + self.faults.rate.time_for(laxity_interface::Bytes::new(body.len() as u64))
            + slow.unwrap_or(Span::ZERO);
        let fails = chance.uniform() < self.faults.failing.get();
        let too_late = slack.limit.filter(|limit| *limit < on_the_way);
        if fails || too_late.is_some() {
            let at = now + too_late.unwrap_or(on_the_way);
            let reason = "the network gave the parcel up".to_owned();
            self.tell(at, from, to, Event::Failed { peer: to, envelope, reason: reason.clone() });
            return self.tell(at, to, from, Event::Failed { peer: from, envelope, reason });
        }
        let elements = body.len() / envelope.signature.element.size();
        let may_lose = elements - slack.min_delivery.of(elements as u64) as usize;
        let (mut missing, mut takes) = (Vec::new(), on_the_way);
        if may_lose > 0 {
            let deadline = slack.deadline.filter(|deadline| *deadline < on_the_way);
            if let Some(deadline) = deadline {
                // What had come by the deadline, but no less than the minimum.
                let part = deadline.as_secs_f64() / on_the_way.as_secs_f64();
                let part = part.max(slack.min_delivery.get()).min(1.0);
                takes = on_the_way.mul_f64(part);
                let came =
                    Fraction::new(part).unwrap_or(Fraction::ONE).of(elements as u64) as usize;
                missing.extend((came < elements).then_some(came..elements));
            } else {
                missing = self.lose(&mut chance, elements, may_lose);
            }
        }
        let at = now + takes;
        let body = without(body, &missing, envelope.signature.element.size());
        let arrival = Arrival { from, envelope, body, missing: missing.clone() };
        self.tell(at, to, from, Event::Arrived(arrival));
        self.tell(at + self.faults.latency, from, to, Event::Sent { to, envelope, missing });
    }

    /// Chunks that are lost, no more than `may_lose` elements in all.
    fn lose(&self, chance: &mut Chance, elements: usize, may_lose: usize) -> Vec<Range<usize>> {
        let mut missing: Vec<Range<usize>> = Vec::new();
        let mut left = may_lose;
        for start in (0..elements).step_by(self.faults.chunk.max(1)) {
            let end = (start + self.faults.chunk.max(1)).min(elements);
            if chance.uniform() < self.faults.loss.get() && end - start <= left {
                left -= end - start;
                match missing.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => missing.push(start..end),
                }
            }
        }
        missing
    }

    /// Tells a rank of something, unless it would hear of the dead.
    fn tell(&mut self, at: Time, who: Rank, of: Rank, event: Event) {
        let peer = &mut self.ranks[who.index()];
        if peer.dead || peer.left || peer.knows.get(&of).is_some_and(|known| *known <= at) {
            return;
        }
        let count = self.counts.entry((who, who)).or_insert(0);
        *count += 1;
        peer.events.insert((at, of, *count), event);
    }

    /// A rank dies: some of what it sent last still arrives.
    fn die(&mut self, now: Time, rank: Rank) {
        let dead = &mut self.ranks[rank.index()];
        dead.dead = true;
        dead.events.clear();
        // So that its own thread ends too.
        let reason = "this rank has died".to_owned();
        dead.events.insert((now, rank, 0), Event::Lost { peer: rank, reason, left: false });
        let seed = self.faults.seed;
        for other in (0..self.ranks.len() as u32).map(Rank::new).filter(|other| *other != rank) {
            let words = [seed, u64::from(rank.get()), u64::from(other.get()), u64::MAX];
            let mut chance = Chance::new(&words);
            let later = self.faults.detection.mul_f64(1.0 + chance.uniform());
            let known = now + later;
            self.ranks[other.index()].events.retain(|(at, of, _), event| {
                let keeps = match event {
                    Event::Arrived(_) => chance.below(2) == 0,
                    _ => false,
                };
                *of != rank || *at <= now || (*at < known && keeps)
            });
            self.say_lost(known, other, rank, "it died", false);
        }
    }

    /// A rank leaves: what it sent still arrives.
    pub fn leave(&mut self, now: Time, rank: Rank) {
        if self.ranks[rank.index()].dead || self.ranks[rank.index()].left {
            return;
        }
        self.ranks[rank.index()].left = true;
        self.ranks[rank.index()].events.clear();
        for other in (0..self.ranks.len() as u32).map(Rank::new).filter(|other| *other != rank) {
            let events = &self.ranks[other.index()].events;
            let last = events.keys().filter(|(_, of, _)| *of == rank).map(|(at, ..)| *at).max();
            let known = last.unwrap_or(now).max(now) + self.faults.detection;
            self.say_lost(known, other, rank, "it left", true);
        }
    }

    fn say_lost(&mut self, at: Time, who: Rank, lost: Rank, reason: &str, left: bool) {
        let event = Event::Lost { peer: lost, reason: reason.to_owned(), left };
        self.tell(at, who, lost, event);
        self.ranks[who.index()].knows.insert(lost, at);
    }
}

/// A body with zeros where something is missing.
fn without(body: Bytes, missing: &[Range<usize>], size: usize) -> Bytes {
    if missing.is_empty() {
        return body;
    }
    let mut bytes = body.to_vec();
    for range in missing {
        bytes[range.start * size..range.end * size].fill(0);
    }
    Bytes::from(bytes)
}
