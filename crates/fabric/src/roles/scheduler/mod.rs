//! Who decides: takes announcements in batches, asks the planner, and tells workers and aggregators.

mod history;
mod round;
mod save;
mod view;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Bytes, Rate, Span, Time};

pub use self::{history::Explained, save::RestoreError, view::View};
use self::{
    history::History,
    round::{Answer, Booking, Question, ServerFacts, Waiting},
    view::{Left, Link},
};
use super::{
    Role, earliest,
    ids::{RoleKind, UpdateId, Version},
    notice::Notice,
    post::{Letter, Post, Way},
    words::{Action, Announce, Beat, Progress, Promoted, Register, Strength, Word},
};
use crate::{carrier::Parcel, rank::Rank};

/// How a scheduler works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SchedulerOptions {
    /// How long announcements are gathered before they are planned together.
    pub interval: Span,
    /// How long announcements wait, at most, while the server's link is booked anyway: what is planned together
    /// can be summed. Workers must have more patience than this. In synchronous rounds sums begin sooner, while the link is
    /// busy, and the first updates wait for others for a quarter of the time that one takes.
    pub hold: Span,
    /// With so many waiting, planning waits for neither.
    pub batch: usize,
    /// How many times as long as the middle update one may take before it is left out, where there is a
    /// staleness bound.
    pub patience: f64,
    /// Whether updates are summed at aggregators.
    pub aggregate: bool,
    /// The most updates of one server that are ordered and grouped together; more are planned one part
    /// after the other. Bounds the time of a round.
    pub most_together: usize,
    /// The most aggregators that are tried for one part.
    pub most_helpers: usize,
    /// How much longer than planned a sum waits for its members.
    pub grace: Span,
    /// How often hosts hear from the scheduler.
    pub beat: Span,
    /// How many decisions are remembered.
    pub history: usize,
    /// The most announcements that wait; further ones are answered with "at once".
    pub most_waiting: usize,
    /// How often this process has been started.
    pub incarnation: u32,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self {
            interval: Span::from_ms(5),
            hold: Span::ZERO,
            batch: 64,
            patience: 10.0,
            aggregate: true,
            most_together: 16,
            most_helpers: 2,
            grace: Span::from_ms(200),
            beat: Span::from_ms(500),
            history: 65_536,
            most_waiting: 65_536,
            incarnation: 0,
        }
    }
}

/// Who decides.
#[derive(Debug)]
pub struct Scheduler {
    me: Rank,
    options: SchedulerOptions,
    post: Post,
    notices: VecDeque<Notice>,
    view: View,
    servers: BTreeMap<Rank, ServerFacts>,
    workers: BTreeSet<Rank>,
    aggregators: BTreeSet<Rank>,
    waiting: BTreeMap<UpdateId, Waiting>,
    booked: Vec<Booking>,
    history: History,
    rounds: u64,
    next_sum: u64,
    next_round: Option<Time>,
    next_beat: Time,
    /// What servers were told of hosts.
    told: BTreeMap<Rank, Rate>,
}

impl Scheduler {
    /// A scheduler at this rank.
    pub fn new(me: Rank, view: View, options: SchedulerOptions) -> Self {
        Self {
            me,
            post: Post::new(me, RoleKind::Scheduler, options.incarnation),
            notices: VecDeque::new(),
            view,
            servers: BTreeMap::new(),
            workers: BTreeSet::new(),
            aggregators: BTreeSet::new(),
            waiting: BTreeMap::new(),
            booked: Vec::new(),
            history: History::new(options.history),
            rounds: 0,
            next_sum: 1,
            next_round: None,
            // At once: who is there answers, and knows that it is there.
            next_beat: Time::ZERO,
            told: BTreeMap::new(),
            options,
        }
    }

    /// Why an update went its way, if that is still remembered.
    pub fn why(&self, update: UpdateId) -> Option<&Explained> {
        self.history.get(update)
    }

    /// The decisions that are remembered, oldest first.
    pub fn decisions(&self) -> impl ExactSizeIterator<Item = &Explained> {
        self.history.iter()
    }

    /// The network as it is known.
    pub fn view(&mut self) -> &mut View {
        &mut self.view
    }

    /// Says to a role of a host that the scheduler is there; it answers by registering. For whoever
    /// carries words in another way and knows of hosts before they have said anything.
    pub fn greet(&mut self, host: Rank, role: RoleKind) {
        self.post.send(Way::to(host, role, 0), &beat_word(), None);
    }

