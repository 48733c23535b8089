//! What a host knows: its jobs, what it was told, and whether the controller is there. No input and
//! output, no clock.

use std::collections::{BTreeMap, VecDeque};

use laxity_interface::{Bytes, FlowId, HostName, Job, Rate, Span, Time};

use super::{Action, Advice, AgentError, Attached, Link};
use crate::{
    core::{Class, FlowName, FlowPlan, Reason},
    wire::{self, from_host, to_host::Word},
};

/// The most words that wait for the connection; reports beyond that are dropped, the next ones say more.
const MOST_WORDS: usize = 4096;
/// The most plans that are kept of other hosts' jobs and our own.
const MOST_PLANS: usize = 131_072;
/// The most words for a line that nobody takes.
const MOST_HEARD: usize = 4096;

#[derive(Debug)]
struct OwnJob {
    job: Job,
    began: Time,
    refused: Option<String>,
}

/// The flow's plan, and the number of the change that brought it.
#[derive(Debug)]
struct Told {
    plan: FlowPlan,
    version: u64,
}

/// A rank of a training job on this host.
#[derive(Debug)]
pub(super) struct Place {
    /// Tells it from one that was taken before or after it.
    pub(super) number: u64,
    pub(super) roles: Vec<wire::Role>,
    pub(super) heard: VecDeque<wire::RoleWord>,
}

/// What a host knows.
#[derive(Debug)]
pub(super) struct State {
    patience: Span,
    hold: Span,
    pub(super) link: Link,
    /// Since when the link is as it is.
    pub(super) since: Time,
    jobs: BTreeMap<String, OwnJob>,
    plans: BTreeMap<FlowName, Told>,
    /// When a flow was asked about first.
    asked: BTreeMap<FlowName, Time>,
    sent: BTreeMap<FlowName, Bytes>,
    /// What the controller does not know yet of `sent`.
    unsaid: BTreeMap<FlowName, Bytes>,
    pub(super) places: BTreeMap<(String, u32), Place>,
    /// How many places were taken.
    taken: u64,
    outbox: VecDeque<from_host::Word>,
    versions: u64,
}

impl State {
    pub(super) fn new(now: Time, patience: Span, hold: Span) -> Self {
        Self {
            patience,
            hold,
            link: Link::Connecting,
            since: now,
            jobs: BTreeMap::new(),
            plans: BTreeMap::new(),
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            unsaid: BTreeMap::new(),
            places: BTreeMap::new(),
            taken: 0,
            outbox: VecDeque::new(),
            versions: 0,
        }
    }

    fn say(&mut self, word: from_host::Word) {
        // Without a controller everything that matters is said when it is back.
        if matches!(self.link, Link::Attached(_)) && self.outbox.len() < MOST_WORDS {
            self.outbox.push_back(word);
        }
    }

    pub(super) fn submit(&mut self, now: Time, job: Job) -> Result<(), AgentError> {
        let name = job.name().to_owned();
        if self.jobs.contains_key(&name) {
            return Err(AgentError::Twice { job: name });
        }
        self.jobs.insert(name.clone(), OwnJob { job, began: now, refused: None });
        self.submit_word(now, &name);
        Ok(())
    }

    fn submit_word(&mut self, now: Time, name: &str) {
        let Some(own) = self.jobs.get(name) else { return };
        let of_job = self.sent.iter().filter(|(flow, _)| flow.job == name);
        let word = wire::Submit {
            job: own.job.to_json(),
            sent: of_job.map(|(flow, bytes)| sent_word(flow, *bytes)).collect(),
            age_ps: now.since(own.began).as_ps(),
        };
        self.say(from_host::Word::Submit(word));
    }

    /// A job of this host has ended.
    pub(super) fn withdraw(&mut self, name: &str) {
        if self.jobs.remove(name).is_some() {
            self.say(from_host::Word::Withdraw(wire::Withdraw { job: name.to_owned() }));
        }
        self.plans.retain(|flow, _| flow.job != name);
        self.asked.retain(|flow, _| flow.job != name);
        self.sent.retain(|flow, _| flow.job != name);
        self.unsaid.retain(|flow, _| flow.job != name);
    }

