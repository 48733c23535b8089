//! Updates of a model: order, dropping, aggregation, replication, and all-reduce (seed 003).
//!
//! An update travels from a worker to the server that holds the model. Transfers do not share
//! links in time: [`order`] sends them one after the other, shortest first, which halves the mean
//! delay; [`drop`](drop_late) leaves out what would come too late to be worth it; [`aggregate`]
//! lets later updates be summed at an idle host while earlier ones use the server's link;
//! [`replicate`] says when a replica has to be brought up to date; [`all_reduce`] compares ways to
//! sum and share without a server.

mod aggregate;
mod collective;
mod late;
mod order;
mod replicate;

use laxity_interface::{Bytes, Time};
use laxity_topology::{NodeId, Path};

use crate::{error::PlanError, network::Network};

pub use aggregate::{Aggregation, Group, aggregate};
pub use collective::{Choice, Collective, Prediction, Tree, all_reduce};
pub use late::{Dropping, drop_late};
pub use order::{Ordered, Ordering, order};
pub use replicate::{Replica, ReplicaAction, divergence_bound, learning_rate, replicate};

/// An update that a worker has ready for a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The worker.
    pub worker: NodeId,
    /// The links from the worker to the server.
    pub path: Path,
    /// How large it is.
    pub size: Bytes,
    /// How much is lost with it.
    pub norm: f64,
    /// The version of the model that it was computed from.
    pub version: u64,
    /// When it is ready to be sent.
    pub available: Time,
}

/// What was decided about an update, for people.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum UpdateReason {
    /// It is sent next because it arrives before all others that are left.
    Earliest {
        /// When it arrives.
        ends: Time,
        /// How many updates are committed between its version and it.
        delay: u64,
    },
    /// It is not sent: it would be older than allowed.
    TooStale {
        /// How many updates would have been committed since its version.
        delay: u64,
        /// How many may.
        bound: u64,
    },
    /// It is not sent: others would wait longer for it than it is worth.
    HoldsUp {
        /// How long it would take.
        takes: laxity_interface::Span,
        /// How long updates take in the middle.
        usual: laxity_interface::Span,
    },
    /// It goes straight to the server.
    Direct {
        /// When it arrives.
        ends: Time,
    },
    /// It is summed at a host while updates before it use the server's link.
    Summed {
        /// The host.
        at: NodeId,
        /// When the sum is ready there.
        ready: Time,
        /// When the updates before it have arrived.
        free: Time,
    },
}

impl std::fmt::Display for UpdateReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Earliest { ends, delay } => write!(
                f,
                "arrives at {ends}, before all others that wait, {delay} updates after its version"
            ),
            Self::TooStale { delay, bound } => write!(
                f,
                "not sent: {delay} updates would have been committed since its version, {bound} may"
            ),
            Self::HoldsUp { takes, usual } => write!(
                f,
                "not sent: it would take {takes}, where updates usually take {usual}, and hold up the \
                 others for longer than it is worth"
            ),
            Self::Direct { ends } => write!(f, "goes straight to the server, arrives at {ends}"),
            Self::Summed { at, ready, free } => write!(
                f,
                "summed at host {at}: the sum is ready at {ready}, the server's link is free at {free}"
            ),
        }
    }
}

/// Refuses updates that make no sense.
fn check(network: &Network, updates: &[Update]) -> Result<(), PlanError> {
    for (at, update) in updates.iter().enumerate() {
        if update.size.is_zero() {
            return Err(PlanError::EmptyUpdate { update: at });
        }
        if !(update.norm.is_finite() && update.norm >= 0.0) {
            return Err(PlanError::Norm { update: at, given: update.norm.to_string() });
        }
        let flow = crate::FlowKey(at as u64);
        if update.path.is_empty() {
            return Err(PlanError::EmptyRoute { flow });
        }
        if let Some(link) = update.path.iter().find(|link| link.index() >= network.len()) {
            return Err(PlanError::MissingLink { flow, link: *link, links: network.len() });
        }
    }
    Ok(())
}
