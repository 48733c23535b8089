//! The controller without input and output: words of hosts and the time go in, words for hosts, records
//! for the disk and events for people come out.

mod answer;
mod crews;
mod door;
mod event;
mod hosts;
mod jobs;
mod network;
mod options;
mod plan;
mod record;
mod round;
mod sessions;
mod submit;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
};

use laxity_fabric::rendezvous::Secret;
use laxity_interface::{HostName, Time};

pub use self::{
    crews::CONTROLLER,
    event::Event,
    jobs::SubmitError,
    options::Options,
    plan::{Class, FlowName, FlowPlan, Reason},
    record::{Record, Saved, SavedHost, SavedJob},
    sessions::SessionId,
};
use self::{
    crews::Crew,
    hosts::Hosts,
    jobs::{FlowState, Jobs, Why},
    network::{HostId, Pairs},
    sessions::{Sessions, Stage},
};
use crate::{
    auth::NONCE_BYTES,
    wire::{self, from_host, to_host::Word},
};

/// The most plans in one word.
const PLANS_AT_ONCE: usize = 512;
/// The most events that wait for whoever reads them; older ones go.
const MOST_EVENTS: usize = 4096;

/// The controller of a cluster.
#[derive(Debug)]
pub struct Controller {
    options: Options,
    secret: Secret,
    incarnation: u64,
    zero_unix_ms: u64,
    rounds: u64,
    sessions: Sessions,
    hosts: Hosts,
    pairs: Pairs,
    jobs: Jobs,
    crews: BTreeMap<String, Crew>,
    crews_gone: Vec<String>,
    records: VecDeque<Record>,
    events: VecDeque<Event>,
    next_round: Option<Time>,
}

/// What is to be sent in a conversation.
#[derive(Clone, PartialEq, Debug)]
pub enum Outgoing {
    /// A word.
    Word(wire::ToHost),
    /// Nothing more: it is to be closed.
    End,
}

impl Controller {
    /// A controller that goes on from what was saved (or from nothing: `Saved::default()`).
    pub fn new(now: Time, options: Options, secret: Secret, saved: Saved) -> Self {
        let mut made = Self {
            options,
            secret,
            incarnation: saved.incarnation + 1,
            zero_unix_ms: saved.zero_unix_ms,
            rounds: saved.rounds,
            sessions: Sessions::default(),
            hosts: Hosts::default(),
            pairs: Pairs::default(),
            jobs: Jobs::default(),
            crews: BTreeMap::new(),
            crews_gone: Vec::new(),
            records: VecDeque::new(),
            events: VecDeque::new(),
            next_round: None,
        };
        for (_, host) in saved.hosts {
            made.hosts.restore(host);
        }
        // Leases begin anew: while the controller was away nobody could keep one.
        let ids: Vec<_> = made.hosts.iter().map(|(id, _)| id).collect();
        for id in ids {
            if let Some(host) = made.hosts.get_mut(id) {
                host.since = now;
            }
        }
        for (name, job) in saved.jobs {
            let owner = job.owner.to_string();
            if let Err(error) = made.restore_job(now, job) {
                // Its owner will submit it again, and hear why.
                let what = error.to_string();
                made.events.push_back(Event::JobRefused { job: name, owner, what });
            }
        }
        if !made.jobs.all.is_empty() {
            made.plan_by(now);
        }
        made
    }

    /// How often it has been started with this state.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// How many hosts are attached, how many jobs and flows there are.
    pub fn counts(&self) -> (usize, usize, usize) {
        let attached = self.hosts.iter().filter(|(_, host)| host.session.is_some()).count();
        (attached, self.jobs.all.len(), self.jobs.flows)
    }

    /// Somebody has begun a conversation. The nonce is random. One too many is refused.
    pub fn handle_opened(
        &mut self,
        now: Time,
        session: SessionId,
        at: SocketAddr,
        nonce: [u8; NONCE_BYTES],
    ) {
        let full = self.sessions.len() >= self.options.most_sessions;
        self.sessions.open(session, at, nonce, now);
        if full {
            let (name, most) = (&self.options.name, self.options.most_sessions);
            let what = format!(
                "controller {name} talks to {most} others already; {at} is one too many: try later"
            );
            self.refuse(session, what);
        }
    }

