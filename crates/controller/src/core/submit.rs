//! Jobs come, progress and go.

use laxity_interface::{Bytes, FlowId, HostName, Job, Rate, Span, Time};
use laxity_planner::Weight;

use super::{
    Controller, SessionId,
    event::Event,
    jobs::{FlowState, JobState, Past, SubmitError},
    network::HostId,
    plan::FlowName,
    record::{Record, SavedJob},
};
use crate::wire::{self, to_host::Word};

impl Controller {
    pub(super) fn submit(
        &mut self,
        now: Time,
        session: SessionId,
        host: HostId,
        submit: &wire::Submit,
    ) {
        let outcome = match Job::from_json(&submit.job) {
            Ok(job) => self.take_job(now, host, job, submit),
            Err(error) => Err((String::new(), error.into())),
        };
        let (job, refused) = match outcome {
            Ok(job) => (job, None),
            Err((job, error)) => (job, Some(error.to_string())),
        };
        if let Some(what) = &refused {
            let (job, owner) = (job.clone(), self.hosts.name(host).to_owned());
            self.events.push_back(Event::JobRefused { job, owner, what: what.clone() });
        }
        self.say(now, session, Word::Job(wire::JobAnswer { job, refused }));
    }

    fn take_job(
        &mut self,
        now: Time,
        host: HostId,
        job: Job,
        submit: &wire::Submit,
    ) -> Result<String, (String, SubmitError)> {
        let name = job.name().to_owned();
        let refuse = |error| (name.clone(), error);
        if let Some(known) = self.jobs.all.get(&name) {
            let who = self.hosts.name(host).to_owned();
            if known.owner != host {
                let owner = self.hosts.name(known.owner).to_owned();
                return Err(refuse(SubmitError::NotYours { job: name.clone(), owner, host: who }));
            }
            if known.job != job {
                return Err(refuse(SubmitError::Another { job: name.clone(), host: who }));
            }
            // Said again, by a host that came back.
            for sent in &submit.sent {
                self.sent(now, host, sent);
            }
            return Ok(name);
        }
        let started = now - Span::from_ps(submit.age_ps);
        let mut state = self.job_state(now, host, job, started).map_err(refuse)?;
        for sent in &submit.sent {
            let flow = state.flows.iter_mut().find(|flow| flow.id == FlowId(sent.flow));
            if let Some(flow) = flow {
                flow.sent = flow.size.min(Bytes::new(sent.bytes));
            }
        }
        let owner = self.hosts.name(host).to_owned();
        let flows = state.flows.len();
        if let Ok(owner) = HostName::new(&owner) {
            self.records.push_back(Record::Job(state.saved(&owner)));
        }
        let over = state.is_over();
        self.jobs.insert(state);
        self.events.push_back(Event::JobCame { job: name.clone(), owner, flows });
        self.plan_by(now + self.options.interval);
        if over {
            // Everything left while nobody could be told; nothing more will be said of it.
            self.end_job(now, &name, "all of its flows have been sent");
        }
        Ok(name)
    }

    /// A job as it is kept, with its hosts; nothing is kept yet of one that is refused.
    fn job_state(
        &mut self,
        now: Time,
        owner: HostId,
        job: Job,
        started: Time,
    ) -> Result<JobState, SubmitError> {
        self.check_room(owner, &job)?;
        let weight_of = |flow: FlowId, given: Option<f64>| match given {
            None => Ok(Weight::ONE),
            Some(given) => Weight::new(given).ok_or_else(|| {
                let job = job.name().to_owned();
                SubmitError::Weight { job, flow, given }
            }),
        };
        let weight = weight_of(FlowId(0), job.tags().weight())?;
        let weights = job.flows().iter().map(|f| weight_of(f.id(), job.tags_of(f).weight()));
        let weights: Vec<_> = weights.collect::<Result<_, _>>()?;
        let key = self.jobs.next_key();
        let mut flows = Vec::with_capacity(job.flows().len());
        for (flow, weight) in job.flows().iter().zip(weights) {
            let (from, to) =
                (self.hosts.intern(flow.from(), now), self.hosts.intern(flow.to(), now));
            for host in [from, to] {
                if let Some(host) = self.hosts.get_mut(host) {
                    host.flows += 1;
                }
            }
            flows.push(FlowState {
                id: flow.id(),
                from,
                to,
                size: flow.size(),
                sent: Bytes::ZERO,
                released: started + flow.release(),
                deadline: job.deadline_of(flow).map(|span| started + span),
                priority: job.tags_of(flow).priority(),
                weight,
                min_delivery: job.min_delivery_of(flow),
                planned: None,
            });
        }
        Ok(JobState { key, owner, job, started, weight, flows, reason: None })
    }