    pub(super) fn sent(&mut self, flow: &FlowName, bytes: Bytes) {
        self.sent.insert(flow.clone(), bytes);
        self.unsaid.insert(flow.clone(), bytes);
    }

    /// All of a flow has left: nothing more is asked about it.
    pub(super) fn finished(&mut self, flow: &FlowName, bytes: Bytes) {
        self.sent(flow, bytes);
        self.plans.remove(flow);
        self.asked.remove(flow);
    }

    pub(super) fn measured(&mut self, to: &HostName, rate: Rate, told: Option<Rate>) {
        let (to, bps, told_bps) = (to.to_string(), rate.as_bps(), told.map(Rate::as_bps));
        self.say(from_host::Word::Measured(wire::Measured { to, bps, told_bps }));
    }

    /// Takes a rank's place, from whoever has it here; returns its number.
    pub(super) fn take_place(&mut self, crew: &str, rank: u32, roles: &[wire::Role]) -> u64 {
        self.taken += 1;
        let number = self.taken;
        let place = Place { number, roles: roles.to_vec(), heard: VecDeque::new() };
        self.places.insert((crew.to_owned(), rank), place);
        self.seat_word(crew, rank);
        number
    }

    /// Leaves the place of this number, unless somebody has taken it since.
    pub(super) fn leave_place(&mut self, crew: &str, rank: u32, number: u64) {
        let key = (crew.to_owned(), rank);
        if self.places.get(&key).is_some_and(|place| place.number == number) {
            self.places.remove(&key);
            if let Link::Attached(_) = self.link {
                self.say(from_host::Word::Vacate(wire::Vacate { crew: key.0, rank }));
            }
        }
    }

    fn seat_word(&mut self, crew: &str, rank: u32) {
        let Some(place) = self.places.get(&(crew.to_owned(), rank)) else { return };
        let roles = place.roles.iter().map(|role| i32::from(*role)).collect();
        self.say(from_host::Word::Seat(wire::Seat { crew: crew.to_owned(), rank, roles }));
    }

    /// A word for the scheduler; says whether anybody is there to take it.
    pub(super) fn role_word(&mut self, word: wire::RoleWord) -> bool {
        let room = self.outbox.len() < MOST_WORDS;
        let there = matches!(self.link, Link::Attached(_)) && room;
        if there {
            self.say(from_host::Word::Role(word));
        }
        there
    }

    pub(super) fn handle_attached(&mut self, now: Time, attached: Attached) {
        (self.link, self.since) = (Link::Attached(attached), now);
        self.versions += 1;
        self.outbox.clear();
        for (crew, rank) in self.places.keys().cloned().collect::<Vec<_>>() {
            self.seat_word(&crew, rank);
        }
        for name in self.jobs.keys().cloned().collect::<Vec<_>>() {
            self.submit_word(now, &name);
        }
        self.unsaid = self.sent.clone();
    }

    pub(super) fn handle_away(&mut self, now: Time, why: String, refused: bool) {
        if matches!(self.link, Link::Attached(_) | Link::Connecting) {
            self.since = now;
        }
        self.link = if refused { Link::Refused { why } } else { Link::Away { why } };
        self.versions += 1;
        self.outbox.clear();
    }

    pub(super) fn handle_word(&mut self, now: Time, word: Word) {
        match word {
            Word::Plans(plans) => {
                self.versions += 1;
                plans.plans.into_iter().for_each(|plan| self.told(now, plan));
            }
            Word::Job(answer) => {
                self.versions += 1;
                if let Some(own) = self.jobs.get_mut(&answer.job) {
                    own.refused = answer.refused;
                }
            }
            Word::Role(word) => {
                let place = self.places.get_mut(&(word.crew.clone(), word.rank));
                if let Some(place) = place.filter(|place| place.heard.len() < MOST_HEARD) {
                    place.heard.push_back(word);
                }
            }
            // Others belong to the beginning, or to those who ask.
            _ => {}
        }
    }