    /// Somebody said something.
    pub fn handle_word(&mut self, now: Time, session: SessionId, word: wire::FromHost) {
        let Some(stage) = self.sessions.get(session).map(|known| known.stage.clone()) else {
            return;
        };
        let Some(word) = word.word else { return };
        use from_host::Word as From;
        match (stage, word) {
            (Stage::Over, _) => {}
            (Stage::Silent, From::Hello(hello)) => self.hello(session, hello),
            (Stage::Challenged(_), From::Proof(proof)) => self.proof(now, session, &proof),
            (Stage::Host(_) | Stage::Observer, From::Ask(ask)) => self.asked(now, session, &ask),
            (Stage::Host(host), From::Submit(submit)) => self.submit(now, session, host, &submit),
            (Stage::Host(host), From::Withdraw(word)) => self.withdraw(now, host, &word.job),
            (Stage::Host(host), From::Sent(sent)) => self.sent(now, host, &sent),
            (Stage::Host(host), From::Measured(word)) => self.measured(now, host, &word),
            (Stage::Host(host), From::Seat(seat)) => self.seat(now, session, host, &seat),
            (Stage::Host(_), From::Vacate(word)) => self.vacate(now, session, word),
            (Stage::Host(_), From::Role(word)) => self.role_word(now, session, word),
            (_, _) => {
                let what = "it said something out of turn; is it newer or older?".to_owned();
                self.turn_out(now, session, what);
            }
        }
        self.bound_events();
    }

    /// A conversation is over.
    pub fn handle_closed(&mut self, now: Time, session: SessionId, why: &str) {
        self.let_go(now, session, why);
        self.sessions.remove(session);
    }

    /// Forgets that a host is attached by this conversation; what waits in it is still said.
    fn let_go(&mut self, now: Time, session: SessionId, why: &str) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        let stage = std::mem::replace(&mut known.stage, Stage::Over);
        let seats = std::mem::take(&mut known.seats);
        self.sessions.wake(session);
        self.leave_seats(now, session, &seats, "its host left the controller");
        if let Stage::Host(id) = stage
            && let Some(host) = self.hosts.get_mut(id)
            && host.session == Some(session)
        {
            (host.session, host.since) = (None, now);
            let (host, why) = (host.name.to_string(), why.to_owned());
            self.events.push_back(Event::HostLeft { host, why });
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.pairs.expire(now, self.options.measured) {
            self.plan_by(now + self.options.interval);
        }
        if self.next_round.is_some_and(|due| due <= now) {
            self.plan_flows(now);
        }
        self.crews_timeout(now);
        self.end_leases(now);
        let late: Vec<_> = self
            .sessions
            .iter()
            .filter(|(_, known)| {
                matches!(known.stage, Stage::Silent | Stage::Challenged(_))
                    && known.came + self.options.proof <= now
            })
            .map(|(id, known)| (id, known.at))
            .collect();
        for (session, at) in late {
            let what = format!("{at} did not prove within {} who it is", self.options.proof);
            self.refuse(session, what);
        }
        self.bound_events();
    }

    fn bound_events(&mut self) {
        let over = self.events.len().saturating_sub(MOST_EVENTS);
        self.events.drain(..over);
    }

