//! Models on their way to workers, some of them by way of other workers.

use std::collections::BTreeMap;

use laxity_interface::{Rate, Span, Time};

use super::cast::Cast;
use crate::{
    rank::Rank,
    roles::words::{Asked, Get},
};

/// Of each worker, so many questions that others answer are remembered: it asks one after the other.
const MOST_BEHIND: usize = 2;

/// A worker is slow if a model takes more than so many times as long to it as to the middle one.
const SLOW: u64 = 3;

/// A part of a model that leaves along a chain of workers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    /// Of which model.
    pub(super) cast: u64,
    pub(super) chain: Vec<Asked>,
}

/// A letter with a model or a part of it.
#[derive(Debug)]
struct UnderWay {
    to: Rank,
    since: Time,
    of: Option<Link>,
}

/// Models on their way, and who depends on whom for them.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// Those that left from here and have not arrived, by sequence.
    under_way: BTreeMap<u64, UnderWay>,
    /// Those that leave in parts.
    casts: BTreeMap<u64, Cast>,
    next_cast: u64,
    /// What hosts send and receive, as the scheduler says.
    strengths: BTreeMap<Rank, Rate>,
    /// How long a model took to each worker, the last time one was sent from here.
    took: BTreeMap<Rank, Span>,
    /// Questions that others answer, by worker and number, and who all gets the model from that transfer.
    behind: BTreeMap<(Rank, u64), (Get, Vec<Rank>)>,
}

/// How many models may leave now, by who gets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// To workers like most.
    pub(super) swift: usize,
    /// To slow ones.
    pub(super) slow: usize,
}

/// One transfer of the model.
#[derive(Debug, PartialEq)]
pub(super) struct Transfer {
    pub(super) to: Asked,
    pub(super) then: Vec<Asked>,
}

impl Passing {
    /// How many models may leave, if at most so many are to be on their way.
    ///
    /// Slow workers have as many places of their own: a few of them would hold all places for most of the
    /// time and leave the server's link idle, as they take little of it.
    pub(super) fn room(&self, now: Time, most: usize) -> Room {
        let usual = self.usual();
        let late = |one: &&UnderWay| {
            let known = self.took.get(&one.to).copied().unwrap_or(Span::ZERO);
            let takes = known.max(now.since(one.since));
            one.of.is_none() && usual.is_some_and(|usual| takes > usual * SLOW)
        };
        let slow = self.under_way.values().filter(late).count();
        // If the server's own link has become slow, all are late: they are not all let off.
        let swift = self.under_way.len() - slow.min(most);
        Room { swift: most.saturating_sub(swift), slow: most.saturating_sub(slow) }
    }

    /// Whether a model took much longer to this worker than to others, the last time.
    pub(super) fn is_slow(&self, worker: Rank) -> bool {
        let took = self.took.get(&worker);
        took.zip(self.usual()).is_some_and(|(took, usual)| *took > usual * SLOW)
    }

    /// How long a model takes to the middle worker; nothing before two are known.
    fn usual(&self) -> Option<Span> {
        let mut all: Vec<_> = self.took.values().copied().collect();
        all.sort_unstable();
        all.get((all.len().max(1) - 1) / 2).copied().filter(|_| all.len() > 1)
    }

    /// Deals workers out to so many transfers. Who got the model fastest the last time gets it first and passes
    /// it on; a slow host then holds up nobody.
    pub(super) fn deal(&self, mut asked: Vec<Asked>, transfers: usize) -> Vec<Transfer> {
        self.sort(&mut asked);
        let heads = transfers.min(asked.len());
        let rest = asked.split_off(heads);
        let mut dealt: Vec<_> =
            asked.into_iter().map(|to| Transfer { to, then: Vec::new() }).collect();
        for (at, one) in rest.into_iter().enumerate() {
            dealt[at % heads].then.push(one);
        }
        dealt
    }

    /// The fastest first: by what the scheduler says, else by how long they took the last time.
    pub(super) fn sort(&self, asked: &mut [Asked]) {
        asked.sort_by_key(|one| {
            let took = self.took.get(&one.worker).copied().unwrap_or(Span::ZERO);
            let rate = self.strengths.get(&one.worker).copied().unwrap_or(Rate::MAX);
            (std::cmp::Reverse(rate), took)
        });
    }

