//! Flows over the kernel's TCP.

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::atomic::Ordering::Relaxed,
    time::Instant,
};

use socket2::{Domain, Socket, Type};

use super::{
    Carrier, Shared, Stats,
    core::Core,
    poller::{Poller, Zeros, discard, set_option, unacknowledged},
};
use crate::{file::Background, host::site};

/// Connections of one entry; what would go beyond waits for nothing and is counted.
const MOST: usize = 2000;
/// What is handed to the kernel at a time.
const PART: usize = 128 * 1024;
/// What waits in the kernel unsent: little, so that a pause begins soon.
const UNSENT: u32 = 256 * 1024;

/// What an event is about, by the upper half of its number.
const LISTENER: u64 = 1 << 32;
const RECEIVER: u64 = 2 << 32;

/// Connections between pairs of hosts. A flow takes one that is free, else a new one.
pub(super) struct Tcp<'a> {
    entry: &'a Background,
    pairs: &'a [(usize, usize)],
    shared: &'a Shared,
    stats: &'a Stats,
    poller: Poller,
    /// One for each host that receives.
    listeners: Vec<(usize, TcpListener, SocketAddr)>,
    senders: Vec<Option<Sender>>,
    receivers: Vec<Option<TcpStream>>,
    zeros: Zeros,
    /// Numbers of sockets that could go on when their turn was over: they are not told of again.
    unfinished: Vec<u64>,
    endless: bool,
    core: Core,
}

struct Sender {
    stream: TcpStream,
    pair: usize,
    left: u64,
}

impl<'a> Tcp<'a> {
    pub(super) fn new(
        entry: &'a Background,
        pairs: &'a [(usize, usize)],
        shared: &'a Shared,
        stats: &'a Stats,
        core: Core,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let mut listeners: Vec<(usize, TcpListener, SocketAddr)> = Vec::new();
        for (_, to) in pairs {
            if listeners.iter().any(|(host, ..)| host == to) {
                continue;
            }
            let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let listener = shared.site.inside(*to, || TcpListener::bind(any))??;
            listener.set_nonblocking(true)?;
            let port = listener.local_addr()?.port();
            poller.add(&listener, LISTENER + listeners.len() as u64)?;
            listeners.push((*to, listener, SocketAddr::from((site::address(*to), port))));
        }
        Ok(Self {
            entry,
            pairs,
            shared,
            stats,
            poller,
            listeners,
            senders: Vec::new(),
            receivers: Vec::new(),
            zeros: Zeros::new(PART)?,
            unfinished: Vec::new(),
            endless: false,
            core,
        })
    }

    /// A free connection of a pair, or a new one; none if there are too many.
    fn sender(&mut self, pair: usize) -> io::Result<Option<usize>> {
        let free = self.senders.iter().position(|sender| {
            let free = |sender: &Sender| sender.pair == pair && sender.left == 0;
            let empty = |sender: &Sender| unacknowledged(&sender.stream).is_ok_and(|it| it == 0);
            sender.as_ref().is_some_and(|sender| free(sender) && empty(sender))
        });
        if free.is_some() {
            return Ok(free);
        }
        let place = self.senders.iter().position(Option::is_none).unwrap_or(self.senders.len());
        if place >= MOST {
            return Ok(None);
        }
        let (from, to) = self.pairs[pair];
        let stream = self.connect(from, to)?;
        self.poller.add(&stream, place as u64)?;
        let sender = Some(Sender { stream, pair, left: 0 });
        if place == self.senders.len() {
            self.senders.push(sender);
        } else {
            self.senders[place] = sender;
        }
        Ok(Some(place))
    }

