//! The store on a real port: one thread that serves everybody.
//!
//! A client says [`MAGIC`] and a number, the store answers with a number of its own and the proof that
//! it has the key, the client proves the same; from then on every word is sealed. Whoever says anything
//! else, or nothing for a while, is shown the door: a port scanner costs a few kilobytes for some seconds.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use laxity_interface::{Span, Time};
use mio::{
    Events, Interest, Poll, Token, Waker,
    net::{TcpListener, TcpStream},
};

use super::{
    board::{Board, BoardLimits, Client},
    secret::{MAC_BYTES, NONCE_BYTES, Secret, Session, random},
    words::{Reply, Request},
};
use crate::net;

/// What a conversation with the store begins with.
pub(crate) const MAGIC: &[u8; 8] = b"LAXSTOR1";
/// How long a stranger may take to prove itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// Strangers at once; more are closed at once.
const MAX_STRANGERS: usize = 256;
/// Bytes that a client may leave unread before it is given up.
const MAX_UNREAD: usize = 64 << 20;
const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port cannot be had.
    #[error(
        "cannot open the store at {address}: {source}; choose another port with MASTER_PORT or \
         LAXITY_STORE, or end the process that has it"
    )]
    Bind {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Something else of the operating system.
    #[error("cannot {what} for the store: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
}