    fn told(&mut self, now: Time, word: wire::FlowPlan) {
        let Ok(next_hop) = HostName::new(&word.next_hop) else { return };
        let name = FlowName::new(word.job, FlowId(word.flow));
        if !self.plans.contains_key(&name) && self.plans.len() >= MOST_PLANS {
            return;
        }
        let plan = FlowPlan {
            rate: Rate::bps(word.rate_bps),
            spare: Rate::bps(word.spare_bps),
            order: word.order,
            class: Class::new(word.class),
            start: now + Span::from_ps(word.after_ps),
            next_hop,
            reason: Reason::Planned(word.reason),
        };
        self.plans.insert(name, Told { plan, version: self.versions });
    }

    /// What a flow is to do now, or until when nobody can say.
    pub(super) fn advise(&mut self, now: Time, flow: &FlowName) -> Result<Advice, Time> {
        if self.asked.len() >= MOST_PLANS && !self.asked.contains_key(flow) {
            self.asked.clear(); // Whoever asks again waits once more: no harm.
        }
        let asked = *self.asked.entry(flow.clone()).or_insert(now);
        let local = |reason, version| {
            let action =
                Action::Send { rate: None, order: 0, class: None, after: Span::ZERO, to: None };
            Ok(Advice { action, reason, version })
        };
        if let Some(what) = self.jobs.get(&flow.job).and_then(|own| own.refused.clone()) {
            return local(Reason::JobRefused { what }, 1);
        }
        let away = match self.link {
            Link::Attached(_) => None,
            _ => Some(now.since(self.since)),
        };
        match (self.plans.get(flow), away) {
            (Some(told), None) => Ok(told.advice(now)),
            // The last plan is good for a while: a controller that is started again is soon back.
            (Some(told), Some(since)) if since < self.hold => Ok(told.advice(now)),
            (_, Some(since)) if since >= self.patience => local(Reason::Away { since }, 2),
            (_, None) if now.since(asked) >= self.patience => {
                local(Reason::NotInTime { waited: now.since(asked) }, 3)
            }
            (_, Some(_)) => Err(self.since + self.patience),
            (_, None) => Err(asked + self.patience),
        }
    }

    /// When advice about a flow can change though nothing is heard.
    pub(super) fn changes_by(&self, now: Time) -> Option<Time> {
        let away = !matches!(self.link, Link::Attached(_));
        away.then(|| [self.since + self.patience, self.since + self.hold])
            .into_iter()
            .flatten()
            .filter(|time| *time > now)
            .min()
    }

    pub(super) fn poll_word(&mut self) -> Option<from_host::Word> {
        self.outbox.pop_front()
    }

    /// What has been sent since it was said last.
    pub(super) fn poll_progress(&mut self) -> Option<from_host::Word> {
        if !matches!(self.link, Link::Attached(_)) {
            return None;
        }
        let (flow, bytes) = self.unsaid.pop_first()?;
        Some(from_host::Word::Sent(sent_word(&flow, bytes)))
    }
}

impl Told {
    fn advice(&self, now: Time) -> Advice {
        let plan = &self.plan;
        let action = match plan.rate {
            Rate::ZERO => Action::Wait,
            rate => Action::Send {
                rate: Some(rate),
                order: plan.order,
                class: Some(plan.class),
                after: plan.start.since(now),
                to: Some(plan.next_hop.clone()),
            },
        };
        Advice { action, reason: plan.reason.clone(), version: self.version + 3 }
    }
}

