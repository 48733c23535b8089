//! What can be wrong with what the planner is asked.

use laxity_interface::Time;
use laxity_topology::{LinkId, RouteError, TopologyError};

use crate::demand::{FlowKey, JobKey};

/// Why no plan was made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A flow has nothing to send.
    #[error("flow {flow} has size 0: give it at least one byte or leave it out")]
    ZeroSize {
        /// The flow.
        flow: FlowKey,
    },
    /// A flow has ended already.
    #[error("flow {flow} has sent all of its {size} bytes: leave it out")]
    Ended {
        /// The flow.
        flow: FlowKey,
        /// Its size in bytes.
        size: u64,
    },
    /// A deadline lies before the release.
    #[error("flow {flow} is due at {deadline}, before its release at {released}: move one of them")]
    DeadlineBeforeRelease {
        /// The flow.
        flow: FlowKey,
        /// When it should have arrived.
        deadline: Time,
        /// When it may start.
        released: Time,
    },
    /// A weight is not usable.
    #[error("flow {flow} has weight {given}: give a number from 1/1024 to 65536")]
    Weight {
        /// The flow.
        flow: FlowKey,
        /// The weight as given.
        given: String,
    },
    /// A path is empty.
    #[error("flow {flow} has a route without links: leave out flows that stay on their host")]
    EmptyRoute {
        /// The flow.
        flow: FlowKey,
    },
    /// A path crosses a link that the network does not have.
    #[error("the route of flow {flow} crosses link {link}, but the network has only {links} links")]
    MissingLink {
        /// The flow.
        flow: FlowKey,
        /// The link.
        link: LinkId,
        /// How many links there are.
        links: usize,
    },
    /// A path does not hang together.
    #[error(
        "the route of flow {flow} breaks at link {link}: it does not start where the one before ends"
    )]
    BrokenRoute {
        /// The flow.
        flow: FlowKey,
        /// The link that does not fit.
        link: LinkId,
    },
    /// A path crosses a link twice.
    #[error("the route of flow {flow} crosses link {link} twice: routes have no circles")]
    RouteTwice {
        /// The flow.
        flow: FlowKey,
        /// The link.
        link: LinkId,
    },
    /// Two flows have the same number.
    #[error("there are two flows numbered {flow}: give one of them another number")]
    DuplicateFlow {
        /// The number.
        flow: FlowKey,
    },
    /// Two jobs have the same number.
    #[error("job {job} is described twice: keep one description")]
    DuplicateJob {
        /// The number.
        job: JobKey,
    },
    /// An update has a norm that is no norm.
    #[error("update {update} has norm {given}: give a finite number, 0 or above")]
    Norm {
        /// Its place among the updates.
        update: usize,
        /// The norm as given.
        given: String,
    },
    /// An update has nothing to send.
    #[error("update {update} has size 0: give it at least one byte or leave it out")]
    EmptyUpdate {
        /// Its place among the updates.
        update: usize,
    },
    /// Momentum does not lie between 0 and 1.
    #[error("momentum is {given}: give a number from 0 to below 1")]
    Momentum {
        /// As given.
        given: String,
    },
    /// A host of a job is not in the network.
    #[error("job `{job}`: {source}")]
    Host {
        /// The job.
        job: String,
        /// What is missing.
        source: TopologyError,
    },
    /// Two hosts cannot reach each other.
    #[error("job `{job}`, flow {flow}: {source}")]
    Route {
        /// The job.
        job: String,
        /// The flow.
        flow: FlowKey,
        /// Who cannot reach whom.
        source: RouteError,
    },
    /// Hosts that should work together cannot reach each other.
    #[error("no plan for hosts that cannot reach each other: {0}")]
    Unreachable(#[from] RouteError),
    /// Too few hosts for a collective.
    #[error("an all-reduce needs at least two hosts, but {given} were given")]
    TooFewHosts {
        /// How many there are.
        given: usize,
    },
    /// A path never carries anything.
    #[error("update {update} never arrives: its path has no bandwidth after {after}")]
    Stuck {
        /// Its place among the updates.
        update: usize,
        /// When its path runs dry for good.
        after: Time,
    },
}
