//! What a socket is asked to be.

/// What a [`Socket`](super::Socket) is asked to be; what it became is in
/// [`Capabilities`](super::Capabilities).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketOptions {
    /// Bytes the kernel may hold for us before it drops; `None` keeps the system's default.
    pub recv_buffer: Option<usize>,
    /// Bytes the kernel may hold of ours before a send says "would block"; `None` keeps the
    /// default.
    pub send_buffer: Option<usize>,
    /// Whether several sockets share the port (see [`bind_group`](super::bind_group)).
    pub reuse_port: bool,
    /// Whether an IPv6 socket leaves IPv4 alone; otherwise `[::]` serves both.
    pub only_v6: bool,
    /// Whether to try segmentation offload: one system call for a batch of datagrams.
    pub gso: bool,
    /// Whether to try receive offload: one message for a run of datagrams.
    pub gro: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            // 8 MiB is 6 ms at 10 Gbit/s: what a busy machine may keep a receiver off its core.
            recv_buffer: Some(8 << 20),
            // Small on purpose: what waits in the host's own queue is late, and can no longer be
            // reordered or dropped by us.
            send_buffer: Some(1 << 20),
            reuse_port: false,
            only_v6: false,
            gso: true,
            gro: true,
        }
    }
}
