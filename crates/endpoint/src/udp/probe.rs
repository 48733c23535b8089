//! What this machine can do, tried out: facts for `laxity doctor`.

use std::{
    fs, io,
    io::IoSlice,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::{Duration, Instant},
};

use laxity_interface::{Dscp, Ecn};

use super::{
    capabilities::{Capabilities, kernel_max_segments},
    options::SocketOptions,
    receive::RecvBuffers,
    send::Transmission,
    socket::Socket,
    steer::bind_group,
    wait::{Interest, wait},
};

/// The system's limits that matter to us; `None` where this kernel or container hides them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KernelLimits {
    /// The kernel's release, as in `6.18.44`.
    pub release: Option<String>,
    /// The largest receive buffer without privileges (`net.core.rmem_max`), in bytes.
    pub rmem_max: Option<u64>,
    /// The largest send buffer without privileges (`net.core.wmem_max`), in bytes.
    pub wmem_max: Option<u64>,
    /// The receive buffer nobody asked for (`net.core.rmem_default`), in bytes.
    pub rmem_default: Option<u64>,
    /// Packets that wait between card and protocol per core (`net.core.netdev_max_backlog`).
    pub netdev_max_backlog: Option<u64>,
    /// Where all UDP sockets together are limited (last value of `net.ipv4.udp_mem`), in pages.
    pub udp_mem_pages: Option<u64>,
    /// Segments that one send may carry; 1 without segmentation offload.
    pub max_segments: usize,
}

/// Reads the system's limits.
pub fn kernel_limits() -> KernelLimits {
    let text = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).ok();
    let last =
        |name: &str| text(name).and_then(|text| text.split_whitespace().last()?.parse().ok());
    KernelLimits {
        release: text("kernel/osrelease").map(|text| text.trim().to_owned()),
        rmem_max: last("net/core/rmem_max"),
        wmem_max: last("net/core/wmem_max"),
        rmem_default: last("net/core/rmem_default"),
        netdev_max_backlog: last("net/core/netdev_max_backlog"),
        udp_mem_pages: last("net/ipv4/udp_mem"),
        max_segments: kernel_max_segments(),
    }
}

/// What arrived of a batch that was sent to ourselves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopbackReport {
    /// What the socket was granted, after the send.
    pub capabilities: Capabilities,
    /// The batch went in one system call.
    pub offloaded: bool,
    /// Every datagram arrived whole and in order.
    pub delivered: bool,
    /// Several datagrams arrived as one message.
    pub coalesced: bool,
    /// Code point and congestion mark arrived as sent.
    pub marks_kept: bool,
    /// The kernel accepts a program that steers packets among sockets.
    pub steering: bool,
}

/// Sends a batch to ourselves with the given settings and looks at what arrives.
pub fn loopback(v6: bool, options: &SocketOptions) -> io::Result<LoopbackReport> {
    const SEGMENT: usize = 1000;
    const SEGMENTS: usize = 16;
    let ip: IpAddr = if v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    let address = SocketAddr::new(ip, 0);
    let socket = Socket::bind(address, options).map_err(io::Error::other)?;
    let payload: Vec<u8> = (0..SEGMENT * SEGMENTS).map(|i| (i / SEGMENT) as u8).collect();
    // Any values that are not the defaults.
    let (ecn, dscp) = (Ecn::Ect1, Dscp::from_tos(0xb8));
    let sent = socket
        .send(&Transmission {
            to: socket.local_addr(),
            from: None,
            ecn,
            dscp,
            segment_size: SEGMENT,
            parts: &[IoSlice::new(&payload)],
            total: payload.len(),
        })
        .map_err(io::Error::other)?;
    let mut buffers = RecvBuffers::new(SEGMENTS, RecvBuffers::WHOLE);
    let (mut arrived, mut coalesced, mut marks_kept) = (Vec::new(), false, true);
    while arrived.len() < payload.len() {
        let patience = Some(Duration::from_millis(200));
        if !wait(&socket, Interest::Read, None, patience)?.readable {
            break;
        }
        socket.recv(&mut buffers)?;
        for received in buffers.iter_mut() {
            coalesced |= received.len() > 1;
            marks_kept &= received.ecn == ecn && received.dscp == dscp;
            arrived.extend_from_slice(received.bytes);
        }
    }
    Ok(LoopbackReport {
        capabilities: socket.capabilities(),
        offloaded: sent.offloaded,
        delivered: arrived == payload,
        coalesced,
        marks_kept: marks_kept && !arrived.is_empty(),
        steering: bind_group(address, options, 2).is_ok_and(|(_, steered)| steered),
    })
}

/// How good the clock and the timers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockReport {
    /// The smallest step seen between two readings.
    pub step: Duration,
    /// What one reading costs; above 100 ns the clock is not read in user space.
    pub read_cost: Duration,
    /// How much later than asked a 200 µs sleep ended: the median of 21.
    pub sleep_late_median: Duration,
    /// The same, the worst of 21.
    pub sleep_late_worst: Duration,
}

/// Measures clock and timers; takes some 10 ms.
pub fn clock() -> io::Result<ClockReport> {
    const READINGS: u32 = 10_000;
    let started = Instant::now();
    let (mut last, mut step) = (started, Duration::MAX);
    for _ in 0..READINGS {
        let now = Instant::now();
        if now > last {
            step = step.min(now - last);
        }
        last = now;
    }
    let read_cost = (last - started) / READINGS;
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let small = SocketOptions { recv_buffer: None, send_buffer: None, ..SocketOptions::default() };
    let socket = Socket::bind(any, &small).map_err(io::Error::other)?;
    let nap = Duration::from_micros(200);
    let mut late = [Duration::ZERO; 21];
    for late in &mut late {
        let started = Instant::now();
        wait(&socket, Interest::Read, None, Some(nap))?;
        *late = started.elapsed().saturating_sub(nap);
    }
    late.sort_unstable();
    Ok(ClockReport { step, read_cost, sleep_late_median: late[10], sleep_late_worst: late[20] })
}
