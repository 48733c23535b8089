//! Who may talk: the shared key, the handshake, packet protection, address cookies.
//!
//! All cryptography comes from `snow` (Noise) and `ring` (AES-GCM, HKDF, HMAC); this module only
//! decides where each is used.

mod cookie;
mod guard;
mod key;
mod noise;
pub(crate) mod plain;

pub(crate) use cookie::CookieJar;
pub(crate) use guard::{Opener, Sealer, Secrets};
pub use key::{Key, KeyError};
pub(crate) use noise::{Initiator, respond};