    /// A worker has an update. (By a letter, or from whoever carries announcements in another way.)
    pub fn announce(&mut self, now: Time, announce: Announce) {
        if self.waiting.len() >= self.options.most_waiting {
            let action = Action::Send { after: Span::ZERO, rate: None, place: 0, through: None };
            let reason = super::reason::Reason::NoPlan;
            let entry = super::words::Entry { update: announce.update, action, reason };
            self.tell(now, announce.server, entry);
            return;
        }
        self.waiting.insert(announce.update, Waiting { announce });
        if self.next_round.is_none() {
            self.next_round = Some(self.due(now, announce));
        }
        if self.waiting.len() >= self.options.batch {
            self.next_round = Some(now);
        }
    }

    /// When an announcement is planned, if no other is planned before.
    ///
    /// In a synchronous round everybody waits for the last, and only what is planned together can be summed. So the first
    /// are gathered for a quarter of the time that one of them takes into the server, and others while more than one such
    /// time is booked: sums that begin then are ready when the link is free.
    fn due(&self, now: Time, announce: Announce) -> Time {
        let (soon, hold) = (now + self.options.interval, self.options.hold);
        let sync = self.servers.get(&announce.server).is_some_and(|facts| facts.sync);
        let wait = match self.view.rate(Link::Down(announce.server), now) {
            Some(rate) if sync && rate > Rate::ZERO => {
                let takes = rate.time_for(Bytes::new(announce.bytes));
                let busy = self.mostly_free(now, announce.server, rate).since(now);
                if busy > takes { busy - takes } else { takes / 4 }
            }
            _ => self.link_free(announce.server).unwrap_or(now).since(now),
        };
        soon.max(now + wait.min(hold))
    }

    /// When half of a server's link is free. (Late updates of slow hosts use little of it, for long.)
    fn mostly_free(&self, now: Time, server: Rank, rate: Rate) -> Time {
        let mut left = Left::new(&self.view);
        for booking in self.booked.iter().filter(|one| one.server == server) {
            left.take(&booking.links, &booking.used);
        }
        let Some(left) = left.steps(Link::Down(server)) else { return now };
        let mut at = now;
        while left.at(at) < rate.mul_f64(0.5) {
            let Some(next) = left.next_change(at) else { break };
            at = next;
        }
        at
    }

    /// When everything that was planned for a server has arrived; nothing if nothing is on its way.
    fn link_free(&self, server: Rank) -> Option<Time> {
        let last_hops = self.booked.iter().filter(|one| one.server == server && one.at.is_none());
        last_hops.map(|one| one.ends).max()
    }

    fn tell(&mut self, now: Time, server: Rank, entry: super::words::Entry) {
        let super::words::Entry { update, action, reason } = entry;
        let (round, at) = (self.rounds, now);
        let outcome = None;
        self.history.insert(Explained { update, server, round, at, action, reason, outcome });
        let way = Way::to(update.worker, RoleKind::Worker, 0);
        self.post.send(way, &Word::Entry(entry), None);
    }

    /// Plans everything that waits, now.
    pub fn plan_round(&mut self, now: Time) {
        self.next_round = None;
        let grace = self.options.grace;
        self.booked.retain(|booking| booking.ends + grace * 2 > now);
        let waiting: Vec<_> = std::mem::take(&mut self.waiting).into_values().collect();
        if waiting.is_empty() {
            return;
        }
        let busy: BTreeSet<_> = self.booked.iter().filter_map(|booking| booking.at).collect();
        let mut helpers: Vec<_> = self.aggregators.difference(&busy).copied().collect();
        helpers.sort_by_key(|host| (std::cmp::Reverse(self.view.strength(*host, now)), *host));
        let question = Question {
            now,
            view: &self.view,
            servers: &self.servers,
            booked: &self.booked,
            helpers: &helpers,
            options: &self.options,
            next_sum: self.next_sum,
        };
        let Answer { entries, gathers, booked, sums } = round::plan(&question, &waiting);
        self.rounds += 1;
        self.next_sum += sums;
        self.booked.extend(booked);
        for (aggregator, gather) in gathers {
            let way = Way::to(aggregator, RoleKind::Aggregator, 0);
            self.post.send(way, &Word::Gather(gather), None);
        }
        let servers: BTreeMap<_, _> =
            waiting.iter().map(|one| (one.announce.update, one.announce.server)).collect();
        let through = |action: &Action| matches!(action, Action::Send { through: Some(_), .. });
        let summed = entries.iter().filter(|entry| through(&entry.action)).count();
        let dropped = entries.iter().filter(|entry| entry.action == Action::Drop).count();
        self.notices.push_back(Notice::Round { updates: entries.len(), summed, dropped });
        for entry in entries {
            self.tell(now, servers[&entry.update], entry);
        }
        self.tell_hosts(now);
    }

