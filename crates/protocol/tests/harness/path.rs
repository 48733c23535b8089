//! One direction of a path, as data.

use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_link::{
    ETHERNET_IPV4_UDP, Link, LinkConfig, Rules,
    rules::{Blackout, Corrupt, DelaySpikes, Duplicate, GilbertElliott, RandomLoss, Reorder},
};

use super::fraction;

/// What a direction of a path is like and what may go wrong on it.
#[derive(Clone, Debug)]
pub struct PathSpec {
    pub rate: Option<Rate>,
    pub delay: Span,
    pub jitter: Span,
    pub queue: Bytes,
    pub ecn: Option<Bytes>,
    pub loss: f64,
    /// Bursts: how often one begins, how often it ends, per packet.
    pub bursts: Option<(f64, f64)>,
    pub duplicate: f64,
    pub reorder: (f64, Span),
    pub corrupt: f64,
    pub spikes: (f64, Span),
    pub blackout: Option<(Time, Time)>,
}

impl PathSpec {
    /// A path without faults.
    pub fn clean(rate: Option<Rate>, delay: Span, queue: Bytes) -> Self {
        Self {
            rate,
            delay,
            jitter: Span::ZERO,
            queue,
            ecn: None,
            loss: 0.0,
            bursts: None,
            duplicate: 0.0,
            reorder: (0.0, Span::ZERO),
            corrupt: 0.0,
            spikes: (0.0, Span::ZERO),
            blackout: None,
        }
    }

    /// A fast clean one, for tests that are not about the network.
    pub fn ideal() -> Self {
        Self::clean(Some(Rate::from_gbps(1)), Span::from_us(100), Bytes::from_mib(1))
    }

    pub fn with_loss(mut self, loss: f64) -> Self {
        self.loss = loss;
        self
    }

    /// Builds the link. Rules after the first that speaks are not heard, so loss comes first.
    pub fn build<P>(&self, seed: u64, index: u64) -> Link<P> {
        let mut rules = Rules::new();
        if let Some((from, to)) = self.blackout {
            rules.push(Blackout::new(std::iter::once(from..to)));
        }
        if self.loss > 0.0 {
            rules.push(RandomLoss::new(fraction(self.loss), seed, index));
        }
        if let Some((begin, end)) = self.bursts {
            rules.push(GilbertElliott::new(fraction(begin), fraction(end), seed, index));
        }
        if self.corrupt > 0.0 {
            rules.push(Corrupt::new(fraction(self.corrupt), seed, index));
        }
        if self.duplicate > 0.0 {
            let gap = self.delay / 3;
            rules.push(Duplicate::new(fraction(self.duplicate), seed, index).with_copies(2, gap));
        }
        if self.reorder.0 > 0.0 {
            rules.push(Reorder::new(fraction(self.reorder.0), self.reorder.1, seed, index));
        }
        if self.spikes.0 > 0.0 {
            rules.push(DelaySpikes::new(fraction(self.spikes.0), self.spikes.1, seed, index));
        }
        let config = LinkConfig {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter,
            queue: self.queue,
            ecn_threshold: self.ecn,
            overhead: ETHERNET_IPV4_UDP,
            seed,
            index,
        };
        Link::new(config, rules)
    }
}
