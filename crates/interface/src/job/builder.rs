//! Building jobs that make sense.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finish, Job, JobError};
use crate::{
    flow::{Flow, FlowBuilder, collect_tags},
    group::Group,
    objective::Objective,
    tag::Tag,
    units::Span,
};

/// A job in the making.
///
/// ```
/// use laxity_interface::{Bytes, Flow, Fraction, Group, GroupId, Job, Span};
/// let job = Job::builder("all-reduce")
///     .group(Group::new(GroupId(0), Fraction::new(0.99)?))
///     .flow(Flow::builder("worker-0", "server", Bytes::from_mib(25)).group(GroupId(0)))
///     .flow(Flow::builder("worker-1", "server", Bytes::from_mib(25)).group(GroupId(0)))
///     .time_limit(Span::from_secs(10))
///     .build()?;
/// assert_eq!(job.size(), Bytes::from_mib(50));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct JobBuilder {
    name: String,
    objective: Objective,
    groups: Vec<Group>,
    flows: Vec<FlowBuilder>,
    tags: Vec<Tag>,
    deadline: Option<Span>,
    time_limit: Option<Span>,
    finish: Finish,
}

impl JobBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            objective: Objective::default(),
            groups: Vec::new(),
            flows: Vec::new(),
            tags: Vec::new(),
            deadline: None,
            time_limit: None,
            finish: Finish::default(),
        }
    }

    /// Sets what its schedule is judged by.
    #[must_use]
    pub fn objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    /// Sets when it ends well.
    #[must_use]
    pub const fn finish(mut self, finish: Finish) -> Self {
        self.finish = finish;
        self
    }

    /// Sets when it ends with what has arrived, if that is enough; counted from its start.
    #[must_use]
    pub const fn deadline(mut self, deadline: Span) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets when it ends with an error if it has not ended; counted from its start.
    #[must_use]
    pub const fn time_limit(mut self, limit: Span) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Adds a tag that holds for every flow; it replaces an earlier one of the same kind.
    #[must_use]
    pub fn tag(mut self, tag: Tag) -> Self {
        self.tags.push(tag);
        self
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, group: Group) -> Self {
        self.groups.push(group);
        self
    }

    /// Adds a flow.
    #[must_use]
    pub fn flow(mut self, flow: impl Into<FlowBuilder>) -> Self {
        self.flows.push(flow.into());
        self
    }

    /// Adds flows.
    #[must_use]
    pub fn flows<F: Into<FlowBuilder>>(mut self, flows: impl IntoIterator<Item = F>) -> Self {
        self.flows.extend(flows.into_iter().map(Into::into));
        self
    }

    /// Checks everything; the first thing that makes no sense is the error.
    pub fn build(self) -> Result<Job, JobError> {
        if self.name.is_empty() {
            return Err(JobError::EmptyName { path: "name".into() });
        }
        for (path, span) in [("deadline", self.deadline), ("time-limit", self.time_limit)] {
            if span == Some(Span::ZERO) {
                return Err(JobError::NoTime { path: path.into() });
            }
        }
        let tags = collect_tags(self.tags, "tags")?;
        within_limit("deadline", self.deadline, self.time_limit)?;
        within_limit("tags.deadline", tags.deadline(), self.time_limit)?;
        check_groups(&self.groups)?;

        if self.flows.is_empty() {
            return Err(JobError::Empty { path: "flows".into() });
        }
        let builders = self.flows.into_iter().enumerate();
        let flows = builders
            .map(|(index, flow)| flow.build_at(index, &format!("flows[{index}].")))
            .collect::<Result<Vec<_>, _>>()?;

        let Self { name, objective, groups, deadline, time_limit, finish, .. } = self;
        let job = Job { name, objective, groups, flows, tags, deadline, time_limit, finish };
        check_flows(&job)?;
        check_objective(&job)?;
        Ok(job)
    }
}

fn within_limit(path: &str, deadline: Option<Span>, limit: Option<Span>) -> Result<(), JobError> {
    match (deadline, limit) {
        (Some(deadline), Some(limit)) if deadline > limit => {
            Err(JobError::DeadlineBeyondLimit { path: path.into(), deadline, limit })
        }
        _ => Ok(()),
    }
}

fn check_groups(groups: &[Group]) -> Result<(), JobError> {
    let (mut ids, mut names) = (BTreeMap::new(), BTreeMap::new());
    for (index, group) in groups.iter().enumerate() {
        if let Some(first) = ids.insert(group.id, index) {
            let path = format!("groups[{index}].id");
            return Err(JobError::DuplicateGroupId { path, id: group.id, first });
        }
        let Some(name) = group.name.as_deref() else { continue };
        let path = format!("groups[{index}].name");
        if name.is_empty() {
            return Err(JobError::EmptyName { path });
        }
        if let Some(first) = names.insert(name, index) {
            return Err(JobError::DuplicateGroupName { path, name: name.into(), first });
        }
    }
    Ok(())
}

/// What can only be seen with the whole job at hand.
fn check_flows(job: &Job) -> Result<(), JobError> {
    let groups: BTreeSet<_> = job.groups.iter().map(|group| group.id).collect();
    let (mut ids, mut names) = (BTreeMap::new(), BTreeMap::new());
    for (index, flow) in job.flows.iter().enumerate() {
        let at = |field: &str| format!("flows[{index}].{field}");
        if let Some(first) = ids.insert(flow.id(), index) {
            return Err(JobError::DuplicateFlowId { path: at("id"), id: flow.id(), first });
        }
        if let Some(name) = flow.name()
            && let Some(first) = names.insert(name, index)
        {
            let path = at("name");
            return Err(JobError::DuplicateFlowName { path, name: name.into(), first });
        }
        if let Some(id) = flow.group()
            && !groups.contains(&id)
        {
            return Err(JobError::UnknownGroup { path: at("group"), id });
        }
        check_times(job, flow, at)?;
    }
    Ok(())
}

fn check_times(job: &Job, flow: &Flow, at: impl Fn(&str) -> String) -> Result<(), JobError> {
    within_limit(&at("tags.deadline"), flow.tags().deadline(), job.time_limit)?;
    let release = flow.release();
    if let Some(deadline) = job.tags_of(flow).deadline()
        && deadline <= release
    {
        return Err(JobError::DeadlineBeforeRelease { path: at("release"), deadline, release });
    }
    if let Some(end) = job.deadline.or(job.time_limit)
        && end <= release
    {
        return Err(JobError::ReleaseBeyondEnd { path: at("release"), release, end });
    }
    Ok(())
}

fn check_objective(job: &Job) -> Result<(), JobError> {
    let has_deadline = job.deadline.is_some()
        || job.tags.deadline().is_some()
        || job.flows.iter().any(|flow| flow.tags().deadline().is_some());
    if job.objective.needs_deadline() && !has_deadline {
        let (path, objective) = ("objective".into(), job.objective.clone());
        return Err(JobError::NoDeadline { path, objective });
    }
    Ok(())
}
