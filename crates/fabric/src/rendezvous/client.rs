//! A rank's conversation with the store.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use laxity_interface::Span;

use super::{
    identity::{Member, Roster},
    secret::{MAC_BYTES, NONCE_BYTES, Secret, Session, random},
    server::MAGIC,
    settings::Transport,
    words::{Reply, Request},
};
use crate::{net, rank::Rank};

/// Answers come this much later than the store's own limit at most.
const GRACE: Duration = Duration::from_secs(10);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(50);

/// What can go wrong with the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nobody answers.
    #[error(
        "no store answered at {store} within {waited:?} ({source}); is rank 0 running, are \
         MASTER_ADDR and MASTER_PORT right, and does a firewall let TCP through?"
    )]
    Unreachable {
        /// Where it was tried.
        store: String,
        /// For how long.
        waited: Duration,
        /// What the last attempt ended with.
        source: io::Error,
    },
    /// It has another key.
    #[error(
        "the store at {store} does not have this rank's key; do all ranks use the same \
         LAXITY_KEY_FILE?"
    )]
    WrongKey {
        /// Where.
        store: String,
    },
    /// It is something else.
    #[error(
        "what answers at {store} is not a Laxity store; with torchrun its own store may have the \
         port: set LAXITY_STORE to host:port of another"
    )]
    NotAStore {
        /// Where.
        store: String,
    },
    /// It said no.
    #[error("the store at {store} refuses: {why}")]
    Refused {
        /// Where.
        store: String,
        /// Its reason.
        why: String,
    },
    /// Keys that nobody set in time.
    #[error("not set at the store {store} within {waited:?}: {}", .keys.join(", "))]
    MissingKeys {
        /// Where.
        store: String,
        /// How long was waited.
        waited: Duration,
        /// Which.
        keys: Vec<String>,
    },
    /// Ranks that did not come in time.
    #[error(
        "{} of {world} ranks did not come to {place} at the store {store} within {waited:?}: {}; there: \
         {present}; look at their output, or give them more time",
        .missing.len(), ranks(.missing)
    )]
    MissingRanks {
        /// Where.
        store: String,
        /// To what: registration, or a barrier.
        place: String,
        /// How long was waited.
        waited: Duration,
        /// Which.
        missing: Vec<Rank>,
        /// Of how many.
        world: u32,
        /// Some of those who came, and from where; and why others were turned away.
        present: String,
    },
    /// The conversation broke off.
    #[error("lost the store at {store} ({source}); is rank 0 alive?")]
    Lost {
        /// Where.
        store: String,
        /// What was seen.
        source: io::Error,
    },
}

/// Names some ranks, and counts the rest.
fn ranks(list: &[Rank]) -> String {
    const SHOWN: usize = 16;
    let shown: Vec<_> = list.iter().take(SHOWN).map(|rank| rank.get().to_string()).collect();
    let more = match list.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("rank{} {}{more}", if list.len() == 1 { "" } else { "s" }, shown.join(", "))
}

/// A conversation with the store.
#[derive(Debug)]
pub struct Store {
    name: String,
    stream: TcpStream,
    session: Session,
    heard: Vec<u8>,
}

/// What one who watches hears.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// A rank is gone.
    Gone(Departure),
    /// The store has heard this rank's goodbye.
    Farewell,
}

/// The goodbye of one who watches.
#[derive(Debug)]
pub(crate) struct Farewell {
    stream: TcpStream,
    session: Session,
}

impl Farewell {
    /// Says it; the one who listens will hear the answer.
    pub(crate) fn say(&mut self) -> io::Result<()> {
        let sealed = self.session.seal(&Request::Leave.encode());
        self.stream.write_all(&sealed)
    }

