//! One TCP connection, from its first byte to its last.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    os::fd::AsFd,
};

use laxity_interface::Time;
use mio::net::TcpStream;
use socket2::SockRef;

use super::{TcpSettings, hello::Hello, outbox::Outbox, reader::Reader};
use crate::{carrier::Envelope, net, rank::Rank};

/// Bytes of a greeting that may wait to be understood.
const MAX_GREETING: usize = 64 << 10;
/// Bytes written in one turn, before others have theirs.
const TURN_BYTES: usize = 4 << 20;

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: TcpStream,
    /// The other side.
    pub(super) at: SocketAddr,
    pub(super) since: Time,
    pub(super) stage: Stage,
    /// Words of the greeting that are not written, or not understood.
    unsaid: Vec<u8>,
    pub(super) heard: Vec<u8>,
}

/// How far a connection is.
#[derive(Debug)]
pub(super) enum Stage {
    /// The system is connecting; then this is said.
    Connecting(Rank, Hello, Vec<u8>),
    /// Both find out who the other is. The rank is the one that was called.
    Greeting(Option<Rank>, Hello),
    /// Frames go both ways.
    Open(Rank, Reader),
    /// The last words are being written.
    Closing,
}

/// How a write ended.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// All of it.
    All,
    /// The system takes no more for now, and will say when it does.
    Full,
    /// The turn is over.
    Turn,
}

impl Link {
    pub(super) fn new(stream: TcpStream, at: SocketAddr, since: Time, stage: Stage) -> Self {
        Self { stream, at, since, stage, unsaid: Vec::new(), heard: Vec::new() }
    }

    /// The rank at the other side: proved, or called.
    pub(super) fn rank(&self) -> Option<Rank> {
        match &self.stage {
            Stage::Connecting(rank, ..) | Stage::Open(rank, _) => Some(*rank),
            Stage::Greeting(rank, _) => *rank,
            Stage::Closing => None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(..))
    }

    /// Writes a word of the greeting.
    pub(super) fn say(&mut self, word: &[u8]) -> io::Result<()> {
        self.unsaid.extend_from_slice(word);
        self.flush_words().map(drop)
    }

    /// Writes what is left of the greeting's words; true when nothing is.
    pub(super) fn flush_words(&mut self) -> io::Result<bool> {
        while !self.unsaid.is_empty() {
            match self.stream.write(&self.unsaid) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.unsaid.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Writes parcels; `through` gets those of which the system has taken the last byte.
    pub(super) fn write(
        &mut self,
        outbox: &mut Outbox,
        through: &mut Vec<Envelope>,
    ) -> io::Result<Written> {
        if !self.flush_words()? {
            return Ok(Written::Full);
        }
        let mut left = TURN_BYTES;
        loop {
            let slices = outbox.slices();
            if slices.is_empty() {
                return Ok(Written::All);
            }
            if left == 0 {
                return Ok(Written::Turn);
            }
            match self.stream.write_vectored(&slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    left = left.saturating_sub(count);
                    through.extend(outbox.wrote(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Written::Full);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads words of the greeting; false at the end.
    pub(super) fn hear(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        // What follows the greeting stays in the system's buffer as far as possible.
        while self.heard.len() < MAX_GREETING {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Starts to connect without waiting.
pub(super) fn connect(to: SocketAddr, settings: &TcpSettings) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(to)?;
    tune(&stream, settings)?;
    Ok(stream)
}

/// Sets the options of a connection, whoever called.
pub(super) fn tune(stream: &TcpStream, settings: &TcpSettings) -> io::Result<()> {
    let socket = SockRef::from(stream);
    // Small parcels leave at once; large ones fill segments anyway.
    socket.set_tcp_nodelay(true)?;
    net::watch_over(stream, settings.dead_after)?;
    if let Some(bytes) = settings.unsent_bytes {
        socket.set_tcp_notsent_lowat(bytes)?;
    }
    choose_control(stream, settings)
}

/// Sets a socket's congestion control, if it is chosen.
pub(super) fn choose_control(socket: &impl AsFd, settings: &TcpSettings) -> io::Result<()> {
    if let Some(name) = &settings.congestion {
        SockRef::from(socket).set_tcp_congestion(name.as_bytes()).map_err(|error| {
            let text = format!(
                "congestion control `{name}` cannot be used ({error}); the kernel's are listed in \
                 /proc/sys/net/ipv4/tcp_allowed_congestion_control"
            );
            io::Error::new(error.kind(), text)
        })?;
    }
    Ok(())
}

/// Whether a connection that was started is there.
pub(super) fn connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}
