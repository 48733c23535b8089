//! The packets before a connection exists.

use super::{Cursor, DecodeError, PacketKind};
use crate::crypto::Ciphers;

/// Bytes of an address-validation cookie: when it was made, and a keyed hash.
pub const COOKIE_LEN: usize = 8 + 16;

/// What the two sides tell each other about themselves, inside the protected part of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// The largest datagram this side sends or takes.
    pub max_datagram: u16,
    /// Payload bytes of a job the other side may send before it hears Hold or Go.
    pub eager_bytes: u32,
    /// In a Hello the ciphers that the client has, in an Accept the one to use.
    pub ciphers: Ciphers,
}

impl Params {
    /// Bytes on the wire.
    pub const LEN: usize = 7;
    /// Bytes of them that every endpoint sends. Where something follows the parameters, it follows
    /// these, and the rest comes last: that is how later versions can say more.
    pub const BASE_LEN: usize = 6;

    /// As bytes.
    pub fn encode(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..2].copy_from_slice(&self.max_datagram.to_be_bytes());
        out[2..6].copy_from_slice(&self.eager_bytes.to_be_bytes());
        out[6] = self.ciphers.bits();
        out
    }

    /// From bytes; more than expected is left for later versions.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let (max_datagram, eager_bytes) = (cursor.u16()?, cursor.u32()?);
        // Endpoints from before there was a choice end here.
        let ciphers = if cursor.is_empty() { 0 } else { cursor.u8()? };
        Ok(Self { max_datagram, eager_bytes, ciphers: Ciphers::from_bits(ciphers) })
    }
}

/// The client's first packet. It is padded to the size of datagram the client wants to use, which
/// proves that the path carries it and bounds what an answer may weigh.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello<'a> {
    /// Random; only steers the packet to one of the server's sockets.
    pub route: u32,
    /// The id the client wants to be addressed by.
    pub client: u32,
    /// Which key is meant (a hash of it), or `None` without one.
    pub key_id: Option<[u8; 8]>,
    /// The cookie from a Retry.
    pub cookie: Option<[u8; COOKIE_LEN]>,
    /// Noise message 1, or plain [`Params`] without a key.
    pub handshake: &'a [u8],
}

impl<'a> Hello<'a> {
    /// Appends the packet, padded to `size`.
    pub fn put(&self, out: &mut Vec<u8>, size: usize) {
        let base = out.len();
        out.push(PacketKind::Hello.first_byte());
        out.extend_from_slice(&self.route.to_be_bytes());
        out.extend_from_slice(&self.client.to_be_bytes());
        out.push(u8::from(self.key_id.is_some()) | u8::from(self.cookie.is_some()) << 1);
        out.extend_from_slice(self.key_id.as_ref().map_or(&[], |id| &id[..]));
        out.extend_from_slice(self.cookie.as_ref().map_or(&[], |cookie| &cookie[..]));
        put_handshake(out, self.handshake);
        out.resize((base + size).max(out.len()), 0);
    }

    /// Reads it.
    pub fn get(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.u8()?;
        let route = cursor.u32()?;
        let client = cursor.u32()?;
        let flags = cursor.u8()?;
        if flags > 3 {
            return Err(DecodeError::Value("hello.flags"));
        }
        let key_id = if flags & 1 != 0 { Some(cursor.array()?) } else { None };
        let cookie = if flags & 2 != 0 { Some(cursor.array()?) } else { None };
        Ok(Self { route, client, key_id, cookie, handshake: get_handshake(&mut cursor)? })
    }
}

/// The server's answer to a Hello without a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// The client's id.
    pub client: u32,
    /// To be repeated in the next Hello.
    pub cookie: [u8; COOKIE_LEN],
}

impl Retry {
    /// Appends the packet.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(PacketKind::Retry.first_byte());
        out.extend_from_slice(&self.client.to_be_bytes());
        out.extend_from_slice(&self.cookie);
    }

    /// Reads it.
    pub fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.u8()?;
        Ok(Self { client: cursor.u32()?, cookie: cursor.array()? })
    }
}

/// The server agrees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accept<'a> {
    /// The client's id.
    pub client: u32,
    /// The id the server wants to be addressed by.
    pub server: u32,
    /// Noise message 2, or plain [`Params`] without a key.
    pub handshake: &'a [u8],
}

impl<'a> Accept<'a> {
    /// Appends the packet, padded to `size`.
    pub fn put(&self, out: &mut Vec<u8>, size: usize) {
        let base = out.len();
        out.push(PacketKind::Accept.first_byte());
        out.extend_from_slice(&self.client.to_be_bytes());
        out.extend_from_slice(&self.server.to_be_bytes());
        put_handshake(out, self.handshake);
        out.resize((base + size).max(out.len()), 0);
    }

    /// Reads it.
    pub fn get(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.u8()?;
        let client = cursor.u32()?;
        let server = cursor.u32()?;
        Ok(Self { client, server, handshake: get_handshake(&mut cursor)? })
    }
}

/// Why a server does not want to talk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[repr(u8)]
pub enum Refusal {
    /// It does not have the key the client named.
    #[error("the peer does not have this key")]
    UnknownKey = 1,
    /// It speaks another version.
    #[error("the peer speaks another protocol version")]
    Version = 2,
    /// It insists on a key and the client came without one, or the other way round.
    #[error("one side uses a key and the other runs without (--insecure)")]
    KeyMismatch = 3,
    /// It has as many peers as it may have.
    #[error("the peer has as many connections as it may have")]
    Full = 4,
}

/// The server refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refuse {
    /// The client's id.
    pub client: u32,
    /// Why.
    pub why: Refusal,
}

impl Refuse {
    /// Appends the packet.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(PacketKind::Refuse.first_byte());
        out.extend_from_slice(&self.client.to_be_bytes());
        out.push(self.why as u8);
    }

    /// Reads it.
    pub fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.u8()?;
        let client = cursor.u32()?;
        let why = match cursor.u8()? {
            1 => Refusal::UnknownKey,
            2 => Refusal::Version,
            3 => Refusal::KeyMismatch,
            4 => Refusal::Full,
            _ => return Err(DecodeError::Value("refuse.why")),
        };
        Ok(Self { client, why })
    }
}

fn put_handshake(out: &mut Vec<u8>, handshake: &[u8]) {
    out.extend_from_slice(&(handshake.len() as u16).to_be_bytes());
    out.extend_from_slice(handshake);
}

fn get_handshake<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], DecodeError> {
    let length = cursor.u16()?;
    cursor.take(usize::from(length))
}
