//! What is to be sent: flows of jobs, as the planner sees them at one moment.

use std::fmt;

use laxity_interface::{Bytes, Fraction, Job, Objective, Rate, Span, Time};
use laxity_topology::{NodeId, Path, Routes, Topology, flow_hash};

use crate::{error::PlanError, weight::Weight};

/// The caller's number of a flow, unique among the demands of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

/// The caller's number of a job. The flows of one job are one coflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey(pub u32);

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A flow that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Its number.
    pub key: FlowKey,
    /// The job it belongs to.
    pub job: JobKey,
    /// The host that sends; its flows go in order in `node-ordered`, and in
    /// `connection-ordered` those with equal ends.
    pub from: NodeId,
    /// The host that receives.
    pub to: NodeId,
    /// The links it crosses.
    pub path: Path,
    /// All of it.
    pub size: Bytes,
    /// What has been sent already.
    pub sent: Bytes,
    /// When it may start.
    pub released: Time,
    /// Strict order, 0 first; flows without one come last.
    pub priority: Option<u32>,
    /// Its share beside others.
    pub weight: Weight,
    /// When it should have arrived.
    pub deadline: Option<Time>,
    /// The fraction that must be delivered.
    pub min_delivery: Fraction,
    /// The most that its ends can take.
    pub limit: Option<Rate>,
}

impl Demand {
    /// A flow of `size` bytes over `path`, released at 0, without tags.
    pub fn new(key: FlowKey, job: JobKey, path: Path, size: Bytes) -> Self {
        Self {
            key,
            job,
            from: NodeId(0),
            to: NodeId(0),
            path,
            size,
            sent: Bytes::ZERO,
            released: Time::ZERO,
            priority: None,
            weight: Weight::ONE,
            deadline: None,
            min_delivery: Fraction::ONE,
            limit: None,
        }
    }

    /// Sets its ends.
    #[must_use]
    pub const fn between(mut self, from: NodeId, to: NodeId) -> Self {
        (self.from, self.to) = (from, to);
        self
    }

    /// Sets a priority, 0 for first.
    #[must_use]
    pub const fn priority(mut self, order: u32) -> Self {
        self.priority = Some(order);
        self
    }

    /// Sets a deadline.
    #[must_use]
    pub const fn deadline(mut self, deadline: Time) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets a weight.
    #[must_use]
    pub const fn weight(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    /// Sets when it may start.
    #[must_use]
    pub const fn released(mut self, released: Time) -> Self {
        self.released = released;
        self
    }

    /// Sets what must be delivered.
    #[must_use]
    pub const fn min_delivery(mut self, fraction: Fraction) -> Self {
        self.min_delivery = fraction;
        self
    }

    /// What has not been sent.
    pub fn remaining(&self) -> Bytes {
        self.size - self.sent
    }

    /// What has not been sent of the part that must be delivered.
    pub fn needed(&self) -> Bytes {
        Bytes::new(self.min_delivery.of(self.size.get())) - self.sent
    }

    /// The flows of a job that starts at `start`, on their equal-cost paths. The first gets the key
    /// `first`, the others follow.
    pub fn of_job(
        job: &Job,
        key: JobKey,
        first: u64,
        start: Time,
        net: &Topology,
        routes: &Routes,
    ) -> Result<Vec<Self>, PlanError> {
        let host = |name: &str| {
            net.host(name).map_err(|source| PlanError::Host { job: job.name().to_owned(), source })
        };
        let flows = job.flows().iter().enumerate();
        flows
            .map(|(at, flow)| {
                let (from, to) = (host(flow.from().as_str())?, host(flow.to().as_str())?);
                let hash = flow_hash(from, to, at as u64);
                let path = routes.path(net, from, to, hash).map_err(|source| PlanError::Route {
                    job: job.name().to_owned(),
                    flow: FlowKey(first + at as u64),
                    source,
                })?;
                let tags = job.tags_of(flow);
                let key = FlowKey(first + at as u64);
                let weight = match tags.weight() {
                    None => Weight::ONE,
                    Some(given) => Weight::new(given)
                        .ok_or_else(|| PlanError::Weight { flow: key, given: given.to_string() })?,
                };
                Ok(Self {
                    key,
                    job: JobKey(0),
                    from,
                    to,
                    path,
                    size: flow.size(),
                    sent: Bytes::ZERO,
                    released: start + flow.release(),
                    priority: tags.priority(),
                    weight,
                    deadline: job.deadline_of(flow).map(|span| start + span),
                    min_delivery: job.min_delivery_of(flow),
                    limit: None,
                })
            })
            .map(|demand| demand.map(|demand: Self| Self { job: key, ..demand }))
            .collect()
    }
}

/// What the planner knows of a job beside its flows. A job that is not described takes part, has
/// weight 1, arrived when its first flow was released, and wants its last flow to end early.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView {
    /// Its number.
    pub key: JobKey,
    /// What its schedule is judged by.
    pub objective: Objective,
    /// Its share beside other jobs.
    pub weight: Weight,
    /// Whether it told its needs: a job that did not is shared max-min and keeps a minimum.
    pub takes_part: bool,
    /// When it started.
    pub arrived: Time,
    /// How long it would take alone; estimated from what remains where nothing is said.
    pub alone: Option<Span>,
    /// What its coflow has sent in flows that have ended; `aalo` counts it.
    pub sent_before: Bytes,
}

impl JobView {
    /// A job that takes part, with weight 1, that arrived at 0.
    pub const fn new(key: JobKey) -> Self {
        Self {
            key,
            objective: Objective::LastFlow,
            weight: Weight::ONE,
            takes_part: true,
            arrived: Time::ZERO,
            alone: None,
            sent_before: Bytes::ZERO,
        }
    }

    /// A job that does not take part.
    pub fn outsider(key: JobKey) -> Self {
        Self { takes_part: false, ..Self::new(key) }
    }
}