    /// The scheduler says what a host sends and receives.
    pub(super) fn strength(&mut self, host: Rank, rate: Rate) {
        self.strengths.insert(host, rate);
    }

    /// A model leaves in parts. `answers` are the questions of all who get it.
    pub(super) fn begin(&mut self, cast: Cast, answers: Vec<(Rank, Get)>) -> u64 {
        self.depend(answers, &cast.everybody);
        self.next_cast += 1;
        self.casts.insert(self.next_cast, cast);
        self.next_cast
    }

    /// A model that leaves in parts.
    pub(super) fn cast(&mut self, cast: u64) -> Option<&mut Cast> {
        self.casts.get_mut(&cast)
    }

    /// A part of a model leaves.
    pub(super) fn part_left(&mut self, now: Time, sequence: u64, to: Rank, of: Link) {
        self.under_way.insert(sequence, UnderWay { to, since: now, of: Some(of) });
    }

    /// A model leaves. `answers` are the questions of those who get it from others.
    pub(super) fn left(&mut self, now: Time, sequence: u64, to: Rank, answers: Vec<(Rank, Get)>) {
        self.under_way.insert(sequence, UnderWay { to, since: now, of: None });
        let everybody: Vec<_> = answers.iter().map(|(worker, _)| *worker).chain([to]).collect();
        self.depend(answers, &everybody);
    }

    /// Whoever asked gets the model from others.
    fn depend(&mut self, answers: Vec<(Rank, Get)>, everybody: &[Rank]) {
        for (worker, get) in answers {
            self.behind.insert((worker, get.request), (get, everybody.to_vec()));
            let of_worker = (worker, 0)..=(worker, u64::MAX);
            let mut known = self.behind.range(of_worker).map(|(key, _)| *key);
            if let (Some(oldest), true) = (known.next(), known.count() >= MOST_BEHIND) {
                self.behind.remove(&oldest);
            }
        }
    }

    /// A letter has reached its end; says whether it was a model, and of a part, of which.
    pub(super) fn arrived(&mut self, now: Time, sequence: u64) -> Option<Option<Link>> {
        let UnderWay { to, since, of } = self.under_way.remove(&sequence)?;
        let parts = of.as_ref().map_or(Some(1), |of| Some(self.casts.get(&of.cast)?.parts()));
        if let Some(parts) = parts {
            self.took.insert(to, now.since(since) * parts as u64);
        }
        Some(of)
    }

    /// A model that leaves in parts needs no more of this first worker; it is forgotten with the last.
    pub(super) fn end(&mut self, cast: u64) {
        let of_it = |one: &UnderWay| one.of.as_ref().is_some_and(|of| of.cast == cast);
        if !self.under_way.values().any(of_it) {
            self.casts.remove(&cast);
        }
    }

    /// A letter will not arrive. Gives back the questions of those who would have got a part from it.
    pub(super) fn failed(&mut self, sequence: u64) -> Vec<(Rank, Get)> {
        let cast = self.under_way.get(&sequence).and_then(|one| Some(one.of.as_ref()?.cast));
        let Some(cast) = cast.and_then(|cast| self.casts.remove(&cast)) else { return Vec::new() };
        self.give_back(|everybody| *everybody == cast.everybody)
    }

    /// Takes back questions that others were to answer, by who all gets the model.
    fn give_back(&mut self, which: impl Fn(&Vec<Rank>) -> bool) -> Vec<(Rank, Get)> {
        let mut found = Vec::new();
        self.behind.retain(|(worker, _), (get, everybody)| {
            let back = which(everybody);
            if back {
                found.push((*worker, *get));
            }
            !back
        });
        found
    }

