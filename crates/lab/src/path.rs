//! What lies between two hosts.

use laxity_interface::{Bytes, Fraction, Rate, Span};
use laxity_link::{ETHERNET_IPV4_UDP, LinkConfig, Rules, rules::RandomLoss};

/// A path in both directions: rate, round-trip time, queue, random loss, ECN threshold.
#[derive(Clone, Debug)]
pub struct Path {
    rate: Rate,
    round_trip: Span,
    queue: Bytes,
    loss: Fraction,
    ecn_threshold: Option<Bytes>,
}

impl Path {
    /// A path with this rate and round-trip time, a queue of 256 KiB, no loss, no marks.
    pub fn new(rate: Rate, round_trip: Span) -> Self {
        let queue = Bytes::from_kib(256);
        Self { rate, round_trip, queue, loss: Fraction::ZERO, ecn_threshold: None }
    }

    /// Loses this fraction of packets, each on its own, in both directions.
    pub fn with_loss(mut self, loss: Fraction) -> Self {
        self.loss = loss;
        self
    }

    /// Bytes that may wait in front of the link.
    pub fn with_queue(mut self, queue: Bytes) -> Self {
        self.queue = queue;
        self
    }

    /// Marks packets that find more than this waiting.
    pub fn with_ecn(mut self, threshold: Bytes) -> Self {
        self.ecn_threshold = Some(threshold);
        self
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// One direction of it, with its own randomness.
    pub(crate) fn link(&self, seed: u64, index: u64) -> (LinkConfig, Rules) {
        let config = LinkConfig {
            rate: Some(self.rate),
            delay: self.round_trip / 2,
            queue: self.queue,
            ecn_threshold: self.ecn_threshold,
            // As on a real wire: preamble, gap and headers take time too.
            overhead: ETHERNET_IPV4_UDP,
            seed,
            index,
            ..LinkConfig::default()
        };
        (config, Rules::new().with(RandomLoss::new(self.loss, seed, index)))
    }
}
