//! Jobs and their flows, as they stand.

use std::collections::{BTreeMap, VecDeque};

use laxity_interface::{Bytes, FlowId, Fraction, HostName, Job, Rate, Time};
use laxity_planner::{Demand, FlowKey, JobKey, JobView, Reason as PlanReason, Weight};
use laxity_topology::NodeId;

use super::{
    network::{HostId, LinkOf, Links},
    plan::{Class, FlowName},
    record::SavedJob,
};

/// What was decided about a flow, in numbers: names are put in when somebody is told.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Planned {
    pub(crate) rate: Rate,
    pub(crate) spare: Rate,
    pub(crate) order: u32,
    pub(crate) class: Class,
    pub(crate) start: Time,
    pub(crate) why: Why,
    /// The round that decided it, and when that was.
    pub(crate) round: u64,
    pub(crate) at: Time,
    /// What had been sent when it was decided.
    pub(crate) sent: Bytes,
}

impl Planned {
    /// Whether a host would do something else under the other plan. Reasons alone change nothing, nor
    /// does a start that has passed.
    pub(crate) fn differs(&self, other: &Self, now: Time) -> bool {
        (self.rate, self.order, self.class) != (other.rate, other.order, other.class)
            || self.start.max(now) != other.start.max(now)
    }
}

/// Why.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Why {
    /// The planner's reason, and the link that it speaks of.
    Planned(PlanReason, Option<LinkOf>),
    /// The planner has no answer.
    NoPlan(String),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FlowState {
    pub(crate) id: FlowId,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    pub(crate) size: Bytes,
    pub(crate) sent: Bytes,
    pub(crate) released: Time,
    pub(crate) deadline: Option<Time>,
    pub(crate) priority: Option<u32>,
    pub(crate) weight: Weight,
    pub(crate) min_delivery: Fraction,
    pub(crate) planned: Option<Planned>,
}

impl FlowState {
    pub(crate) fn is_open(&self) -> bool {
        self.sent < self.size
    }

    /// As the planner sees it.
    pub(crate) fn demand(&self, key: u64, job: JobKey, links: &Links) -> Demand {
        Demand {
            key: FlowKey(key),
            job,
            from: NodeId(self.from.0),
            to: NodeId(self.to.0),
            path: links.path(self.from, self.to),
            size: self.size,
            sent: self.sent,
            released: self.released,
            priority: self.priority,
            weight: self.weight,
            deadline: self.deadline,
            min_delivery: self.min_delivery,
            limit: None,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct JobState {
    pub(crate) key: JobKey,
    pub(crate) owner: HostId,
    pub(crate) job: Job,
    pub(crate) started: Time,
    pub(crate) weight: Weight,
    pub(crate) flows: Vec<FlowState>,
    /// What was decided about the whole job.
    pub(crate) reason: Option<PlanReason>,
}

impl JobState {
    pub(crate) fn view(&self) -> JobView {
        let ended = self.flows.iter().filter(|flow| !flow.is_open());
        JobView {
            objective: self.job.objective().clone(),
            weight: self.weight,
            arrived: self.started,
            sent_before: ended.map(|flow| flow.size).sum(),
            ..JobView::new(self.key)
        }
    }

    pub(crate) fn saved(&self, owner: &HostName) -> SavedJob {
        let sent = self.flows.iter().filter(|flow| !flow.sent.is_zero());
        SavedJob {
            job: self.job.clone(),
            owner: owner.clone(),
            started_ps: self.started.as_ps(),
            sent: sent.map(|flow| (flow.id, flow.sent.get())).collect(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        !self.flows.iter().any(FlowState::is_open)
    }
}

/// Why a job is not taken.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// Not a job.
    #[error("this is not a job: {0}")]
    Job(#[from] laxity_interface::JobError),
    /// A weight that the planner cannot use.
    #[error("flow {flow} of job {job} has weight {given}: give one between 1/1024 and 65536")]
    Weight {
        /// The job.
        job: String,
        /// The flow.
        flow: FlowId,
        /// As given.
        given: f64,
    },
    /// Somebody else has a job of that name.
    #[error("job {job} is host {owner}'s: host {host} has to give its job another name")]
    NotYours {
        /// The job.
        job: String,
        /// Whose it is.
        owner: String,
        /// Who wanted it.
        host: String,
    },
    /// The same host has another job of that name.
    #[error(
        "host {host} has another job {job} already: withdraw it, or give the new one another name"
    )]
    Another {
        /// The job.
        job: String,
        /// Whose it is.
        host: String,
    },
    /// There is no room.
    #[error("job {job} of host {host} does not fit: the controller keeps at most {most} {what}")]
    Full {
        /// The job.
        job: String,
        /// Whose it is.
        host: String,
        /// Of what there is too much.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
}

/// A decision about a flow that has ended.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Past {
    pub(crate) name: FlowName,
    /// As it was told last, in words.
    pub(crate) decision: Option<(String, String)>,
    pub(crate) round: u64,
    pub(crate) at: Time,
    pub(crate) size: Bytes,
    pub(crate) sent: Bytes,
    pub(crate) over: Time,
    pub(crate) why: String,
}

/// All jobs.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) all: BTreeMap<String, JobState>,
    names: BTreeMap<u32, String>,
    next: u32,
    pub(crate) flows: usize,
    pub(crate) past: VecDeque<Past>,
}

/// A flow's number among all: its job's, and its place in the job.
pub(crate) fn flow_key(job: JobKey, place: usize) -> u64 {
    u64::from(job.0) << 32 | place as u64
}

impl Jobs {
    /// A number that no job has.
    pub(crate) fn next_key(&mut self) -> JobKey {
        while self.names.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let key = JobKey(self.next);
        self.next = self.next.wrapping_add(1);
        key
    }

    pub(crate) fn insert(&mut self, state: JobState) {
        let name = state.job.name().to_owned();
        self.flows += state.flows.len();
        self.names.insert(state.key.0, name.clone());
        self.all.insert(name, state);
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<JobState> {
        let state = self.all.remove(name)?;
        self.names.remove(&state.key.0);
        self.flows -= state.flows.len();
        Some(state)
    }

    /// Remembers decisions about flows that have ended; of more than `most` the oldest go.
    pub(crate) fn remember(&mut self, past: impl IntoIterator<Item = Past>, most: usize) {
        self.past.extend(past);
        let over = self.past.len().saturating_sub(most);
        self.past.drain(..over);
    }

    /// The job and the place in it that a flow's number means.
    pub(crate) fn place(&self, key: u64) -> Option<(&str, usize)> {
        let name = self.names.get(&((key >> 32) as u32))?;
        Some((name, key as u32 as usize))
    }

    pub(crate) fn name_of(&self, key: JobKey) -> Option<&str> {
        self.names.get(&key.0).map(String::as_str)
    }

    pub(crate) fn flow(&self, key: u64) -> Option<(&JobState, &FlowState)> {
        let (name, place) = self.place(key)?;
        let job = self.all.get(name)?;
        Some((job, job.flows.get(place)?))
    }
}