/// The store, served by a thread until it is dropped.
#[derive(Debug)]
pub struct StoreServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl StoreServer {
    /// Opens the store. Without `world` the first rank that registers says how many there are.
    pub fn bind(
        address: SocketAddr,
        secret: Secret,
        world: Option<u32>,
        dead_after: Duration,
    ) -> Result<Self, ServeError> {
        let system = |what| move |source| ServeError::System { what, source };
        let mut listener =
            net::listen(address).map_err(|source| ServeError::Bind { address, source })?;
        let address = listener.local_addr().map_err(system("read the address"))?;
        let poll = Poll::new().map_err(system("open a poller"))?;
        let register = poll.registry().register(&mut listener, LISTENER, Interest::READABLE);
        register.map_err(system("watch the port"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(system("make a waker"))?;
        let (waker, stop) = (Arc::new(waker), Arc::new(AtomicBool::new(false)));
        let mut board = Board::new(BoardLimits::default(), random());
        if let Some(ranks) = world {
            board.set_world(ranks, address);
        }
        let serving = Serving {
            poll,
            listener,
            secret,
            dead_after,
            board,
            start: Instant::now(),
            clients: BTreeMap::new(),
            next: 0,
            stop: stop.clone(),
        };
        let thread = std::thread::Builder::new().name("laxity-store".into());
        let thread = thread.spawn(move || serving.run()).map_err(system("start a thread"))?;
        Ok(Self { address, stop, waker, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // A waker that fails leaves the thread to its next wake-up, a second from now at most.
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Serving {
    poll: Poll,
    listener: TcpListener,
    secret: Secret,
    dead_after: Duration,
    board: Board,
    start: Instant,
    clients: BTreeMap<usize, Connection>,
    next: usize,
    stop: Arc<AtomicBool>,
}

struct Connection {
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
    stage: Stage,
    heard: Vec<u8>,
    unsaid: Vec<u8>,
}

enum Stage {
    /// It has said nothing yet.
    Stranger,
    /// It was asked for its proof.
    Asked { theirs: [u8; NONCE_BYTES], ours: [u8; NONCE_BYTES] },
    /// It belongs here.
    Known(Box<Session>),
}

impl Serving {
    fn run(mut self) {
        let mut events = Events::with_capacity(256);
        while !self.stop.load(Ordering::Acquire) {
            let now = self.now();
            let due = self.board.poll_timeout().map(|at| at.since(now).to_std());
            let time = due.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(1));
            if self.poll.poll(&mut events, Some(time)).is_err() {
                // Interrupted by a signal: look again.
                continue;
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(),
                    WAKER => {}
                    Token(client) => self.serve(client),
                }
            }
            self.board.handle_timeout(self.now());
            self.turn_out_the_silent();
            self.answer();
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from(self.start.elapsed())
    }

    fn accept(&mut self) {
        loop {
            let (mut stream, from) = match self.listener.accept() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Nobody more; or no descriptors left, and then those who wait may try again.
                Err(_) => return,
            };
            let strangers = self.clients.values().filter(|c| !matches!(c.stage, Stage::Known(_)));
            if strangers.count() >= MAX_STRANGERS {
                continue;
            }
            let client = self.next;
            let interest = Interest::READABLE | Interest::WRITABLE;
            let tuned = net::watch_over(&stream, self.dead_after);
            let registry = self.poll.registry();
            let known =
                tuned.and_then(|()| registry.register(&mut stream, Token(client), interest));
            if known.is_err() {
                continue;
            }
            self.next += 1;
            let (heard, unsaid) = (Vec::new(), Vec::new());
            let (since, stage) = (Instant::now(), Stage::Stranger);
            let known = Connection { stream, from, since, stage, heard, unsaid };
            self.clients.insert(client, known);
        }
    }

    fn serve(&mut self, client: usize) {
        let Some(connection) = self.clients.get_mut(&client) else { return };
        let outcome = connection.flush().and_then(|()| connection.read());
        loop {
            let Some(connection) = self.clients.get_mut(&client) else { return };
            match connection.next_word(&self.secret) {
                Ok(Some(request)) => {
                    let from = connection.from;
                    let now = self.now();
                    self.board.handle_request(now, Client(client), from, request);
                }
                Ok(None) => break,
                Err(how) => return self.close(client, how),
            }
        }
        match outcome {
            Ok(true) => self.close(client, "the connection was closed without a goodbye"),
            Ok(false) => {}
            Err(error) => self.close(client, &error.to_string()),
        }
    }

    fn answer(&mut self) {
        while let Some((Client(client), reply)) = self.board.poll_reply() {
            let Some(connection) = self.clients.get_mut(&client) else { continue };
            let outcome = connection.say(&reply);
            if let Err(error) = outcome {
                self.close(client, &error.to_string());
            }
        }
    }

    fn turn_out_the_silent(&mut self) {
        let silent =
            |c: &Connection| !matches!(c.stage, Stage::Known(_)) && c.since.elapsed() > PATIENCE;
        self.clients.retain(|_, connection| !silent(connection));
    }

    fn close(&mut self, client: usize, how: &str) {
        if self.clients.remove(&client).is_some() {
            let now = self.now();
            self.board.handle_gone(now, Client(client), how);
        }
    }
}

impl Connection {
    /// Reads what is there; true at the end.
    fn read(&mut self) -> io::Result<bool> {
        let most = match self.stage {
            Stage::Known(_) => 2 * Session::MAX_WORD as usize,
            _ => 4096,
        };
        let mut buffer = [0; 16 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(true),
                Ok(count) => {
                    self.heard.extend_from_slice(&buffer[..count]);
                    if self.heard.len() > most {
                        return Err(io::Error::other("it talks too much"));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next request; on the way there, the handshake.
    fn next_word(&mut self, secret: &Secret) -> Result<Option<Request>, &'static str> {
        loop {
            match &mut self.stage {
                Stage::Stranger => {
                    let start = &self.heard[..self.heard.len().min(MAGIC.len())];
                    if !MAGIC.starts_with(start) {
                        return Err("it does not speak the store's language");
                    }
                    let length = MAGIC.len() + NONCE_BYTES;
                    if self.heard.len() < length {
                        return Ok(None);
                    }
                    let theirs: [u8; NONCE_BYTES] =
                        std::array::from_fn(|i| self.heard[MAGIC.len() + i]);
                    self.heard.drain(..length);
                    let ours = random();
                    self.unsaid.extend_from_slice(MAGIC);
                    self.unsaid.extend_from_slice(&ours);
                    self.unsaid.extend_from_slice(&secret.mac(&[b"laxity store", &theirs, &ours]));
                    self.stage = Stage::Asked { theirs, ours };
                    self.flush().map_err(|_| "it does not listen")?;
                }
                Stage::Asked { theirs, ours } => {
                    if self.heard.len() < MAC_BYTES {
                        return Ok(None);
                    }
                    let text: [&[u8]; 3] = [b"laxity store client", theirs, ours];
                    if !secret.proves(&text, &self.heard[..MAC_BYTES]) {
                        return Err("it does not have the job's key");
                    }
                    self.heard.drain(..MAC_BYTES);
                    self.stage = Stage::Known(Box::new(Session::new(secret, false, theirs, ours)));
                }
                Stage::Known(session) => {
                    let word =
                        session.open(&mut self.heard).map_err(|_| "it sent a forged word")?;
                    let Some(word) = word else { return Ok(None) };
                    let request = Request::decode(&word);
                    return request.map(Some).ok_or("it sent a word that means nothing here");
                }
            }
        }
    }

    fn say(&mut self, reply: &Reply) -> io::Result<()> {
        let Stage::Known(session) = &mut self.stage else { return Ok(()) };
        let sealed = session.seal(&reply.encode());
        self.unsaid.extend_from_slice(&sealed);
        if self.unsaid.len() > MAX_UNREAD {
            return Err(io::Error::other("it does not read what it is told"));
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.unsaid.is_empty() {
            match self.stream.write(&self.unsaid) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.unsaid.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
