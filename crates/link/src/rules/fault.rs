//! Packets that arrive twice or damaged.

use laxity_interface::{Fraction, Span, Time};

use crate::{PacketInfo, Pcg64, Rule, Verdict, chance, stream};

/// Delivers single packets more than once.
#[derive(Debug, Clone)]
pub struct Duplicate {
    probability: Fraction,
    copies: u32,
    gap: Span,
    rng: Pcg64,
}

impl Duplicate {
    /// Delivers packets twice with this probability, both at the same time.
    pub fn new(probability: Fraction, seed: u64, index: u64) -> Self {
        let rng = stream(seed, "duplicate", index);
        Self { probability, copies: 1, gap: Span::ZERO, rng }
    }

    /// The same rule with this many copies, each `gap` after the one before.
    #[must_use]
    pub const fn with_copies(mut self, copies: u32, gap: Span) -> Self {
        self.copies = copies;
        self.gap = gap;
        self
    }
}

impl Rule for Duplicate {
    fn on_packet(&mut self, _: Time, _: &PacketInfo) -> Verdict {
        match chance(&mut self.rng, self.probability) {
            true => Verdict::Duplicate { copies: self.copies, gap: self.gap },
            false => Verdict::Pass,
        }
    }

    fn name(&self) -> &'static str {
        "duplicate"
    }
}

/// Damages single packets.
#[derive(Debug, Clone)]
pub struct Corrupt {
    probability: Fraction,
    rng: Pcg64,
}

impl Corrupt {
    /// Damages packets with this probability.
    pub fn new(probability: Fraction, seed: u64, index: u64) -> Self {
        Self { probability, rng: stream(seed, "corrupt", index) }
    }
}

impl Rule for Corrupt {
    fn on_packet(&mut self, _: Time, _: &PacketInfo) -> Verdict {
        if chance(&mut self.rng, self.probability) { Verdict::Corrupt } else { Verdict::Pass }
    }

    fn name(&self) -> &'static str {
        "corrupt"
    }
}
