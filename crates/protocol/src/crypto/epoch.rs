//! One link of a direction's chain of keys: seals and opens packets of its epoch.

use aegis::{aegis128l::Aegis128L, aegis128x2::Aegis128X2};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::{cipher::Cipher, key::expand};

/// Bytes that sealing adds, with every cipher.
pub(super) const TAG: usize = 16;

/// The key of an epoch. Its number tells which packets it is for.
pub(crate) struct EpochKey {
    epoch: u64,
    secret: [u8; 32],
    key: PacketKey,
}

enum PacketKey {
    Aes { key: Box<LessSafeKey>, iv: [u8; 12] },
    Aegis { wide: bool, key: [u8; 16], iv: [u8; 16] },
}

impl std::fmt::Debug for EpochKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EpochKey({}, {})", self.cipher(), self.epoch)
    }
}

impl EpochKey {
    pub(super) fn new(cipher: Cipher, epoch: u64, secret: [u8; 32]) -> Self {
        let key = match cipher {
            Cipher::Aes256Gcm => {
                let key: [u8; 32] = expand(&secret, b"laxity packet key");
                let key = UnboundKey::new(&AES_256_GCM, &key).expect("a 32-byte key fits AES-256");
                let iv = expand(&secret, b"laxity packet iv");
                PacketKey::Aes { key: Box::new(LessSafeKey::new(key)), iv }
            }
            // Other purposes, so that no bytes of one cipher's key are those of the other's.
            Cipher::Aegis128L | Cipher::Aegis128X2 => PacketKey::Aegis {
                wide: cipher == Cipher::Aegis128X2,
                key: expand(&secret, b"laxity aegis key"),
                iv: expand(&secret, b"laxity aegis iv"),
            },
        };
        Self { epoch, secret, key }
    }

    pub(super) fn next(&self) -> Self {
        Self::new(self.cipher(), self.epoch + 1, expand(&self.secret, b"laxity next epoch"))
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn cipher(&self) -> Cipher {
        match self.key {
            PacketKey::Aes { .. } => Cipher::Aes256Gcm,
            PacketKey::Aegis { wide: false, .. } => Cipher::Aegis128L,
            PacketKey::Aegis { wide: true, .. } => Cipher::Aegis128X2,
        }
    }

    /// Encrypts `body` where it is; returns the tag over it and `header`.
    pub(super) fn seal(&self, number: u64, header: &[u8], body: &mut [u8]) -> [u8; TAG] {
        match &self.key {
            PacketKey::Aes { key, iv } => {
                let nonce = Nonce::assume_unique_for_key(nonce(*iv, number));
                let tag = key
                    .seal_in_place_separate_tag(nonce, Aad::from(header), body)
                    .expect("packets are far below AES-GCM's limit");
                *tag.as_ref().first_chunk().expect("AES-GCM's tags have 16 bytes")
            }
            PacketKey::Aegis { wide, key, iv } => {
                let nonce = nonce(*iv, number);
                match wide {
                    false => Aegis128L::<TAG>::new(key, &nonce).encrypt_in_place(body, header),
                    true => Aegis128X2::<TAG>::new(key, &nonce).encrypt_in_place(body, header),
                }
            }
        }
    }

    /// Decrypts `body`, which ends in its tag, where it is. The plain bytes, if nobody touched it.
    pub(super) fn open<'a>(
        &self,
        number: u64,
        header: &[u8],
        body: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        match &self.key {
            PacketKey::Aes { key, iv } => {
                let nonce = Nonce::assume_unique_for_key(nonce(*iv, number));
                key.open_in_place(nonce, Aad::from(header), body).ok().map(|plain| &*plain)
            }
            PacketKey::Aegis { wide, key, iv } => {
                let (plain, tag) = body.split_last_chunk_mut::<TAG>()?;
                let nonce = nonce(*iv, number);
                let opened = match wide {
                    false => Aegis128L::new(key, &nonce).decrypt_in_place(plain, tag, header),
                    true => Aegis128X2::new(key, &nonce).decrypt_in_place(plain, tag, header),
                };
                opened.ok().map(|()| &*plain)
            }
        }
    }
}

/// Packet numbers never repeat under one key, so they make the nonces.
fn nonce<const N: usize>(iv: [u8; N], number: u64) -> [u8; N] {
    let mut nonce = iv;
    for (byte, n) in nonce[N - 8..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= n;
    }
    nonce
}
