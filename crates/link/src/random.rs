//! Chance that can be repeated.

use laxity_interface::Fraction;
use rand_core::Rng;
use rand_pcg::Pcg64;

/// A random stream of its own for one consumer.
///
/// Consumers with different labels or indices draw independent numbers, so adding a consumer does
/// not shift what the others draw. The generator is PCG XSL RR 128/64 and the numbers are part of
/// the promise that the same seed gives the same results: changing them is a breaking change.
///
/// ```
/// use laxity_link::{stream, uniform};
/// let (mut a, mut b) = (stream(42, "loss", 0), stream(42, "loss", 0));
/// assert_eq!(uniform(&mut a), uniform(&mut b));
/// assert_ne!(uniform(&mut a), uniform(&mut stream(42, "loss", 1)));
/// ```
pub fn stream(seed: u64, label: &str, index: u64) -> Pcg64 {
    // PCG streams that share a state are correlated, so all three inputs go into state and stream.
    let mut mixer = mix(mix(mix(seed) ^ fnv1a(label.as_bytes())) ^ index);
    let mut word = || {
        mixer = mix(mixer);
        u128::from(mixer)
    };
    let state = word() << 64 | word();
    let stream = word() << 64 | word();
    Pcg64::new(state, stream)
}

/// A number from 0 (included) to 1 (excluded), with all 53 bits of an `f64`.
pub fn uniform(rng: &mut Pcg64) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// True with this probability: never at 0, always at 1.
pub fn chance(rng: &mut Pcg64, probability: Fraction) -> bool {
    uniform(rng) < probability.get()
}

/// One step of SplitMix64: every output bit depends on every input bit.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_changes_the_stream() {
        let inputs = [
            (0, "a", 0),
            (1, "a", 0),
            (0, "b", 0),
            (0, "a", 1),
            (1, "a", 1),
            (1, "", 0),
            (0, "", 1),
        ];
        let mut firsts = inputs.map(|(seed, label, index)| stream(seed, label, index).next_u64());
        firsts.sort_unstable();
        assert!(firsts.windows(2).all(|pair| pair[0] != pair[1]), "{firsts:?}");
    }

    /// Results that were published with a seed must come out again.
    #[test]
    fn the_numbers_stay_what_they_are() {
        let mut rng = stream(42, "random-loss", 7);
        assert_eq!(
            [rng.next_u64(), rng.next_u64()],
            [5_475_777_246_236_426_821, 2_339_713_814_334_307_850]
        );
    }

    #[test]
    fn the_hashes_are_the_published_ones() {
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn chance_keeps_its_word_at_the_ends() {
        let mut rng = stream(1, "test", 0);
        assert!((0..1000).all(|_| chance(&mut rng, Fraction::ONE)));
        assert!(!(0..1000).any(|_| chance(&mut rng, Fraction::ZERO)));
        let mean = (0..10_000).map(|_| uniform(&mut rng)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }
}
