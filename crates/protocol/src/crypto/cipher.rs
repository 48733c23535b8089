//! Which cipher protects the packets of a connection, and how two sides agree on it.

use std::{fmt, str::FromStr};

/// Which ciphers an endpoint is willing to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CipherChoice {
    /// The fastest that both processors have instructions for.
    #[default]
    Fastest,
    /// AES-256-GCM only: what every endpoint has, and what rules for approved ciphers ask for.
    Aes256Gcm,
}

/// Why a text names no choice of ciphers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a cipher; there are `fastest` and `aes-256-gcm`")]
pub struct CipherError(String);

impl FromStr for CipherChoice {
    type Err = CipherError;

    fn from_str(text: &str) -> Result<Self, CipherError> {
        match text {
            "fastest" => Ok(Self::Fastest),
            "aes-256-gcm" => Ok(Self::Aes256Gcm),
            _ => Err(CipherError(text.into())),
        }
    }
}

impl fmt::Display for CipherChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fastest => "fastest",
            Self::Aes256Gcm => "aes-256-gcm",
        })
    }
}

/// The cipher of a connection that has a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cipher {
    /// AES-256-GCM, which every endpoint has.
    Aes256Gcm,
    /// AEGIS-128L (draft-irtf-cfrg-aegis-aead): half the work of AES-GCM where the processor has
    /// instructions for AES, and slow where it has not.
    Aegis128L,
    /// AEGIS-128X2, two of the former side by side: faster again for packets of 1,400 bytes and
    /// more, with instructions that do two blocks at once.
    Aegis128X2,
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aes256Gcm => "AES-256-GCM",
            Self::Aegis128L => "AEGIS-128L",
            Self::Aegis128X2 => "AEGIS-128X2",
        })
    }
}

/// A set of ciphers as the handshake carries it. AES-256-GCM is always in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ciphers(u8);

impl Ciphers {
    /// What endpoints have that say nothing about ciphers.
    pub const BASE: Self = Self(0);

    const AEGIS_128L: u8 = 1;
    const AEGIS_128X2: u8 = 2;

    /// Those that an endpoint offers on this machine.
    pub fn offered(choice: CipherChoice) -> Self {
        match choice {
            CipherChoice::Fastest if has_wide_aes() => Self(Self::AEGIS_128L | Self::AEGIS_128X2),
            CipherChoice::Fastest if has_aes() => Self(Self::AEGIS_128L),
            CipherChoice::Fastest | CipherChoice::Aes256Gcm => Self::BASE,
        }
    }

    /// As a byte of the wire.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From the wire. Ciphers of later versions are not known here and left out.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & (Self::AEGIS_128L | Self::AEGIS_128X2))
    }

    /// Those that both have.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The one to use of these.
    pub const fn best(self) -> Cipher {
        if self.0 & Self::AEGIS_128X2 != 0 {
            Cipher::Aegis128X2
        } else if self.0 & Self::AEGIS_128L != 0 {
            Cipher::Aegis128L
        } else {
            Cipher::Aes256Gcm
        }
    }
}

/// Whether this processor has instructions for AES. Without them AEGIS must not be used: the library
/// is compiled for processors that have them.
fn has_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

/// Whether it has those for two blocks at once.
fn has_wide_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return has_aes()
        && std::arch::is_x86_feature_detected!("vaes")
        && std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_to_offer_what_is_used() {
        let (base, fast, wide) = (Ciphers::BASE, Ciphers::from_bits(1), Ciphers::from_bits(3));
        for (one, other, expected) in [
            (base, base, Cipher::Aes256Gcm),
            (base, fast, Cipher::Aes256Gcm),
            (base, wide, Cipher::Aes256Gcm),
            (fast, fast, Cipher::Aegis128L),
            (fast, wide, Cipher::Aegis128L),
            (wide, wide, Cipher::Aegis128X2),
        ] {
            assert_eq!(one.common(other).best(), expected);
            assert_eq!(other.common(one).best(), expected);
        }
        assert_eq!(Ciphers::from_bits(0xfc), base, "unknown ciphers are not agreed on");
        assert_eq!(Ciphers::offered(CipherChoice::Aes256Gcm), base);
    }

    #[test]
    fn choices_have_names() {
        for choice in [CipherChoice::Fastest, CipherChoice::Aes256Gcm] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let wrong = "rot13".parse::<CipherChoice>().unwrap_err().to_string();
        assert_eq!(wrong, "`rot13` is not a cipher; there are `fastest` and `aes-256-gcm`");
    }
}
