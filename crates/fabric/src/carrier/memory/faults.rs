//! How bad a network in memory is.

use laxity_interface::{Fraction, Rate, Span};

use crate::rank::Rank;

/// What goes wrong, and how long things take.
#[derive(Clone, PartialEq, Debug)]
pub struct Faults {
    /// All chance follows from it.
    pub seed: u64,
    /// How long a parcel is on its way at least.
    pub latency: Span,
    /// Up to so much longer, at random: parcels overtake one another.
    pub jitter: Span,
    /// How fast a parcel's bytes follow one another.
    pub rate: Rate,
    /// The part of a lossy parcel's chunks that is lost, as far as its minimum delivery allows.
    pub loss: Fraction,
    /// Elements of a chunk.
    pub chunk: usize,
    /// The part of parcels that never arrive, though both ranks live.
    pub failing: Fraction,
    /// Ranks that die.
    pub deaths: Vec<Death>,
    /// Ranks all of whose parcels take so much longer.
    pub slow: Vec<(Rank, Span)>,
    /// From a death until others know, at least; up to twice as long.
    pub detection: Span,
}

/// When a rank dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Death {
    /// Who.
    pub rank: Rank,
    /// It manages to submit so many parcels.
    pub after: u64,
}

impl Faults {
    /// 10 µs, 100 Gbit/s, and nothing goes wrong.
    pub fn none(seed: u64) -> Self {
        Self {
            seed,
            latency: Span::from_us(10),
            jitter: Span::ZERO,
            rate: Rate::from_gbps(100),
            loss: Fraction::ZERO,
            chunk: 350,
            failing: Fraction::ZERO,
            deaths: Vec::new(),
            slow: Vec::new(),
            detection: Span::from_ms(1),
        }
    }
}