fn sent_word(flow: &FlowName, bytes: Bytes) -> wire::Sent {
    wire::Sent { job: flow.job.clone(), flow: flow.flow.0, bytes: bytes.get() }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Flow;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn attached() -> Attached {
        Attached { controller: "c".into(), incarnation: 1 }
    }

    fn plan(flow: u32, mbps: u64) -> Word {
        let plan = wire::FlowPlan {
            job: "j".into(),
            flow,
            rate_bps: mbps * 1_000_000,
            next_hop: "b".into(),
            reason: "because".into(),
            ..Default::default()
        };
        Word::Plans(wire::Plans { round: 1, plans: vec![plan] })
    }

    fn job() -> Job {
        Job::builder("j").flow(Flow::builder("a", "b", Bytes::new(100))).build().unwrap()
    }

    #[test]
    fn a_flow_has_its_plan_or_after_a_patience_the_local_rule() {
        let mut state = State::new(at(0), Span::from_ms(50), Span::from_ms(1000));
        let flow = FlowName::new("j", FlowId(0));
        state.submit(at(0), job()).unwrap();
        assert_eq!(state.advise(at(10), &flow), Err(at(50)), "connecting");
        state.handle_attached(at(20), attached());
        assert_eq!(state.advise(at(20), &flow), Err(at(60)));
        let late = state.advise(at(60), &flow).unwrap();
        assert!(matches!(late.reason, Reason::NotInTime { .. }), "{late:?}");
        state.handle_word(at(70), plan(0, 8));
        let told = state.advise(at(70), &flow).unwrap();
        assert!(told.reason.is_planned());
        assert!(matches!(told.action, Action::Send { rate: Some(_), .. }));
        state.handle_word(at(80), plan(0, 0));
        assert_eq!(state.advise(at(80), &flow).unwrap().action, Action::Wait);
        // Away: the plan holds for a while, then nobody waits for ever.
        state.handle_away(at(100), "gone".into(), false);
        assert_eq!(state.advise(at(1000), &flow).unwrap().action, Action::Wait);
        let alone = state.advise(at(1100), &flow).unwrap();
        assert!(matches!(alone.reason, Reason::Away { .. }), "{alone:?}");
        assert!(matches!(alone.action, Action::Send { rate: None, .. }));
    }

    #[test]
    fn who_comes_back_says_everything_again() {
        let mut state = State::new(at(0), Span::from_ms(50), Span::from_ms(1000));
        state.handle_attached(at(0), attached());
        state.submit(at(0), job()).unwrap();
        assert!(matches!(state.submit(at(0), job()), Err(AgentError::Twice { .. })));
        state.take_place("crew", 4, &[wire::Role::Worker]);
        let left = state.take_place("crew", 5, &[]);
        state.leave_place("crew", 5, left);
        let flow = FlowName::new("j", FlowId(0));
        state.sent(&flow, Bytes::new(7));
        while state.poll_word().is_some() || state.poll_progress().is_some() {}
        state.handle_away(at(10), "gone".into(), false);
        assert!(!state.role_word(wire::RoleWord::default()), "nobody is there");
        state.handle_attached(at(30), attached());
        let words: Vec<_> = std::iter::from_fn(|| state.poll_word()).collect();
        let from_host::Word::Seat(seat) = &words[0] else { panic!("{words:?}") };
        assert_eq!((seat.rank, seat.roles.len()), (4, 1));
        let from_host::Word::Submit(submit) = &words[1] else { panic!("{words:?}") };
        assert_eq!(Span::from_ps(submit.age_ps), Span::from_ms(30));
        assert_eq!(submit.sent[0].bytes, 7);
    }

    #[test]
    fn a_place_is_left_by_who_has_it_and_once() {
        let mut state = State::new(at(0), Span::from_ms(50), Span::from_ms(1000));
        state.handle_attached(at(0), attached());
        let first = state.take_place("crew", 4, &[]);
        let second = state.take_place("crew", 4, &[]);
        state.leave_place("crew", 4, first);
        assert!(state.places.contains_key(&("crew".to_owned(), 4)), "it is another's by now");
        state.leave_place("crew", 4, second);
        state.leave_place("crew", 4, second);
        let words: Vec<_> = std::iter::from_fn(|| state.poll_word()).collect();
        let left = |word: &&from_host::Word| matches!(word, from_host::Word::Vacate(_));
        assert_eq!(words.iter().filter(left).count(), 1, "{words:?}");
        assert_eq!((words.len(), state.places.len()), (3, 0));
    }
}
