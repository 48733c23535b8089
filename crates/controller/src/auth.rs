//! Who somebody is, and how it is proved: the job's key for everybody who takes part, and a key pair of
//! its own for each host.
//!
//! Both sides send a random number and show that they have the key by sealing both numbers and both
//! names with it ([`Secret`]). A host also signs them with the secret half of its token, so that hosts
//! of one job cannot play each other.

use std::fmt;

use laxity_fabric::rendezvous::Secret;
use ring::{
    rand::{SecureRandom, SystemRandom},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};

use crate::wire;

/// Bytes of a random number that is used once.
pub const NONCE_BYTES: usize = 32;
/// Bytes of a token.
pub const TOKEN_BYTES: usize = 32;

/// The key pair of a host. Its public half, the token, is what the controller knows the host by.
pub struct HostKeys {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl fmt::Debug for HostKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostKeys").field(&hex(&self.token())).finish()
    }
}

impl HostKeys {
    /// New ones. A process that is started again with new ones has to wait until the controller has
    /// forgotten the old.
    pub fn new() -> Self {
        Self::from_seed(random())
    }

    /// Those of before, from what [`danger_seed`](Self::danger_seed) gave.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("any 32 bytes are a seed");
        Self { seed, pair }
    }

    /// The secret half, to be kept.
    pub fn danger_seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// The public half.
    pub fn token(&self) -> [u8; TOKEN_BYTES] {
        let mut token = [0; TOKEN_BYTES];
        token.copy_from_slice(self.pair.public_key().as_ref());
        token
    }

    pub(crate) fn sign(&self, talk: &Talk<'_>) -> Vec<u8> {
        self.pair.sign(&talk.text()).as_ref().to_vec()
    }
}

impl Default for HostKeys {
    fn default() -> Self {
        Self::new()
    }
}

/// One conversation: what both sides prove that they mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk<'a> {
    pub(crate) host: &'a str,
    pub(crate) controller: &'a str,
    pub(crate) host_nonce: &'a [u8],
    pub(crate) controller_nonce: &'a [u8],
    pub(crate) token: &'a [u8],
}

impl Talk<'_> {
    fn parts(&self, who: &'static [u8]) -> [&[u8]; 6] {
        let (host, controller) = (self.host.as_bytes(), self.controller.as_bytes());
        [who, host, controller, self.host_nonce, self.controller_nonce, self.token]
    }

    fn text(&self) -> Vec<u8> {
        let parts = self.parts(b"laxity host claim");
        let mut text = Vec::new();
        for part in parts {
            // Lengths in between: no two lists of parts look alike.
            text.extend_from_slice(&(part.len() as u64).to_le_bytes());
            text.extend_from_slice(part);
        }
        text
    }

    /// The controller's proof.
    pub(crate) fn controller_proof(&self, secret: &Secret) -> Vec<u8> {
        secret.mac(&self.parts(b"laxity controller")).to_vec()
    }

    /// The host's proof.
    pub(crate) fn host_proof(&self, secret: &Secret) -> Vec<u8> {
        secret.mac(&self.parts(b"laxity host")).to_vec()
    }

    pub(crate) fn controller_proves(&self, secret: &Secret, proof: &[u8]) -> bool {
        secret.proves(&self.parts(b"laxity controller"), proof)
    }

    pub(crate) fn host_proves(&self, secret: &Secret, proof: &[u8]) -> bool {
        secret.proves(&self.parts(b"laxity host"), proof)
    }

    pub(crate) fn signed(&self, signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.token).verify(&self.text(), signature).is_ok()
    }
}

/// The first words of a host (or of somebody who asks, without keys), without input and output.
#[derive(Debug)]
pub struct Opening<'a> {
    secret: &'a Secret,
    keys: Option<&'a HostKeys>,
    hello: wire::Hello,
}

