//! Packets that are late.

use laxity_interface::{Fraction, Span, Time};

use crate::{PacketInfo, Pcg64, Rule, Verdict, chance, stream};

/// Holds single packets back, so that those behind overtake them.
#[derive(Debug, Clone)]
pub struct Reorder {
    probability: Fraction,
    delay: Span,
    rng: Pcg64,
}

impl Reorder {
    /// Holds packets back by `delay` with this probability.
    pub fn new(probability: Fraction, delay: Span, seed: u64, index: u64) -> Self {
        Self { probability, delay, rng: stream(seed, "reorder", index) }
    }
}

impl Rule for Reorder {
    fn on_packet(&mut self, _: Time, _: &PacketInfo) -> Verdict {
        match chance(&mut self.rng, self.probability) {
            true => Verdict::Deliver { extra_delay: self.delay },
            false => Verdict::Pass,
        }
    }

    fn name(&self) -> &'static str {
        "reorder"
    }
}

/// Stops the link for a while, as a radio or a machine that was paused does: packets sent during a
/// spike are held until it is over.
#[derive(Debug, Clone)]
pub struct DelaySpikes {
    probability: Fraction,
    span: Span,
    until: Time,
    rng: Pcg64,
}

impl DelaySpikes {
    /// Begins a spike of length `span` with this probability at each packet outside of one.
    pub fn new(probability: Fraction, span: Span, seed: u64, index: u64) -> Self {
        let rng = stream(seed, "delay-spikes", index);
        Self { probability, span, until: Time::ZERO, rng }
    }
}

impl Rule for DelaySpikes {
    fn on_packet(&mut self, now: Time, _: &PacketInfo) -> Verdict {
        // Drawn also inside a spike: the number of draws must not depend on the time of sending.
        if chance(&mut self.rng, self.probability) && now >= self.until {
            self.until = now + self.span;
        }
        match self.until.since(now) {
            Span::ZERO => Verdict::Pass,
            extra_delay => Verdict::Deliver { extra_delay },
        }
    }

    fn name(&self) -> &'static str {
        "delay-spikes"
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Bytes;

    use super::*;

    const PACKET: PacketInfo = PacketInfo::new(Bytes::new(1400));

    #[test]
    fn reordering_holds_the_right_number_back() {
        let delay = Span::from_us(9);
        let mut rule = Reorder::new(Fraction::new(0.2).unwrap(), delay, 5, 0);
        let held = Verdict::Deliver { extra_delay: delay };
        let count = (0..10_000).filter(|_| rule.on_packet(Time::ZERO, &PACKET) == held).count();
        assert!((1_800..2_200).contains(&count), "{count}");
    }

    #[test]
    fn a_spike_ends_for_all_at_the_same_time() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let mut rule = DelaySpikes::new(Fraction::ONE, Span::from_us(10), 5, 0);
        let mut extra = |now| match rule.on_packet(now, &PACKET) {
            Verdict::Deliver { extra_delay } => now + extra_delay,
            _ => now,
        };
        assert_eq!([us(3), us(5), us(12)].map(&mut extra), [us(13); 3]);
        // The first packet outside begins the next one.
        assert_eq!(extra(us(13)), us(23));
    }
}
