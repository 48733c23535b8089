//! Who computes updates: pushes them as the scheduler says, or by itself where there is none.

use std::collections::{BTreeMap, VecDeque};

use laxity_interface::{Bytes, Rate, Span, Time};

use super::{
    Role,
    arriving::Arriving,
    earliest,
    ids::{RoleKind, UpdateId, Version},
    notice::Notice,
    post::{Letter, Post, Way},
    push::{Push, PushError, WINDOW},
    reason::Reason,
    relay::Relay,
    tensor::Tensor,
    words::{
        Action, Announce, Entry, Get, Measured, Model, Promoted, Refused, Register, Update, Word,
    },
};
use crate::{
    carrier::{Parcel, Slack},
    rank::Rank,
};

/// How a worker works.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkerOptions {
    /// Who plans; nothing: every update goes straight to its server.
    pub scheduler: Option<Rank>,
    /// How long the scheduler may take to answer before an update is sent without it.
    pub patience: Span,
    /// How long to wait for somebody to take over when a server is lost.
    pub failover: Span,
    /// How often this process has been started: tells its letters from those before.
    pub incarnation: u32,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            scheduler: None,
            patience: Span::from_ms(50),
            failover: Span::from_secs(10),
            incarnation: 0,
        }
    }
}

/// Who answers for a server.
#[derive(Clone, Copy, Debug)]
struct Target {
    now: Rank,
    epoch: u32,
    /// How many updates were pushed to it.
    clock: u64,
    finished: bool,
    /// Since when it is lost.
    lost: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    /// The scheduler has been asked, and answers until then.
    Announced { until: Time },
    /// It has been handed to the carrier, or will be when its time comes.
    /// `begun` is not known where it is held back: such a transfer says nothing of the network.
    Sent { to: Rank, sequence: u64, begun: Option<Time>, give_up: Option<Time> },
    /// Its server is lost.
    Stranded,
}

#[derive(Debug)]
struct Pending {
    server: Rank,
    push: Push,
    stage: Stage,
}

#[derive(Debug)]
struct Question {
    server: Rank,
    at_least: Version,
}

/// Who computes updates.
#[derive(Debug)]
pub struct Worker {
    me: Rank,
    options: WorkerOptions,
    post: Post,
    notices: VecDeque<Notice>,
    scheduler_there: bool,
    servers: BTreeMap<Rank, Target>,
    next_update: u64,
    next_request: u64,
    pending: BTreeMap<u64, Pending>,
    questions: BTreeMap<u64, Question>,
    arriving: Arriving,
    relay: Relay,
}

impl Worker {
    /// A worker at this rank.
    pub fn new(me: Rank, options: WorkerOptions) -> Self {
        let scheduler = options.scheduler;
        let mut made = Self {
            me,
            post: Post::new(me, RoleKind::Worker, options.incarnation),
            scheduler_there: scheduler.is_some(),
            // Numbers of another incarnation are never used again.
            next_update: 1 + (u64::from(options.incarnation) << 32),
            options,
            notices: VecDeque::new(),
            servers: BTreeMap::new(),
            next_request: 0,
            pending: BTreeMap::new(),
            questions: BTreeMap::new(),
            arriving: Arriving::default(),
            relay: Relay::default(),
        };
        if let Some(scheduler) = scheduler {
            made.register(scheduler);
        }
        made
    }

    /// Takes an update for a server (the one the job began with, whoever has its place now). What becomes
    /// of it is told by [`Notice::Committed`] or [`Notice::Dropped`], exactly one of them.
    pub fn push(&mut self, now: Time, server: Rank, push: Push) -> Result<UpdateId, PushError> {
        let worker = self.me;
        if push.update.elements() == 0 {
            return Err(PushError::Empty { worker });
        }
        if !(push.norm.is_finite() && push.norm >= 0.0) {
            return Err(PushError::Norm { worker, norm: push.norm });
        }
        if self.pending.len() >= WINDOW {
            return Err(PushError::Full { worker });
        }
        let number = self.next_update;
        self.next_update += 1;
        let update = UpdateId { worker, number };
        let word = Announce {
            update,
            server: self.target(server).now,
            bytes: push.update.bytes().len() as u64,
            norm: push.norm,
            version: push.version,
        };
        self.target(server).clock += 1;
        let until = now + self.options.patience;
        self.pending.insert(number, Pending { server, push, stage: Stage::Announced { until } });
        match self.options.scheduler.filter(|_| self.scheduler_there) {
            Some(scheduler) if self.target(server).lost.is_none() => {
                let way = Way::to(scheduler, RoleKind::Scheduler, 0);
                self.post.send(way, &Word::Announce(word), None);
            }
            _ => self.send_by_itself(now, number),
        }
        Ok(update)
    }

