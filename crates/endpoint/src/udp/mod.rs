//! UDP the way a fast transport needs it: batches out, batches in, marks both ways.
//!
//! One [`Socket`] sends batches of equal-size datagrams with a single system call (UDP GSO),
//! receives many with a single system call (`recvmmsg` and UDP GRO), writes DSCP and ECN on every
//! packet and reads them back, never lets IP fragment, and counts what the kernel had to drop.
//! Whatever the kernel or the network card refuses is noticed, recorded in [`Capabilities`] and
//! done the slow way: the bytes that arrive are the same.
//!
//! It is not a transport: it knows nothing of connections, pacing or keys. It is also the only
//! place of the crate that talks to the kernel directly.
//!
//! ```ignore
//! let socket = Socket::bind("[::]:0".parse()?, &SocketOptions::default())?;
//! let (waker, mut buffers) = (Waker::new()?, RecvBuffers::default());
//! let batch = vec![7; 10 * 1400];
//! socket.send(&Transmission {
//!     to: "192.0.2.1:4000".parse()?,
//!     from: None,
//!     ecn: Ecn::Ect0,
//!     dscp: Dscp::DEFAULT,
//!     segment_size: 1400,
//!     parts: &[IoSlice::new(&batch)],
//!     total: batch.len(),
//! })?;
//! let ready = wait(&socket, Interest::Read, Some(&waker), Some(Duration::from_micros(200)))?;
//! if ready.readable {
//!     socket.recv(&mut buffers)?;
//!     for received in buffers.iter_mut() {
//!         for datagram in received.bytes.chunks_mut(received.stride) { /* … */ }
//!     }
//! }
//! ```

// sendmsg, recvmmsg, control messages, eventfd and getifaddrs have no safe wrapper in std or
// socket2.
#![allow(unsafe_code)]

mod address;
mod capabilities;
mod cmsg;
mod error;
mod options;
mod probe;
mod receive;
mod route;
mod segment;
mod send;
mod socket;
mod sockopt;
mod spin;
mod steer;
#[cfg(test)]
mod tests;
mod wait;

pub use capabilities::Capabilities;
pub use error::{BindError, SendError};
pub use options::SocketOptions;
pub use probe::{ClockReport, KernelLimits, LoopbackReport, clock, kernel_limits, loopback};
pub use receive::{Datagrams, Received, RecvBuffers};
pub use route::{Interface, interface_of, local_address_for, max_udp_payload, path_mtu};
pub use send::{Sent, Transmission};
pub use socket::{QueueState, Socket};
pub use spin::Spin;
pub use steer::bind_group;
pub use wait::{Interest, Ready, Waker, tighten_timer_slack, wait};
