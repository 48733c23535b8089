//! Who may talk: the shared key, the handshake, packet protection, address cookies.
//!
//! All cryptography comes from `snow` (Noise) and `ring` (AES-GCM, HKDF, HMAC) and `aegis`
//! (AEGIS-128L); this module only decides where each is used.

mod cipher;
mod cookie;
mod epoch;
mod guard;
mod key;
mod noise;
pub(crate) mod plain;

pub use cipher::{Cipher, CipherChoice, CipherError, Ciphers};
pub(crate) use cookie::CookieJar;
pub(crate) use guard::{Opener, Sealer, Secrets};
pub use key::{Key, KeyError};
pub(crate) use noise::{Initiator, respond};
