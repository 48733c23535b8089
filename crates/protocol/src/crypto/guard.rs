//! Protection of data packets: authenticated encryption with a key, a checksum without.
//!
//! AES-GCM keys wear out after some millions of packets; both sides therefore move to the next key of
//! a one-way chain every 2²² packets, which the packet number itself announces.

use super::{
    cipher::Cipher,
    epoch::{EpochKey, TAG},
};
use crate::wire::DATA_HEADER;

/// Packets sealed under one key (RFC 9001 §B.1 allows twice as many).
const EPOCH_BITS: u32 = 22;
/// Bytes that sealing adds without one.
const CHECKSUM: usize = 4;

/// The two directions' secrets after a handshake, from this side's view.
#[derive(Clone)]
pub(crate) enum Secrets {
    /// Authenticated encryption with these secrets.
    Keyed {
        /// What both sides agreed on.
        cipher: Cipher,
        /// For what this side sends.
        ours: [u8; 32],
        /// For what the other side sends.
        theirs: [u8; 32],
    },
    /// Checksums salted with these numbers: they find accidents, not attackers.
    Plain {
        /// For what this side sends.
        ours: u32,
        /// For what the other side sends.
        theirs: u32,
    },
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Keyed { .. } => "Secrets::Keyed",
            Self::Plain { .. } => "Secrets::Plain",
        })
    }
}

impl Secrets {
    pub(crate) fn into_guards(self) -> (Sealer, Opener) {
        match self {
            Self::Keyed { cipher, ours, theirs } => {
                let [ours, theirs] = [ours, theirs].map(|s| Box::new(EpochKey::new(cipher, 0, s)));
                (Sealer::Keyed(ours), Opener::Keyed { previous: None, current: theirs })
            }
            Self::Plain { ours, theirs } => (Sealer::Plain(ours), Opener::Plain(theirs)),
        }
    }
}

/// Protects outgoing packets.
#[derive(Debug)]
pub(crate) enum Sealer {
    Keyed(Box<EpochKey>),
    Plain(u32),
}

impl Sealer {
    /// Bytes that sealing adds to a packet.
    pub(crate) fn overhead(&self) -> usize {
        match self {
            Self::Keyed(_) => TAG,
            Self::Plain(_) => CHECKSUM,
        }
    }

    /// The cipher, if there is a key.
    pub(crate) fn cipher(&self) -> Option<Cipher> {
        match self {
            Self::Keyed(key) => Some(key.cipher()),
            Self::Plain(_) => None,
        }
    }

    /// Whether the payload has to be copied into the packet before sealing.
    pub(crate) fn encrypts(&self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    /// Seals the packet that starts at `from` in `out` and ends at its end, followed by `body`, which
    /// stays outside (only for sealers that do not encrypt). Returns the bytes that go behind both;
    /// for encrypting sealers they are appended to `out` as well.
    pub(crate) fn seal(
        &mut self,
        number: u64,
        out: &mut Vec<u8>,
        from: usize,
        body: &[u8],
    ) -> [u8; 4] {
        match self {
            Self::Keyed(key) => {
                debug_assert!(body.is_empty());
                while number >> EPOCH_BITS > key.epoch() {
                    **key = key.next();
                }
                let (header, plain) = out[from..].split_at_mut(DATA_HEADER);
                let tag = key.seal(number, header, plain);
                out.extend_from_slice(&tag);
                [0; 4]
            }
            Self::Plain(salt) => checksum(*salt, &out[from..], body).to_be_bytes(),
        }
    }
}

/// Checks incoming packets.
#[derive(Debug)]
pub(crate) enum Opener {
    Keyed {
        /// The key before this one, for packets that were overtaken.
        previous: Option<Box<EpochKey>>,
        current: Box<EpochKey>,
    },
    Plain(u32),
}

impl Opener {
    /// The plain frames of `packet`, if it was sealed by the other side and nobody touched it.
    pub(crate) fn open<'a>(&mut self, number: u64, packet: &'a mut [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Plain(salt) => {
                let (content, tail) = packet.split_last_chunk::<CHECKSUM>()?;
                if content.len() < DATA_HEADER
                    || checksum(*salt, content, &[]) != u32::from_be_bytes(*tail)
                {
                    return None;
                }
                Some(&content[DATA_HEADER..])
            }
            Self::Keyed { previous, current } => {
                let (header, body) = packet.split_at_mut_checked(DATA_HEADER)?;
                let epoch = number >> EPOCH_BITS;
                if epoch == current.epoch() {
                    current.open(number, header, body)
                } else if epoch == current.epoch() + 1 {
                    let next = current.next();
                    let plain = next.open(number, header, body)?;
                    // Only a packet that really opened may turn the wheel.
                    *previous = Some(std::mem::replace(current, Box::new(next)));
                    Some(plain)
                } else {
                    let old = previous.as_ref().filter(|old| old.epoch() == epoch)?;
                    old.open(number, header, body)
                }
            }
        }
    }
}

