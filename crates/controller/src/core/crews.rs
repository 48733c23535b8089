//! Training jobs with parameter servers: each has a scheduler of fabric's roles here.
//!
//! Words travel in fabric's own layout, so a worker, server or aggregator cannot tell whether its
//! scheduler is a rank or this controller. The controller is rank [`CONTROLLER`] of every crew.

use std::collections::BTreeMap;

use bytes::Bytes;
use laxity_fabric::{
    Rank,
    carrier::{self, Arrival, Envelope, Lane},
    roles::{Node, Notice, RoleKind, Scheduler, SchedulerOptions, View},
};
use laxity_interface::{Rate, Span, Time};

use super::{Controller, SessionId, event::Event, network::HostId};
use crate::wire::{self, to_host::Word};

/// The controller's rank in every crew.
pub const CONTROLLER: Rank = Rank::new(u32::MAX);

/// The longest word of a role. Those to a scheduler are short: they carry no tensor.
const LONGEST_WORD: usize = 1 << 20;
/// The longest name of a crew.
const LONGEST_NAME: usize = 253;
/// The most places of one host.
const MOST_SEATS: usize = 64;
/// How often the state of a crew's scheduler is to be saved, while it changes.
const SAVE_EVERY: Span = Span::from_secs(5);

/// A training job.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) node: Node,
    /// Who plays which rank.
    pub(crate) seats: BTreeMap<u32, SessionId>,
    /// When it was empty first.
    empty: Option<Time>,
    /// When it is to be saved, if it has changed.
    save: Option<Time>,
}

/// Whoever has no node yet.
fn new_node(options: SchedulerOptions, usual: Rate, saved: Option<&[u8]>) -> Node {
    let fresh = || Scheduler::new(CONTROLLER, View::new(usual), options);
    let scheduler = match saved.map(|bytes| Scheduler::restore(CONTROLLER, options, bytes)) {
        Some(Ok(scheduler)) => scheduler,
        // What cannot be read is measured and announced anew.
        Some(Err(_)) | None => fresh(),
    };
    Node::new(CONTROLLER).with_scheduler(scheduler)
}

impl Controller {
    fn crew_options(&self) -> SchedulerOptions {
        // Letters of different runs are told apart by it.
        SchedulerOptions { incarnation: self.incarnation as u32, ..self.options.crews }
    }

    /// Brings back a crew's scheduler as it was saved.
    pub fn restore_crew(&mut self, now: Time, name: &str, saved: &[u8]) {
        let node = new_node(self.crew_options(), self.options.usual, Some(saved));
        let crew = Crew { node, seats: BTreeMap::new(), empty: Some(now), save: None };
        self.crews.insert(name.to_owned(), crew);
    }

    /// A host takes a place in a crew.
    pub(super) fn seat(&mut self, now: Time, session: SessionId, host: HostId, seat: &wire::Seat) {
        if let Err(what) = self.take_seat(now, session, host, seat) {
            let (from, rank, crew) = (self.hosts.name(host), seat.rank, seat.crew.clone());
            let what = format!("host {from} cannot be rank {rank} of `{crew}`: {what}");
            self.events.push_back(Event::CrewRefusal { crew, what: what.clone() });
            return self.turn_out(now, session, what);
        }
        self.pump_crew(now, &seat.crew);
    }

    fn take_seat(
        &mut self,
        now: Time,
        session: SessionId,
        host: HostId,
        seat: &wire::Seat,
    ) -> Result<(), String> {
        let (name, rank) = (&seat.crew, seat.rank);
        let seats = self.sessions.get(session).map_or(&[][..], |known| &known.seats);
        let again = seats.contains(&(name.clone(), rank));
        if seats.len() >= MOST_SEATS && !again {
            return Err(format!("it has {MOST_SEATS} places already"));
        }
        if name.is_empty() || name.len() > LONGEST_NAME || rank == CONTROLLER.get() {
            return Err("there is no such place".to_owned());
        }
        if !self.crews.contains_key(name) {
            if self.crews.len() >= self.options.most_crews {
                let most = self.options.most_crews;
                return Err(format!("there are {most} training jobs already"));
            }
            let node = new_node(self.crew_options(), self.options.usual, None);
            let crew = Crew { node, seats: BTreeMap::new(), empty: None, save: None };
            self.crews.insert(name.to_owned(), crew);
        }
        let rates = self.hosts.get(host).map(|host| (host.up, host.down));
        let usual = self.options.usual;
        let taken = self.crews.get(name).and_then(|crew| crew.seats.get(&rank).copied());
        if let Some(other) = taken.filter(|other| *other != session) {
            let holder = self.sessions.get(other).map_or_else(String::new, |s| s.at.to_string());
            return Err(format!("that is the place of the host at {holder}"));
        }
        let Some(crew) = self.crews.get_mut(name) else { return Ok(()) };
        crew.seats.insert(rank, session);
        (crew.empty, crew.save) = (None, Some(now + SAVE_EVERY));
        if let (Some((up, down)), Some(scheduler)) = (rates, crew.node.scheduler()) {
            let (up, down) = (up.unwrap_or(usual), down.unwrap_or(usual));
            scheduler.view().set_host(Rank::new(rank), up, down);
            // It is to say what it is: whatever it said before is gone with another process.
            for role in seat.roles() {
                let kind = match role {
                    wire::Role::Worker => RoleKind::Worker,
                    wire::Role::Model => RoleKind::Model,
                    wire::Role::Aggregator => RoleKind::Aggregator,
                };
                scheduler.greet(Rank::new(rank), kind);
            }
        }
        if let Some(known) = self.sessions.get_mut(session).filter(|_| !again) {
            known.seats.push((name.clone(), rank));
        }
        Ok(())
    }

