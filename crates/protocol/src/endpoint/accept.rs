//! Strangers knocking: nothing is kept for them before they have shown an address and a key.

use std::net::SocketAddr;

use laxity_interface::Time;

use super::Endpoint;
use crate::{
    config::{Keys, MIN_DATAGRAM},
    connection::{Connection, Handshake, own_params},
    crypto::{Secrets, plain, respond},
    ids::PeerId,
    wire::{Accept, Hello, Params, Refusal, Refuse, Retry},
};

impl Endpoint {
    pub(super) fn handle_hello(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        // Shorter ones could be used to make us send more than we get.
        if datagram.len() < usize::from(MIN_DATAGRAM) {
            self.shared.stats.dropped_malformed += 1;
            return;
        }
        let Ok(hello) = Hello::get(datagram) else {
            self.shared.stats.dropped_malformed += 1;
            return;
        };
        let known = hello.cookie.is_some_and(|c| self.jar.check(now, from, hello.client, &c));
        if !known {
            let cookie = self.jar.make(now, from, hello.client);
            return self.answer(from, |out| Retry { client: hello.client, cookie }.put(out));
        }
        if let Some(peer) = self.by_caller.get(&(from, hello.client)) {
            // The same call again: our answer got lost. Once it was heard, late copies mean nothing.
            if let Some(connection) = self.connections.get_mut(peer)
                && let Handshake::Answered { answer, at } = &mut connection.handshake
            {
                *at = now;
                // A smaller Hello means that the path does not carry the larger.
                answer.truncate(datagram.len());
                let answer = answer.clone();
                connection.shrink(answer.len());
                self.answer(from, |out| out.extend_from_slice(&answer));
            }
            return;
        }
        if let Err(why) = self.admit(now, from, &hello, datagram.len()) {
            self.shared.stats.hellos_refused += 1;
            self.answer(from, |out| Refuse { client: hello.client, why }.put(out));
        }
    }

    fn admit(
        &mut self,
        now: Time,
        from: SocketAddr,
        hello: &Hello<'_>,
        size: usize,
    ) -> Result<(), Refusal> {
        let config = &self.shared.config;
        if self.connections.len() >= config.max_peers || self.half_open >= config.max_half_open {
            return Err(Refusal::Full);
        }
        let own = own_params(config);
        let mut eager_bytes = own.eager_bytes;
        let mut agree = |theirs: Params| {
            eager_bytes = theirs.eager_bytes;
            let max_datagram = own.max_datagram.min(theirs.max_datagram).min(size as u16);
            let ciphers = own.ciphers.common(theirs.ciphers);
            Params { max_datagram, ciphers, ..own }
        };
        let local = self.fresh_id();
        let seed = self.fresh_seed();
        let (agreed, answer, secrets) = match (&self.shared.config.keys, hello.key_id) {
            (Keys::Keyed(keys), Some(id)) => {
                let key = keys.iter().find(|key| key.id() == id).ok_or(Refusal::UnknownKey)?;
                let Some(found) = respond(key, seed, (hello.client, local), hello.handshake, agree)
                else {
                    // It names our key and does not have it.
                    self.shared.stats.dropped_unauthentic += 1;
                    return Ok(());
                };
                found
            }
            (Keys::Insecure, None) => {
                let Some(params) = plain::decode(hello.client, 0, hello.handshake) else {
                    self.shared.stats.dropped_unauthentic += 1;
                    return Ok(());
                };
                let agreed = agree(params);
                let (theirs, ours) = plain::salts(hello.client, local);
                let answer = plain::encode(hello.client, local, agreed);
                (agreed, answer, Secrets::Plain { ours, theirs })
            }
            _ => return Err(Refusal::KeyMismatch),
        };
        if agreed.max_datagram < MIN_DATAGRAM {
            return Ok(());
        }
        let mut packet = Vec::new();
        Accept { client: hello.client, server: local, handshake: &answer }
            .put(&mut packet, usize::from(agreed.max_datagram));
        self.answer(from, |out| out.extend_from_slice(&packet));
        let id = PeerId(self.next_peer);
        self.next_peer += 1;
        let handshake = Handshake::Answered { answer: packet, at: now };
        let mut connection = Connection::new(now, id, from, local, handshake, &self.shared.config);
        let params = Params { eager_bytes, ..agreed };
        connection.establish(now, hello.client, params, secrets, None, &self.shared.config);
        self.half_open += 1;
        self.by_id.insert(local, id);
        self.by_caller.insert((from, hello.client), id);
        self.connections.insert(id, Box::new(connection));
        self.touch(id);
        Ok(())
    }

    pub(super) fn refuse_version(&mut self, from: SocketAddr, datagram: &[u8]) {
        self.shared.stats.dropped_malformed += 1;
        let is_hello = datagram[0] & 0x0f == 0 && datagram.len() >= usize::from(MIN_DATAGRAM);
        if let Some(&client) = datagram.get(5..).and_then(|rest| rest.first_chunk::<4>())
            && is_hello
        {
            let client = u32::from_be_bytes(client);
            self.answer(from, |out| Refuse { client, why: Refusal::Version }.put(out));
        }
    }
}
