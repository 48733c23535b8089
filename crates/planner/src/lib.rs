//! Who sends what, when, how fast and through whom.
//!
//! Every decision is a pure function of the time, a view of the network, what is to be sent and the
//! options; it returns a plan and a [`Reason`] for each part of it. The flow simulator calls these
//! functions in virtual time and a controller can call the same ones live. There is no clock here,
//! no socket and no simulation: what happens between two plans is the caller's business.
//!
//! - [`allocate`] gives every flow a rate, by one of the [`Scheme`]s: fairness, coflows, priorities,
//!   deadlines; several jobs share by a policy [`BetweenJobs`].
//! - [`FairShares`] keeps weighted max-min rates up to date while flows come and go.
//! - [`updates`] orders, drops, sums and replicates model updates, and chooses how to all-reduce.
//! - [`Steps`] is bandwidth over time, with reservations.
//!
//! ```
//! use laxity_interface::{Bytes, Rate, Time};
//! use laxity_planner::{Demand, FlowKey, JobKey, Network, Options, Scheme, allocate};
//!
//! // Figure 1 of the CadentFlow paper: two flows of 500 Mbit share one link of 1 Gbit/s.
//! let network = Network::of_rates(&[Rate::from_gbps(1)]);
//! let flow = |key, order| {
//!     Demand::new(FlowKey(key), JobKey(0), [0].into(), Bytes::new(62_500_000)).priority(order)
//! };
//! let demands = [flow(1, 0), flow(2, 1)];
//!
//! let fair = allocate(Time::ZERO, &network, &demands, &[], &Options::new(Scheme::Madd))?;
//! assert_eq!(fair.rates(), [Rate::from_mbps(500), Rate::from_mbps(500)]);
//! let aware = allocate(Time::ZERO, &network, &demands, &[], &Options::new(Scheme::Priority))?;
//! assert_eq!(aware.rates(), [Rate::from_gbps(1), Rate::ZERO]);
//! println!("{}", aware.decisions[1].reason); // waits: priority 0 goes first on link 0 …
//! # Ok::<(), laxity_planner::PlanError>(())
//! ```
#![forbid(unsafe_code)]

mod demand;
mod error;
mod network;
mod plan;
mod rate;
mod reason;
mod shares;
mod steps;
pub mod updates;
mod weight;
#[cfg(any(test, feature = "yardstick"))]
pub mod yardstick;

pub use demand::{Demand, FlowKey, JobKey, JobView};
pub use error::PlanError;
pub use network::Network;
pub use plan::{
    AaloQueues, BetweenJobs, CoflowOrder, Decision, Options, Pace, Plan, Scheme, SchemeError,
};
pub use rate::{allocate, bottleneck_time, flexibility};
pub use reason::Reason;
pub use shares::{FairShares, Slot};
pub use steps::Steps;
pub use weight::Weight;
