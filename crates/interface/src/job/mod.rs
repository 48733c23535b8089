//! Jobs: what an application waits for.

mod builder;
mod error;
mod raw;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    flow::Flow,
    group::Group,
    names::{FlowId, GroupId},
    objective::Objective,
    tag::Tags,
    units::{Bytes, Fraction, Span},
};

pub use builder::JobBuilder;
pub use error::JobError;

/// When a job ends well.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finish {
    /// Once every group has its minimum and the first pass of the data has ended: what costs no
    /// retransmission is taken along.
    #[default]
    FirstPass,
    /// The moment every group has its minimum.
    Enough,
}

/// One unit whose completion an application waits for: an all-reduce, a stage, a window.
///
/// Made by [`Job::builder`], [`Job::from_toml`] or [`Job::from_json`]; a value of this type has
/// passed every check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "raw::RawJob", into = "raw::RawJob")]
pub struct Job {
    name: String,
    objective: Objective,
    groups: Vec<Group>,
    flows: Vec<Flow>,
    tags: Tags,
    deadline: Option<Span>,
    time_limit: Option<Span>,
    finish: Finish,
}

impl Job {
    /// Starts a job of this name.
    pub fn builder(name: impl Into<String>) -> JobBuilder {
        JobBuilder::new(name.into())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its schedule is judged by.
    pub const fn objective(&self) -> &Objective {
        &self.objective
    }

    /// Its groups, in the order given.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Its flows, in the order given; at least one.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Its tags: they hold for every flow that does not say otherwise.
    pub const fn tags(&self) -> &Tags {
        &self.tags
    }

    /// When it ends with what has arrived, if that is enough; counted from its start.
    pub const fn deadline(&self) -> Option<Span> {
        self.deadline
    }

    /// When it ends with an error if it has not ended; counted from its start.
    pub const fn time_limit(&self) -> Option<Span> {
        self.time_limit
    }

    /// When it ends well.
    pub const fn finish(&self) -> Finish {
        self.finish
    }

    /// The group of this number.
    pub fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.iter().find(|group| group.id == id)
    }

    /// The flow of this number.
    pub fn flow(&self, id: FlowId) -> Option<&Flow> {
        self.flows.iter().find(|flow| flow.id() == id)
    }

    /// The tags of `flow`, with those of the job where it has none of that kind.
    pub fn tags_of(&self, flow: &Flow) -> Tags {
        flow.tags().or(&self.tags)
    }

    /// The fraction of `flow` that must be delivered: that of its group, else that of its tag, else
    /// that of the job's tag, else everything.
    pub fn min_delivery_of(&self, flow: &Flow) -> Fraction {
        let of_group = flow.group().and_then(|id| self.group(id)).map(|group| group.min_delivery);
        of_group
            .or_else(|| flow.tags().min_delivery())
            .or_else(|| self.tags.min_delivery())
            .unwrap_or(Fraction::ONE)
    }

    /// When `flow` is due: the earliest of its own deadline (or the one in the tags of the job) and
    /// the deadline of the job.
    pub fn deadline_of(&self, flow: &Flow) -> Option<Span> {
        let tagged = flow.tags().deadline().or_else(|| self.tags.deadline());
        tagged.into_iter().chain(self.deadline).min()
    }

    /// The bytes of all flows together.
    pub fn size(&self) -> Bytes {
        self.flows.iter().map(Flow::size).sum()
    }
}
