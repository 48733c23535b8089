//! Packets through a datacenter in virtual time.
//!
//! Hosts run [`Stack`]s: the shipping `laxity-protocol` crate, or one of the transports that it is
//! compared with. A [`Driver`] says which [`Flow`]s start when.
#![forbid(unsafe_code)]

mod chance;
mod fault;
mod flow;
mod kernel;
pub mod measure;
mod packet;
mod port;
mod random;
pub mod scenario;
mod schedule;
mod scheme;
mod series;
mod setup;
mod simulation;
pub mod sizes;
pub mod speed;
mod stack;
pub mod stacks;
mod trace;
pub mod workload;

pub use chance::Chance;
pub use fault::{Fault, On, Trouble};
pub use flow::{Done, Driver, Flow, FlowId, HostId, Messages};
pub use packet::{CONTROL, Flags, HEADER, MTU, PAYLOAD, Packet};
pub use schedule::Schedule;
pub use scheme::{PortBase, Scheme, Tcp, UnknownScheme, World};
pub use series::{LinkSeries, Sample, Series, SeriesSetup};
pub use setup::{
    Discipline, NicSetup, PortSetup, QUEUES, QueueSetup, Routing, Setup, SetupError, packet_sizes,
};
pub use simulation::{Drops, Limits, Outcome, Simulation, Stopped, ideal_time, ideal_time_on};
pub use stack::{Context, Stack, Tally};
pub use trace::{DropReason, JsonLines, Observer, Pcap, TraceEvent};
