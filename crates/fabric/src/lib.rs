//! The communication library: what a training program hands its transfers to.
//!
//! **What it is.** Ranks and [`Group`]s that do collectives together: [`Communicator`] has them as calls
//! on slices of numbers, [`Engine`] as a state machine without input and output. Operations state
//! their slack once, in [`Options`]: how much of a contribution may be lost, what becomes of it, until
//! when it is waited for, and whether ranks may be left out. All ranks that return a result return the
//! same bits. The [`roles`] of a parameter server stand beside them. Everything is written against one trait, [`carrier::Carrier`].
//!
//! **What it is not.** No transport of its own: parcels travel over Laxity's endpoint, kernel TCP or
//! the packet simulator, or between threads ([`carrier::memory`]).
//!
//! ```
//! use laxity_fabric::{Communicator, Options, ReduceOp, carrier::memory};
//!
//! let ranks = memory::carriers(2, memory::Faults::none(1)).into_iter().map(|carrier| {
//!     std::thread::spawn(move || {
//!         let mut ranks = Communicator::new(carrier, 2);
//!         let mut gradient = [1.0f32 + ranks.rank().get() as f32; 1000];
//!         let options = Options::at_least("99%".parse().unwrap());
//!         let outcome = ranks.all_reduce(&mut gradient, ReduceOp::Mean, &options).unwrap();
//!         assert!(outcome.least_delivered() >= 0.99);
//!         gradient
//!     })
//! });
//! let ranks: Vec<_> = ranks.collect();
//! for rank in ranks {
//!     assert_eq!(rank.join().unwrap(), [1.5; 1000]);
//! }
//! ```
#![forbid(unsafe_code)]

pub mod carrier;
mod chance;
mod collective;
mod communicator;
mod deadline;
mod element;
mod engine;
mod loss;
mod net;
mod options;
mod outcome;
mod rank;
pub mod rendezvous;
pub mod roles;
mod shape;

pub use crate::{
    collective::{Network, Reason, choose, shard},
    communicator::{Communicator, Handle, SplitError, Within},
    deadline::{Adaptive, Deadline, DeadlineReason, adaptive_deadline},
    element::Element,
    engine::{Engine, OpId},
    loss::{Importance, LossPolicy, Thin},
    options::{Algorithm, OnLoss, Operation, Options, ReduceOp},
    outcome::{OpError, Outcome, StartError},
    rank::{Group, GroupError, GroupId, Rank},
    shape::Shape,
};
