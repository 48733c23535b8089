//! Payload whose every byte is known: where it comes from and where it has to go.

use std::{collections::BTreeMap, sync::OnceLock};

use laxity_link::stream;
use laxity_protocol::{BodyRef, JobId, Memory, PeerId};
use rand_core::Rng;

/// A prime, so that offsets that differ by a packet never look alike.
const PERIOD: u64 = 65_521;
/// The largest body of one packet.
const LARGEST: usize = 16_384;

fn pattern() -> &'static [u8] {
    static PATTERN: OnceLock<Vec<u8>> = OnceLock::new();
    PATTERN.get_or_init(|| {
        let mut bytes = vec![0; PERIOD as usize];
        stream(1, "payload", 0).fill_bytes(&mut bytes);
        bytes.extend_from_within(..LARGEST);
        bytes
    })
}

/// The bytes of one message of one job.
pub fn expected(
    (from, to, job): (usize, usize, JobId),
    message: u64,
    offset: u64,
    length: usize,
) -> &'static [u8] {
    let seed = (from as u64 * 31 + to as u64) * 7919 + job.0 * 104_729 + message * 15_485_863;
    let start = ((seed % PERIOD + offset) % PERIOD) as usize;
    &pattern()[start..start + length]
}

/// The memory of one node: which node each of its peers is decides the bytes.
#[derive(Debug)]
pub struct NodeMemory<'a> {
    pub node: usize,
    pub peers: &'a BTreeMap<PeerId, usize>,
}

impl Memory for NodeMemory<'_> {
    fn bytes(&self, body: &BodyRef) -> &[u8] {
        let to = self.peers.get(&body.job.peer).copied().expect("jobs go to known peers");
        expected((self.node, to, body.job.job), body.message, body.offset, body.length)
    }
}