    fn connect(&self, from: usize, to: usize) -> io::Result<TcpStream> {
        let make = || Socket::new(Domain::IPV4, Type::STREAM, None);
        let socket = self.shared.site.inside(from, make)??;
        socket.set_nonblocking(true)?;
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT)?;
        if let Some(congestion) = &self.entry.congestion {
            socket.set_tcp_congestion(congestion.as_bytes()).map_err(|error| {
                let text = format!(
                    "congestion control `{congestion}`: {error}; see \
                                    /proc/sys/net/ipv4/tcp_available_congestion_control"
                );
                io::Error::new(error.kind(), text)
            })?;
        }
        if let Some(rate) = self.entry.rate {
            set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate.as_bps() / 8)?;
        }
        let known = self.listeners.iter().find(|(host, ..)| *host == to);
        let (_, _, address) = known.ok_or(ErrorKind::AddrNotAvailable)?;
        match socket.connect(&(*address).into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(socket.into()),
        }
    }

    /// Hands one part to the kernel. One only: while it takes it, the kernel may take in what acknowledges
    /// it, so that there is room again, and again, and nobody else would have a turn.
    fn push(&mut self, place: usize) {
        let Some(Some(sender)) = self.senders.get_mut(place) else { return };
        if sender.left == 0 {
            return;
        }
        match self.zeros.send(&sender.stream, sender.left) {
            Ok(written) => {
                sender.left -= written as u64;
                if self.endless {
                    self.stats.offered.fetch_add(written as u64, Relaxed);
                }
                if sender.left > 0 {
                    self.unfinished.push(place as u64);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                self.unfinished.push(place as u64);
            }
            Err(error) => {
                // Its host may have gone; the next flow makes a new connection.
                self.stats.note("a connection broke", &error);
                self.senders[place] = None;
            }
        }
    }

    fn accept(&mut self, at: usize) -> io::Result<()> {
        loop {
            match self.listeners[at].1.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    let free = self.receivers.iter().position(Option::is_none);
                    let place = free.unwrap_or(self.receivers.len());
                    self.poller.add(&stream, RECEIVER + place as u64)?;
                    if place == self.receivers.len() {
                        self.receivers.push(Some(stream));
                    } else {
                        self.receivers[place] = Some(stream);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes what has arrived, once, as [`Self::push`] gives once.
    fn pull(&mut self, place: usize) {
        let Some(Some(stream)) = self.receivers.get(place) else { return };
        match discard(stream) {
            Ok(length @ 1..) => {
                self.stats.delivered.fetch_add(length as u64, Relaxed);
                self.unfinished.push(RECEIVER + place as u64);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                self.unfinished.push(RECEIVER + place as u64);
            }
            _ => self.receivers[place] = None,
        }
    }
}

impl Carrier for Tcp<'_> {
    fn begin(&mut self, pair: usize, bytes: u64) -> io::Result<bool> {
        let Some(place) = self.sender(pair)? else { return Ok(false) };
        if let Some(Some(sender)) = self.senders.get_mut(place) {
            sender.left = bytes;
        }
        self.push(place);
        self.core.let_others_in();
        Ok(true)
    }

    fn switch(&mut self, pair: usize, on: bool) -> io::Result<()> {
        self.endless = true;
        let place = self
            .senders
            .iter()
            .position(|sender| sender.as_ref().is_some_and(|sender| sender.pair == pair));
        let place = match place {
            Some(place) => Some(place),
            None if on => self.sender(pair)?,
            None => None,
        };
        if let Some(place) = place
            && let Some(sender) = &mut self.senders[place]
        {
            sender.left = if on { u64::MAX } else { 0 };
            self.push(place);
            self.core.let_others_in();
        }
        Ok(())
    }

    fn turn(&mut self, until: Instant) -> io::Result<()> {
        self.core.look();
        let mut ready = std::mem::take(&mut self.unfinished);
        // Who has something left does not wait for others.
        let until = if ready.is_empty() { until } else { Instant::now() };
        ready.extend(self.poller.wait(until)?);
        ready.sort_unstable();
        ready.dedup();
        for number in ready {
            let place = (number & 0xffff_ffff) as usize;
            match number - place as u64 {
                LISTENER => self.accept(place)?,
                RECEIVER => self.pull(place),
                _ => self.push(place),
            }
            self.core.let_others_in();
        }
        Ok(())
    }
}
