//! The job's key at work: proofs that somebody has it, and words that nobody can forge.

use laxity_protocol::Key;
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use subtle::ConstantTimeEq;

/// Bytes of a proof.
pub const MAC_BYTES: usize = 32;
/// Bytes of a number that is used once.
pub(crate) const NONCE_BYTES: usize = 32;

/// The key that a job's members share, or the word to do without.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Secret {
    /// Only holders of this key take part.
    Key(Key),
    /// Anybody can take part: for measurements and trusted wires.
    Insecure,
}

impl Secret {
    /// The proof that somebody with this key said all of `parts`.
    pub fn mac(&self, parts: &[&[u8]]) -> [u8; MAC_BYTES] {
        let bytes = match self {
            Self::Key(key) => key.danger_bytes(),
            Self::Insecure => b"laxity: anybody may take part...",
        };
        mac(&hmac::Key::new(hmac::HMAC_SHA256, bytes), parts)
    }

    /// Whether a proof is one.
    pub fn proves(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        bool::from(self.mac(parts).ct_eq(proof))
    }
}

fn mac(key: &hmac::Key, parts: &[&[u8]]) -> [u8; MAC_BYTES] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        // Lengths in between: no two lists of parts look alike.
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    let mut out = [0; MAC_BYTES];
    out.copy_from_slice(context.sign().as_ref());
    out
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

/// One side of a conversation that both have proved to belong to: each word is numbered and sealed.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    key: hmac::Key,
    caller: bool,
    sent: u64,
    heard: u64,
}

/// Why what came is not a sealed word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SealError {
    /// Longer than any word may be.
    TooLong(u32),
    /// Not from the other side, or not in this place.
    Forged,
}

impl Session {
    /// Words a side may say are not longer.
    pub(crate) const MAX_WORD: u32 = 16 << 20;
    const HEAD: usize = 4;

    /// The conversation that began with these numbers.
    pub(crate) fn new(secret: &Secret, caller: bool, caller_nonce: &[u8], nonce: &[u8]) -> Self {
        let key = secret.mac(&[b"laxity session", caller_nonce, nonce]);
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &key), caller, sent: 0, heard: 0 }
    }

    /// Seals a word.
    pub(crate) fn seal(&mut self, word: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::HEAD + word.len() + MAC_BYTES);
        out.extend_from_slice(&(word.len() as u32).to_le_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(&self.proof(self.caller, self.sent, word));
        self.sent += 1;
        out
    }

    /// Takes the next word from the front of `bytes`, if it is there whole.
    pub(crate) fn open(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Vec<u8>>, SealError> {
        let Some(head) = bytes.first_chunk::<{ Self::HEAD }>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head);
        if length > Self::MAX_WORD {
            return Err(SealError::TooLong(length));
        }
        let end = Self::HEAD + length as usize;
        if bytes.len() < end + MAC_BYTES {
            return Ok(None);
        }
        let word = bytes[Self::HEAD..end].to_vec();
        let expected = self.proof(!self.caller, self.heard, &word);
        if !bool::from(expected.ct_eq(&bytes[end..end + MAC_BYTES])) {
            return Err(SealError::Forged);
        }
        bytes.drain(..end + MAC_BYTES);
        self.heard += 1;
        Ok(Some(word))
    }

    fn proof(&self, caller: bool, number: u64, word: &[u8]) -> [u8; MAC_BYTES] {
        mac(&self.key, &[&[u8::from(caller)], &number.to_le_bytes(), word])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Session, Session) {
        let secret = Secret::Key(Key::new([3; 32]));
        (Session::new(&secret, true, b"a", b"b"), Session::new(&secret, false, b"a", b"b"))
    }

    #[test]
    fn words_come_once_in_order_and_from_the_other_side() {
        let (mut caller, mut callee) = pair();
        let (first, second) = (caller.seal(b"one"), caller.seal(b"two"));
        let mut bytes = [first.clone(), second.clone()].concat();
        bytes.truncate(first.len() + 5);
        assert_eq!(callee.open(&mut bytes), Ok(Some(b"one".to_vec())));
        assert_eq!(callee.open(&mut bytes), Ok(None), "the second is not whole");
        assert_eq!(callee.open(&mut first.clone()), Err(SealError::Forged), "said again");
        assert_eq!(caller.open(&mut second.clone()), Err(SealError::Forged), "its own word");
        assert_eq!(callee.open(&mut second.clone()), Ok(Some(b"two".to_vec())));
    }

    #[test]
    fn changed_and_endless_words_are_refused() {
        let (mut caller, mut callee) = pair();
        let mut word = caller.seal(b"one");
        word[5] ^= 1;
        assert_eq!(callee.open(&mut word), Err(SealError::Forged));
        let mut endless = u32::MAX.to_le_bytes().to_vec();
        assert_eq!(callee.open(&mut endless), Err(SealError::TooLong(u32::MAX)));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let secret = Secret::Key(Key::new([3; 32]));
        assert_ne!(secret.mac(&[b"ab", b"c"]), secret.mac(&[b"a", b"bc"]));
        assert!(!Secret::Insecure.proves(&[b"a"], &secret.mac(&[b"a"])));
    }
}