    /// Ends the connection, whoever listens.
    pub(crate) fn hang_up(&self) {
        // It may be closed already.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

/// Somebody is gone, as the store saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Departure {
    pub(crate) rank: Rank,
    /// It said goodbye.
    pub(crate) left: bool,
    pub(crate) reason: String,
}

impl Store {
    /// Connects to the store at `address` (`host:port`), trying for `patience`: ranks start in any
    /// order. `dead_after` is how long a store that does not answer counts as alive.
    pub fn connect(
        address: &str,
        secret: &Secret,
        patience: Duration,
        dead_after: Duration,
    ) -> Result<Self, StoreError> {
        let start = Instant::now();
        let mut last;
        loop {
            match Self::attempt(address, secret, dead_after) {
                Err(Attempt::Again(error)) => last = error,
                Err(Attempt::Never(error)) => return Err(error),
                Ok(store) => return Ok(store),
            }
            if start.elapsed() + PAUSE > patience {
                let (store, waited) = (address.to_owned(), start.elapsed());
                return Err(StoreError::Unreachable { store, waited, source: last });
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn attempt(address: &str, secret: &Secret, dead_after: Duration) -> Result<Self, Attempt> {
        let mut stream = Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        for address in address.to_socket_addrs()? {
            stream = TcpStream::connect_timeout(&address, Duration::from_secs(2));
            if stream.is_ok() {
                break;
            }
        }
        let mut stream = stream?;
        stream.set_nodelay(true)?;
        net::watch_over(&stream, dead_after)?;
        stream.set_read_timeout(Some(GRACE))?;
        stream.set_write_timeout(Some(GRACE))?;
        let name = || address.to_owned();
        let ours: [u8; NONCE_BYTES] = random();
        stream.write_all(&[&MAGIC[..], &ours].concat())?;
        let mut answer = [0; MAGIC.len() + NONCE_BYTES + MAC_BYTES];
        if let Err(error) = stream.read_exact(&mut answer) {
            // A store that is just closing, or something that waits for words of its own.
            return Err(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    Attempt::Never(StoreError::NotAStore { store: name() })
                }
                _ => Attempt::Again(error),
            });
        }
        let (start, rest) = answer.split_at(MAGIC.len());
        let (theirs, proof) = rest.split_at(NONCE_BYTES);
        if start != MAGIC {
            return Err(Attempt::Never(StoreError::NotAStore { store: name() }));
        }
        if !secret.proves(&[b"laxity store", &ours, theirs], proof) {
            return Err(Attempt::Never(StoreError::WrongKey { store: name() }));
        }
        stream.write_all(&secret.mac(&[b"laxity store client", &ours, theirs]))?;
        let session = Session::new(secret, true, &ours, theirs);
        Ok(Self { name: name(), stream, session, heard: Vec::new() })
    }

    /// This side's address: the one that other hosts of the store's network can reach.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Puts a value.
    pub fn set(&mut self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        let request = Request::Set { key: key.into(), value: value.into() };
        self.ask(&request, Duration::ZERO).map(drop)
    }

    /// Reads a value, if somebody has put it.
    pub fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self.ask(&Request::Get { key: key.into() }, Duration::ZERO)? {
            Reply::Value(value) => Ok(value),
            other => Err(self.confused(&other)),
        }
    }

    /// Waits until all of these are there and reads them.
    pub fn wait(
        &mut self,
        keys: &[impl AsRef<str>],
        patience: Duration,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let keys = keys.iter().map(|key| key.as_ref().to_owned()).collect();
        let request = Request::Wait { keys, patience: Span::from(patience) };
        match self.ask(&request, patience)? {
            Reply::Values(values) => Ok(values),
            Reply::MissingKeys(keys) => {
                let store = self.name.clone();
                Err(StoreError::MissingKeys { store, waited: patience, keys })
            }
            other => Err(self.confused(&other)),
        }
    }

    /// Adds to a number and reads the sum; one that is not there is 0.
    pub fn add(&mut self, key: &str, by: i64) -> Result<i64, StoreError> {
        match self.ask(&Request::Add { key: key.into(), by }, Duration::ZERO)? {
            Reply::Sum(sum) => Ok(sum),
            other => Err(self.confused(&other)),
        }
    }

    /// Waits until all registered ranks are at the barrier of this name.
    pub fn barrier(&mut self, name: &str, patience: Duration) -> Result<(), StoreError> {
        let request = Request::Barrier { name: name.into(), patience: Span::from(patience) };
        match self.ask(&request, patience)? {
            Reply::Done => Ok(()),
            other => Err(self.absent(other, format!("barrier `{name}`"), patience)),
        }
    }

    /// Takes a rank in a world of this many, all of which have to use the same transport.
    pub fn register(
        &mut self,
        rank: Rank,
        world: u32,
        member: Member,
        transport: Transport,
    ) -> Result<(), StoreError> {
        let request = Request::Register { rank: rank.get(), world, member, transport };
        self.ask(&request, Duration::ZERO).map(drop)
    }

