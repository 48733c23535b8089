//! Answers for people: why something goes as it does, and what there is.

use laxity_fabric::{
    Rank,
    roles::{Explained, UpdateId, words::Action},
};
use laxity_interface::{Bytes, Rate, Time};

use super::{
    Controller, SessionId,
    jobs::{FlowState, JobState, Past},
    network::{LinkOf, Links},
    plan_word,
};
use crate::wire::{self, ask::About, to_host::Word};

/// The most decisions in one answer.
const MOST_ROWS: usize = 2000;
/// How many of a crew's decisions are shown where nobody asks for one.
const LATEST: usize = 20;

impl Controller {
    pub(super) fn asked(&mut self, now: Time, session: SessionId, ask: &wire::Ask) {
        let (incarnation, rounds) = (self.incarnation, self.rounds);
        let (number, name) = (ask.number, self.options.name.clone());
        let found = match &ask.about {
            Some(About::Why(what)) => self.why(now, what),
            Some(About::Overview(_)) => self.overview(now),
            None => wire::Answer { note: Some("nothing was asked".into()), ..Default::default() },
        };
        let answer = wire::Answer { number, rounds, incarnation, name, ..found };
        self.say(now, session, Word::Answer(answer));
    }

    /// Why `JOB`, `JOB/FLOW`, `CREW` or `CREW/RANK:UPDATE` goes as it does.
    pub(super) fn why(&mut self, now: Time, what: &str) -> wire::Answer {
        let (name, part) = match what.rsplit_once('/') {
            Some((name, part)) if !self.knows(what) => (name, Some(part)),
            _ => (what, None),
        };
        let mut explained = Vec::new();
        if let Some(job) = self.jobs.all.get(name) {
            let links = Links::new(self.hosts.rates(self.options.usual), &self.pairs);
            let named = |flow: &&FlowState| part.is_none_or(|part| is_flow(job, flow, part));
            let flows = job.flows.iter().filter(named).take(MOST_ROWS);
            explained.extend(flows.map(|flow| self.explain(now, &links, job, flow)));
        }
        let past = self.jobs.past.iter().filter(|past| past.name.job == name);
        let past = past.filter(|past| part.is_none_or(|part| past.name.flow.to_string() == part));
        let room = MOST_ROWS - explained.len().min(MOST_ROWS);
        explained.extend(past.rev().take(room).map(|past| explain_past(now, past)));
        if explained.is_empty()
            && let Some(crew) = self.crews.get_mut(name)
            && let Some(scheduler) = crew.node.scheduler()
        {
            match part.map(parse_update) {
                None => {
                    let skip = scheduler.decisions().len().saturating_sub(LATEST);
                    let latest = scheduler.decisions().skip(skip);
                    explained.extend(latest.map(|one| explain_update(now, name, one)));
                }
                Some(Some(update)) => {
                    explained.extend(scheduler.why(update).map(|o| explain_update(now, name, o)));
                }
                Some(None) => {}
            }
        }
        let note = explained.is_empty().then(|| self.nothing_about(what));
        wire::Answer { explained, note, ..Default::default() }
    }

    fn knows(&self, name: &str) -> bool {
        self.jobs.all.contains_key(name)
            || self.crews.contains_key(name)
            || self.jobs.past.iter().any(|past| past.name.job == name)
    }

    fn nothing_about(&self, what: &str) -> String {
        let names = self.jobs.all.keys().chain(self.crews.keys()).take(5);
        let names: Vec<_> = names.cloned().collect();
        let known = match names.is_empty() {
            true => "it knows of no job".to_owned(),
            false => format!("it knows of {}", names.join(", ")),
        };
        format!(
            "controller {} has nothing about `{what}`; {known}; ask for a JOB, JOB/FLOW, a training \
             job, or TRAINING/RANK:UPDATE",
            self.options.name
        )
    }

