//! The key exchange: Noise NNpsk0, by the `snow` crate.
//!
//! The shared key authenticates both sides with the very first message (it is mixed in before
//! anything is encrypted), and fresh X25519 keys make old recordings worthless if it leaks later.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use snow::{
    Builder, HandshakeState,
    params::{CipherChoice, DHChoice, HashChoice},
    resolvers::{CryptoResolver, DefaultResolver},
    types::{Cipher, Dh, Hash, Random},
};

use super::{Ciphers, Key, Secrets};
use crate::wire::Params;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// Randomness comes from outside, as everywhere in this crate: the same seed, the same packets.
struct Resolver(ChaCha20Rng);

struct Source(ChaCha20Rng);

impl Random for Source {
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), snow::Error> {
        self.0.fill_bytes(out);
        Ok(())
    }
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Source(self.0.clone())))
    }
    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }
    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }
    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

fn builder<'a>(
    key: &'a Key,
    seed: [u8; 32],
    prologue: &'a [u8],
) -> Result<Builder<'a>, snow::Error> {
    let resolver = Resolver(ChaCha20Rng::from_seed(seed));
    let params = PATTERN.parse()?;
    Builder::with_resolver(params, Box::new(resolver))
        .psk(0, key.danger_bytes())?
        .prologue(prologue)
}

/// The client's half of a handshake.
pub(crate) struct Initiator {
    state: Box<HandshakeState>,
    offered: Ciphers,
    /// Message 1, kept so that a retry sends the same bytes.
    pub(crate) message: Vec<u8>,
}

impl std::fmt::Debug for Initiator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Initiator")
    }
}

impl Initiator {
    pub(crate) fn new(key: &Key, seed: [u8; 32], client: u32, params: Params) -> Self {
        let make = || {
            let mut state = builder(key, seed, &client.to_be_bytes())?.build_initiator()?;
            let mut message = vec![0; 256];
            let length = state.write_message(&params.encode(), &mut message)?;
            message.truncate(length);
            Ok::<_, snow::Error>(Self { state: Box::new(state), offered: params.ciphers, message })
        };
        make().expect("a fixed Noise pattern with all its inputs cannot fail")
    }

    /// Reads the server's answer: its parameters and its connection id, which outside of this is
    /// open to anybody's fingers. `None`: it was not made by somebody with the key.
    ///
    /// Takes `self` by reference because a forged answer must not spoil the handshake.
    pub(crate) fn finish(&mut self, answer: &[u8]) -> Option<(Params, u32, Secrets)> {
        let mut payload = [0; 256];
        let length = self.state.read_message(answer, &mut payload).ok()?;
        let (params, server) = read_answer(&payload[..length])?;
        if params.ciphers.common(self.offered) != params.ciphers {
            // It has the key and still chose what was not offered.
            return None;
        }
        let (ours, theirs) = self.state.dangerously_get_raw_split();
        let cipher = params.ciphers.best();
        Some((params, server, Secrets::Keyed { cipher, ours, theirs }))
    }
}

/// The server's whole part: reads message 1, writes message 2. `None`: the client lacks the key.
pub(crate) fn respond(
    key: &Key,
    seed: [u8; 32],
    (client, server): (u32, u32),
    message: &[u8],
    params: impl FnOnce(Params) -> Params,
) -> Option<(Params, Vec<u8>, Secrets)> {
    let prologue = client.to_be_bytes();
    let mut state = builder(key, seed, &prologue).ok()?.build_responder().ok()?;
    let mut payload = [0; 256];
    let length = state.read_message(message, &mut payload).ok()?;
    let agreed = params(Params::decode(&payload[..length]).ok()?);
    let mut answer = vec![0; 256];
    let length = state.write_message(&write_answer(agreed, server), &mut answer).ok()?;
    answer.truncate(length);
    // The split is named from the initiator's view: first what the initiator sends with.
    let (theirs, ours) = state.dangerously_get_raw_split();
    let cipher = agreed.ciphers.best();
    Some((agreed, answer, Secrets::Keyed { cipher, ours, theirs }))
}

/// The server's parameters around its connection id.
fn write_answer(params: Params, server: u32) -> Vec<u8> {
    let params = params.encode();
    let (base, later) = params.split_at(Params::BASE_LEN);
    [base, &server.to_be_bytes(), later].concat()
}