fn checksum(salt: u32, first: &[u8], second: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    hasher.update(first);
    hasher.update(second);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sealer: &mut Sealer, number: u64, frames: &[u8]) -> Vec<u8> {
        let mut out = vec![0x14, 0, 0, 0, 1];
        out.extend_from_slice(&(number as u32).to_be_bytes());
        out.extend_from_slice(frames);
        let tail = sealer.seal(number, &mut out, 0, &[]);
        if !sealer.encrypts() {
            out.extend_from_slice(&tail);
        }
        out
    }

    fn keyed(cipher: Cipher) -> (Secrets, Secrets) {
        let (a, b) = ([1; 32], [2; 32]);
        let one = Secrets::Keyed { cipher, ours: a, theirs: b };
        (one, Secrets::Keyed { cipher, ours: b, theirs: a })
    }

    const CIPHERS: [Cipher; 3] = [Cipher::Aes256Gcm, Cipher::Aegis128L, Cipher::Aegis128X2];

    fn all() -> [(Secrets, Secrets); 4] {
        let [aes, aegis, wide] = CIPHERS.map(keyed);
        [
            aes,
            aegis,
            wide,
            (Secrets::Plain { ours: 1, theirs: 2 }, Secrets::Plain { ours: 2, theirs: 1 }),
        ]
    }

    #[test]
    fn opens_what_the_other_sealed_and_nothing_else() {
        for (left, right) in all() {
            let (mut seal, mut own_open) = left.into_guards();
            let (_, mut open) = right.into_guards();
            let sealed = packet(&mut seal, 7, b"hello");
            assert_eq!(open.open(7, &mut sealed.clone()), Some(&b"hello"[..]));
            assert_eq!(own_open.open(7, &mut sealed.clone()), None, "reflected");
            for at in 0..sealed.len() {
                let mut bad = sealed.clone();
                bad[at] ^= 0x10;
                assert_eq!(open.open(7, &mut bad), None, "bit flipped at {at}");
            }
            for length in 0..sealed.len() {
                assert_eq!(open.open(7, &mut sealed[..length].to_vec()), None, "cut to {length}");
            }
        }
    }

    #[test]
    fn keys_move_on_by_packet_number() {
        for cipher in CIPHERS {
            let (left, right) = keyed(cipher);
            let (mut seal, _) = left.into_guards();
            let (_, mut open) = right.into_guards();
            let edge = 1 << EPOCH_BITS;
            let old = packet(&mut seal, edge - 1, b"old");
            let new = packet(&mut seal, edge, b"new");
            assert_eq!(open.open(edge, &mut new.clone()), Some(&b"new"[..]));
            assert_eq!(open.open(edge - 1, &mut old.clone()), Some(&b"old"[..]), "overtaken");
            let far = packet(&mut seal, edge * 3, b"far");
            assert_eq!(open.open(edge * 3, &mut far.clone()), None, "no skipping of epochs");
        }
    }

    /// Computed by another implementation, from docs/protocol.md: what others can be held against.
    #[test]
    fn packets_of_all_ciphers_are_as_the_specification_says() {
        for (cipher, expected) in [
            (Cipher::Aes256Gcm, "7b4d06ce2f5cca413bf2249efa11b17e7db2c15e30"),
            (Cipher::Aegis128L, "55a2f5b92b5a856ce0e98d0825c216800705ba8b20"),
            (Cipher::Aegis128X2, "af03551e3b4fde5ff879709ccf356757b08b11dcaf"),
        ] {
            let (mut seal, _) = keyed(cipher).0.into_guards();
            let sealed = packet(&mut seal, 7, b"hello");
            let hex: String = sealed[DATA_HEADER..].iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(hex, expected, "{cipher}");
        }
    }
}