    /// A worker is gone. Gives back the questions of those who may have depended on it: whoever has its model
    /// already does not mind another.
    pub(super) fn lost(&mut self, peer: Rank) -> Vec<(Rank, Get)> {
        self.under_way.retain(|_, one| one.to != peer);
        self.casts.retain(|_, cast| !cast.everybody.contains(&peer));
        self.strengths.remove(&peer);
        self.behind.retain(|(worker, _), _| *worker != peer);
        self.took.remove(&peer);
        self.give_back(|everybody| everybody.contains(&peer))
    }
}

/// Who passes a model on to whom, of those who wait for it: two at most, who then do the same.
pub(in crate::roles) fn pass_on(then: &[Asked]) -> impl Iterator<Item = (Asked, Vec<Asked>)> {
    (0..then.len().min(2)).map(|side| {
        let rest = then[side..].iter().step_by(2).skip(1).copied();
        (then[side], rest.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(worker: u32) -> Asked {
        Asked { worker: Rank::new(worker), request: u64::from(worker) }
    }

    #[test]
    fn everybody_gets_it_once_and_the_slow_get_it_last() {
        let mut passing = Passing::default();
        for worker in 0..9 {
            let (start, end) = (Time::ZERO, Time::ZERO + Span::from_ms(u64::from(9 - worker)));
            passing.left(start, u64::from(worker), Rank::new(worker), Vec::new());
            assert_eq!(passing.arrived(end, u64::from(worker)), Some(None));
        }
        let dealt = passing.deal((0..9).map(asked).collect(), 2);
        assert_eq!(dealt[0].to, asked(8));
        assert_eq!(dealt[0].then, [6, 4, 2, 0].map(asked));
        assert_eq!(dealt[1].then, [5, 3, 1].map(asked));
        let mut got = Vec::new();
        let mut next: Vec<_> = dealt.into_iter().map(|one| (one.to, one.then)).collect();
        while let Some((worker, then)) = next.pop() {
            got.push(worker.request);
            next.extend(pass_on(&then));
        }
        got.sort_unstable();
        assert_eq!(got, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn who_depends_on_the_dead_is_asked_for_again() {
        let mut passing = Passing::default();
        let get = |request| Get { request, at_least: Default::default(), clock: 0 };
        let behind = |workers: [u32; 2]| {
            workers.map(|worker| (Rank::new(worker), get(worker.into()))).to_vec()
        };
        passing.left(Time::ZERO, 1, Rank::new(1), behind([2, 3]));
        passing.left(Time::ZERO, 2, Rank::new(4), behind([5, 6]));
        // Asked twice since, so the first has been answered.
        for request in [7, 8] {
            passing.left(Time::ZERO, request, Rank::new(9), vec![(Rank::new(3), get(request))]);
        }
        assert_eq!(passing.lost(Rank::new(1)), [(Rank::new(2), get(2))]);
        assert_eq!(passing.lost(Rank::new(5)), [(Rank::new(6), get(6))]);
        assert_eq!(passing.under_way.len(), 3);
    }

    #[test]
    fn slow_workers_have_places_of_their_own() {
        let mut passing = Passing::default();
        let ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
        let mut sequence = 0;
        let mut sent = |passing: &mut Passing, worker: u32, from: u64, to: Option<u64>| {
            sequence += 1;
            passing.left(ms(from), sequence, Rank::new(worker), Vec::new());
            if let Some(to) = to {
                assert_eq!(passing.arrived(ms(to), sequence), Some(None));
            }
        };
        for (worker, took) in [(1, 80), (2, 100), (3, 90), (4, 800)] {
            sent(&mut passing, worker, 0, Some(took));
        }
        assert!(passing.is_slow(Rank::new(4)) && !passing.is_slow(Rank::new(2)));
        // Who has not had one is not known to be slow.
        assert!(!passing.is_slow(Rank::new(9)));
        sent(&mut passing, 4, 1000, None);
        assert_eq!(passing.room(ms(1000), 2), Room { swift: 2, slow: 1 });
        for worker in [1, 2] {
            sent(&mut passing, worker, 1000, None);
        }
        assert_eq!(passing.room(ms(1000), 2), Room { swift: 0, slow: 1 });
        // One of those that were swift has become slow, or both; one place is left for slow ones.
        assert_eq!(passing.room(ms(1500), 2), Room { swift: 1, slow: 0 });
    }
}
