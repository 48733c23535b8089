//! The handshake without a key: nothing is secret, but accidents are still found.

use crate::wire::Params;

/// Checksum salts of a connection without a key: of what the client sends and of what the server
/// sends. They differ, so a reflected packet is not taken for the other side's.
pub(crate) fn salts(client: u32, server: u32) -> (u32, u32) {
    let salt = client ^ server.rotate_left(16);
    (salt, !salt)
}

/// Parameters with a checksum over them and the two connection ids; the client knows only its own
/// and says 0 for the other. A damaged id would make a connection on which nothing ever arrives.
pub(crate) fn encode(client: u32, server: u32, params: Params) -> Vec<u8> {
    let params = params.encode();
    let mut out = params.to_vec();
    out.extend_from_slice(&checksum(client, server, &params).to_be_bytes());
    out
}

/// What [`encode`] wrote, if it is unharmed.
pub(crate) fn decode(client: u32, server: u32, bytes: &[u8]) -> Option<Params> {
    let (params, tail) = bytes.split_last_chunk::<4>()?;
    let intact = checksum(client, server, params) == u32::from_be_bytes(*tail);
    Params::decode(params).ok().filter(|_| intact)
}

fn checksum(client: u32, server: u32, params: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&client.to_be_bytes());
    hasher.update(&server.to_be_bytes());
    hasher.update(params);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Ciphers;

    #[test]
    fn damage_anywhere_is_found() {
        let params = Params { max_datagram: 1452, eager_bytes: 7, ciphers: Ciphers::BASE };
        let good = encode(1, 2, params);
        assert_eq!(decode(1, 2, &good), Some(params));
        assert_eq!(decode(1, 3, &good), None);
        assert_eq!(decode(4, 2, &good), None);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            assert_eq!(decode(1, 2, &bad), None);
            assert_eq!(decode(1, 2, &good[..at]), None);
        }
    }
}
