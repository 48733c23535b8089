//! Why a job was refused.

use crate::{
    names::{FlowId, GroupId, HostName, HostNameError},
    objective::Objective,
    tag::TagError,
    units::Span,
};

/// Why a job was refused: the place in it, what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The text is not TOML or JSON, or its outermost table is not a job.
    #[error("this is not a job in {format}: {reason}")]
    Syntax {
        /// `TOML` or `JSON`.
        format: &'static str,
        /// What the parser said, with the line.
        reason: String,
    },
    /// A field is missing, unknown, of the wrong type or outside its range.
    #[error("{path}: {reason}")]
    Field {
        /// The field, such as `flows[3].size`, or the table that holds it.
        path: String,
        /// What is wrong and what would have been accepted.
        reason: String,
    },
    /// The job has no flows.
    #[error("{path}: the job has no flows: add one")]
    Empty {
        /// The field.
        path: String,
    },
    /// There are more flows than numbers for them.
    #[error("{path}: the job has more than 2^32 flows: split it")]
    TooManyFlows {
        /// The field.
        path: String,
    },
    /// A name is there but empty.
    #[error("{path}: the name is empty: give one or leave the field out")]
    EmptyName {
        /// The field.
        path: String,
    },
    /// Two flows have the same number.
    #[error("{path}: flow id {id} is taken by flows[{first}]: give another or leave ids out")]
    DuplicateFlowId {
        /// The field.
        path: String,
        /// The number.
        id: FlowId,
        /// The position of the flow that has it already.
        first: usize,
    },
    /// Two flows have the same name.
    #[error("{path}: flow name `{name}` is taken by flows[{first}]: give another or leave it out")]
    DuplicateFlowName {
        /// The field.
        path: String,
        /// The name.
        name: String,
        /// The position of the flow that has it already.
        first: usize,
    },
    /// Two groups have the same number.
    #[error("{path}: group id {id} is taken by groups[{first}]: give another")]
    DuplicateGroupId {
        /// The field.
        path: String,
        /// The number.
        id: GroupId,
        /// The position of the group that has it already.
        first: usize,
    },
    /// Two groups have the same name.
    #[error(
        "{path}: group name `{name}` is taken by groups[{first}]: give another or leave it out"
    )]
    DuplicateGroupName {
        /// The field.
        path: String,
        /// The name.
        name: String,
        /// The position of the group that has it already.
        first: usize,
    },
    /// A flow names a group that the job does not have.
    #[error("{path}: there is no group {id}: add it to `groups` or leave the field out")]
    UnknownGroup {
        /// The field.
        path: String,
        /// The number of the group.
        id: GroupId,
    },
    /// A flow has a minimum delivery of its own and a group as well.
    #[error(
        "{path}: group {group} sets the minimum delivery already: remove this tag or the group"
    )]
    TwoMinimums {
        /// The field.
        path: String,
        /// The group of the flow.
        group: GroupId,
    },
    /// A host name is not one.
    #[error("{path}: {source}")]
    Host {
        /// The field.
        path: String,
        /// What is wrong with it.
        source: HostNameError,
    },
    /// A flow leads from a host to itself.
    #[error("{path}: the flow leads from `{host}` to itself: give another host or remove the flow")]
    SameHost {
        /// The field.
        path: String,
        /// The host.
        host: HostName,
    },
    /// A flow has nothing to send.
    #[error("{path}: the flow has no bytes: give a size such as \"25MiB\" or remove the flow")]
    ZeroSize {
        /// The field.
        path: String,
    },
    /// A tag has a value that it cannot have.
    #[error("{path}: {source}")]
    Tag {
        /// The field.
        path: String,
        /// What is wrong with it.
        source: TagError,
    },
    /// A deadline or a time limit of no time at all.
    #[error("{path}: no time at all: give a duration above 0 or leave the field out")]
    NoTime {
        /// The field.
        path: String,
    },
    /// A flow is due before it may begin.
    #[error("{path}: the deadline {deadline} is not after the release {release}: move one of them")]
    DeadlineBeforeRelease {
        /// The field.
        path: String,
        /// When it is due.
        deadline: Span,
        /// When it may begin.
        release: Span,
    },
    /// A deadline lies behind the time at which the job is given up.
    #[error(
        "{path}: the deadline {deadline} is beyond the time limit {limit}: shorten it or raise \
         `time-limit`"
    )]
    DeadlineBeyondLimit {
        /// The field.
        path: String,
        /// When it is due.
        deadline: Span,
        /// The time limit of the job.
        limit: Span,
    },
    /// A flow may begin only when its job is over.
    #[error("{path}: the release {release} is not before the end of the job at {end}: move one")]
    ReleaseBeyondEnd {
        /// The field.
        path: String,
        /// When it may begin.
        release: Span,
        /// The deadline or the time limit of the job, whichever is earlier.
        end: Span,
    },
    /// The objective is about deadlines and there is none.
    #[error(
        "{path}: {objective} needs a deadline: give one to the job or to a flow, or choose another \
         objective"
    )]
    NoDeadline {
        /// The field.
        path: String,
        /// The objective.
        objective: Objective,
    },
}

impl JobError {
    /// The place in the job, such as `flows[3].group`; none if the text could not be read at all.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } => None,
            Self::Field { path, .. }
            | Self::Empty { path }
            | Self::TooManyFlows { path }
            | Self::EmptyName { path }
            | Self::DuplicateFlowId { path, .. }
            | Self::DuplicateFlowName { path, .. }
            | Self::DuplicateGroupId { path, .. }
            | Self::DuplicateGroupName { path, .. }
            | Self::UnknownGroup { path, .. }
            | Self::TwoMinimums { path, .. }
            | Self::Host { path, .. }
            | Self::SameHost { path, .. }
            | Self::ZeroSize { path }
            | Self::Tag { path, .. }
            | Self::NoTime { path }
            | Self::DeadlineBeforeRelease { path, .. }
            | Self::DeadlineBeyondLimit { path, .. }
            | Self::ReleaseBeyondEnd { path, .. }
            | Self::NoDeadline { path, .. } => Some(path),
        }
    }
}
