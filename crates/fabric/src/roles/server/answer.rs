//! Answers: models to workers, acknowledgements, and what the replica lacks.

use laxity_interface::{Span, Time};

use super::{
    AckAfter, Mode, Server,
    cast::{Cast, chains},
    follow,
    passing::{Link, Room, Transfer},
};
use crate::{
    carrier::Slack,
    rank::Rank,
    roles::{
        ids::{RoleKind, UpdateId, Version},
        notice::Notice,
        post::Way,
        tensor::norm,
        words::{Asked, Beat, Committed, Get, MOST_MEMBERS, Model, Snapshot, Word},
    },
};

/// Copies for the replica use what others leave, unless a commit waits for them.
const LAST: u32 = u32::MAX;

/// How long those who have asked wait for others who are about to, before models leave.
const GATHER: Span = Span::from_ms(5);

/// Acknowledgements of a commit that have not been given.
#[derive(Debug)]
pub(super) struct Owed {
    pub(super) version: Version,
    pub(super) acks: Vec<Committed>,
}

impl Server {
    /// A worker has pushed so many updates.
    pub(super) fn clocked(&mut self, from: Rank, clock: u64) {
        let known = self.clocks.entry(from).or_default();
        *known = clock.max(*known);
    }

    pub(super) fn asked(&mut self, now: Time, from: Rank, get: Get) {
        if self.deposed.is_some() {
            return; // Who took over has told the worker, or will.
        }
        self.clocked(from, get.clock);
        // A worker that asks again, after it has been started anew, means the new question.
        self.questions.retain(|(worker, old)| *worker != from || old.request != get.request);
        self.questions.push((from, get));
        self.expected.remove(&from);
        self.answer(now);
    }

    /// Whether more questions come in a moment: after a synchronous round everybody asks, and only who has asked can be
    /// reached by way of others.
    fn gathers(&mut self, now: Time) -> bool {
        let sync = matches!(self.options.mode, Mode::Sync { .. });
        if !sync || self.options.answers.is_none() || self.options.relay < 2 {
            return false;
        }
        let reaches = |(_, get): &(Rank, Get)| self.weights.reaches(get.at_least);
        if self.expected.is_disjoint(&self.living) || !self.questions.iter().any(reaches) {
            self.gathers = None;
            return false;
        }
        let until = *self.gathers.get_or_insert(now + GATHER);
        if until <= now {
            self.expected.clear(); // They will be answered when they ask.
            self.gathers = None;
        }
        now < until
    }

    /// Answers all questions that can be answered.
    pub(super) fn answer(&mut self, now: Time) {
        if self.gathers(now) {
            return;
        }
        let slowest =
            self.living.iter().map(|worker| self.clocks.get(worker).copied().unwrap_or(0)).min();
        let ahead = match self.options.mode {
            Mode::StaleSync { ahead, .. } => slowest.unwrap_or(0).saturating_add(ahead),
            Mode::Async { .. } | Mode::Sync { .. } => u64::MAX,
        };
        let (most, relay) = match self.options.answers {
            Some(most) => (most.max(1), self.options.relay.clamp(1, MOST_MEMBERS)),
            None => (usize::MAX, 1),
        };
        let Room { swift: transfers, slow } = self.passing.room(now, most);
        let mut room = Room { swift: transfers.saturating_mul(relay), slow };
        let limit = self.options.most_awaited();
        let mut awaits = limit.map_or(usize::MAX, |most| self.awaited.room(now, most));
        let ready = |(worker, get): &mut (Rank, Get)| {
            let clock = self.clocks.get(worker).copied().unwrap_or(0);
            let slow = self.options.answers.is_some() && self.passing.is_slow(*worker);
            let room = if slow { &mut room.slow } else { &mut room.swift };
            let goes = self.weights.reaches(get.at_least) && clock <= ahead && *room > 0;
            let goes = goes && awaits > 0;
            *room -= usize::from(goes);
            awaits -= usize::from(goes);
            goes
        };
        let ready = self.questions.extract_if(.., ready);
        let asked = |worker, get: &Get| Asked { worker, request: get.request };
        let ready: Vec<_> = ready.map(|(worker, get)| (asked(worker, &get), get)).collect();
        let of = |one: &Asked| ready.iter().find(|(asked, _)| asked == one).map(|(_, get)| *get);
        let version = self.weights.version;
        if limit.is_some() {
            ready.iter().for_each(|(asked, _)| self.awaited.left(now, asked.worker, version));
        }
        let all = ready.iter().map(|(asked, _)| *asked);
        if relay > 1 && self.options.parts > 1 && ready.len() > 1 && transfers > 0 {
            let mut order: Vec<_> = all.collect();
            self.passing.sort(&mut order);
            let tensor = self.weights.tensor().clone();
            let cast = Cast::new(version, tensor, self.options.parts, &order);
            let questions = ready.iter().map(|(asked, get)| (asked.worker, *get)).collect();
            let cast = self.passing.begin(cast, questions);
            for chain in chains(&order, transfers) {
                self.send_part(now, Link { cast, chain });
            }
            return;
        }
        let (slow, swift): (Vec<_>, Vec<_>) = all.partition(|one| self.passing.is_slow(one.worker));
        // Nobody waits for what a slow worker would pass on.
        let alone = slow.into_iter().map(|to| Transfer { to, then: Vec::new() });
        let dealt = self.passing.deal(swift, transfers);
        for Transfer { to, then } in dealt.into_iter().chain(alone) {
            let behind = then.iter().filter_map(|one| Some((one.worker, of(one)?))).collect();
            let of = self.weights.elements() as u64;
            let word = Word::Model(Model { request: to.request, version, first: 0, of, then });
            let way = Way::to(to.worker, RoleKind::Worker, version.epoch);
            let sequence = self.post.send(way, &word, Some(self.weights.tensor()));
            if self.options.answers.is_some() {
                self.passing.left(now, sequence, to.worker, behind);
            }
        }
    }

