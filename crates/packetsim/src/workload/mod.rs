//! What is to be sent: patterns, background load, training, collectives, and several at once.
//!
//! Each is a [`Driver`]: it says when it wants to start flows and hears when they end. Flows of one
//! job share a number in their [`Tag`].

mod agenda;
mod all_reduce;
mod cargo;
mod combined;
mod gaps;
mod parameter_server;
mod planned;
mod poisson;
mod rounds;
mod tag;

pub use all_reduce::{AllReduce, Collective};
pub use cargo::Cargo;
pub use combined::{Combined, Started};
pub use gaps::{GapShape, GapSpec, Gaps, UnknownGaps};
pub use parameter_server::ParameterServer;
pub use planned::Planned;
pub use poisson::{Poisson, Until};
pub use rounds::{Pattern, Rounds};
pub use tag::Tag;

#[cfg(doc)]
use crate::flow::Driver;

#[cfg(test)]
mod testing;
