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
    settings::Transport,
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

/// What all ranks of a job have to agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expects {
    /// How many there are.
    pub world: u32,
    /// What carries their parcels.
    pub transport: Transport,
    /// The store's name, as ranks know it: who is refused hears that its host expects something else. (Where it
    /// listens may be every address of the host.)
    pub store: String,
}

/// The store, served by a thread until it is dropped.
#[derive(Debug)]
pub struct StoreServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// Whether nobody is in the middle of joining.
    settled: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl StoreServer {
    /// Opens the store. What all ranks have to agree on is what its host `expects`, or else what the
    /// first says that registers.
    pub fn bind(
        address: SocketAddr,
        secret: Secret,
        expects: Option<Expects>,
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
        let settled = Arc::new(AtomicBool::new(true));
        let mut board = Board::new(BoardLimits::default(), random());
        if let Some(expects) = expects {
            board.expect(expects);
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
            settled: settled.clone(),
        };
        let thread = std::thread::Builder::new().name("laxity-store".into());
        let thread = thread.spawn(move || serving.run()).map_err(system("start a thread"))?;
        Ok(Self { address, stop, settled, waker, thread: Some(thread) })
    }

    /// Serves on until nobody is in the middle of joining, but no longer than `patience`: who has heard
    /// that all are here has more to ask, and must not find the door closed.
    pub(crate) fn linger(&self, patience: Duration) {
        let start = Instant::now();
        while !self.settled.load(Ordering::Acquire) && start.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
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
    settled: Arc<AtomicBool>,
}

struct Connection {
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
    stage: Stage,
    heard: Vec<u8>,
    unsaid: Vec<u8>,
}

/// How reading ended.
enum Rest {
    /// Nothing more is there.
    Dry,
    /// There is no room for more.
    More,
    /// The other side has closed.
    End,
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
            // Before anybody hears that all are here.
            self.settled.store(self.board.is_settled(), Ordering::Release);
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
        loop {
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
                Ok(Rest::Dry) => return,
                Ok(Rest::End) => {
                    return self.close(client, "the connection was closed without a goodbye");
                }
                // What was read may have been understood, and then there is room for more.
                Ok(Rest::More) => {}
                Err(error) => return self.close(client, &error.to_string()),
            }
            let full = |connection: &Connection| connection.heard.len() > connection.most();
            if self.clients.get(&client).is_some_and(full) {
                return self.close(client, "it talks too much");
            }
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
    /// Bytes that may wait to be understood.
    fn most(&self) -> usize {
        match self.stage {
            Stage::Known(_) => 2 * Session::MAX_WORD as usize,
            _ => 4096,
        }
    }

    /// Reads what is there, as far as there is room.
    fn read(&mut self) -> io::Result<Rest> {
        let mut buffer = [0; 16 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(Rest::End),
                Ok(count) => {
                    self.heard.extend_from_slice(&buffer[..count]);
                    if self.heard.len() > self.most() {
                        return Ok(Rest::More);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Rest::Dry),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_need_not_wait_until_its_proof_is_read() {
        let secret = Secret::Insecure;
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = StoreServer::bind(anywhere, secret.clone(), None, Duration::from_secs(5));
        let server = server.expect("a free port");
        let mut stream = std::net::TcpStream::connect(server.address()).expect("it listens");
        let ours: [u8; NONCE_BYTES] = random();
        stream.write_all(&[&MAGIC[..], &ours].concat()).expect("heard");
        let mut answer = [0; MAGIC.len() + NONCE_BYTES + MAC_BYTES];
        stream.read_exact(&mut answer).expect("answered");
        let theirs = &answer[MAGIC.len()..MAGIC.len() + NONCE_BYTES];
        let mut session = Session::new(&secret, true, &ours, theirs);
        let mut words = secret.mac(&[b"laxity store client", &ours, theirs]).to_vec();
        let request = Request::Set { key: "k".into(), value: vec![200; 4000] };
        words.extend(session.seal(&request.encode()));
        stream.write_all(&words).expect("heard");
        let (mut heard, mut byte) = (Vec::new(), [0]);
        let word = loop {
            stream.read_exact(&mut byte).expect("it answers and does not hang up");
            heard.push(byte[0]);
            if let Some(word) = session.open(&mut heard).expect("sealed") {
                break word;
            }
        };
        assert_eq!(Reply::decode(&word), Some(Reply::Done));
    }
}
