//! What can go wrong, with the address it went wrong with.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The kernel gave no socket at all.
    #[error("cannot open a UDP socket for {address}: {source}")]
    Open {
        /// The address asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A setting without which the socket is of no use was refused.
    #[error("cannot set {setting} on the UDP socket for {address}: {source}")]
    Setting {
        /// The address asked for.
        address: SocketAddr,
        /// The setting's name in the kernel's manual.
        setting: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The address is in use, not ours, or not permitted.
    #[error("cannot bind UDP {address}: {source}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A group must have between 1 and 256 sockets: one byte of the packet chooses.
    #[error("cannot share UDP {address} among {count} sockets: give a number from 1 to 256")]
    Group {
        /// The address asked for.
        address: SocketAddr,
        /// The number asked for.
        count: usize,
    },
}

/// Why a batch did not go, or not all of it.
///
/// `sent` counts the leading segments that did go; the rest is still the caller's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The socket's send buffer is full: wait until the socket is writable.
    #[error("send buffer full after {sent} segments to {to}")]
    WouldBlock {
        /// The peer.
        to: SocketAddr,
        /// Leading segments that went.
        sent: usize,
    },
    /// The kernel or the card has no memory or queue space; waiting for writability does not help.
    #[error("no buffer space in the kernel after {sent} segments to {to}")]
    NoBuffers {
        /// The peer.
        to: SocketAddr,
        /// Leading segments that went.
        sent: usize,
    },
    /// An earlier datagram was answered by "port unreachable"; this one was not sent.
    #[error("{to} refused an earlier datagram (nobody listens there); {sent} segments went now")]
    Refused {
        /// The peer.
        to: SocketAddr,
        /// Leading segments that went.
        sent: usize,
    },
    /// A firewall rule or a prohibiting route on this machine forbids it.
    #[error("this machine's firewall or routes forbid sending to {to} ({sent} segments went)")]
    Forbidden {
        /// The peer.
        to: SocketAddr,
        /// Leading segments that went.
        sent: usize,
    },
    /// There is no way to the peer.
    #[error("no route to {to}: {source} ({sent} segments went)")]
    Unreachable {
        /// The peer.
        to: SocketAddr,
        /// Leading segments that went.
        sent: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// The segment does not fit the interface's MTU, and we never fragment.
    #[error("segments of {segment_size} bytes do not fit the path to {to} ({sent} went)")]
    TooLarge {
        /// The peer.
        to: SocketAddr,
        /// Leading segments that went.
        sent: usize,
        /// The size that does not fit.
        segment_size: usize,
    },
    /// An IPv4 socket cannot reach an IPv6 peer, nor an IPv6-only socket an IPv4 peer.
    #[error("socket bound to {local} cannot send to {to}: other address family")]
    WrongFamily {
        /// The peer.
        to: SocketAddr,
        /// The socket's own address.
        local: SocketAddr,
    },
    /// The source address asked for is of another family than the peer's.
    #[error("cannot send to {to} from {from}: other address family")]
    WrongSource {
        /// The peer.
        to: SocketAddr,
        /// The source asked for.
        from: IpAddr,
    },
    /// The batch contradicts itself: our own mistake, not the network's.
    #[error("malformed batch for {to}: {reason}")]
    Malformed {
        /// The peer.
        to: SocketAddr,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Anything else.
    #[error("cannot send to {to}: {source} ({sent} segments went)")]
    Other {
        /// The peer.
        to: SocketAddr,
        /// Leading segments that went.
        sent: usize,
        /// What the kernel said.
        source: io::Error,
    },
}

impl SendError {
    /// How many leading segments went before the error.
    pub fn sent(&self) -> usize {
        match *self {
            Self::WouldBlock { sent, .. }
            | Self::NoBuffers { sent, .. }
            | Self::Refused { sent, .. }
            | Self::Forbidden { sent, .. }
            | Self::Unreachable { sent, .. }
            | Self::TooLarge { sent, .. }
            | Self::Other { sent, .. } => sent,
            Self::WrongFamily { .. } | Self::WrongSource { .. } | Self::Malformed { .. } => 0,
        }
    }

    /// The peer the batch was for.
    pub fn to(&self) -> SocketAddr {
        match *self {
            Self::WouldBlock { to, .. }
            | Self::NoBuffers { to, .. }
            | Self::Refused { to, .. }
            | Self::Forbidden { to, .. }
            | Self::Unreachable { to, .. }
            | Self::TooLarge { to, .. }
            | Self::WrongFamily { to, .. }
            | Self::WrongSource { to, .. }
            | Self::Malformed { to, .. }
            | Self::Other { to, .. } => to,
        }
    }

    /// Whether the same batch may well go a little later: to be treated as loss, not as an end.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::WouldBlock { .. } | Self::NoBuffers { .. } | Self::Refused { .. })
    }

    pub(super) fn classify(errno: i32, to: SocketAddr, sent: usize, segment_size: usize) -> Self {
        let source = io::Error::from_raw_os_error(errno);
        match errno {
            // EAGAIN and EWOULDBLOCK are one number on Linux.
            libc::EAGAIN => Self::WouldBlock { to, sent },
            libc::ENOBUFS | libc::ENOMEM => Self::NoBuffers { to, sent },
            libc::ECONNREFUSED => Self::Refused { to, sent },
            libc::EPERM | libc::EACCES => Self::Forbidden { to, sent },
            libc::EMSGSIZE => Self::TooLarge { to, sent, segment_size },
            libc::ENETUNREACH
            | libc::EHOSTUNREACH
            | libc::ENETDOWN
            | libc::EHOSTDOWN
            | libc::ENODEV
            | libc::EADDRNOTAVAIL => Self::Unreachable { to, sent, source },
            _ => Self::Other { to, sent, source },
        }
    }
}
