//! The 256-bit key that a job's members share.

use std::{fmt, str::FromStr};

use ring::{digest, hkdf};

/// A shared secret. Whoever has it may join; nobody else can join, inject, replay or stop anything.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// From 32 random bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The secret itself.
    pub fn danger_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A name for the key that says nothing about it: a hash, for finding the right one of several.
    pub fn id(&self) -> [u8; 8] {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"laxity key id");
        context.update(&self.0);
        let mut id = [0; 8];
        id.copy_from_slice(&context.finish().as_ref()[..8]);
        id
    }

    /// The form key files hold: `laxity-key:` and 64 hexadecimal digits.
    pub fn to_text(&self) -> String {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{PREFIX}{hex}")
    }
}

const PREFIX: &str = "laxity-key:";

/// Why a text is not a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The marker that tells a key from other secrets is missing.
    #[error("a key starts with `{PREFIX}`; make one with `laxity keygen`")]
    Prefix,
    /// Too short, too long, or not hexadecimal.
    #[error("a key has 64 hexadecimal digits after `{PREFIX}`")]
    Digits,
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let digits = text.trim().strip_prefix(PREFIX).ok_or(KeyError::Prefix)?;
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(KeyError::Digits);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| KeyError::Digits)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| KeyError::Digits)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the secret: debug output ends up in logs.
        write!(f, "Key(id {:02x?})", self.id())
    }
}

/// `length` bytes derived from `secret` for one purpose.
pub(super) fn expand<const N: usize>(secret: &[u8; 32], purpose: &[u8]) -> [u8; N] {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut out = [0; N];
    hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, secret)
        .expand(&[purpose], Length(N))
        .and_then(|okm| okm.fill(&mut out))
        .expect("HKDF gives up to 8160 bytes");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip_and_errors() {
        let key = Key::new(std::array::from_fn(|i| i as u8 * 7));
        assert_eq!(key.to_text().parse(), Ok(key.clone()));
        assert_eq!("c0ffee".parse::<Key>(), Err(KeyError::Prefix));
        assert_eq!("laxity-key:c0ffee".parse::<Key>(), Err(KeyError::Digits));
        let odd = format!("{PREFIX}{}", "zz".repeat(32));
        assert_eq!(odd.parse::<Key>(), Err(KeyError::Digits));
        assert!(!format!("{key:?}").contains(&key.to_text()[20..40]));
    }
}
