//! Chance that can be repeated: a stream for each consumer, and functions that are exact everywhere.

use rand_core::Rng;
use rand_pcg::Pcg64;

use crate::random::mix;

/// A random stream of its own for one consumer.
///
/// Consumers with different labels or indices draw independent numbers, so adding one does not shift
/// what the others draw.
#[derive(Clone, Debug)]
pub struct Chance(Pcg64);

impl Chance {
    /// The stream of a seed, a label and an index.
    pub fn new(seed: u64, label: &str, index: u64) -> Self {
        // PCG streams that share a state are correlated, so all inputs go into state and stream.
        let mut mixer = mix(mix(mix(seed) ^ fnv1a(label.as_bytes())) ^ index);
        let mut word = || {
            mixer = mix(mixer);
            u128::from(mixer)
        };
        let state = word() << 64 | word();
        let stream = word() << 64 | word();
        Self(Pcg64::new(state, stream))
    }

    /// A number from 0 (included) to 1 (excluded).
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `n`; each is as likely as the others, but for one part in 2⁶⁴/n.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing is below zero");
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number with the mean 1 whose logarithm of the rest falls evenly: times between events that
    /// do not know of each other.
    pub fn exponential(&mut self) -> f64 {
        -ln(1.0 - self.uniform())
    }

    /// Puts a list in random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// The natural logarithm of a positive number.
///
/// The one of the standard library differs between machines in the last bit. This uses only what
/// IEEE 754 defines exactly, so every machine draws the same workload.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x > 0.0 && x.is_finite() && x >= f64::MIN_POSITIVE, "no logarithm of {x}");
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh((m − 1)/(m + 1)), and the argument is at most 0.172.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = (0..12).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * z * series
}

/// The exponential function, for arguments between −700 and 700; exact on every machine as [`ln`].
pub(crate) fn exp(x: f64) -> f64 {
    debug_assert!(x.abs() < 700.0, "{x} is too far out");
    let halves = (x / std::f64::consts::LN_2).round();
    let rest = x - halves * std::f64::consts::LN_2;
    let series = (1..20).rev().fold(1.0, |sum, k| 1.0 + sum * rest / f64::from(k));
    series * f64::from_bits(((halves as i64 + 1023) as u64) << 52)
}

fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_exponential_agree_with_the_library() {
        let mut chance = Chance::new(1, "test", 0);
        for _ in 0..10_000 {
            let x = 1e-12 + chance.uniform() * 10f64.powi(chance.below(12) as i32);
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0), "{x}");
            let y = chance.uniform() * 100.0 - 50.0;
            assert!((exp(y) / y.exp() - 1.0).abs() < 1e-13, "{y}");
        }
        assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
    }

    #[test]
    fn streams_are_their_own_and_stay_what_they_are() {
        let first = |seed, label, index| Chance::new(seed, label, index).0.next_u64();
        let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one));
        }
        // As `laxity-link` draws them.
        assert_eq!(first(42, "random-loss", 7), 5_475_777_246_236_426_821);
    }

    #[test]
    fn exponentials_have_mean_and_deviation_one() {
        let mut chance = Chance::new(7, "test", 0);
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = chance.exponential();
            (sum, squares) = (sum + x, squares + x * x);
        }
        let mean = sum / f64::from(n);
        // Four standard errors: 4/√n.
        assert!((mean - 1.0).abs() < 0.009, "{mean}");
        assert!((squares / f64::from(n) - 2.0).abs() < 0.05);
    }

    #[test]
    fn shuffling_keeps_everything_and_every_place_is_as_likely() {
        let mut counts = [[0u32; 4]; 4];
        let mut chance = Chance::new(3, "test", 0);
        for _ in 0..40_000 {
            let mut list = [0, 1, 2, 3];
            chance.shuffle(&mut list);
            for (place, what) in list.iter().enumerate() {
                counts[place][*what] += 1;
            }
        }
        // Binomial with n = 40,000 and p = 1/4: standard deviation 87.
        assert!(counts.iter().flatten().all(|count| count.abs_diff(10_000) < 440), "{counts:?}");
    }
}
