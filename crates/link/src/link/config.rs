//! What a link is like.

use laxity_interface::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

/// What a link is like. The default is a perfect one: no delay, any rate, no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkConfig {
    /// How fast it sends; without it packets take no time and never wait.
    pub rate: Option<Rate>,
    /// How long a packet travels after it was sent.
    pub delay: Span,
    /// Up to how much longer, by chance, evenly spread. Never changes the order of packets.
    pub jitter: Span,
    /// How many bytes may wait, counted as they go over the wire. The packet that is being sent
    /// does not wait any more; what does not fit is dropped.
    pub queue: Bytes,
    /// Above how many waiting bytes (with the packet itself) a packet is marked, if its sender
    /// understands marks.
    pub ecn_threshold: Option<Bytes>,
    /// What is added to each packet on the wire, such as
    /// [`ETHERNET_IPV4_UDP`](crate::ETHERNET_IPV4_UDP).
    pub overhead: Bytes,
    /// The seed of the run, for jitter and damage.
    pub seed: u64,
    /// The number of the link, so that links with the same seed differ.
    pub index: u64,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Span::ZERO,
            jitter: Span::ZERO,
            queue: Bytes::MAX,
            ecn_threshold: None,
            overhead: Bytes::ZERO,
            seed: 0,
            index: 0,
        }
    }
}
