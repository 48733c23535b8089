//! A cache of keys and values, as Facebook's memcached pool ETC was found to be.
//!
//! Atikoglu et al., "Workload Analysis of a Large-Scale Key-Value Store" (SIGMETRICS 2012), with the
//! parameters as the load generator mutilate has them. A message is a key and its value.

use laxity_interface::Span;

use super::pareto::{ExtremeValue, Pareto};
use crate::chance::Chance;

/// What memcached stores at most; the model's tail has no end.
const LARGEST: f64 = 1_048_576.0;

/// Sizes of keys and values, and the time from one message to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyValue {
    /// Bytes of a key.
    pub key: ExtremeValue,
    /// How likely a value of 0, 1, 2, … bytes is; what is left is [`value`](Self::value).
    pub small: [f64; 15],
    /// Bytes of a value that is not small.
    pub value: Pareto,
    /// Microseconds from one message to the next.
    pub interval_us: Pareto,
}

impl KeyValue {
    /// The pool ETC.
    pub const ETC: Self = Self {
        key: ExtremeValue { location: 30.7984, scale: 8.20449, shape: 0.078_688 },
        small: [
            0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023,
            0.00837, 0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
        ],
        value: Pareto { location: 15.0, scale: 214.476, shape: 0.348_238 },
        interval_us: Pareto { location: 0.0, scale: 16.0292, shape: 0.154_971 },
    };

    /// Bytes of a key and its value.
    pub fn sample(&self, chance: &mut Chance) -> f64 {
        let key = self.key.sample(chance).round().max(1.0);
        (key + self.sample_value(chance)).min(LARGEST)
    }

    fn sample_value(&self, chance: &mut Chance) -> f64 {
        let mut left = chance.uniform();
        for (size, part) in self.small.iter().enumerate() {
            if left < *part {
                return size as f64;
            }
            left -= part;
        }
        self.value.sample(chance).round()
    }

    /// The mean of a key and its value.
    pub fn mean(&self) -> f64 {
        let small: f64 = self.small.iter().enumerate().map(|(n, part)| n as f64 * part).sum();
        let rest = 1.0 - self.small.iter().sum::<f64>();
        self.key.mean() + small + rest * self.value.mean()
    }

    /// The time from one message to the next.
    pub fn interval(&self, chance: &mut Chance) -> Span {
        Span::from_ps((self.interval_us.sample(chance) * 1e6).round() as u64)
    }

    /// The mean of that time.
    pub fn mean_interval(&self) -> Span {
        Span::from_ps((self.interval_us.mean() * 1e6).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_study_come_out() {
        // Values: 53 % of them 15 bytes and more, mean of those 15 + 214.476/0.651762.
        let rest = 1.0 - KeyValue::ETC.small.iter().sum::<f64>();
        assert!((0.55..0.57).contains(&rest), "{rest}");
        assert!((KeyValue::ETC.value.mean() - 344.07).abs() < 0.01);
        assert!((KeyValue::ETC.mean_interval().as_secs_f64() * 1e6 - 18.9689).abs() < 1e-3);
        assert!((KeyValue::ETC.key.mean() - 36.223).abs() < 1e-3, "{}", KeyValue::ETC.key.mean());
    }

    #[test]
    fn small_values_are_as_likely_as_they_should_be() {
        let (mut chance, n) = (Chance::new(5, "kv", 0), 100_000);
        let twos = (0..n).filter(|_| KeyValue::ETC.sample_value(&mut chance) == 2.0).count();
        // Binomial: standard deviation 121.
        assert!((twos as f64 - 17_820.0).abs() < 610.0, "{twos}");
    }

    #[test]
    fn intervals_have_their_mean() {
        let (mut chance, n) = (Chance::new(6, "kv", 0), 100_000u64);
        let sum: u64 = (0..n).map(|_| KeyValue::ETC.interval(&mut chance).as_ps()).sum();
        let mean = KeyValue::ETC.mean_interval().as_ps() as f64;
        assert!((sum as f64 / n as f64 / mean - 1.0).abs() < 0.02);
    }
}
