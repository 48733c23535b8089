//! Asynchronous training with the planner's rules for updates (seed 003).
//!
//! Workers read the model, compute, and push an update to the server, again and again. How updates
//! travel is a choice: all together as today, in order at each node, or by the rules of
//! [`laxity_planner::updates`]: ordered and sent one after the other, left out when they would be too
//! old or hold up others, summed at idle hosts, and copied to a replica that may fall behind by a
//! bounded distance. Decisions are made whenever an update becomes available or a transfer ends, from
//! the bandwidth of that moment; what the future brings the rules do not know.
//!
//! ```
//! use laxity_flowsim::updates::{Cluster, Stop, Transfers, run};
//! use laxity_interface::{Bytes, Rate, Span};
//! use laxity_topology::Topology;
//!
//! // Four workers with updates of a second each, all at once.
//! let net = Topology::star(5, Rate::from_mbps(80), Span::ZERO)?;
//! let mut cluster = Cluster::new(net.clone(), net.hosts()[0], &net.hosts()[1..]);
//! cluster.update = Bytes::new(10_000_000);
//! let mean = |transfers| run(&cluster, &transfers, Stop::rounds(1)).map(|story| story.mean_wait());
//! assert_eq!(mean(Transfers::Together)?, Span::from_secs(4));
//! assert_eq!(mean(Transfers::ordered())?, Span::from_ms(2500));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decide;
mod drive;
mod moving;
mod story;

use laxity_interface::{Bytes, Span, Time};
use laxity_topology::{NodeId, Topology};

use crate::{
    error::SimError,
    world::{Reservation, Slow},
};

pub use story::{Committed, Copied, Dropped, Story};

/// Who trains what, where.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The network.
    pub net: Topology,
    /// Who holds the model.
    pub server: NodeId,
    /// Who computes updates.
    pub workers: Vec<NodeId>,
    /// Idle hosts that may sum updates.
    pub helpers: Vec<NodeId>,
    /// Who has a copy of the model.
    pub replica: Option<NodeId>,
    /// How large an update is, and a sum of several.
    pub update: Bytes,
    /// How much a worker reads before it computes; with nothing, reading is free.
    pub model: Bytes,
    /// How long each worker computes for an update; workers without an entry compute for no time.
    pub compute: Vec<Span>,
    /// The norm of an update.
    pub norm: f64,
    /// Bandwidth that others have for a while.
    pub reservations: Vec<Reservation>,
    /// Hosts that compute more slowly for a while.
    pub slow: Vec<Slow>,
}

impl Cluster {
    /// A server and workers; updates of a megabyte, computing and reading take no time.
    pub fn new(net: Topology, server: NodeId, workers: &[NodeId]) -> Self {
        Self {
            net,
            server,
            workers: workers.to_vec(),
            helpers: Vec::new(),
            replica: None,
            update: Bytes::new(1_000_000),
            model: Bytes::ZERO,
            compute: Vec::new(),
            norm: 1.0,
            reservations: Vec::new(),
            slow: Vec::new(),
        }
    }
}

/// What the planner may do with updates.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The most commits between reading the model and committing the update; older updates are not
    /// sent.
    pub staleness: Option<u64>,
    /// With a bound: how many times as long as the middle update one may take before it is left out.
    pub patience: f64,
    /// Whether updates are summed at helpers.
    pub aggregate: bool,
    /// How far server and replica may be apart, if there is a replica: the momentum of the server and
    /// the greatest distance. What is larger by itself is committed when the replica lacks nothing else:
    /// with a distance of 0 every commit waits for the copy of the one before, as in a chain.
    pub replica: Option<(f64, f64)>,
}

impl Default for Rules {
    /// Order only.
    fn default() -> Self {
        Self { staleness: None, patience: 10.0, aggregate: false, replica: None }
    }
}

/// How updates travel.
#[derive(Debug, Clone, PartialEq)]
pub enum Transfers {
    /// All at once, max-min: today's parameter servers.
    Together,
    /// Every node sends what it has in order, nodes share max-min.
    NodeOrdered,
    /// By the planner's rules.
    Planned(Rules),
}

impl Transfers {
    /// One after the other, shortest first, nothing else.
    pub fn ordered() -> Self {
        Self::Planned(Rules::default())
    }

    pub(crate) fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Planned(rules) => Some(rules),
            Self::Together | Self::NodeOrdered => None,
        }
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// How many updates each worker computes.
    pub rounds: u64,
    /// When, at the latest.
    pub until: Time,
}

impl Stop {
    /// After so many updates of each worker.
    pub const fn rounds(rounds: u64) -> Self {
        Self { rounds, until: Time::MAX }
    }

    /// At this time.
    pub const fn at(until: Time) -> Self {
        Self { rounds: u64::MAX, until }
    }
}

/// Trains until told to stop.
///
/// # Errors
/// [`SimError`] when hosts cannot reach each other, when the planner refuses, or when nothing moves any
/// more.
pub fn run(cluster: &Cluster, transfers: &Transfers, stop: Stop) -> Result<Story, SimError> {
    drive::Drive::new(cluster, transfers, stop)?.go()
}