    /// Hosts that are away for too long lose their jobs and their names.
    fn end_leases(&mut self, now: Time) {
        let lease = self.options.lease;
        let gone: Vec<_> = self
            .hosts
            .iter()
            .filter(|(_, host)| host.token.is_some() && host.session.is_none())
            .filter(|(_, host)| host.since + lease <= now)
            .map(|(id, host)| (id, host.name.clone()))
            .collect();
        for (id, name) in gone {
            let of_host = self.jobs.all.iter().filter(|(_, job)| job.owner == id);
            for job in of_host.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
                let why = format!("its host {name} has been away for {lease}");
                self.end_job(now, &job, &why);
            }
            self.forget_host(id, &name);
        }
    }

    fn forget_host(&mut self, id: HostId, name: &HostName) {
        self.records.push_back(Record::HostGone { name: name.clone() });
        self.events.push_back(Event::HostForgotten { host: name.to_string() });
        match self.hosts.get_mut(id) {
            // Still the end of somebody's flow.
            Some(host) if host.flows > 0 => {
                host.token = None;
                host.untold.clear();
            }
            _ => {
                self.hosts.remove(id);
                self.pairs.forget(id);
            }
        }
    }

    /// Asks for a round by then.
    fn plan_by(&mut self, by: Time) {
        self.next_round = Some(self.next_round.map_or(by, |due| due.min(by)));
    }

    /// Says something, to somebody who reads. Who does not is let go.
    fn say(&mut self, now: Time, session: SessionId, word: Word) {
        let over = self.sessions.get(session).is_none_or(|known| known.stage == Stage::Over);
        if over {
            return;
        }
        if self.sessions.say(session, word) > self.options.most_waiting {
            let most = self.options.most_waiting;
            let what = format!("it does not read: {most} words wait for it");
            self.let_go(now, session, &what);
            if let Some(known) = self.sessions.get_mut(session) {
                known.words.clear();
                let at = known.at;
                self.events.push_back(Event::Refused { at, what });
            }
        }
    }

    /// When something is to be done, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Time> {
        let proofs = self.sessions.iter().filter_map(|(_, known)| {
            let waits = matches!(known.stage, Stage::Silent | Stage::Challenged(_));
            waits.then(|| known.came + self.options.proof)
        });
        let leases = self.hosts.iter().filter_map(|(_, host)| {
            let away = host.token.is_some() && host.session.is_none();
            away.then(|| host.since + self.options.lease)
        });
        proofs.chain(leases).chain(self.next_round).chain(self.crews_poll_timeout()).min()
    }

    /// Who has something to be told.
    pub fn ready(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.ready()
    }

    /// The next word of a conversation.
    pub fn poll_word(&mut self, now: Time, session: SessionId) -> Option<Outgoing> {
        let known = self.sessions.get_mut(session)?;
        if let Some(word) = known.words.pop_front() {
            return Some(Outgoing::Word(wire::ToHost { word: Some(word) }));
        }
        match known.stage {
            Stage::Host(host) => {
                let plans = self.poll_plans(now, host);
                if plans.is_none() {
                    self.sessions.settle(session);
                }
                plans
            }
            Stage::Over => {
                self.sessions.settle(session);
                Some(Outgoing::End)
            }
            _ => {
                self.sessions.settle(session);
                None
            }
        }
    }

    fn poll_plans(&mut self, now: Time, id: HostId) -> Option<Outgoing> {
        let host = self.hosts.get_mut(id)?;
        let mut plans = Vec::new();
        let mut keys = Vec::new();
        while keys.len() < PLANS_AT_ONCE
            && let Some(key) = host.untold.pop_first()
        {
            keys.push(key);
        }
        for key in keys {
            let Some((job, flow)) = self.jobs.flow(key) else { continue };
            // Without an answer of the planner the host's own rule holds.
            let told = flow.planned.as_ref().is_some_and(|p| matches!(p.why, Why::Planned(..)));
            let Some(plan) = self.flow_plan(now, flow).filter(|_| told && flow.is_open()) else {
                continue;
            };
            plans.push(plan_word(now, job.job.name(), flow, &plan));
        }
        let round = self.rounds;
        (!plans.is_empty()).then(|| {
            let word = Some(Word::Plans(wire::Plans { round, plans }));
            Outgoing::Word(wire::ToHost { word })
        })
    }

    /// A flow's plan, with names.
    fn flow_plan(&self, now: Time, flow: &FlowState) -> Option<FlowPlan> {
        let planned = flow.planned.as_ref()?;
        let reason = match &planned.why {
            Why::Planned(reason, link) => Reason::Planned(self.in_words(reason, *link, now)),
            Why::NoPlan(error) => Reason::NoPlan { error: error.clone() },
        };
        Some(FlowPlan {
            rate: planned.rate,
            spare: planned.spare,
            order: planned.order,
            class: planned.class,
            start: planned.start,
            next_hop: self.hosts.get(flow.to)?.name.clone(),
            reason,
        })
    }

    /// The plans of all open flows, by name: exactly one each, once a round has been planned.
    pub fn plans(&self, now: Time) -> Vec<(FlowName, FlowPlan)> {
        let flows = self.jobs.all.values().flat_map(|job| {
            job.flows.iter().filter(|flow| flow.is_open()).map(move |flow| (job, flow))
        });
        flows
            .filter_map(|(job, flow)| {
                let name = FlowName::new(job.job.name(), flow.id);
                Some((name, self.flow_plan(now, flow)?))
            })
            .collect()
    }

    /// The next record to be kept.
    pub fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// Everything that is to be kept, at once.
    pub fn saved(&self) -> Saved {
        let name = |id| self.hosts.get(id).map(|host| host.name.clone());
        let mut saved = Saved {
            zero_unix_ms: self.zero_unix_ms,
            incarnation: self.incarnation,
            rounds: self.rounds,
            ..Saved::default()
        };
        for host in self.hosts.iter().filter_map(|(_, host)| host.saved()) {
            saved.hosts.insert(host.name.clone(), host);
        }
        for (key, job) in &self.jobs.all {
            if let Some(owner) = name(job.owner) {
                saved.jobs.insert(key.clone(), job.saved(&owner));
            }
        }
        saved
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

fn plan_word(now: Time, job: &str, flow: &FlowState, plan: &FlowPlan) -> wire::FlowPlan {
    wire::FlowPlan {
        job: job.to_owned(),
        flow: flow.id.0,
        rate_bps: plan.rate.as_bps(),
        spare_bps: plan.spare.as_bps(),
        order: plan.order,
        class: plan.class.get().into(),
        after_ps: plan.start.since(now).as_ps(),
        next_hop: plan.next_hop.to_string(),
        reason: plan.reason.to_string(),
    }
}
