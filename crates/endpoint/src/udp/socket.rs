//! The socket: opening, settings and what it reports about itself.

use std::{
    ffi::c_int,
    io,
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    sync::atomic::{AtomicU64, Ordering},
};

use socket2::{Domain, Protocol, SockAddr, Type};

use super::{
    address,
    capabilities::{Capabilities, State, kernel_max_segments},
    error::BindError,
    options::SocketOptions,
    sockopt,
};

/// A nonblocking UDP socket; every method takes `&self`, so threads may share it.
#[derive(Debug)]
pub struct Socket {
    inner: socket2::Socket,
    local: SocketAddr,
    only_v6: bool,
    pub(super) state: State,
    drops: DropCounter,
    #[cfg(test)]
    pub(super) pretend: super::tests::Pretend,
}

/// How full a socket's queues are, in bytes of kernel memory (overhead included).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueState {
    /// Received and not yet taken by us.
    pub receiving: usize,
    /// At which [`receiving`](Self::receiving) the kernel begins to drop.
    pub receive_limit: usize,
    /// Sent by us and not yet on the wire.
    pub sending: usize,
    /// At which [`sending`](Self::sending) a send would block.
    pub send_limit: usize,
}

impl Socket {
    /// Opens a socket on `address`; port 0 lets the kernel choose, `[::]` serves IPv4 as well.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> Result<Self, BindError> {
        let v6 = address.is_ipv6();
        let inner =
            socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))
                .map_err(|source| BindError::Open { address, source })?;
        let needed = |setting, result: io::Result<()>| {
            result.map_err(|source| BindError::Setting { address, setting, source })
        };
        needed("O_NONBLOCK", inner.set_nonblocking(true))?;
        if v6 {
            needed("IPV6_V6ONLY", inner.set_only_v6(options.only_v6))?;
        }
        if options.reuse_port {
            needed("SO_REUSEPORT", inner.set_reuse_port(true))?;
        }
        // Before bind, so that no packet arrives that was not treated by these settings.
        let at_bind = configure(&inner, v6, options);
        inner
            .bind(&SockAddr::from(address))
            .map_err(|source| BindError::Bind { address, source })?;
        let local = inner
            .local_addr()
            .and_then(|local| local.as_socket().ok_or_else(|| io::ErrorKind::InvalidData.into()))
            .map_err(|source| BindError::Bind { address, source })?;
        Ok(Self {
            inner,
            local,
            only_v6: options.only_v6,
            state: State::new(at_bind),
            drops: DropCounter::default(),
            #[cfg(test)]
            pretend: super::tests::Pretend::default(),
        })
    }

    /// The address bound to, with the port that the kernel chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What the socket can do at this moment.
    pub fn capabilities(&self) -> Capabilities {
        self.state.snapshot()
    }

    /// How many segments of this size go to `to` in one system call: the best batch.
    ///
    /// Larger batches are permitted and cost further system calls.
    pub fn batch_limit(&self, to: SocketAddr, segment_size: usize) -> usize {
        let by_size = super::send::max_payload(to) / segment_size.max(1);
        self.state.max_segments().min(by_size).max(1)
    }

    /// Datagrams that the kernel dropped because our receive buffer was full, as far as arriving
    /// packets have told us; a run that the kernel had coalesced counts as one.
    ///
    /// Drops behind the last packet received are unknown until the next one, or until
    /// [`queue_state`](Self::queue_state) asks the kernel.
    pub fn dropped(&self) -> u64 {
        self.drops.total()
    }

    pub(super) fn note_drops(&self, seen: u32) {
        self.drops.note(seen);
    }

    /// Asks the kernel how full the queues are, and brings [`dropped`](Self::dropped) up to date.
    pub fn queue_state(&self) -> io::Result<QueueState> {
        // SK_MEMINFO_*: rmem_alloc, rcvbuf, wmem_alloc, sndbuf, fwd_alloc, wmem_queued, optmem,
        // backlog, drops.
        let mut words: [c_int; 9] = [0; 9];
        let filled =
            sockopt::get_words(self.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, &mut words)?;
        if filled > 8 {
            self.note_drops(words[8] as u32);
        }
        let [receiving, receive_limit, sending, send_limit] =
            [words[0], words[1], words[2], words[3]].map(|word| word as u32 as usize);
        Ok(QueueState { receiving, receive_limit, sending, send_limit })
    }

    /// The address to hand to the kernel for `to`; `None` if this socket cannot reach it.
    pub(super) fn name_for(&self, to: SocketAddr) -> Option<SockAddr> {
        let v6 = self.local.is_ipv6();
        if v6 && self.only_v6 && address::is_v4(to.ip()) {
            return None;
        }
        address::reachable(to, v6).map(SockAddr::from)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}

