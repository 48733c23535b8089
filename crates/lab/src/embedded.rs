//! A link in user space: a relay between UDP sockets on loopback.

use std::{
    io::{self, IoSlice},
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use laxity_endpoint::udp::{
    BindError, Interest, RecvBuffers, Socket, SocketOptions, Spin, Transmission, Waker,
    tighten_timer_slack, wait,
};
use laxity_interface::{Bytes, Span, Time};
use laxity_link::{Link, LinkStats, PacketInfo};

use crate::{lateness::Lateness, path::Path};

/// How often the server's answers are looked at while something is on the way.
const LOOK: Duration = Duration::from_micros(120);
/// How often the totals are brought up to date.
const PUBLISH: Duration = Duration::from_millis(5);
/// Longest sleep while nothing is on the way.
const IDLE: Duration = Duration::from_millis(20);

/// Why a link could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// No socket.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Something else of the operating system.
    #[error("cannot start the embedded link: {0}")]
    System(#[from] io::Error),
}

/// What has passed so far, in both directions.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// From client to server.
    pub forward: LinkStats,
    /// From server to client.
    pub backward: LinkStats,
    /// How long after their time packets left, because the machine was busy.
    pub lateness: Lateness,
}

/// A running link. Clients talk to [`address`](Self::address); dropping it ends it.
#[derive(Debug)]
pub struct EmbeddedLink {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    totals: Arc<Mutex<Totals>>,
    thread: Option<JoinHandle<()>>,
}

impl EmbeddedLink {
    /// Starts a link in front of `server`. It serves one client at a time: the last that spoke.
    pub fn start(server: SocketAddr, path: &Path, seed: u64) -> Result<Self, LinkError> {
        let options = SocketOptions::default();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let front = Socket::bind(any, &options)?;
        let back = Socket::bind(any, &options)?;
        let (stop, waker) = (Arc::new(AtomicBool::new(false)), Arc::new(Waker::new()?));
        let totals = Arc::new(Mutex::new(Totals::default()));
        let address = front.local_addr();
        let mut relay = Relay {
            start: Instant::now(),
            sides: [Side::new(front, path, seed, 0), Side::new(back, path, seed, 1)],
            to: [None, Some(server)],
            buffers: RecvBuffers::default(),
            totals: totals.clone(),
            lateness: Lateness::default(),
        };
        let (stopping, bell) = (stop.clone(), waker.clone());
        let thread = std::thread::Builder::new()
            .name("laxity-link".into())
            .spawn(move || relay.run(&stopping, &bell))?;
        Ok(Self { address, stop, waker, totals, thread: Some(thread) })
    }

    /// Where clients send.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has passed so far.
    pub fn totals(&self) -> Totals {
        self.totals.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

impl Drop for EmbeddedLink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// A socket and the link that leads away from it.
struct Side {
    socket: Socket,
    link: Link<Vec<u8>>,
}

impl Side {
    fn new(socket: Socket, path: &Path, seed: u64, index: u64) -> Self {
        let (config, rules) = path.link(seed, index);
        Self { socket, link: Link::new(config, rules) }
    }
}

struct Relay {
    start: Instant,
    /// What clients talk to, and what the server talks to.
    sides: [Side; 2],
    /// Who sits behind each side.
    to: [Option<SocketAddr>; 2],
    buffers: RecvBuffers,
    totals: Arc<Mutex<Totals>>,
    lateness: Lateness,
}

impl Relay {
    fn run(&mut self, stop: &AtomicBool, waker: &Waker) {
        // An old kernel sleeps a little longer; the link is then a little late.
        let _ = tighten_timer_slack();
        let mut spin = Spin::default();
        let mut published = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let moved = self.take_in(0) | self.take_in(1);
            let sent = self.give_out(0) | self.give_out(1);
            if moved || sent {
                spin.moved();
                if published.elapsed() > PUBLISH {
                    published = Instant::now();
                    self.publish();
                }
            } else {
                self.rest(waker, &mut spin);
            }
        }
        self.publish();
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from(self.start.elapsed())
    }

    /// Receives on one side and puts what came on the link.
    fn take_in(&mut self, side: usize) -> bool {
        let Ok(count) = self.sides[side].socket.recv(&mut self.buffers) else { return false };
        let now = Time::ZERO + Span::from(self.start.elapsed());
        let link = &mut self.sides[side].link;
        for received in self.buffers.iter_mut() {
            if side == 0 {
                self.to[0] = Some(received.from);
            }
            let (ecn, dscp) = (received.ecn, received.dscp);
            for datagram in received.datagrams() {
                let size = Bytes::new(datagram.len() as u64);
                let info = PacketInfo::new(size).with_ecn(ecn).with_dscp(dscp);
                // A drop is what links do; its counters tell.
                let _ = link.handle_packet(now, info, datagram.to_vec());
            }
        }
        count > 0
    }

    /// Sends what has reached the other end.
    fn give_out(&mut self, side: usize) -> bool {
        let mut sent = false;
        loop {
            let now = self.now();
            let Some(delivery) = self.sides[side].link.poll_delivery(now) else { return sent };
            sent = true;
            self.lateness.note(now.since(delivery.at));
            let Some(to) = self.to[1 - side] else { continue };
            let total = delivery.payload.len();
            let transmission = Transmission {
                to,
                from: None,
                ecn: delivery.info.ecn,
                dscp: delivery.info.dscp,
                segment_size: total.max(1),
                parts: &[IoSlice::new(&delivery.payload)],
                total,
            };
            // A full socket buffer is one more way for a link to lose a packet.
            let _ = self.sides[1 - side].socket.send(&transmission);
        }
    }

    fn rest(&self, waker: &Waker, spin: &mut Spin) {
        let next = self.sides.iter().filter_map(|side| side.link.poll_timeout()).min();
        let time = next.map_or(IDLE, |next| next.since(self.now()).to_std()).min(IDLE);
        if spin.spins(time) {
            return;
        }
        // Packets come in on either side; the client's is the busy one, the server's answers are
        // looked at at least this often.
        let time = if next.is_some() { time.min(LOOK) } else { time.min(LOOK * 4) };
        let _ = wait(&self.sides[0].socket, Interest::Read, Some(waker), Some(time));
    }

    fn publish(&self) {
        if let Ok(mut totals) = self.totals.try_lock() {
            totals.forward = self.sides[0].link.stats().clone();
            totals.backward = self.sides[1].link.stats().clone();
            totals.lateness = self.lateness.clone();
        }
    }
}