    fn check_room(&self, owner: HostId, job: &Job) -> Result<(), SubmitError> {
        let full = |what, most| {
            let (job, host) = (job.name().to_owned(), self.hosts.name(owner).to_owned());
            Err(SubmitError::Full { job, host, what, most })
        };
        let Self { options, jobs, hosts, .. } = self;
        if jobs.all.len() >= options.most_jobs {
            return full("jobs", options.most_jobs);
        }
        if jobs.flows + job.flows().len() > options.most_flows {
            return full("flows", options.most_flows);
        }
        let ends = job.flows().iter().flat_map(|flow| [flow.from(), flow.to()]);
        let new: std::collections::BTreeSet<_> =
            ends.filter(|name| hosts.find(name).is_none()).collect();
        if hosts.len() + new.len() > options.most_hosts {
            return full("hosts", options.most_hosts);
        }
        Ok(())
    }

    /// A job that was saved.
    pub(super) fn restore_job(&mut self, now: Time, saved: SavedJob) -> Result<(), SubmitError> {
        let owner = self.hosts.intern(&saved.owner, now);
        let mut state = self.job_state(now, owner, saved.job, Time::from_ps(saved.started_ps))?;
        for flow in &mut state.flows {
            if let Some((_, bytes)) = saved.sent.iter().find(|(id, _)| *id == flow.id) {
                flow.sent = flow.size.min(Bytes::new(*bytes));
            }
        }
        self.jobs.insert(state);
        Ok(())
    }

    /// How much of a flow has left its host. Only its sender and the job's owner may say.
    pub(super) fn sent(&mut self, now: Time, host: HostId, sent: &wire::Sent) {
        let Some(job) = self.jobs.all.get_mut(&sent.job) else { return };
        let owner = job.owner;
        let flow = job.flows.iter_mut().find(|flow| flow.id == FlowId(sent.flow));
        let Some(flow) = flow.filter(|flow| flow.from == host || owner == host) else { return };
        let before = flow.is_open();
        // What has left does not come back.
        flow.sent = flow.sent.max(flow.size.min(Bytes::new(sent.bytes)));
        let ended = before && !flow.is_open();
        if job.is_over() {
            self.end_job(now, &sent.job, "all of its flows have been sent");
        } else if ended {
            self.plan_by(now + self.options.interval);
        } else {
            self.plan_by(now + self.options.refresh);
        }
    }

    pub(super) fn withdraw(&mut self, now: Time, host: HostId, name: &str) {
        let Some(job) = self.jobs.all.get(name) else { return };
        if job.owner == host {
            self.end_job(now, name, "its host has withdrawn it");
        }
    }

    /// Forgets a job; what was decided about its flows last is remembered for a while.
    pub(super) fn end_job(&mut self, now: Time, name: &str, why: &str) {
        let Some(job) = self.jobs.all.get(name) else { return };
        let past: Vec<_> = job
            .flows
            .iter()
            .map(|flow| {
                let told = flow.planned.as_ref().map(|_| self.flow_plan(now, flow));
                Past {
                    name: FlowName::new(name, flow.id),
                    decision: told
                        .flatten()
                        .map(|plan| (plan.to_string(), plan.reason.to_string())),
                    round: flow.planned.as_ref().map_or(0, |planned| planned.round),
                    at: flow.planned.as_ref().map_or(now, |planned| planned.at),
                    size: flow.size,
                    sent: flow.sent,
                    over: now,
                    why: why.to_owned(),
                }
            })
            .collect();
        let Some(state) = self.jobs.remove(name) else { return };
        self.jobs.remember(past, self.options.history);
        for (place, flow) in state.flows.iter().enumerate() {
            let key = super::jobs::flow_key(state.key, place);
            for end in [flow.from, flow.to] {
                if let Some(host) = self.hosts.get_mut(end) {
                    host.flows -= 1;
                    host.untold.remove(&key);
                }
                self.forget_if_unused(end);
            }
        }
        self.records.push_back(Record::JobOver { name: name.to_owned() });
        self.events.push_back(Event::JobOver { job: name.to_owned(), why: why.to_owned() });
        self.plan_by(now + self.options.interval);
    }

    /// Forgets a host that was only the end of a flow.
    fn forget_if_unused(&mut self, id: HostId) {
        let unused = |host: &super::hosts::Host| host.token.is_none() && host.flows == 0;
        if self.hosts.get(id).is_some_and(unused) {
            self.hosts.remove(id);
            self.pairs.forget(id);
        }
    }

    /// What a transfer of a host reached.
    pub(super) fn measured(&mut self, now: Time, host: HostId, word: &wire::Measured) {
        let Some(to) = HostName::new(&word.to).ok().and_then(|name| self.hosts.find(&name)) else {
            return;
        };
        let told = word.told_bps.filter(|bps| *bps > 0).map(Rate::bps);
        let rate = Rate::bps(word.bps);
        if word.bps > 0 && self.pairs.measured(now, (host, to), rate, told) {
            self.plan_by(now + self.options.refresh);
        }
    }
}
