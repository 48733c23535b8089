//! The client's side of getting connected, and what a server keeps of it.

use laxity_interface::{Span, Time};

use crate::{
    config::{BASE_DATAGRAM, Config, Keys, MIN_DATAGRAM},
    crypto::{Ciphers, Initiator, Secrets, plain},
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
        /// When it was last sent.
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
    /// Copies of the present Hello that have left.
    copies: u32,
    /// The longest wait between two Hellos.
    pause: Span,
    pub(crate) started: Time,
    /// When the Hello that may be answered next was sent.
    sent: Option<Time>,
    next: Time,
    pub(crate) hint: Option<Refusal>,
    pub(crate) forged: bool,
}

/// Repeats before a smaller datagram is tried, in turn with the full one.
const TRIES_PER_SIZE: u32 = 2;
/// Who is not answered at all asks at least this often before giving up.
const MIN_TRIES: u64 = 64;
/// Copies of each Hello once several went unanswered: the path may be a bad one.
const MAX_COPIES: u32 = 8;

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
            copies: 0,
            pause: config.connect_timeout / MIN_TRIES,
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
        let size =
            if self.tries < TRIES_PER_SIZE || self.tries.is_multiple_of(2) { full } else { small };
        let plain = plain::encode(client, 0, self.params);
        let handshake = self.initiator.as_ref().map_or(&plain[..], |i| &i.message[..]);
        Hello { route: self.route, client, key_id: self.key_id, cookie: self.cookie, handshake }
            .put(out, size);
        self.sent = Some(now);
        self.copies += 1;
        if self.copies < self.tries.clamp(1, MAX_COPIES) {
            return;
        }
        self.copies = 0;
        self.next = now + if self.tries == 0 { rtt } else { self.pause };
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
    ) -> Option<(Params, u32, Secrets, Option<Span>)> {
        if size < usize::from(MIN_DATAGRAM) {
            // Cut short on the way; looking into it would spoil the handshake for the whole one.
            return None;
        }
        let (mut params, server, secrets) = match &mut self.initiator {
            Some(initiator) => match initiator.finish(packet.handshake) {
                Some(found) => found,
                None => {
                    self.forged = true;
                    return None;
                }
            },
            None => {
                let params = plain::decode(packet.client, packet.server, packet.handshake)?;
                let (ours, theirs) = plain::salts(packet.client, packet.server);
                (params, packet.server, Secrets::Plain { ours, theirs })
            }
        };
        // The answer was padded to what the server means to use: what arrived is proved.
        params.max_datagram = params.max_datagram.min(size as u16).min(self.params.max_datagram);
        if params.max_datagram < MIN_DATAGRAM {
            return None;
        }
        // Exact only if the Hello was sent once; else most likely the last one was answered.
        Some((params, server, secrets, self.sent.map(|sent| now.since(sent))))
    }
}

/// What this endpoint tells about itself.
pub(crate) fn own_params(config: &Config) -> Params {
    // Without keys nothing is encrypted, and there is nothing to agree on.
    let ciphers = match config.keys {
        Keys::Keyed(_) => Ciphers::offered(config.cipher),
        Keys::Insecure => Ciphers::BASE,
    };
    Params { max_datagram: config.max_datagram, eager_bytes: 512 << 10, ciphers }
}