    /// Sends the next part of a model along a chain; says whether there was one.
    fn send_part(&mut self, now: Time, link: Link) -> bool {
        let Some(cast) = self.passing.cast(link.cast) else { return false };
        let (version, of) = (cast.version, cast.elements());
        let Some((first, tensor)) = cast.next() else { return false };
        let Some((to, then)) = link.chain.split_first() else { return false };
        let (to, request, then) = (to.worker, to.request, then.to_vec());
        let word = Word::Model(Model { request, version, first, of, then });
        let way = Way::to(to, RoleKind::Worker, version.epoch);
        let sequence = self.post.send(way, &word, Some(&tensor));
        self.passing.part_left(now, sequence, to, link);
        true
    }

    /// A letter has reached its end: if it brought a model, others have their turn; of a model in parts, the next.
    pub(super) fn answered(&mut self, now: Time, sequence: u64) {
        let Some(link) = self.passing.arrived(now, sequence) else { return };
        if let Some(link) = link {
            let cast = link.cast;
            if self.send_part(now, link) {
                return;
            }
            self.passing.end(cast);
        }
        self.answer(now);
    }

    pub(super) fn is_owed(&self, update: UpdateId) -> bool {
        self.owed.iter().flat_map(|owed| &owed.acks).any(|ack| ack.update == update)
    }

    /// Gives the acknowledgements that the policy allows.
    pub(super) fn acknowledge(&mut self) {
        let replication = self.options.replication;
        let confirmed = self.follower.as_ref().and_then(|follower| follower.confirmed());
        while let Some(first) = self.owed.front() {
            let may = match (replication.ack, confirmed) {
                (AckAfter::Commit, _) => true,
                (AckAfter::Replicated, Some(confirmed)) => first.version <= confirmed,
                (AckAfter::Replicated, None) => !replication.required,
            };
            if !may {
                return;
            }
            let Some(Owed { acks, .. }) = self.owed.pop_front() else { return };
            for ack in acks {
                let way = Way::to(ack.update.worker, RoleKind::Worker, self.epoch());
                self.post.send(way, &Word::Committed(ack), None);
            }
        }
    }

    /// A replica wants to follow.
    pub(super) fn joined(&mut self, now: Time, from: Rank) {
        if self.deposed.is_some() {
            return;
        }
        if let Some(follower) = &self.follower
            && follower.rank != from
        {
            let what = format!(
                "{from} wants to be the replica of {}, but {} is; one is enough",
                self.me, follower.rank
            );
            return self.notices.push_back(Notice::Refusal { from, what });
        }
        self.follower = Some(follow::Follower::new(from, self.options.momentum));
        self.beat(now);
        self.go_on(now);
    }

    pub(super) fn stored(&mut self, now: Time, from: Rank, version: Version) {
        let newest = self.weights.version;
        let Some(follower) = self.follower.as_mut().filter(|follower| follower.rank == from) else {
            return;
        };
        let joins = follower.confirmed().is_none();
        follower.stored(version, newest);
        if joins {
            self.notices.push_back(Notice::Replica { replica: from, there: true });
        }
        self.go_on(now);
    }

    /// Sends the replica what it lacks; first of all, if a commit waits for it.
    pub(super) fn feed(&mut self, now: Time) {
        let Some(follower) = &mut self.follower else { return };
        let version = self.weights.version;
        let Some(send) = follower.next(version, || norm(self.weights.history())) else { return };
        let priority = if self.queue.is_empty() { LAST } else { 0 };
        let slack = Slack { priority, ..Slack::EXACT };
        let way = Way { slack, ..Way::to(follower.rank, RoleKind::Model, version.epoch) };
        match send {
            follow::Send::Steps(steps) => {
                for (step, tensor) in steps {
                    self.post.send(way, &Word::Step(step), Some(&tensor));
                }
            }
            follow::Send::Everything => {
                let elements = self.weights.elements() as u64;
                let word = Snapshot { version, elements, decided: self.decided.list() };
                let everything = self.weights.everything();
                self.post.send(way, &Word::Snapshot(word), Some(&everything));
            }
        }
        self.next_beat = Some(now + self.options.beat);
    }

    /// Tells the replica that the server lives, and how far it is behind.
    pub(super) fn beat(&mut self, now: Time) {
        let Some(follower) = &self.follower else {
            self.next_beat = None;
            return;
        };
        let (version, apart) = (self.weights.version, follower.apart());
        let word = Beat { role: RoleKind::Model, version, apart };
        let way = Way::to(follower.rank, RoleKind::Model, version.epoch);
        self.post.send(way, &Word::Beat(word), None);
        self.next_beat = Some(now + self.options.beat);
    }
}
