//! Chance that can be repeated: every consumer has a stream of its own.

use laxity_interface::Fraction;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// One step of SplitMix64: every output bit depends on every input bit.
pub(crate) const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The random numbers of one consumer. Another label or index gives other numbers, so one consumer
/// more does not shift what the others draw.
pub(crate) fn stream(seed: u64, label: &str, index: u64) -> Pcg64Mcg {
    let label = label.bytes().fold(seed, |hash, byte| mix(hash ^ u64::from(byte)));
    let state = mix(label ^ mix(index));
    Pcg64Mcg::new(u128::from(state) << 64 | u128::from(mix(state)))
}

/// True with this probability. Draws one number, whatever the probability.
pub(crate) fn chance(rng: &mut impl Rng, probability: Fraction) -> bool {
    // 53 random bits are a number in [0, 1) that f64 holds exactly.
    let drawn = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    drawn < probability.get()
}
