//! Packets through a datacenter in virtual time.
//!
//! Hosts run [`Stack`]s: the shipping `laxity-protocol` crate, or one of the transports that it is
//! compared with. A [`Driver`] says which [`Flow`]s start when. Between them is a network of
//! output-queued switches that store and forward: 8 queues per port in strict priority or one by
//! rank, shared buffers, ECN marks, selective dropping, trimming, equal-cost paths by flow or by
//! packet, links that lose, delay or go down.
//!
//! ```
//! use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
//! use laxity_packetsim::{
//!     Flow, HostId, Limits, Messages, PortSetup, Ready, Schedule, Setup, Simulation,
//!     ideal_time, packet_sizes,
//!     stacks::dctcp::{Dctcp, DctcpConfig},
//! };
//! use laxity_topology::Topology;
//!
//! // Two hosts send 1 MB each to a third: 40 Gbit/s, 1 µs per link, marks above 65 packets.
//! let network = Topology::star(3, Rate::from_gbps(40), Span::from_us(1))?;
//! let port = PortSetup::fifo_packets(Bytes::new(450_000), Some(65));
//! let setup = Setup::new(network, port, 42);
//! let flows = [0, 1].map(|from| Flow {
//!     from: HostId(from),
//!     to: HostId(2),
//!     stack: 0,
//!     tag: 0,
//!     messages: Messages::Equal { count: 1, bytes: 1_000_000 },
//!     ready: Ready::AtOnce,
//!     min_delivery: Fraction::ONE,
//! });
//!
//! let stack = |_| -> Vec<Box<dyn laxity_packetsim::Stack>> {
//!     vec![Box::new(Dctcp::new(DctcpConfig::strong()))]
//! };
//! let mut simulation = Simulation::new(&setup, stack)?;
//! let mut driver = Schedule::new(flows.map(|flow| (Time::ZERO, flow)));
//! let outcome = simulation.run(&mut driver, Limits::default());
//!
//! let alone = ideal_time(&setup, packet_sizes(1_000_000), HostId(0), HostId(2));
//! assert_eq!((outcome.done.len(), outcome.drops), (2, 0));
//! // Both share one line: it takes twice as long as alone, and a few round trips.
//! let took = outcome.end.since(Time::ZERO);
//! assert!(took > alone * 19 / 10 && took < alone * 22 / 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - Time is in whole picoseconds and events have a total order: by time, then by class (lines
//!   become free before packets arrive at them), then in the order in which they were asked for. The
//!   same seed gives the same [`Outcome::trace_hash`] on every machine.
//! - Without contention, times are exact: they equal [`ideal_time`].
//! - Packets that stacks sent were delivered, lost or are under way; [`Outcome`] has all three.
//! - A packet that finds its line free and nobody waiting leaves at once and sees no queue. Only
//!   what waits counts towards limits and thresholds.
//!
//! # What it is not
//!
//! Hosts have no processor: stacks take no time, and timers are exact. Preambles and gaps between
//! frames are not counted. There are no pause frames and no shared memory across the ports of a
//! switch. Routes change at once everywhere when a failure is noticed. A link that goes down loses
//! what leaves for it; what is on it arrives.
//!
//! It reads no clock, opens no file and starts no thread: who measures its speed brings a clock
//! ([`speed`]), who wants a trace brings a writer ([`JsonLines`], [`Pcap`]).
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
pub use fault::{Fault, On, Only, Trouble};
pub use flow::{Done, Driver, Flow, FlowId, HostId, Messages, Ready};
pub use packet::{CONTROL, Flags, HEADER, MTU, PAYLOAD, Packet};
pub use schedule::Schedule;
pub use scheme::{PortBase, Scheme, Tcp, UnknownScheme, World};
pub use series::{LinkSeries, Sample, Series, SeriesSetup};
pub use setup::{
    Discipline, NicSetup, PortSetup, QUEUES, QueueSetup, Routing, Setup, SetupError, SharedMemory,
    packet_sizes,
};
pub use simulation::{Drops, Limits, Outcome, Simulation, Stopped, ideal_time, ideal_time_on};
pub use stack::{Context, Stack, Tally};
pub use trace::{DropReason, JsonLines, Observer, Pcap, TraceEvent};