    /// Asks for the model of a server, of at least this version. Answered by [`Notice::Model`] or
    /// [`Notice::NoModel`].
    pub fn get(&mut self, server: Rank, at_least: Version) -> u64 {
        let request = self.next_request;
        self.next_request += 1;
        self.questions.insert(request, Question { server, at_least });
        self.ask(request);
        request
    }

    /// Says that no more updates come for a server, so that nobody waits for this worker.
    pub fn finish(&mut self, server: Rank) {
        self.target(server).finished = true;
        self.tell_clock(server);
    }

    fn tell_clock(&mut self, server: Rank) {
        let target = *self.target(server);
        if target.lost.is_none() {
            let way = Way::to(target.now, RoleKind::Model, target.epoch);
            let clock = Some(target.clock).filter(|_| !target.finished);
            self.post.send(way, &Word::Clock(clock), None);
        }
    }

    /// How many updates are not decided.
    pub fn undecided(&self) -> usize {
        self.pending.len()
    }

    /// Who answers for a server now.
    pub fn server_now(&self, server: Rank) -> Rank {
        self.servers.get(&server).map_or(server, |target| target.now)
    }

    fn target(&mut self, server: Rank) -> &mut Target {
        self.servers.entry(server).or_insert(Target {
            now: server,
            epoch: 0,
            clock: 0,
            finished: false,
            lost: None,
        })
    }

    fn ask(&mut self, request: u64) {
        let Some(question) = self.questions.get(&request) else { return };
        let (server, at_least) = (question.server, question.at_least);
        let target = *self.target(server);
        if target.lost.is_none() {
            let clock = target.clock;
            let way = Way::to(target.now, RoleKind::Model, target.epoch);
            self.post.send(way, &Word::Get(Get { request, at_least, clock }), None);
        }
    }

    /// The local rule: straight to the server, at once.
    fn send_by_itself(&mut self, now: Time, number: u64) {
        let update = UpdateId { worker: self.me, number };
        if self.options.scheduler.is_some() {
            self.notices.push_back(Notice::Planned { update, reason: Reason::SchedulerAway });
        }
        self.send_direct(now, number);
    }

    fn send_direct(&mut self, now: Time, number: u64) {
        let straight = Action::Send { after: Span::ZERO, rate: None, place: 0, through: None };
        self.obey(now, number, straight);
    }

    fn obey(&mut self, now: Time, number: u64, action: Action) {
        let Some(pending) = self.pending.get(&number) else { return };
        let target = *self.target(pending.server);
        let Some(pending) = self.pending.get_mut(&number) else { return };
        if target.lost.is_some() {
            pending.stage = Stage::Stranded;
            return;
        }
        let Action::Send { after, rate, place, through } = action else { return };
        let (to, role) = match through {
            Some(through) => (through.aggregator, RoleKind::Aggregator),
            None => (target.now, RoleKind::Model),
        };
        let word = Update {
            update: UpdateId { worker: self.me, number },
            version: pending.push.version,
            norm: pending.push.norm,
            min_delivery: pending.push.min_delivery,
            server: target.now,
            sum: through.map(|through| through.sum),
        };
        let slack = Slack { priority: place, ..Slack::at_least(pending.push.min_delivery) };
        let at = now + after;
        let way = Way { to, role, epoch: target.epoch, slack, at, rate };
        let sequence = self.post.send(way, &Word::Update(word), Some(&pending.push.update));
        let give_up = through.map(|through| at + through.give_up);
        let begun = Some(at).filter(|_| rate.is_none());
        pending.stage = Stage::Sent { to, sequence, begun, give_up };
    }

    /// The scheduler said what to do.
    fn planned(&mut self, now: Time, entry: Entry) {
        let number = entry.update.number;
        let waits = self.pending.get(&number).is_some_and(|pending| {
            entry.update.worker == self.me && matches!(pending.stage, Stage::Announced { .. })
        });
        if !waits {
            return; // Sent without it, or decided.
        }
        match entry.action {
            Action::Drop => self.dropped(number, entry.reason),
            action @ Action::Send { .. } => {
                let (update, reason) = (entry.update, entry.reason);
                self.notices.push_back(Notice::Planned { update, reason });
                self.obey(now, number, action);
            }
        }
    }

    fn dropped(&mut self, number: u64, reason: Reason) {
        let Some(pending) = self.pending.remove(&number) else { return };
        if let Stage::Sent { sequence, .. } = pending.stage {
            self.post.cancel(sequence);
        }
        let update = UpdateId { worker: self.me, number };
        self.notices.push_back(Notice::Dropped { update, reason });
    }

    fn refused(&mut self, now: Time, refused: Refused) {
        if refused.update.worker != self.me {
            return;
        }
        let number = refused.update.number;
        match refused.reason {
            Reason::Overlap => self.send_direct(now, number),
            // Who took over introduces itself, and then it is sent there.
            Reason::Deposed { .. } => {
                if let Some(pending) = self.pending.get_mut(&number) {
                    pending.stage = Stage::Stranded;
                }
            }
            reason => self.dropped(number, reason),
        }
    }

