//! An endpoint: a UDP port through which jobs come and go.

use std::{
    future::poll_fn,
    net::{SocketAddr, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use laxity_interface::{Layout, Rate};
use laxity_protocol::{
    CipherChoice, ClassRule, Config, ConnectError, ControllerKind, DeliveryReport, Key, Keys,
    MIN_DATAGRAM, Stats,
};

use crate::{
    clock::Clock,
    core::{PeerSlot, PeerState, Posted},
    element::{Element, as_bytes_mut},
    error::{BuildError, RecvError, SendError},
    inbox::Inbox,
    incoming::{Incoming, Received},
    payloads::{Lent, Target},
    peer::Peer,
    shard::Shard,
    udp::{self, Capabilities, SocketOptions},
};

/// How an endpoint is set up. Start with [`Endpoint::builder`].
#[derive(Clone, Debug)]
pub struct Builder {
    keys: Option<Keys>,
    config: Config,
    io_threads: u8,
    max_datagram: Option<u16>,
    socket: SocketOptions,
}

/// Datagrams larger than this gain nothing more, and a lost one costs more. Four make a full batch.
const LARGEST_DATAGRAM: u16 = 16_376;

impl Builder {
    /// Only holders of this key can talk to the endpoint. May be called several times; connections
    /// are made with the first.
    pub fn key(mut self, key: Key) -> Self {
        match &mut self.keys {
            Some(Keys::Keyed(keys)) => keys.push(key),
            _ => self.keys = Some(Keys::Keyed(vec![key])),
        }
        self
    }

    /// Anybody can talk to the endpoint: for measurements and trusted wires.
    pub fn insecure(mut self) -> Self {
        self.keys = Some(Keys::Insecure);
        self
    }

    /// Which ciphers may protect packets. Default [`CipherChoice::Fastest`].
    pub fn cipher(mut self, choice: CipherChoice) -> Self {
        self.config.cipher = choice;
        self
    }

    /// Threads that do the I/O, each with a socket of its own behind the same port. Default 1, which
    /// also lets blocking callers drive the socket themselves.
    pub fn io_threads(mut self, threads: u8) -> Self {
        self.io_threads = threads;
        self
    }

    /// The largest datagram, in bytes of UDP payload. Default: what the route to a peer carries, at
    /// most 16,376.
    pub fn max_datagram(mut self, bytes: u16) -> Self {
        self.max_datagram = Some(bytes);
        self
    }

    /// Speed of the interface; caps the rate and makes shares fair under incast. Default: unknown.
    pub fn line_rate(mut self, rate: Rate) -> Self {
        self.config.line_rate = Some(rate);
        self
    }

    /// Rate control of groups that may lose something and of those that may not.
    pub fn controllers(mut self, slack: ControllerKind, exact: ControllerKind) -> Self {
        self.config.slack_controller = slack;
        self.config.exact_controller = exact;
        self
    }

    /// How packets ask switches for a queue. Default [`ClassRule::Remaining`]; see
    /// [`layout`](Self::layout).
    pub fn classes(mut self, rule: ClassRule) -> Self {
        self.config.class_rule = rule;
        self
    }

    /// The layout of the queues in switches on the way: packets then ask for those queues. Default
    /// [`Layout::Shared`], which suits networks without any layout, too. All hosts should be told the
    /// same.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.config = self.config.on(layout);
        self
    }

    /// The time limit of jobs that do not state one. Default 10 minutes.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.config.time_limit = limit.into();
        self
    }

    /// A peer that owes an answer and was silent for this long is dead. Default 5 s.
    pub fn dead_after(mut self, time: Duration) -> Self {
        self.config.dead_after = time.into();
        self
    }

    /// How long to try to connect. Default 5 s.
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.config.connect_timeout = time.into();
        self
    }

    /// Everything else the protocol lets one set; keys and datagram size are the builder's.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// The socket's buffers and features.
    pub fn socket(mut self, options: SocketOptions) -> Self {
        self.socket = options;
        self
    }

    /// Opens the port and starts the I/O threads.
    pub fn bind(self, address: SocketAddr) -> Result<Endpoint, BuildError> {
        let mut config = self.config;
        config.keys = self.keys.ok_or(BuildError::NoKey)?;
        let threads = self.io_threads;
        if threads == 0 {
            let range = "at least 1";
            return Err(BuildError::Setting { name: "io_threads", value: 0, range });
        }
        config.max_datagram = self.max_datagram.unwrap_or(LARGEST_DATAGRAM);
        if config.max_datagram < MIN_DATAGRAM {
            let (name, value) = ("max_datagram", u64::from(config.max_datagram));
            return Err(BuildError::Setting { name, value, range: "at least 1200" });
        }
        let sockets = if threads == 1 {
            vec![udp::Socket::bind(address, &self.socket)?]
        } else {
            udp::bind_group(address, &self.socket, usize::from(threads))?.0
        };
        let system = |what| move |source| BuildError::System { what, source };
        let (clock, inbox) = (Clock::start(), Arc::new(Inbox::default()));
        let mut shards = Vec::new();
        for (index, socket) in sockets.into_iter().enumerate() {
            let mut config = config.clone();
            config.shard = (index as u8, threads);
            let seed = random_seed().map_err(system("get random bytes"))?;
            let protocol = laxity_protocol::Endpoint::new(config, seed);
            let shard = Shard::new(socket, protocol, clock, inbox.clone(), threads == 1)
                .map_err(system("create an event descriptor"))?;
            shards.push(Arc::new(shard));
        }
        let local = shards[0].socket.local_addr();
        let threads = shards
            .iter()
            .enumerate()
            .map(|(index, shard)| {
                let shard = shard.clone();
                let name = format!("laxity-io-{index}");
                std::thread::Builder::new().name(name).spawn(move || shard.run())
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(system("start an I/O thread"))?;
        let inner = Inner { shards, threads, inbox, local, next: AtomicUsize::new(0), config };
        Ok(Endpoint { inner: Arc::new(inner) })
    }
}

fn random_seed() -> std::io::Result<[u8; 32]> {
    use std::io::Read;
    let mut seed = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(seed)
}

#[derive(Debug)]
struct Inner {
    shards: Vec<Arc<Shard>>,
    threads: Vec<JoinHandle<()>>,
    inbox: Arc<Inbox>,
    local: SocketAddr,
    next: AtomicUsize,
    config: Config,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let deadline = Instant::now() + LINGER;
        for shard in &self.shards {
            shard.linger(deadline);
        }
        for shard in &self.shards {
            shard.shut_down();
        }
        self.inbox.ring();
        for thread in self.threads.drain(..) {
            // A panic of the I/O thread was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// How long a closing endpoint waits for confirmation of its last words: a sender that does not hear
/// them cannot know that its job arrived.
const LINGER: Duration = Duration::from_millis(500);

/// A UDP port through which jobs come and go. Clones share it; the last one to go closes it and tells
/// all peers.
#[derive(Clone, Debug)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

impl Endpoint {
    /// Starts setting one up. A key or [`insecure`](Builder::insecure) must be given.
    pub fn builder() -> Builder {
        Builder {
            keys: None,
            config: Config::insecure(),
            io_threads: 1,
            max_datagram: None,
            socket: SocketOptions::default(),
        }
    }

    /// The address it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local
    }

    /// What the socket can do.
    pub fn capabilities(&self) -> Capabilities {
        self.inner.shards[0].socket.capabilities()
    }

    /// Counters of the protocol since the start, over all I/O threads.
    pub fn stats(&self) -> Stats {
        self.inner.shards.iter().fold(Stats::default(), |mut sum, shard| {
            sum += *shard.lock().protocol.stats();
            sum
        })
    }

    /// Datagrams the kernel dropped because nobody read the socket in time.
    pub fn socket_drops(&self) -> u64 {
        self.inner.shards.iter().map(|shard| shard.socket.dropped()).sum()
    }

    /// Datagrams the kernel refused to send.
    pub fn send_failures(&self) -> u64 {
        self.inner.shards.iter().map(|shard| shard.lock().send_failures).sum()
    }

    /// Connects to a peer, waiting for the handshake.
    pub fn connect(&self, to: impl ToSocketAddrs) -> Result<Peer, SendError> {
        let (shard, peer) = self.start_connect(to)?;
        let state = shard.wait(None, |core| match core.peers.get(&peer).map(|slot| slot.state) {
            Some(PeerState::Connecting) if !core.shut_down => Poll::Pending,
            state => Poll::Ready(state),
        });
        finish_connect(shard, peer, state.flatten())
    }

    /// Connects to a peer.
    pub async fn connect_async(&self, to: impl ToSocketAddrs) -> Result<Peer, SendError> {
        let (shard, peer) = self.start_connect(to)?;
        let state = poll_fn(|cx| {
            let mut core = shard.lock();
            let shut_down = core.shut_down;
            match core.peers.get_mut(&peer) {
                Some(slot) if slot.state == PeerState::Connecting && !shut_down => {
                    slot.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
                slot => Poll::Ready(slot.map(|slot| slot.state)),
            }
        })
        .await;
        finish_connect(shard, peer, state)
    }

    pub(crate) fn start_connect(
        &self,
        to: impl ToSocketAddrs,
    ) -> Result<(Arc<Shard>, laxity_protocol::PeerId), SendError> {
        let local = self.inner.local;
        let to = to.to_socket_addrs()?.find(|to| self.speaks(to));
        let to = to.ok_or(SendError::NoAddress { local })?;
        let turn = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let shard = self.inner.shards[turn % self.inner.shards.len()].clone();
        // What the route carries; a smaller path in between is found out by the handshake.
        let by_route = udp::path_mtu(to).map_or(u16::MAX, |mtu| {
            u16::try_from(udp::max_udp_payload(mtu, to.is_ipv6())).unwrap_or(u16::MAX)
        });
        let size = by_route.min(self.inner.config.max_datagram);
        let peer = shard.command(true, |core| {
            let peer = core.protocol.connect_sized(shard.clock.now(), to, size)?;
            core.peers.insert(peer, PeerSlot { state: PeerState::Connecting, waker: None });
            Ok::<_, ConnectError>(peer)
        })?;
        Ok((shard, peer))
    }

    /// Its only socket, if it has but one.
    pub(crate) fn only_shard(&self) -> Option<Arc<Shard>> {
        match &self.inner.shards[..] {
            [shard] => Some(shard.clone()),
            _ => None,
        }
    }

    /// Whether the socket speaks the address's family; a wildcard IPv6 socket speaks both.
    fn speaks(&self, to: &SocketAddr) -> bool {
        let local = self.inner.local;
        (local.is_ipv6() && local.ip().is_unspecified()) || to.is_ipv4() == local.is_ipv4()
    }

    /// The next job that a peer offers, waiting for one.
    pub fn accept(&self) -> Result<Incoming, RecvError> {
        self.accept_until(None).map(|found| found.expect("waits for ever"))
    }

    /// The next job that a peer offers, or `Timeout`.
    pub fn accept_timeout(&self, time: Duration) -> Result<Incoming, RecvError> {
        // A time beyond the clock's end is for ever.
        self.accept_until(Instant::now().checked_add(time))?.ok_or(RecvError::Timeout(time))
    }

    fn accept_until(&self, deadline: Option<Instant>) -> Result<Option<Incoming>, RecvError> {
        if let [shard] = &self.inner.shards[..] {
            let found = shard.wait(deadline, |core| match core.take_offer(shard.clock.now()) {
                Some(id) => Poll::Ready(Some(id)),
                None if core.shut_down => Poll::Ready(None),
                None => Poll::Pending,
            });
            return match found {
                Some(Some(id)) => Ok(Some(Incoming::new(shard.clone(), id))),
                Some(None) => Err(RecvError::ShutDown),
                None => Ok(None),
            };
        }
        loop {
            let seen = self.inner.inbox.rings();
            if let Some(incoming) = self.take_offer()? {
                return Ok(Some(incoming));
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            self.inner.inbox.wait(seen, left.unwrap_or(Duration::from_secs(1)));
        }
    }

    fn take_offer(&self) -> Result<Option<Incoming>, RecvError> {
        for shard in &self.inner.shards {
            let now = shard.clock.now();
            let (id, shut_down) =
                shard.command(true, |core| (core.take_offer(now), core.shut_down));
            match id {
                Some(id) => return Ok(Some(Incoming::new(shard.clone(), id))),
                None if shut_down => return Err(RecvError::ShutDown),
                None => {}
            }
        }
        Ok(None)
    }

    /// The next job that a peer offers.
    pub async fn accept_async(&self) -> Result<Incoming, RecvError> {
        poll_fn(|cx| {
            self.inner.inbox.register(cx.waker());
            self.take_offer().map_or_else(
                |error| Poll::Ready(Err(error)),
                |found| found.map_or(Poll::Pending, |incoming| Poll::Ready(Ok(incoming))),
            )
        })
        .await
    }

    /// Receives the next job whole.
    pub fn recv(&self) -> Result<Received, RecvError> {
        self.accept()?.receive()
    }

    /// Receives the next tensor of this element type straight into `buffer`, which may be longer than
    /// the tensor. The buffer is offered before the job comes, so no byte is copied twice and large
    /// jobs need no extra round trip. What is missing keeps the buffer's old content. If the next job
    /// does not fit, that is an error; with one I/O thread the job then stays on offer for
    /// [`accept`](Self::accept), with several it is refused.
    pub fn recv_into<T: Element>(&self, buffer: &mut [T]) -> Result<DeliveryReport, RecvError> {
        let [shard] = &self.inner.shards[..] else {
            return self.accept()?.receive_into(buffer);
        };
        let bytes = as_bytes_mut(buffer);
        let ticket = shard.command(false, |core| {
            core.post(Posted {
                ticket: 0,
                bytes: bytes.len() as u64,
                target: Some(Target::Lent(Lent::write(bytes))),
                element: T::TYPE,
                job: None,
            })
        });
        // Whatever happens, the buffer is taken back before this returns.
        let posted = PostGuard { shard, ticket };
        let outcome =
            shard.wait(None, |core| match core.posted_outcome(shard.clock.now(), ticket) {
                Some(outcome) => Poll::Ready(Some(outcome)),
                None if core.shut_down => Poll::Ready(None),
                None => Poll::Pending,
            });
        drop(posted);
        outcome.flatten().ok_or(RecvError::ShutDown)?
    }
}

/// Takes a posted buffer back.
struct PostGuard<'a> {
    shard: &'a Shard,
    ticket: u64,
}

impl Drop for PostGuard<'_> {
    fn drop(&mut self) {
        let now = self.shard.clock.now();
        self.shard.command(false, |core| core.unpost(now, self.ticket));
    }
}

fn finish_connect(
    shard: Arc<Shard>,
    peer: laxity_protocol::PeerId,
    state: Option<PeerState>,
) -> Result<Peer, SendError> {
    match state {
        Some(PeerState::Up) => Ok(Peer::new(shard, peer)),
        Some(PeerState::Failed(error)) => {
            shard.lock().peers.remove(&peer);
            Err(error.into())
        }
        _ => Err(SendError::ShutDown),
    }
}