    /// Waits until all ranks have registered.
    pub fn roster(&mut self, patience: Duration) -> Result<Roster, StoreError> {
        match self.ask(&Request::Roster { patience: Span::from(patience) }, patience)? {
            Reply::Roster(roster) => Ok(roster),
            other => Err(self.absent(other, "registration".into(), patience)),
        }
    }

    /// Says that this rank goes in peace.
    pub fn leave(mut self) -> Result<(), StoreError> {
        self.ask(&Request::Leave, Duration::ZERO).map(drop)
    }

    /// From now on the store says who is gone.
    pub(crate) fn watch(&mut self) -> Result<(), StoreError> {
        self.say(&Request::Watch)
    }

    /// What the store says next to one who watches.
    pub(crate) fn hear_of(&mut self) -> Result<News, StoreError> {
        /// The system watches over the connection; this only has to end some day.
        const LONG: Duration = Duration::from_secs(3600);
        loop {
            match self.hear(LONG) {
                Ok(Reply::Gone { rank, left, reason }) => {
                    return Ok(News::Gone(Departure { rank: Rank::new(rank), left, reason }));
                }
                Ok(_) => return Ok(News::Farewell),
                Err(StoreError::Lost { source, .. }) if is_timeout(&source) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What says goodbye while another thread listens. Nothing else may be said after this.
    pub(crate) fn farewell(&self) -> io::Result<Farewell> {
        Ok(Farewell { stream: self.stream.try_clone()?, session: self.session.clone() })
    }

    fn ask(&mut self, request: &Request, patience: Duration) -> Result<Reply, StoreError> {
        self.say(request)?;
        match self.hear(patience.saturating_add(GRACE))? {
            Reply::Refused(why) => Err(StoreError::Refused { store: self.name.clone(), why }),
            reply => Ok(reply),
        }
    }

    fn say(&mut self, request: &Request) -> Result<(), StoreError> {
        let word = request.encode();
        if word.len() > Session::MAX_WORD as usize {
            let (bytes, most) = (word.len(), Session::MAX_WORD);
            let why =
                format!("a request of {bytes} bytes is too long, the most is {most}; say less");
            return Err(StoreError::Refused { store: self.name.clone(), why });
        }
        let sealed = self.session.seal(&word);
        let outcome = self.stream.write_all(&sealed);
        outcome.map_err(|source| StoreError::Lost { store: self.name.clone(), source })
    }

    fn hear(&mut self, time: Duration) -> Result<Reply, StoreError> {
        self.hear_word(time).map_err(|source| StoreError::Lost { store: self.name.clone(), source })
    }

    fn hear_word(&mut self, time: Duration) -> io::Result<Reply> {
        let forged = || io::Error::other("what it said is forged or damaged");
        let deadline = net::deadline(time);
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(word) = self.session.open(&mut self.heard).map_err(|_| forged())? {
                return Reply::decode(&word).ok_or_else(forged);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn absent(&self, reply: Reply, place: String, waited: Duration) -> StoreError {
        let Reply::MissingRanks { missing, world, present, refused } = reply else {
            return self.confused(&reply);
        };
        let present: Vec<_> =
            present.iter().map(|(rank, from)| format!("{rank} from {from}")).collect();
        StoreError::MissingRanks {
            store: self.name.clone(),
            place,
            waited,
            missing: missing.into_iter().map(Rank::new).collect(),
            world,
            present: format!(
                "{}{}",
                if present.is_empty() { "nobody".into() } else { present.join(", ") },
                turned_away(&refused)
            ),
        }
    }

    fn confused(&self, reply: &Reply) -> StoreError {
        let why = format!("it answered something else ({reply:?}); is it of another version?");
        StoreError::Refused { store: self.name.clone(), why }
    }
}

fn turned_away(refused: &[String]) -> String {
    match refused {
        [] => String::new(),
        some => format!("; turned away: {}", some.join("; ")),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Why one attempt failed.
enum Attempt {
    /// The next may not.
    Again(io::Error),
    /// All would.
    Never(StoreError),
}

impl From<io::Error> for Attempt {
    fn from(error: io::Error) -> Self {
        Self::Again(error)
    }
}
