//! Laxity's bounded-loss transport as a sans-IO state machine.
//!
//! **What it is.** Jobs of messages or tensors go from one endpoint to another over datagrams. Each
//! group of a job states which fraction must arrive; the protocol delivers at least that, finishes as
//! soon as it can, and says exactly what is missing. Time is an argument (integer picoseconds),
//! randomness comes in as a seed, memory is bounded by [`Config`]. `endpoint` drives it over UDP
//! sockets, the simulators under a virtual clock: the same code.
//!
//! **What it is not.** No sockets, no threads, no clock, no user memory: payload is read through
//! [`Memory`] and written through [`Sink`].
//!
//! # The loop
//! One mutation, then drain: [`Endpoint::poll_transmit`] until `None`, [`Endpoint::poll_event`] until
//! `None`, then wait for a datagram or for [`Endpoint::poll_timeout`].
//!
//! ```
//! use laxity_interface::{Ecn, Fraction, Span, Time};
//! use laxity_protocol::{Batch, BodyRef, Config, ElementType, Endpoint, Event, Memory, SendRequest};
//!
//! struct Zeros([u8; 4096]);
//! impl Memory for Zeros {
//!     fn bytes(&self, body: &BodyRef) -> &[u8] {
//!         &self.0[..body.length]
//!     }
//! }
//!
//! let (memory, mut batch) = (Zeros([0; 4096]), Batch::default());
//! let mut ends = [Endpoint::new(Config::insecure(), [1; 32]), Endpoint::new(Config::insecure(), [2; 32])];
//! let addresses = ["10.0.0.1:1".parse().unwrap(), "10.0.0.2:1".parse().unwrap()];
//! let mut now = Time::ZERO;
//! let peer = ends[0].connect(now, addresses[1]).unwrap();
//! let mut received = None;
//! while received.is_none() {
//!     now += Span::from_us(10);
//!     for (from, to) in [(0, 1), (1, 0)] {
//!         ends[from].handle_timeout(now);
//!         while let Some(transmit) = ends[from].poll_transmit(now, &memory, &mut batch) {
//!             for mut packet in batch.packets(&transmit, &memory) {
//!                 ends[to].handle_datagram(now, addresses[from], Ecn::Ect0, &mut packet, &mut ());
//!             }
//!         }
//!         while let Some(event) = ends[from].poll_event() {
//!             match event {
//!                 Event::Connected(_) if from == 0 => {
//!                     let most = Fraction::new(0.95).unwrap();
//!                     let job = SendRequest::tensor(ElementType::F32, 100_000, most);
//!                     ends[0].send(now, peer, &job).unwrap();
//!                 }
//!                 Event::Received(_, report) => received = Some(report),
//!                 _ => {}
//!             }
//!         }
//!     }
//! }
//! assert_eq!(received.unwrap().fraction(), 1.0, "nothing got lost here");
//! ```
#![forbid(unsafe_code)]

mod config;
mod connection;
pub mod control;
mod crypto;
mod endpoint;
mod error;
mod event;
mod ids;
mod path;
mod receive;
mod report;
mod send;
mod slack;
mod stats;
mod transmit;
pub mod wire;

pub use config::{BASE_DATAGRAM, ClassRule, Config, JobOrder, Keys, MIN_DATAGRAM};
pub use control::{ControllerKind, Reason};
pub use crypto::{Cipher, CipherChoice, CipherError, Ciphers, Key, KeyError};
pub use endpoint::{Endpoint, LaneInfo, PeerInfo, Presumed};
pub use error::{ConnectError, Gone, JobError, Progress, ResetCode};
pub use event::Event;
pub use ids::{JobId, PeerId, RecvId, SendId};
pub use receive::Sink;
pub use report::{DeliveryReport, Ended, GroupDelivery, Missing};
pub use send::{GroupSpec, MessageOrder, Payload, SendRequest, SendRequestError};
pub use slack::{Class, DscpMap, LaneKind};
pub use stats::Stats;
pub use transmit::{Batch, BodyRef, MAX_BATCH, MAX_SEGMENTS, Memory, Part, Transmit};
pub use wire::{Counts, ElementType, GroupOpen, JobKind, JobOpen, Piece, Refusal};
