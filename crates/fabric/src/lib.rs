//! The communication library: what a training program hands its transfers to.
//!
//! **What it is.** Ranks and [`Group`]s, and the one trait, [`carrier::Carrier`], that collectives and
//! parameter-server [`roles`] are written against.
//!
//! **What it is not.** No transport of its own: parcels travel over Laxity's endpoint, kernel TCP or
//! the packet simulator.
//!
//! ```
//! use laxity_fabric::{Group, Rank};
//!
//! let world = Group::world(4);
//! assert_eq!(world.position(Rank::new(3)), Some(3));
//! ```
#![forbid(unsafe_code)]

pub mod carrier;
mod rank;
pub mod roles;

pub use crate::rank::{Group, GroupError, GroupId, Rank};