/// Asks for everything that is good to have and notes what was granted.
fn configure(socket: &socket2::Socket, v6: bool, options: &SocketOptions) -> Capabilities {
    let fd = socket.as_fd();
    let on = |level, name| sockopt::set(fd, level, name, 1).is_ok();
    // A dual-stack socket carries both families' packets and has both families' settings. Those for
    // IPv4 are refused on an IPv6-only socket by some kernels, which then does not matter.
    let v4 = !v6 || !options.only_v6;
    let both = |name4, name6| {
        let four = !v4 || on(libc::IPPROTO_IP, name4);
        let six = !v6 || on(libc::IPPROTO_IPV6, name6);
        four && six
    };
    let probe = |level, name, value| sockopt::set(fd, level, name, value).is_ok();
    // PROBE rather than DO: what ICMP says about the path's MTU is ignored, since anyone may forge
    // it.
    let no_fragment = (!v4
        || probe(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE))
        && (!v6 || probe(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE));
    let max_segments = if options.gso { kernel_max_segments() } else { 1 };
    resize(socket, options);
    // The kernel reports twice what was asked for.
    let size = |got: io::Result<usize>| got.map_or(0, |bytes| bytes / 2);
    Capabilities {
        gso: max_segments > 1,
        gro: options.gro && on(libc::SOL_UDP, libc::UDP_GRO),
        ecn: both(libc::IP_RECVTOS, libc::IPV6_RECVTCLASS),
        marking: true,
        local_address: both(libc::IP_PKTINFO, libc::IPV6_RECVPKTINFO),
        rxq_ovfl: on(libc::SOL_SOCKET, libc::SO_RXQ_OVFL),
        arrival_times: on(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS),
        no_fragment,
        max_segments,
        recv_buffer: size(socket.recv_buffer_size()),
        send_buffer: size(socket.send_buffer_size()),
    }
}

/// Sizes the buffers: past the system's limit if we are allowed to, else up to it.
fn resize(socket: &socket2::Socket, options: &SocketOptions) {
    let force = |name, bytes: usize| {
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        sockopt::set(socket.as_fd(), libc::SOL_SOCKET, name, bytes).is_ok()
    };
    if let Some(bytes) = options.recv_buffer {
        let _ = force(libc::SO_RCVBUFFORCE, bytes) || force(libc::SO_RCVBUF, bytes);
    }
    if let Some(bytes) = options.send_buffer {
        let _ = force(libc::SO_SNDBUFFORCE, bytes) || force(libc::SO_SNDBUF, bytes);
    }
}

/// The kernel's 32-bit drop counter, continued in 64 bits.
#[derive(Debug, Default)]
pub(super) struct DropCounter(AtomicU64);

impl DropCounter {
    pub(super) fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The low half of the total is always the last value seen, so the step since is their
    /// difference modulo 2³². A step backwards is an older packet's note that another thread read
    /// later.
    pub(super) fn note(&self, seen: u32) {
        let step = |total: u64| {
            let step = seen.wrapping_sub(total as u32);
            (step != 0 && step < 1 << 31).then(|| total + u64::from(step))
        };
        // The error only says that there was no step.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_go_on_counting_past_32_bits() {
        let counter = DropCounter::default();
        let mut expected = 0;
        for _ in 0..10 {
            expected += (1 << 30) + 7;
            counter.note(expected as u32);
            assert_eq!(counter.total(), expected);
        }
        assert!(expected > u64::from(u32::MAX));
    }

    #[test]
    fn an_older_note_does_not_count_again() {
        let counter = DropCounter::default();
        counter.note(50);
        counter.note(30);
        counter.note(50);
        assert_eq!(counter.total(), 50);
    }
}
