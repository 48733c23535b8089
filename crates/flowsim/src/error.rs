//! What can be wrong with a world.

use laxity_interface::{Rate, Span, Time};
use laxity_planner::PlanError;
use laxity_topology::{LinkId, RouteError};

/// Why a simulation was not run, or stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// Operations and flows wait for each other.
    #[error(
        "work `{work}` waits for itself: {}; remove one of these dependencies",
        circle.join(" -> ")
    )]
    Cycle {
        /// The work.
        work: String,
        /// Operations and flows, each waiting for the one before; the first is named again last.
        circle: Vec<String>,
    },
    /// A dependency names an operation that is not there.
    #[error("work `{work}`: `{who}` waits for operation {operation}, but there are only {count}")]
    MissingOperation {
        /// The work.
        work: String,
        /// Who waits.
        who: String,
        /// For which operation.
        operation: u32,
        /// How many there are.
        count: usize,
    },
    /// A dependency names a flow that is not there.
    #[error("work `{work}`: operation `{who}` needs flow {flow}, but there are only {count}")]
    MissingFlow {
        /// The work.
        work: String,
        /// Who waits.
        who: String,
        /// For which flow.
        flow: u32,
        /// How many there are.
        count: usize,
    },
    /// A flow has nothing to send.
    #[error("work `{work}`, flow `{flow}` has size 0: give it at least one byte or leave it out")]
    ZeroSize {
        /// The work.
        work: String,
        /// The flow.
        flow: String,
    },
    /// A deadline lies before the release.
    #[error(
        "work `{work}`, flow `{flow}` is due {deadline} after the start, before its release at \
         {release}: move one of them"
    )]
    DeadlineBeforeRelease {
        /// The work.
        work: String,
        /// The flow.
        flow: String,
        /// When it should be there.
        deadline: Span,
        /// When it may start.
        release: Span,
    },
    /// A route crosses a link that is not in the network.
    #[error(
        "work `{work}`, flow `{flow}`: its route crosses link {link}, but the network has only \
         {links} links"
    )]
    MissingLink {
        /// The work.
        work: String,
        /// The flow.
        flow: String,
        /// The link.
        link: LinkId,
        /// How many there are.
        links: usize,
    },
    /// A reservation is made on a link that is not in the network.
    #[error("a reservation of {rate} is made on link {link}, but the network has only {links}")]
    MissingReservedLink {
        /// The link.
        link: LinkId,
        /// How much was to be reserved.
        rate: Rate,
        /// How many links there are.
        links: usize,
    },
    /// There is no way from one host to another.
    #[error("work `{work}`, flow `{flow}`: {source}")]
    Route {
        /// The work.
        work: String,
        /// The flow.
        flow: String,
        /// Who cannot reach whom.
        source: RouteError,
    },
    /// A host is said to be fast, or slow by something that is no number.
    #[error("host {host} is slow by a factor of {factor}: give a number of 1 or more")]
    Factor {
        /// The host.
        host: String,
        /// The factor as given.
        factor: String,
    },
    /// An update goes to a server that is not there.
    #[error("work `{work}`, flow `{flow}` updates server {server}, but there are only {count}")]
    MissingServer {
        /// The work.
        work: String,
        /// The flow.
        flow: String,
        /// The server.
        server: usize,
        /// How many there are.
        count: usize,
    },
    /// The planner refused.
    #[error("at {at}: {source}")]
    Plan {
        /// When it was asked.
        at: Time,
        /// What it said.
        source: PlanError,
    },
    /// Nothing happens any more, but not all is done.
    #[error(
        "nothing moves after {at}, but {waiting} are not done, first `{first}`: a link it needs \
         carries nothing, or an ordered commit waits for an update that was dropped"
    )]
    Stuck {
        /// Since when.
        at: Time,
        /// How many operations and flows.
        waiting: usize,
        /// One of them.
        first: String,
    },
}
