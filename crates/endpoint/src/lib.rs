//! Laxity's transport on real UDP sockets.
//!
//! **What it is.** [`Endpoint`] opens a UDP port; [`Peer::send`] sends tensors and messages with a
//! stated minimum delivery straight from the application's memory; [`Endpoint::recv`] and
//! [`Endpoint::recv_into`] receive them, chunks going to their final address. Both sides get a
//! [`DeliveryReport`]: what was promised, what arrived, exactly what is missing. Blocking and
//! asynchronous calls, any runtime.
//!
//! **What it is not.** No protocol decisions: those are `laxity-protocol`'s, the same code that the
//! simulators run. No collectives and no cluster controller.
//!
//! ```
//! use laxity_endpoint::{Endpoint, Fraction, Key, Outgoing};
//!
//! let key = Key::new([7; 32]); // `laxity keygen` makes real ones
//! let receiver = Endpoint::builder().key(key.clone()).bind("127.0.0.1:0".parse()?)?;
//! let sender = Endpoint::builder().key(key).bind("127.0.0.1:0".parse()?)?;
//!
//! let to = receiver.local_addr();
//! let gradient = vec![0.5f32; 100_000];
//! let thread = std::thread::spawn(move || {
//!     let mut buffer = vec![0f32; 100_000];
//!     let report = receiver.recv_into(&mut buffer).unwrap();
//!     (buffer[99_999], report.fraction())
//! });
//! let peer = sender.connect(to)?;
//! let report = peer.send(Outgoing::tensor(&gradient).min_delivery(Fraction::new(0.99)?))?;
//! assert!(report.fraction() >= 0.99);
//! assert_eq!(thread.join().unwrap().1, report.fraction());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod core;
mod element;
mod endpoint;
mod error;
mod inbox;
mod incoming;
mod outgoing;
mod payloads;
mod peer;
mod prefetch;
mod queue;
mod shard;
mod store;
pub mod udp;

pub use laxity_interface::{Finish, Fraction, GroupId, Layout};
pub use laxity_protocol::{
    Cipher, CipherChoice, CipherError, Ciphers, ClassRule, Config, ConnectError, ControllerKind,
    DeliveryReport, ElementType, Ended, Gone, GroupDelivery, GroupSpec, JobError, JobKind, JobOpen,
    JobOrder, Key, KeyError, LaneKind, MessageOrder, Missing, PeerId, PeerInfo, Progress, RecvId,
    ResetCode, SendId, SendRequestError, Stats,
};

pub use crate::{
    element::{Buffer, Element},
    endpoint::{Builder, Endpoint},
    error::{BuildError, RecvError, SendError},
    incoming::{Incoming, Received, ReceivedData},
    outgoing::Outgoing,
    payloads::Message,
    peer::{Peer, SendHandle, Window},
    queue::{Arrived, Bell, Happening, Queue},
    store::Store,
};
