//! The client's side of getting connected, and what a server keeps of it.

use laxity_interface::{Span, Time};

use crate::{
    config::{BASE_DATAGRAM, Config, Keys, MIN_DATAGRAM},
    crypto::{Initiator, Secrets},
    wire::{Accept, COOKIE_LEN, Hello, Params, Refusal},
};

/// Where a connection stands.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// This side said Hello and waits.
    Calling(Box<Caller>),
    /// This side answered a Hello; the answer is kept for a Hello that comes again.
    Answered {
        /// The Accept packet.
        answer: Vec<u8>,
        /// When it was first sent.
        at: Time,
    },
    /// Through.
    Done,
}

/// A client that waits for an answer.
#[derive(Debug)]
pub(crate) struct Caller {
    route: u32,
    initiator: Option<Initiator>,
    key_id: Option<[u8; 8]>,
    cookie: Option<[u8; COOKIE_LEN]>,
    params: Params,
    tries: u32,
    pub(crate) started: Time,
    /// When the Hello that may be answered next was sent.
    sent: Option<Time>,
    next: Time,
    pub(crate) hint: Option<Refusal>,
    pub(crate) forged: bool,
}

/// Repeats before a smaller datagram is tried.
const TRIES_PER_SIZE: u32 = 2;

impl Caller {
    pub(crate) fn new(
        now: Time,
        config: &Config,
        max_datagram: u16,
        (route, client, seed): (u32, u32, [u8; 32]),
    ) -> Self {
        let own = own_params(config);
        let max_datagram = own.max_datagram.min(max_datagram).max(MIN_DATAGRAM);
        let params = Params { max_datagram, ..own };
        let key = match &config.keys {
            Keys::Keyed(keys) => keys.first(),
            Keys::Insecure => None,
        };
        Self {
            route,
            initiator: key.map(|key| Initiator::new(key, seed, client, params)),
            key_id: key.map(|key| key.id()),
            cookie: None,
            params,
            tries: 0,
            started: now,
            sent: None,
            next: now,
            hint: None,
            forged: false,
        }
    }

    /// When the next Hello is due.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// How long to go on. A refusal is only a hint, since anybody could have sent it, but nobody
    /// should have to wait long for a typing error in a key file.
    pub(crate) fn patience(&self, timeout: Span) -> Span {
        if self.hint.is_some() || self.forged { timeout.min(Span::from_secs(1)) } else { timeout }
    }

    /// Writes the next Hello.
    pub(crate) fn hello(&mut self, now: Time, client: u32, rtt: Span, out: &mut Vec<u8>) {
        // A datagram that the path does not carry is simply not answered: try a smaller one.
        let full = usize::from(self.params.max_datagram);
        let small = full.min(usize::from(BASE_DATAGRAM));
        let size = if self.tries < TRIES_PER_SIZE { full } else { small };
        let plain = self.params.encode();
        let handshake = self.initiator.as_ref().map_or(&plain[..], |i| &i.message[..]);
        Hello { route: self.route, client, key_id: self.key_id, cookie: self.cookie, handshake }
            .put(out, size);
        self.sent = Some(now);
        self.next = now + rtt * (1 << self.tries.min(4));
        self.tries += 1;
    }

    /// A cookie came: say Hello again at once.
    pub(crate) fn retry(&mut self, now: Time, cookie: [u8; COOKIE_LEN]) {
        if self.cookie != Some(cookie) {
            self.cookie = Some(cookie);
            self.next = now;
            // The first Hello got through at its size; the size is not to be doubted yet.
            self.tries = self.tries.saturating_sub(1);
        }
    }

    /// An answer came. `None`: not from somebody with the key, or not for this.
    pub(crate) fn accept(
        &mut self,
        now: Time,
        packet: &Accept<'_>,
        size: usize,
    ) -> Option<(Params, Secrets, Option<Span>)> {
        let (mut params, secrets) = match &mut self.initiator {
            Some(initiator) => match initiator.finish(packet.handshake) {
                Some(found) => found,
                None => {
                    self.forged = true;
                    return None;
                }
            },
            None => {
                let params = Params::decode(packet.handshake).ok()?;
                let (ours, theirs) = plain_salts(packet.client, packet.server);
                (params, Secrets::Plain { ours, theirs })
            }
        };
        // The answer was padded to what the server means to use: what arrived is proved.
        params.max_datagram = params.max_datagram.min(size as u16).min(self.params.max_datagram);
        if params.max_datagram < MIN_DATAGRAM {
            return None;
        }
        // Only an answer to a Hello that was sent once measures the path.
        let rtt = self.sent.filter(|_| self.tries <= 2).map(|sent| now.since(sent));
        Some((params, secrets, rtt))
    }
}

/// What this endpoint tells about itself.
pub(crate) fn own_params(config: &Config) -> Params {
    Params { max_datagram: config.max_datagram, eager_bytes: 512 << 10 }
}

/// Checksum salts of a connection without a key: of what the client sends and of what the server
/// sends. They differ, so a reflected packet is not taken for the other side's.
pub(crate) fn plain_salts(client: u32, server: u32) -> (u32, u32) {
    let salt = client ^ server.rotate_left(16);
    (salt, !salt)
}
