//! What kernel and hardware gave us, and what they took back.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::fd::AsFd,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use super::sockopt;

/// Segments per batch on kernels before 6.9 (`UDP_MAX_SEGMENTS`).
const SEGMENTS_OLD: usize = 64;
/// Segments per batch since.
const SEGMENTS_NEW: usize = 128;

/// What a socket can do at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// A batch goes out in one system call; switched off, for all peers and for good, when the
    /// kernel or the card refuses.
    pub gso: bool,
    /// Runs of datagrams come in as one message.
    pub gro: bool,
    /// ECN and DSCP of arriving packets are known.
    pub ecn: bool,
    /// Departing packets carry the ECN and DSCP asked for; switched off when the kernel refuses.
    pub marking: bool,
    /// The local address that a peer used is known.
    pub local_address: bool,
    /// The kernel reports what it drops for want of buffer space.
    pub rxq_ovfl: bool,
    /// The kernel says when packets arrived.
    pub arrival_times: bool,
    /// Datagrams that do not fit are refused rather than fragmented.
    pub no_fragment: bool,
    /// The most segments that one system call carries; 1 without [`gso`](Self::gso).
    pub max_segments: usize,
    /// The receive buffer really got, in the unit it was asked for. (The kernel doubles what is
    /// asked for, to account for its own overhead, and reports the double.)
    pub recv_buffer: usize,
    /// The send buffer really got.
    pub send_buffer: usize,
}

/// The capabilities of a live socket: the two that may be lost later can change under `&self`.
#[derive(Debug)]
pub(super) struct State {
    at_bind: Capabilities,
    gso: AtomicBool,
    marking: AtomicBool,
}

impl State {
    pub(super) fn new(at_bind: Capabilities) -> Self {
        Self {
            at_bind,
            gso: AtomicBool::new(at_bind.gso),
            marking: AtomicBool::new(at_bind.marking),
        }
    }

    // Relaxed throughout: the flags are hints; a send that still sees the old value finds out
    // itself.
    pub(super) fn gso(&self) -> bool {
        self.gso.load(Ordering::Relaxed)
    }

    pub(super) fn marking(&self) -> bool {
        self.marking.load(Ordering::Relaxed)
    }

    pub(super) fn lose_gso(&self) {
        self.gso.store(false, Ordering::Relaxed);
    }

    pub(super) fn lose_marking(&self) {
        self.marking.store(false, Ordering::Relaxed);
    }

    pub(super) fn max_segments(&self) -> usize {
        if self.gso() { self.at_bind.max_segments } else { 1 }
    }

    pub(super) fn snapshot(&self) -> Capabilities {
        Capabilities {
            gso: self.gso(),
            marking: self.marking(),
            max_segments: self.max_segments(),
            ..self.at_bind
        }
    }
}

/// How many segments this kernel cuts one send into; 1 if it does not know segmentation.
///
/// There is no way to ask, so a batch of one-byte segments is sent to ourselves over loopback, once
/// per process. Where loopback is down (a fresh network namespace) the old limit is assumed: it is
/// never wrong, only smaller.
pub(super) fn kernel_max_segments() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let addresses: [SocketAddr; 2] =
            [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
        addresses.into_iter().find_map(segments_over).unwrap_or(SEGMENTS_OLD)
    })
}

/// `None` if the address tells nothing, because it cannot be bound or sent to.
fn segments_over(address: SocketAddr) -> Option<usize> {
    let socket = UdpSocket::bind(address).ok()?;
    let own = socket.local_addr().ok()?;
    socket.set_nonblocking(true).ok()?;
    if sockopt::set(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 1).is_err() {
        return Some(1);
    }
    let payload = [0; SEGMENTS_NEW];
    let takes = |segments: usize| socket.send_to(&payload[..segments], own);
    match takes(SEGMENTS_NEW) {
        Ok(_) => Some(SEGMENTS_NEW),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => match takes(SEGMENTS_OLD) {
            Ok(_) => Some(SEGMENTS_OLD),
            Err(_) => Some(1),
        },
        Err(error) if error.raw_os_error() == Some(libc::EIO) => Some(1),
        Err(_) => None,
    }
}
