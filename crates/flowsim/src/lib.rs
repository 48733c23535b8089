//! Jobs of computing and sending, in fluid simulation: what a plan is worth.
//!
//! A [`World`] has a network, [`Work`] that computes and sends, reservations of others that come and
//! go, and hosts that are slow for a while. [`simulate`] lets time pass from event to event: flows
//! progress at the rates that `laxity-planner` gives them, operations run when what they wait for is
//! there. Time is whole picoseconds and data whole parts of a bit, so the same world has the same
//! [`Outcome`] to the last bit, on any machine.
//!
//! There are no packets here: no queues, no losses, no round trips. The rates themselves are not
//! decided here either; a live controller calls the same functions of the planner.
//!
//! - [`profile`]: what models compute and exchange, read from files, with 22 models inside.
//! - [`training`]: one iteration of training with parameter servers, as the CadentFlow paper has it.
//! - [`updates`]: asynchronous training by the planner's rules for updates.
//! - [`coflow`]: traces of coflows and what schedulers make of them.
//! - [`mod@file`]: worlds as files.
//!
//! ```
//! use laxity_flowsim::{Flow, Operation, Settings, Work, World, simulate};
//! use laxity_interface::{Bytes, Rate, Span, Time};
//! use laxity_planner::{Options, Scheme};
//! use laxity_topology::Topology;
//!
//! // Figure 1 of the CadentFlow paper: two flows of 500 Mbit, three operations of half a second.
//! let net = Topology::star(2, Rate::from_gbps(1), Span::ZERO)?;
//! let (a, c) = (net.host("h0")?, net.host("h1")?);
//! let mut work = Work::new("figure 1");
//! let half = Span::from_ms(500);
//! let f1 = work.flow(Flow::new("f1", a, c, Bytes::new(62_500_000)).priority(0));
//! let f2 = work.flow(Flow::new("f2", a, c, Bytes::new(62_500_000)).priority(1));
//! let c1 = work.operation(Operation::new("c1", half).on(c).needs([f1]));
//! let c2 = work.operation(Operation::new("c2", half).on(c).needs([f2]).after([c1]));
//! work.operation(Operation::new("c3", half).on(c).after([c2]));
//!
//! let world = World::new(net).work(work);
//! let end = |scheme| {
//!     simulate(&world, &Settings::new(Options::new(scheme))).map(|outcome| outcome.end)
//! };
//! assert_eq!(end(Scheme::Madd)?, Time::ZERO + Span::from_ms(2500));
//! assert_eq!(end(Scheme::Priority)?, Time::ZERO + Span::from_ms(2000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod coflow;
mod engine;
mod error;
pub mod file;
mod graph;
mod many;
mod outcome;
pub mod profile;
pub mod training;
pub mod updates;
mod work;
mod world;

pub use engine::{Settings, simulate};
pub use error::SimError;
pub use many::simulate_all;
pub use outcome::{Commit, Outcome, Ran, RateChange, Sent};
pub use work::{Flow, Operation, OperationId, Update, Work};
pub use world::{Reservation, Server, Slow, World};