    fn explain(
        &self,
        now: Time,
        links: &Links,
        job: &JobState,
        flow: &FlowState,
    ) -> wire::Explained {
        let what = format!("{}/{}", job.job.name(), flow.id);
        let mut inputs = vec![
            input("size", flow.size),
            input("sent", flow.sent),
            input("objective", job.job.objective()),
            input("scheme", self.options.flows.scheme),
        ];
        let span = |time: Time| match time > now {
            true => format!("in {}", time.since(now)),
            false => format!("{} ago", now.since(time)),
        };
        let tags = [
            flow.deadline.map(|at| input("deadline", span(at))),
            flow.priority.map(|level| input("priority", level)),
            (flow.weight != laxity_planner::Weight::ONE)
                .then(|| input("weight", flow.weight.get())),
            (flow.min_delivery != laxity_interface::Fraction::ONE)
                .then(|| input("min_delivery", flow.min_delivery)),
            (flow.released > now).then(|| input("released", span(flow.released))),
        ];
        inputs.extend(tags.into_iter().flatten());
        let path = links.path(flow.from, flow.to);
        let ways = links.all().filter(|(link, ..)| path.contains(link));
        for (_, of, rate) in ways {
            let beside = self.open_on(of);
            inputs.push(input(&self.link_name(of), format!("{rate}, {beside} flows")));
        }
        if let Some(reason) = &job.reason {
            let link = super::round::link_of(reason).and_then(|link| links.of(link));
            inputs.push(input("job", self.in_words(reason, link, now)));
        }
        let plan = self.flow_plan(now, flow).filter(|_| flow.is_open());
        let planned = flow.planned.as_ref();
        wire::Explained {
            what,
            decision: match &plan {
                _ if !flow.is_open() => "sent".to_owned(),
                Some(plan) => plan.to_string(),
                None => "not planned yet".to_owned(),
            },
            reason: match &plan {
                _ if !flow.is_open() => "all of it has left its host".to_owned(),
                Some(plan) => plan.reason.to_string(),
                None => "it came after the last round".to_owned(),
            },
            inputs,
            round: planned.map_or(0, |planned| planned.round),
            age_ps: planned.map_or(0, |planned| now.since(planned.at).as_ps()),
            plan: plan.map(|plan| plan_word(now, job.job.name(), flow, &plan)),
            outcome: None,
        }
    }

    /// How many open flows use a link.
    fn open_on(&self, link: LinkOf) -> usize {
        let uses = |flow: &&FlowState| match link {
            LinkOf::Up(host) => flow.from == host,
            LinkOf::Down(host) => flow.to == host,
            LinkOf::Between(from, to) => (flow.from, flow.to) == (from, to),
        };
        let open = self.jobs.all.values().flat_map(|job| &job.flows).filter(|f| f.is_open());
        open.filter(uses).count()
    }

    fn overview(&mut self, now: Time) -> wire::Answer {
        let usual = self.options.usual;
        let hosts = self.hosts.iter().map(|(_, host)| wire::HostRow {
            name: host.name.to_string(),
            addresses: host.addresses.clone(),
            up_bps: host.up.unwrap_or(usual).as_bps(),
            down_bps: host.down.unwrap_or(usual).as_bps(),
            attached: host.session.is_some(),
            since_ps: now.since(host.since).as_ps(),
            waiting: {
                let words = host.session.and_then(|id| self.sessions.get(id));
                (words.map_or(0, |known| known.words.len()) + host.untold.len()) as u32
            },
            at: host.at.map_or_else(String::new, |at| at.to_string()),
        });
        let jobs = self.jobs.all.values().map(|job| {
            let open = job.flows.iter().filter(|flow| flow.is_open());
            let rate = |flow: &FlowState| flow.planned.as_ref().map_or(0, |p| p.rate.as_bps());
            wire::JobRow {
                name: job.job.name().to_owned(),
                owner: self.hosts.name(job.owner).to_owned(),
                objective: job.job.objective().to_string(),
                flows: job.flows.len() as u32,
                open_flows: open.clone().count() as u32,
                bytes: job.job.size().get(),
                sent_bytes: job.flows.iter().map(|flow| flow.sent).sum::<Bytes>().get(),
                rate_bps: open.map(rate).sum(),
                age_ps: now.since(job.started).as_ps(),
            }
        });
        let (hosts, jobs) = (hosts.take(MOST_ROWS).collect(), jobs.take(MOST_ROWS).collect());
        let links = self.link_rows();
        let crews = self.crews.iter_mut().map(|(name, crew)| wire::CrewRow {
            name: name.clone(),
            hosts: crew.seats.len() as u32,
            decisions: crew.node.scheduler().map_or(0, |s| s.decisions().len() as u64),
        });
        let crews = crews.collect();
        wire::Answer { hosts, jobs, links, crews, ..Default::default() }
    }