    /// A host leaves a place.
    pub(super) fn vacate(&mut self, now: Time, session: SessionId, word: wire::Vacate) {
        let seat = (word.crew, word.rank);
        if let Some(known) = self.sessions.get_mut(session) {
            known.seats.retain(|taken| *taken != seat);
        }
        self.leave_seats(now, session, &[seat], "it has closed its line to the controller");
    }

    /// Somebody's places are free again.
    pub(super) fn leave_seats(
        &mut self,
        now: Time,
        session: SessionId,
        seats: &[(String, u32)],
        why: &str,
    ) {
        for (name, rank) in seats {
            let Some(crew) = self.crews.get_mut(name) else { continue };
            if crew.seats.get(rank) != Some(&session) {
                continue;
            }
            crew.seats.remove(rank);
            let reason = why.to_owned();
            let lost = carrier::Event::Lost { peer: Rank::new(*rank), reason, left: false };
            crew.node.handle_event(now, lost);
            if crew.seats.is_empty() {
                crew.empty = Some(now);
            }
        }
        self.pump_crews(now);
    }

    /// A word for a crew's scheduler.
    pub(super) fn role_word(&mut self, now: Time, session: SessionId, word: wire::RoleWord) {
        let wire::RoleWord { crew: name, rank, envelope, word } = word;
        let seated = self.crews.get(&name).is_some_and(|c| c.seats.get(&rank) == Some(&session));
        let envelope = Envelope::decode(&envelope);
        let fits = |envelope: &Envelope| {
            envelope.channel.lane == Lane::Role
                && envelope.channel.part == 0
                && word.len() <= LONGEST_WORD
        };
        match (seated, envelope) {
            (true, Ok(envelope)) if fits(&envelope) => {
                let from = Rank::new(rank);
                let (body, missing) = (Bytes::from(word), Vec::new());
                let arrival = Arrival { from, envelope, body, missing };
                if let Some(crew) = self.crews.get_mut(&name) {
                    crew.node.handle_event(now, carrier::Event::Arrived(arrival));
                    crew.save.get_or_insert(now + SAVE_EVERY);
                }
                self.pump_crew(now, &name);
            }
            (true, _) => {
                let what = format!("rank {rank} sent a word that is none for a scheduler");
                self.events.push_back(Event::CrewRefusal { crew: name, what });
            }
            // Said before its host was let go; nothing is missed.
            (false, _) => {}
        }
    }

    pub(super) fn crews_timeout(&mut self, now: Time) {
        let due = |crew: &Crew| crew.node.poll_timeout().is_some_and(|due| due <= now);
        let names: Vec<_> =
            self.crews.iter().filter(|(_, crew)| due(crew)).map(|(name, _)| name.clone()).collect();
        for name in names {
            if let Some(crew) = self.crews.get_mut(&name) {
                crew.node.handle_timeout(now);
            }
            self.pump_crew(now, &name);
        }
        let lease = self.options.lease;
        let over = |crew: &Crew| crew.empty.is_some_and(|since| since + lease <= now);
        let gone: Vec<_> = self
            .crews
            .iter()
            .filter(|(_, crew)| over(crew))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.crews.remove(&name);
            self.crews_gone.push(name);
        }
    }

    fn pump_crews(&mut self, now: Time) {
        for name in self.crews.keys().cloned().collect::<Vec<_>>() {
            self.pump_crew(now, &name);
        }
    }

    /// Hands on what a scheduler says.
    fn pump_crew(&mut self, now: Time, name: &str) {
        let Some(crew) = self.crews.get_mut(name) else { return };
        let mut words = Vec::new();
        while let Some(parcel) = crew.node.poll_parcel(now) {
            // Who is not there has its own rule.
            let rank = parcel.to.get();
            let Some(session) = crew.seats.get(&rank) else { continue };
            let envelope = parcel.envelope.encode().to_vec();
            let (crew, word) = (name.to_owned(), parcel.body.to_vec());
            words.push((*session, Word::Role(wire::RoleWord { crew, rank, envelope, word })));
        }
        while let Some(notice) = crew.node.poll_notice() {
            let crew = name.to_owned();
            match notice {
                Notice::Round { updates, summed, dropped } => {
                    self.events.push_back(Event::Updates { crew, updates, summed, dropped });
                }
                Notice::Refusal { what, .. } => {
                    self.events.push_back(Event::CrewRefusal { crew, what });
                }
                _ => {}
            }
        }
        for (session, word) in words {
            self.say(now, session, word);
        }
    }

    pub(super) fn crews_poll_timeout(&self) -> Option<Time> {
        let lease = self.options.lease;
        let due = self.crews.values().flat_map(|crew| {
            // Whom nobody listens to has nothing to say.
            let node = crew.node.poll_timeout().filter(|_| !crew.seats.is_empty());
            [node, crew.empty.map(|since| since + lease)]
        });
        due.flatten().min()
    }

    /// Crews whose schedulers have changed, as bytes to be kept; all of them if `all`.
    pub fn poll_crew_save(&mut self, now: Time, all: bool) -> Option<(String, Vec<u8>)> {
        let due = |crew: &Crew| crew.save.is_some_and(|due| all || due <= now);
        let (name, crew) = self.crews.iter_mut().find(|(_, crew)| due(crew))?;
        crew.save = None;
        Some((name.clone(), crew.node.scheduler()?.save()))
    }

    /// A crew that is forgotten: what was kept of it can go.
    pub fn poll_crew_gone(&mut self) -> Option<String> {
        self.crews_gone.pop()
    }
}
