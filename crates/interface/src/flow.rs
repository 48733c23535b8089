//! Flows: bytes from one host to another.

use crate::{
    job::JobError,
    names::{FlowId, GroupId, HostName},
    tag::{Tag, Tags},
    units::{Bytes, Fraction, Span},
};

/// Bytes from one host to another, with a release time and tags.
///
/// Made by [`Flow::builder`]; a value of this type has passed every check that concerns it alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    id: FlowId,
    name: Option<String>,
    from: HostName,
    to: HostName,
    size: Bytes,
    release: Span,
    tags: Tags,
    group: Option<GroupId>,
}

impl Flow {
    /// Starts a flow of `size` bytes between two hosts.
    pub fn builder(from: impl Into<String>, to: impl Into<String>, size: Bytes) -> FlowBuilder {
        FlowBuilder {
            id: None,
            name: None,
            from: from.into(),
            to: to.into(),
            size,
            release: Span::ZERO,
            tags: Vec::new(),
            group: None,
        }
    }

    /// Its number, unique in the job.
    pub const fn id(&self) -> FlowId {
        self.id
    }

    /// A name for people, unique in the job.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The host that sends.
    pub const fn from(&self) -> &HostName {
        &self.from
    }

    /// The host that receives.
    pub const fn to(&self) -> &HostName {
        &self.to
    }

    /// How much there is to send.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// When sending may begin, counted from the start of the job.
    pub const fn release(&self) -> Span {
        self.release
    }

    /// Its own tags; [`Job::tags_of`](crate::Job::tags_of) adds those of the job.
    pub const fn tags(&self) -> &Tags {
        &self.tags
    }

    /// The group whose minimum delivery it shares.
    pub const fn group(&self) -> Option<GroupId> {
        self.group
    }
}

/// A flow in the making.
///
/// Nothing is checked before it is built, alone with [`build`](Self::build) or in a
/// [`JobBuilder`](crate::JobBuilder), so that errors can name the place in the job.
#[derive(Debug, Clone)]
pub struct FlowBuilder {
    id: Option<FlowId>,
    name: Option<String>,
    from: String,
    to: String,
    size: Bytes,
    release: Span,
    tags: Vec<Tag>,
    group: Option<GroupId>,
}

impl FlowBuilder {
    /// Sets its number; without it the flow gets its position in the job.
    #[must_use]
    pub const fn id(mut self, id: FlowId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets a name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets when sending may begin, counted from the start of the job.
    #[must_use]
    pub const fn release(mut self, release: Span) -> Self {
        self.release = release;
        self
    }

    /// Puts it into a group.
    #[must_use]
    pub const fn group(mut self, group: GroupId) -> Self {
        self.group = Some(group);
        self
    }

    /// Adds a tag; it replaces an earlier one of the same kind.
    #[must_use]
    pub fn tag(mut self, tag: Tag) -> Self {
        self.tags.push(tag);
        self
    }

    /// Tags it with a priority, 0 for first.
    #[must_use]
    pub fn priority(self, order: u32) -> Self {
        self.tag(Tag::Priority(order))
    }

    /// Tags it with a weight.
    #[must_use]
    pub fn weight(self, weight: f64) -> Self {
        self.tag(Tag::Weight(weight))
    }

    /// Tags it with a deadline, counted from the start of the job.
    #[must_use]
    pub fn deadline(self, deadline: Span) -> Self {
        self.tag(Tag::Deadline(deadline))
    }

    /// Tags it with a minimum delivery of its own, outside any group.
    #[must_use]
    pub fn min_delivery(self, fraction: Fraction) -> Self {
        self.tag(Tag::MinDelivery(fraction))
    }

    /// Checks what concerns this flow alone.
    pub fn build(self) -> Result<Flow, JobError> {
        self.build_at(0, "")
    }

    /// Builds the flow at position `index`; `path` is its place in the job and ends with a dot.
    pub(crate) fn build_at(self, index: usize, path: &str) -> Result<Flow, JobError> {
        let at = |field: &str| format!("{path}{field}");
        let host = |name: &str, field| {
            HostName::new(name).map_err(|source| JobError::Host { path: at(field), source })
        };
        let (from, to) = (host(&self.from, "from")?, host(&self.to, "to")?);
        if from == to {
            return Err(JobError::SameHost { path: at("to"), host: to });
        }
        if self.size.is_zero() {
            return Err(JobError::ZeroSize { path: at("size") });
        }
        if self.name.as_deref() == Some("") {
            return Err(JobError::EmptyName { path: at("name") });
        }
        let tags = collect_tags(self.tags, &at("tags"))?;
        if let Some(deadline) = tags.deadline()
            && deadline <= self.release
        {
            let (path, release) = (at("tags.deadline"), self.release);
            return Err(JobError::DeadlineBeforeRelease { path, deadline, release });
        }
        if let (Some(group), Some(_)) = (self.group, tags.min_delivery()) {
            return Err(JobError::TwoMinimums { path: at("tags.min-delivery"), group });
        }
        let id = match self.id {
            Some(id) => id,
            None => {
                FlowId(u32::try_from(index).map_err(|_| JobError::TooManyFlows { path: at("id") })?)
            }
        };
        let Self { name, size, release, group, .. } = self;
        Ok(Flow { id, name, from, to, size, release, tags, group })
    }
}

/// A flow that was built may be put into another job.
impl From<Flow> for FlowBuilder {
    fn from(flow: Flow) -> Self {
        Self {
            id: Some(flow.id),
            name: flow.name,
            from: flow.from.into(),
            to: flow.to.into(),
            size: flow.size,
            release: flow.release,
            tags: flow.tags.iter().cloned().collect(),
            group: flow.group,
        }
    }
}

/// Checks tags in the order in which they were given.
pub(crate) fn collect_tags(list: Vec<Tag>, path: &str) -> Result<Tags, JobError> {
    let mut tags = Tags::new();
    for tag in list {
        let at = format!("{path}.{}", tag.name());
        tags.set(tag).map_err(|source| JobError::Tag { path: at, source })?;
    }
    Ok(tags)
}