    /// Another rank has a server's place: everything undecided goes there.
    fn moved(&mut self, now: Time, from: Rank, promoted: Promoted) {
        // A server that this worker has not spoken to yet can have been lost too.
        let place = self.servers.iter().find(|(home, target)| {
            **home == promoted.of || target.now == promoted.of || target.now == from
        });
        let home = place.map_or(promoted.of, |(home, _)| *home);
        let target = self.target(home);
        if promoted.version.epoch <= target.epoch {
            return;
        }
        *target = Target { now: from, epoch: promoted.version.epoch, lost: None, ..*target };
        let version = promoted.version;
        self.notices.push_back(Notice::Moved { from: promoted.of, to: from, version });
        self.tell_clock(home);
        let updates: Vec<_> = self.of_server(home);
        for number in updates {
            if let Some(Pending { stage: Stage::Sent { sequence, .. }, .. }) =
                self.pending.get(&number)
            {
                self.post.cancel(*sequence);
            }
            self.send_direct(now, number);
        }
        let requests: Vec<_> =
            self.questions.iter().filter(|(_, q)| q.server == home).map(|(n, _)| *n).collect();
        for request in requests {
            if let Some(question) = self.questions.get_mut(&request) {
                // The new epoch counts from where it took over.
                question.at_least = question.at_least.min(version);
            }
            self.ask(request);
        }
    }

    fn of_server(&self, home: Rank) -> Vec<u64> {
        let mine = self.pending.iter().filter(|(_, pending)| pending.server == home);
        mine.map(|(number, _)| *number).collect()
    }

    fn model(&mut self, epoch: u32, word: &Model, tensor: Option<Tensor>) {
        let Some(tensor) = tensor else { return };
        self.relay.pass(epoch, word, &tensor);
        self.pass_on();
        let (request, version) = (word.request, word.version);
        let Some(question) = self.questions.get(&request) else { return };
        let home = question.server;
        let Some(values) = self.arriving.add(word, tensor) else { return };
        self.questions.remove(&request);
        let server = self.target(home).now;
        self.notices.push_back(Notice::Model { request, server, version, values });
    }

    fn pass_on(&mut self) {
        while let Some((to, part)) = self.relay.next() {
            let way = Way::to(to, RoleKind::Worker, part.epoch);
            let sequence = self.post.send(way, &Word::Model(part.word), Some(&part.tensor));
            self.relay.left(to, sequence);
            if to == self.me {
                self.relay.over(to, sequence); // Nobody reports what stays here.
            }
        }
    }

    fn scheduler_gone(&mut self, now: Time) {
        let Some(scheduler) = self.options.scheduler.filter(|_| self.scheduler_there) else {
            return;
        };
        self.scheduler_there = false;
        self.notices.push_back(Notice::Scheduler { scheduler, there: false });
        let waiting: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, pending)| matches!(pending.stage, Stage::Announced { .. }))
            .map(|(number, _)| *number)
            .collect();
        for number in waiting {
            self.send_by_itself(now, number);
        }
    }

    fn scheduler_back(&mut self, scheduler: Rank) {
        if self.options.scheduler == Some(scheduler) && !self.scheduler_there {
            self.scheduler_there = true;
            self.notices.push_back(Notice::Scheduler { scheduler, there: true });
        }
    }

    /// Tells the scheduler that this worker is there.
    fn register(&mut self, scheduler: Rank) {
        let (role, version) = (RoleKind::Worker, Version::default());
        let word = Register { role, sync: false, staleness: None, version };
        let way = Way::to(scheduler, RoleKind::Scheduler, 0);
        self.post.send(way, &Word::Register(word), None);
    }
}

impl Role for Worker {
    fn kind(&self) -> RoleKind {
        RoleKind::Worker
    }

    fn handle_letter(&mut self, now: Time, letter: Letter) {
        let Letter { from, from_role, epoch, word, tensor, .. } = letter;
        if from_role == RoleKind::Scheduler {
            self.scheduler_back(from);
        }
        match word {
            Word::Entry(entry) if self.options.scheduler == Some(from) => self.planned(now, entry),
            Word::Committed(word) if word.update.worker == self.me => {
                if let Some(pending) = self.pending.remove(&word.update.number) {
                    if let Stage::Sent { sequence, .. } = pending.stage {
                        self.post.cancel(sequence);
                    }
                    let super::words::Committed { update, version, delay } = word;
                    self.notices.push_back(Notice::Committed { update, version, delay });
                }
            }
            Word::Refused(refused) => self.refused(now, refused),
            Word::Model(word) => self.model(epoch, &word, tensor),
            Word::Promoted(promoted) => self.moved(now, from, promoted),
            Word::Beat(_) if from_role == RoleKind::Scheduler => self.register(from),
            other => self.notices.push_back(Notice::Refusal {
                from,
                what: format!("{from} said {other:?} to {}, which is a worker", self.me),
            }),
        }
    }