    /// Tells servers what workers send and receive, where that has changed: models go by the fast ones first.
    fn tell_hosts(&mut self, now: Time) {
        let of = |host: &Rank| Some((*host, self.view.known_strength(*host, now)?));
        let known = self.workers.iter().filter_map(of);
        let new: Vec<_> = known.filter(|(host, rate)| self.told.get(host) != Some(rate)).collect();
        if new.is_empty() {
            return;
        }
        self.told.extend(new.iter().copied());
        let word =
            Word::Hosts(new.into_iter().map(|(host, rate)| Strength { host, rate }).collect());
        for server in self.servers.keys() {
            self.post.send(Way::to(*server, RoleKind::Model, 0), &word, None);
        }
    }

    fn registered(&mut self, from: Rank, word: Register) {
        match word.role {
            RoleKind::Worker => {
                self.workers.insert(from);
            }
            RoleKind::Aggregator => {
                self.aggregators.insert(from);
            }
            RoleKind::Model => {
                let Register { sync, staleness, version, .. } = word;
                let Version { epoch, commits } = version;
                self.servers.insert(from, ServerFacts { commits, epoch, staleness, sync });
                self.told.clear();
            }
            RoleKind::Scheduler => {}
        }
    }

    fn progress(&mut self, now: Time, from: Rank, word: Progress) {
        let facts = self.servers.entry(from).or_default();
        (facts.commits, facts.epoch) = (word.version.commits, word.version.epoch);
        let mut over: BTreeSet<_> = word.committed.iter().copied().collect();
        over.extend(word.refused.iter().map(|one| one.update));
        self.booked.retain(|booking| !over.contains(&booking.update));
        if self.link_free(from).is_none() {
            let soon = now + self.options.interval;
            self.next_round = self.next_round.map(|due| due.min(soon));
        }
        for update in word.committed {
            self.history.outcome(update, Ok(word.version));
        }
        for one in word.refused {
            self.history.outcome(one.update, Err(one.reason));
        }
    }

    fn moved(&mut self, from: Rank, word: Promoted) {
        let facts = self.servers.remove(&word.of).unwrap_or_default();
        let Version { epoch, commits } = word.version;
        self.servers.insert(from, ServerFacts { commits, epoch, ..facts });
        self.booked.retain(|booking| booking.server != word.of);
        for one in self.waiting.values_mut().filter(|one| one.announce.server == word.of) {
            one.announce.server = from;
        }
    }

    fn beat(&mut self, now: Time) {
        self.next_beat = now + self.options.beat;
        self.tell_hosts(now);
        let word = beat_word();
        let hosts = self.workers.iter().map(|host| (*host, RoleKind::Worker));
        let hosts = hosts.chain(self.servers.keys().map(|host| (*host, RoleKind::Model)));
        let hosts = hosts.chain(self.aggregators.iter().map(|h| (*h, RoleKind::Aggregator)));
        for (host, role) in hosts {
            self.post.send(Way::to(host, role, 0), &word, None);
        }
    }
}

fn beat_word() -> Word {
    Word::Beat(Beat { role: RoleKind::Scheduler, version: Version::default(), apart: 0.0 })
}

impl Role for Scheduler {
    fn kind(&self) -> RoleKind {
        RoleKind::Scheduler
    }

    fn handle_letter(&mut self, now: Time, letter: Letter) {
        let Letter { from, word, .. } = letter;
        match word {
            Word::Register(word) => self.registered(from, word),
            Word::Announce(announce) if announce.update.worker == from => {
                self.announce(now, announce);
            }
            Word::Progress(word) => self.progress(now, from, word),
            Word::Promoted(word) => self.moved(from, word),
            Word::Measured(word) => self.view.measured(now, from, word.to, word.rate),
            other => self.notices.push_back(Notice::Refusal {
                from,
                what: format!("{from} said {other:?} to {}, which is the scheduler", self.me),
            }),
        }
    }

    fn handle_lost(&mut self, _now: Time, peer: Rank) {
        self.post.forget(peer);
        self.workers.remove(&peer);
        self.told.remove(&peer);
        self.aggregators.remove(&peer);
        self.waiting.retain(|update, _| update.worker != peer);
        self.booked.retain(|one| one.update.worker != peer && one.at != Some(peer));
    }

    fn handle_undelivered(&mut self, _now: Time, _to: Rank, _sequence: u64) {}

    fn handle_timeout(&mut self, now: Time) {
        if self.next_round.is_some_and(|due| due <= now) {
            self.plan_round(now);
        }
        if self.next_beat <= now {
            self.beat(now);
        }
    }

    fn poll_parcel(&mut self, now: Time) -> Option<Parcel> {
        self.post.poll(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        earliest([self.next_round, Some(self.next_beat), self.post.next_time()])
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }
}
