//! Output-queued switches with strict-priority queues, as a state machine in virtual time.
//!
//! A [`Fabric`] is one or more switches with hosts around them. Each port has up to eight queues with
//! limits in bytes or packets, marks by queue length, a rate, a delay line, and loss by chance; the
//! class of a frame is its DSCP. Ways are the shortest ones, equal ones are shared by flow.
//!
//! It has no sockets, reads no clock and draws all chance from its seed: the tests drive it under a
//! virtual clock, and the lab puts the same one between real network interfaces. It is not a router:
//! it looks at hardware addresses and at the two bytes of the IP header that speak about queues.
//!
//! ```
//! use laxity_interface::{Bytes, Rate, Span, Time};
//! use laxity_switch::{Fabric, MacAddress, PortConfig, QueueLayout};
//!
//! let mut builder = Fabric::builder(42);
//! let switch = builder.add_switch();
//! let down = PortConfig::new(Rate::from_gbps(1), Span::from_us(10))
//!     .with_layout(QueueLayout::slack(Bytes::from_kib(256), Bytes::new(1500)));
//! let hosts = [0, 1].map(|number| {
//!     let host = builder.add_host(MacAddress::of_host(number));
//!     builder.connect(host, switch, PortConfig::wire(Span::from_us(10)), down.clone());
//!     host
//! });
//! let mut fabric = builder.build()?;
//!
//! let mut bytes = vec![0; 1226]; // 1250 on the wire: 10 us at 1 Gbit/s
//! bytes[..6].copy_from_slice(&MacAddress::of_host(1).0);
//! let frame = fabric.frame(&bytes);
//! fabric.handle_frame(Time::ZERO, hosts[0], frame);
//! while let Some(now) = fabric.poll_timeout() {
//!     while let Some((host, frame, due)) = fabric.poll_frame(now) {
//!         println!("{host}: {} at {due}", frame.size()); // host 1: 1226B at 30us
//!         # assert_eq!((host, due), (hosts[1], Time::ZERO + Span::from_us(30)));
//!         fabric.recycle(frame);
//!     }
//! }
//! # assert_eq!(fabric.counters().ports[3].delivered.packets, 1);
//! # Ok::<(), laxity_switch::BuildError>(())
//! ```
#![forbid(unsafe_code)]

mod builder;
mod change;
mod config;
mod counters;
mod fabric;
mod frame;
mod ids;
mod port;
mod queues;
mod routes;

pub use builder::{BuildError, FabricBuilder, Link};
pub use change::Change;
pub use config::{
    ETHERNET_HEADER, ETHERNET_OVERHEAD, Limit, Loss, MARK_PACKETS, MAX_QUEUES, PortConfig,
    QueueConfig, QueueLayout, SLACK_CODE_POINTS, slack_classes,
};
pub use counters::{Count, Counters, PortCounters, QueueCounters};
pub use fabric::Fabric;
pub use frame::{Frame, MacAddress};
pub use ids::{HostId, NodeId, PortId, SwitchId};