    fn handle_lost(&mut self, now: Time, peer: Rank) {
        self.post.forget(peer);
        self.relay.forget(peer);
        if self.options.scheduler == Some(peer) {
            self.scheduler_gone(now);
        }
        let home = self.servers.iter().find(|(_, target)| target.now == peer).map(|(h, _)| *h);
        if let Some(home) = home {
            self.target(home).lost.get_or_insert(now);
        }
        // What went to a server waits for who takes over; what went to an aggregator goes on by itself.
        for number in self.pending.keys().copied().collect::<Vec<_>>() {
            let pending = &self.pending[&number];
            match pending.stage {
                Stage::Sent { to, .. } if to == peer => self.send_direct(now, number),
                Stage::Announced { .. } if Some(pending.server) == home => {
                    self.send_direct(now, number);
                }
                _ => {}
            }
        }
    }

    fn handle_undelivered(&mut self, now: Time, to: Rank, sequence: u64) {
        if self.relay.over(to, sequence) {
            return self.pass_on();
        }
        let found = self.pending.iter().find(|(_, pending)| {
            matches!(pending.stage, Stage::Sent { sequence: s, .. } if s == sequence)
        });
        let Some(number) = found.map(|(number, _)| *number) else { return };
        // An aggregator that cannot be reached is passed by; a server that cannot is as good as lost.
        if self.servers.values().any(|target| target.now == to) {
            self.handle_lost(now, to);
        } else {
            self.send_direct(now, number);
        }
    }

    fn handle_delivered(&mut self, now: Time, to: Rank, sequence: u64) {
        if self.relay.over(to, sequence) {
            return self.pass_on();
        }
        let found = self.pending.values().find_map(|pending| match pending.stage {
            Stage::Sent { sequence: s, begun, .. } if s == sequence => {
                Some((begun?, pending.push.update.bytes().len()))
            }
            _ => None,
        });
        let Some((begun, bytes)) = found else { return };
        let span = now.since(begun);
        if span.is_zero() || bytes == 0 {
            return;
        }
        let bits = Bytes::new(bytes as u64).get() as f64 * 8.0;
        let rate = Rate::bps((bits / span.as_secs_f64()) as u64);
        if let Some(scheduler) = self.options.scheduler.filter(|_| self.scheduler_there) {
            let way = Way::to(scheduler, RoleKind::Scheduler, 0);
            self.post.send(way, &Word::Measured(Measured { to, rate }), None);
        }
        self.notices.push_back(Notice::Rate { to, rate });
    }

    fn handle_timeout(&mut self, now: Time) {
        let late =
            |pending: &Pending| matches!(pending.stage, Stage::Announced { until } if until <= now);
        if self.pending.values().any(late) {
            self.scheduler_gone(now);
        }
        for number in self.pending.keys().copied().collect::<Vec<_>>() {
            if let Stage::Sent { give_up: Some(give_up), sequence, .. } =
                self.pending[&number].stage
                && give_up <= now
            {
                self.post.cancel(sequence);
                self.send_direct(now, number);
            }
        }
        let waited = self.options.failover;
        let over: Vec<_> = self
            .servers
            .iter()
            .filter(|(_, target)| target.lost.is_some_and(|since| since + waited <= now))
            .map(|(home, target)| (*home, target.now))
            .collect();
        for (home, server) in over {
            let reason = Reason::ServerGone { server, waited };
            for number in self.of_server(home) {
                self.dropped(number, reason);
            }
            let of_home = self.questions.iter().filter(|(_, q)| q.server == home);
            for request in of_home.map(|(request, _)| *request).collect::<Vec<_>>() {
                self.questions.remove(&request);
                self.arriving.forget(request);
                self.notices.push_back(Notice::NoModel { request, reason });
            }
        }
    }

    fn poll_parcel(&mut self, now: Time) -> Option<Parcel> {
        self.post.poll(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        let stages = self.pending.values().map(|pending| match pending.stage {
            Stage::Announced { until } => Some(until),
            Stage::Sent { give_up, .. } => give_up,
            Stage::Stranded => None,
        });
        let waited = self.options.failover;
        let lost = self.servers.iter().map(|(home, target)| {
            let waits = self.pending.values().any(|p| p.server == *home)
                || self.questions.values().any(|q| q.server == *home);
            target.lost.filter(|_| waits).map(|since| since + waited)
        });
        earliest(stages.chain(lost).chain([self.post.next_time()]))
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }
}
