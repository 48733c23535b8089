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

use super::{Key, Secrets};
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
            Ok::<_, snow::Error>(Self { state: Box::new(state), message })
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
        let (params, server) = payload[..length].split_at_checked(Params::LEN)?;
        let server = u32::from_be_bytes(*server.first_chunk()?);
        let (ours, theirs) = self.state.dangerously_get_raw_split();
        Some((Params::decode(params).ok()?, server, Secrets::Keyed { ours, theirs }))
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
    let mut payload = agreed.encode().to_vec();
    payload.extend_from_slice(&server.to_be_bytes());
    let length = state.write_message(&payload, &mut answer).ok()?;
    answer.truncate(length);
    // The split is named from the initiator's view: first what the initiator sends with.
    let (theirs, ours) = state.dangerously_get_raw_split();
    Some((agreed, answer, Secrets::Keyed { ours, theirs }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: Params = Params { max_datagram: 1452, eager_bytes: 1 << 16 };

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
        let (Secrets::Keyed { ours, theirs }, Secrets::Keyed { ours: s_ours, theirs: s_theirs }) =
            (secrets, server)
        else {
            panic!("a keyed handshake gives keyed secrets");
        };
        assert_eq!((ours, theirs), (s_theirs, s_ours));
        assert_ne!(ours, theirs);
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
