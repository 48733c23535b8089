//! Flows over UDP, paced.

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use super::{
    Carrier, Shared, Stats,
    core::Core,
    poller::{Poller, discard, set_option},
};
use crate::{file::Background, host::site};

/// IPv4 and UDP headers.
const HEADERS: u32 = 28;
/// Waking up costs tens of microseconds, so several packets leave at a time.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);
/// Who was held up for longer goes on from now: a burst to catch up would be traffic of another kind.
const FORGET: Duration = Duration::from_millis(2);
/// Packets after which others are let in.
const PIECE: u64 = 64;
/// Flows at a time; what would go beyond is counted.
const MOST: usize = 2000;

/// Paced flows between pairs of hosts.
pub(super) struct Udp<'a> {
    stats: &'a Stats,
    poller: Poller,
    receivers: Vec<(usize, UdpSocket)>,
    /// For each pair: where it sends from, where to, and how much in a packet.
    ways: Vec<(UdpSocket, SocketAddr, usize)>,
    flows: Vec<Flow>,
    /// Nanoseconds per byte of payload.
    pace: f64,
    endless: bool,
    zeros: Vec<u8>,
    core: Core,
}

struct Flow {
    pair: usize,
    left: u64,
    due: Instant,
}

impl<'a> Udp<'a> {
    pub(super) fn new(
        entry: &'a Background,
        pairs: &'a [(usize, usize)],
        shared: &'a Shared,
        stats: &'a Stats,
        core: Core,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let bind = |host: usize| -> io::Result<UdpSocket> {
            let socket = shared.site.inside(host, || UdpSocket::bind(any))??;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let mut receivers: Vec<(usize, UdpSocket)> = Vec::new();
        let mut ways = Vec::new();
        for (from, to) in pairs {
            let known = receivers.iter().position(|(host, _)| host == to);
            let at = known.unwrap_or(receivers.len());
            if known.is_none() {
                let socket = bind(*to)?;
                // As much as the machine allows: nothing of it should be lost here.
                set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, 8 << 20)?;
                poller.add(&socket, at as u64)?;
                receivers.push((*to, socket));
            }
            let port = receivers[at].1.local_addr()?.port();
            let mtu = shared.network.hosts[*from].mtu.min(shared.network.hosts[*to].mtu);
            let payload = (mtu - HEADERS) as usize;
            ways.push((bind(*from)?, SocketAddr::from((site::address(*to), port)), payload));
        }
        let rate = entry.rate.ok_or(ErrorKind::InvalidInput)?;
        Ok(Self {
            stats,
            poller,
            receivers,
            ways,
            flows: Vec::new(),
            pace: 8e9 / rate.as_bps() as f64,
            endless: false,
            zeros: vec![0; 9000],
            core,
        })
    }

    fn send_due(&mut self, now: Instant) -> io::Result<()> {
        for flow in &mut self.flows {
            let (socket, to, payload) = &self.ways[flow.pair];
            if now.saturating_duration_since(flow.due) > FORGET {
                flow.due = now;
            }
            for number in 1.. {
                if flow.left == 0 || flow.due > now {
                    break;
                }
                if number % PIECE == 0 {
                    self.core.let_others_in();
                }
                let length = (*payload).min(flow.left as usize);
                match socket.send_to(&self.zeros[..length], to) {
                    Ok(_) => {}
                    // The host's own card is full; UDP loses it.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                    Err(error) => return Err(error),
                }
                flow.left -= length as u64;
                flow.due += Duration::from_nanos((length as f64 * self.pace) as u64);
                if self.endless {
                    self.stats.offered.fetch_add(length as u64, Relaxed);
                }
            }
        }
        self.flows.retain(|flow| flow.left > 0);
        self.core.let_others_in();
        Ok(())
    }

    fn pull(&mut self, place: usize) {
        let Some((_, socket)) = self.receivers.get(place) else { return };
        for number in 1.. {
            let Ok(length) = discard(socket) else { break };
            self.stats.delivered.fetch_add(length as u64, Relaxed);
            if number % PIECE == 0 {
                self.core.let_others_in();
            }
        }
        self.core.let_others_in();
    }
}

impl Carrier for Udp<'_> {
    fn begin(&mut self, pair: usize, bytes: u64) -> io::Result<bool> {
        if self.flows.len() >= MOST {
            return Ok(false);
        }
        self.flows.push(Flow { pair, left: bytes, due: Instant::now() });
        Ok(true)
    }

    fn switch(&mut self, pair: usize, on: bool) -> io::Result<()> {
        self.endless = true;
        self.flows.retain(|flow| flow.pair != pair);
        if on {
            self.flows.push(Flow { pair, left: u64::MAX, due: Instant::now() });
        }
        Ok(())
    }

    fn turn(&mut self, until: Instant) -> io::Result<()> {
        let now = Instant::now();
        self.send_due(now)?;
        let next = self.flows.iter().map(|flow| flow.due).min();
        let next = next.map_or(until, |next| next.max(now + SHORTEST_SLEEP).min(until));
        for place in self.poller.wait(next)? {
            self.pull(place as usize);
        }
        Ok(())
    }
}