impl<'a> Opening<'a> {
    /// Begins a conversation; the nonce is random. Of `hello` only what a host says of itself counts.
    pub fn new(
        secret: &'a Secret,
        keys: Option<&'a HostKeys>,
        nonce: [u8; NONCE_BYTES],
        hello: wire::Hello,
    ) -> Self {
        let hello = wire::Hello {
            layout: wire::LAYOUT,
            observer: keys.is_none(),
            nonce: nonce.to_vec(),
            key_id: key_id(secret),
            token: keys.map(|keys| keys.token().to_vec()).unwrap_or_default(),
            ..hello
        };
        Self { secret, keys, hello }
    }

    /// The first word.
    pub fn hello(&self) -> wire::FromHost {
        wire::FromHost { word: Some(wire::from_host::Word::Hello(self.hello.clone())) }
    }

    /// The answer to a challenge, or why whoever is `at` that address is not the job's controller.
    pub fn proof(&self, at: &str, challenge: &wire::Challenge) -> Result<wire::FromHost, String> {
        let talk = Talk {
            host: &self.hello.name,
            controller: &challenge.name,
            host_nonce: &self.hello.nonce,
            controller_nonce: &challenge.nonce,
            token: &self.hello.token,
        };
        let fits = challenge.nonce.len() == NONCE_BYTES;
        if !fits || !talk.controller_proves(self.secret, &challenge.proof) {
            return Err(format!(
                "controller {} at {at} has {} and cannot prove that it has {} of {}: give both the \
                 same key file",
                challenge.name,
                named_key(&challenge.key_id),
                named_key(&self.hello.key_id),
                self.hello.name,
            ));
        }
        let signature = self.keys.map(|keys| keys.sign(&talk)).unwrap_or_default();
        let proof = wire::Proof { proof: talk.host_proof(self.secret), signature };
        Ok(wire::FromHost { word: Some(wire::from_host::Word::Proof(proof)) })
    }
}

/// The public name of a key; empty without one.
pub(crate) fn key_id(secret: &Secret) -> String {
    match secret {
        Secret::Key(key) => hex(&key.id()),
        Secret::Insecure => String::new(),
    }
}

/// A key by its public name, for people.
pub(crate) fn named_key(id: &str) -> String {
    if id.is_empty() { "no key".to_owned() } else { format!("key {id}") }
}

/// Hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(byte).collect()
}

/// Random bytes from the operating system.
///
/// # Panics
/// If the operating system has none, without which nothing here is safe.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use laxity_protocol::Key;

    use super::*;

    #[test]
    fn proofs_hold_for_their_side_key_and_conversation_only() {
        let keys = HostKeys::from_seed([5; 32]);
        let token = keys.token();
        let talk = Talk {
            host: "a",
            controller: "c",
            host_nonce: &[1; 32],
            controller_nonce: &[2; 32],
            token: &token,
        };
        let (ours, other) = (Secret::Key(Key::new([3; 32])), Secret::Key(Key::new([4; 32])));
        assert!(talk.host_proves(&ours, &talk.host_proof(&ours)));
        assert!(talk.controller_proves(&ours, &talk.controller_proof(&ours)));
        assert!(!talk.host_proves(&ours, &talk.host_proof(&other)));
        assert!(!talk.host_proves(&ours, &talk.controller_proof(&ours)), "the other side's");
        let later = Talk { controller_nonce: &[9; 32], ..talk };
        assert!(!later.host_proves(&ours, &talk.host_proof(&ours)), "said before");
        let signature = keys.sign(&talk);
        assert!(talk.signed(&signature));
        assert!(!later.signed(&signature));
        assert!(!Talk { host: "b", ..talk }.signed(&signature));
    }

    #[test]
    fn digits_read_back() {
        assert_eq!(unhex(&hex(&[0, 15, 255])), Some(vec![0, 15, 255]));
        assert_eq!((unhex("0"), unhex("zz"), unhex("é0")), (None, None, None));
    }
}