fn read_answer(payload: &[u8]) -> Option<(Params, u32)> {
    let (base, rest) = payload.split_at_checked(Params::BASE_LEN)?;
    let (server, later) = rest.split_first_chunk()?;
    Some((Params::decode(&[base, later].concat()).ok()?, u32::from_be_bytes(*server)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Cipher;

    const FAST: Ciphers = Ciphers::from_bits(1);
    const PARAMS: Params = Params { max_datagram: 1452, eager_bytes: 1 << 16, ciphers: FAST };

    #[test]
    fn same_key_same_secrets() {
        let key = Key::new([5; 32]);
        let mut client = Initiator::new(&key, [1; 32], 77, PARAMS);
        let (params, answer, server) = respond(&key, [2; 32], (77, 5), &client.message, |p| {
            Params { max_datagram: 1200, ..p }
        })
        .unwrap();
        assert_eq!(params.max_datagram, 1200);
        let (agreed, id, secrets) = client.finish(&answer).unwrap();
        assert_eq!((agreed.max_datagram, id), (1200, 5));
        let (ours, theirs, cipher) = secrets_of(secrets);
        assert_eq!((theirs, ours, cipher), secrets_of(server));
        assert_ne!(ours, theirs);
        assert_eq!(cipher, Cipher::Aegis128L);
    }

    fn secrets_of(secrets: Secrets) -> ([u8; 32], [u8; 32], Cipher) {
        match secrets {
            Secrets::Keyed { cipher, ours, theirs } => (ours, theirs, cipher),
            Secrets::Plain { .. } => panic!("a keyed handshake gives keyed secrets"),
        }
    }

    #[test]
    fn the_server_chooses_among_what_was_offered() {
        let key = Key::new([5; 32]);
        let all = [FAST, Ciphers::BASE];
        for (offered, has) in all.into_iter().flat_map(|o| all.map(|h| (o, h))) {
            let mut client =
                Initiator::new(&key, [1; 32], 77, Params { ciphers: offered, ..PARAMS });
            let choose = |p: Params| Params { ciphers: p.ciphers.common(has), ..p };
            let (_, answer, server) =
                respond(&key, [2; 32], (77, 5), &client.message, choose).unwrap();
            let (_, _, secrets) = client.finish(&answer).unwrap();
            let fast = offered == FAST && has == FAST;
            let expected = if fast { Cipher::Aegis128L } else { Cipher::Aes256Gcm };
            assert_eq!([secrets_of(secrets).2, secrets_of(server).2], [expected; 2]);
        }
        let mut client = Initiator::new(&key, [1; 32], 77, Params { ciphers: all[1], ..PARAMS });
        let choose = |p: Params| Params { ciphers: FAST, ..p };
        let (_, answer, _) = respond(&key, [2; 32], (77, 5), &client.message, choose).unwrap();
        assert!(client.finish(&answer).is_none(), "not offered");
    }

    /// Endpoints from before there was a choice send six bytes of parameters, and then their id.
    #[test]
    fn answers_without_ciphers_mean_aes() {
        let old = [&1452_u16.to_be_bytes()[..], &7_u32.to_be_bytes(), &9_u32.to_be_bytes()];
        let (params, server) = read_answer(&old.concat()).unwrap();
        let expected = Params { max_datagram: 1452, eager_bytes: 7, ciphers: Ciphers::BASE };
        assert_eq!((params, server), (expected, 9));
        assert_eq!(read_answer(&write_answer(PARAMS, 9)), Some((PARAMS, 9)));
    }

    #[test]
    fn wrong_key_wrong_client_or_forged_answer_fail() {
        let key = Key::new([5; 32]);
        let mut client = Initiator::new(&key, [1; 32], 77, PARAMS);
        assert!(respond(&Key::new([6; 32]), [2; 32], (77, 5), &client.message, |p| p).is_none());
        assert!(respond(&key, [2; 32], (78, 5), &client.message, |p| p).is_none());
        let (_, answer, _) = respond(&key, [2; 32], (77, 5), &client.message, |p| p).unwrap();
        let mut forged = answer.clone();
        forged[40] ^= 1;
        assert!(client.finish(&forged).is_none());
        assert!(client.finish(&answer).is_some(), "a forgery must not spoil the handshake");
    }
}
