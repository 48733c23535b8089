//! What an application tells the network: jobs, flows, groups, tags and an objective, in units that
//! carry their names.
//!
//! This is the vocabulary that the planner, the transport, the simulators and the bindings share.
//! It is data and checks only: no sockets, no clock, no decisions. Nothing here says how slack is
//! spent; it says how much of it there is.
//!
//! A [`Job`] has passed every check, whether it was built in code or read from a file:
//!
//! ```
//! use laxity_interface::{Bytes, Flow, Fraction, Group, GroupId, Job, Span};
//!
//! let job = Job::builder("all-reduce")
//!     .group(Group::new(GroupId(0), Fraction::new(0.99)?).named("gradients"))
//!     .flow(Flow::builder("worker-0", "server", Bytes::from_mib(25)).group(GroupId(0)).priority(1))
//!     .flow(Flow::builder("worker-1", "server", "25MiB".parse()?).group(GroupId(0)).priority(1))
//!     .deadline(Span::from_ms(50))
//!     .time_limit("2s".parse()?)
//!     .build()?;
//! assert_eq!(Job::from_toml(&job.to_toml())?, job);
//!
//! let refused = Job::builder("loop").flow(Flow::builder("a", "a", Bytes::new(1))).build();
//! assert_eq!(refused.unwrap_err().path(), Some("flows[0].to"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod ecn;
mod flow;
mod group;
mod job;
mod layout;
mod names;
mod objective;
mod tag;
mod units;

pub use ecn::{Dscp, DscpError, Ecn};
pub use flow::{Flow, FlowBuilder};
pub use group::Group;
pub use job::{Finish, Job, JobBuilder, JobError};
pub use layout::{Layout, UnknownLayout};
pub use names::{FlowId, GroupId, HostName, HostNameError};
pub use objective::{Objective, ObjectiveError};
pub use tag::{Tag, TagError, Tags};
pub use units::{Bytes, Fraction, FractionError, Rate, Span, Time, UnitError};
