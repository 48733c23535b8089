//! Packets through a datacenter in virtual time.
//!
//! Hosts run [`Stack`]s: the shipping `laxity-protocol` crate, or one of the transports that it is
//! compared with. A [`Driver`] says which [`Flow`]s start when.
#![forbid(unsafe_code)]

mod chance;
mod flow;
mod packet;
pub mod sizes;
mod stack;
pub mod workload;

pub use chance::Chance;
pub use flow::{Done, Driver, Flow, FlowId, HostId, Messages};
pub use packet::{Flags, Packet};
pub use stack::{Context, Stack, Tally};
