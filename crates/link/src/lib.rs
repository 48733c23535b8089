//! One emulated one-way link: rate, delay, a queue, ECN marks, and faults by rule.
//!
//! A [`Link`] is a state machine in virtual time. The protocol's virtual-clock tests, the real-time
//! lab and the packet simulator drive the same one, so a network that breaks the protocol in one of
//! them breaks it in all. It has no sockets, reads no clock and never looks into a payload; two of
//! them make a two-way path, and switches with priority queues are the packet simulator's business.
//!
//! The canonical loop hands packets in, sleeps until [`Link::poll_timeout`], and takes out what has
//! arrived:
//!
//! ```
//! use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
//! use laxity_link::{Link, LinkConfig, PacketInfo, Rules, rules::RandomLoss};
//!
//! let config = LinkConfig {
//!     rate: Some(Rate::from_gbps(10)),
//!     delay: Span::from_us(20),
//!     queue: Bytes::from_kib(64),
//!     ..LinkConfig::default()
//! };
//! let rules = Rules::new().with(RandomLoss::new(Fraction::new(0.01)?, 42, 0));
//! let mut link = Link::new(config, rules);
//!
//! for payload in ["first", "second"] {
//!     // A refusal says why; a real sender never learns of it.
//!     let _ = link.handle_packet(Time::ZERO, PacketInfo::new(Bytes::new(1250)), payload);
//! }
//! while let Some(now) = link.poll_timeout() {
//!     while let Some(delivery) = link.poll_delivery(now) {
//!         println!("{}: {}", delivery.at, delivery.payload); // 21us: first, 22us: second
//!     }
//! }
//! # assert_eq!(link.stats().delivered, 2);
//! # Ok::<(), laxity_interface::FractionError>(())
//! ```
//!
//! The same seed gives the same faults: every source of chance has its own [`stream`].
#![forbid(unsafe_code)]

mod link;
mod packet;
mod random;
mod rule;
pub mod rules;

pub use link::{Delivery, DropReason, Dropped, Link, LinkConfig, LinkStats};
pub use packet::{ETHERNET_IPV4_UDP, PacketInfo, flip_bits};
pub use rand_pcg::Pcg64;
pub use random::{chance, stream, uniform};
pub use rule::{Rule, Rules, Verdict};