    /// Links that somebody uses, the fullest first.
    fn link_rows(&self) -> Vec<wire::LinkRow> {
        let links = Links::new(self.hosts.rates(self.options.usual), &self.pairs);
        let mut used: std::collections::BTreeMap<_, (u32, u64)> = Default::default();
        for flow in self.jobs.all.values().flat_map(|job| &job.flows).filter(|f| f.is_open()) {
            for link in links.path(flow.from, flow.to).iter() {
                let (flows, planned) = used.entry(*link).or_default();
                *flows += 1;
                *planned += flow.planned.as_ref().map_or(0, |planned| planned.rate.as_bps());
            }
        }
        let mut rows: Vec<_> = links
            .all()
            .filter_map(|(link, of, rate)| {
                let (flows, planned_bps) = *used.get(&link)?;
                let name = self.link_name(of);
                Some(wire::LinkRow { name, capacity_bps: rate.as_bps(), planned_bps, flows })
            })
            .collect();
        let fill = |row: &wire::LinkRow| row.planned_bps as f64 / row.capacity_bps.max(1) as f64;
        rows.sort_by(|a, b| fill(b).total_cmp(&fill(a)).then_with(|| a.name.cmp(&b.name)));
        rows.truncate(MOST_ROWS);
        rows
    }
}

fn is_flow(job: &JobState, flow: &FlowState, part: &str) -> bool {
    flow.id.to_string() == part || job.job.flow(flow.id).and_then(|flow| flow.name()) == Some(part)
}

fn input(name: &str, value: impl ToString) -> wire::Input {
    wire::Input { name: name.to_owned(), value: value.to_string() }
}

fn explain_past(now: Time, past: &Past) -> wire::Explained {
    let never = || ("none".to_owned(), "it ended before a round was planned".to_owned());
    let (decision, reason) = past.decision.clone().unwrap_or_else(never);
    wire::Explained {
        what: past.name.to_string(),
        decision,
        reason,
        inputs: vec![input("size", past.size), input("sent", past.sent)],
        round: past.round,
        age_ps: now.since(past.at).as_ps(),
        plan: None,
        outcome: Some(format!("over {} ago: {}", now.since(past.over), past.why)),
    }
}

/// `RANK:UPDATE`.
fn parse_update(text: &str) -> Option<UpdateId> {
    let (rank, number) = text.split_once(':')?;
    Some(UpdateId { worker: Rank::new(rank.parse().ok()?), number: number.parse().ok()? })
}

fn explain_update(now: Time, crew: &str, one: &Explained) -> wire::Explained {
    let decision = match one.action {
        Action::Drop => "not sent".to_owned(),
        Action::Send { after, rate, place, through } => {
            let to = match through {
                Some(through) => format!("{} at {}", through.sum, through.aggregator),
                None => one.server.to_string(),
            };
            let rate = rate.map_or_else(String::new, |rate: Rate| format!(" at {rate}"));
            format!("after {after}{rate} to {to}, place {place}")
        }
    };
    wire::Explained {
        what: format!("{crew}/{}:{}", one.update.worker.get(), one.update.number),
        decision,
        reason: one.reason.to_string(),
        inputs: vec![input("server", one.server), input("update", one.update)],
        round: one.round,
        age_ps: now.since(one.at).as_ps(),
        plan: None,
        outcome: one.outcome.map(|outcome| match outcome {
            Ok(version) => format!("committed as part of {version}"),
            Err(reason) => reason.to_string(),
        }),
    }
}
