//! A few figures of many samples.

/// Mean, percentiles (nearest rank: always a sample that occurred) and maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many samples.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Of samples in any order; `None` without any.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let rank = |percent: usize| sorted[(n * percent).div_ceil(100).max(1) - 1];
        let max = *sorted.last()?;
        let mean = sorted.iter().sum::<f64>() / n as f64;
        Some(Self { n, mean, p50: rank(50), p99: rank(99), max })
    }
}

/// Jain's index (Σx)² / (n·Σx²): 1 when all shares are equal, 1/n when one has everything.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_to_a_hundred() {
        let samples: Vec<_> = (1..=100).rev().map(f64::from).collect();
        let summary = Summary::of(&samples).unwrap();
        assert_eq!(summary, Summary { n: 100, mean: 50.5, p50: 50.0, p99: 99.0, max: 100.0 });
        assert_eq!(Summary::of(&[]), None);
        let one = Summary { n: 1, mean: 4.0, p50: 4.0, p99: 4.0, max: 4.0 };
        assert_eq!(Summary::of(&[4.0]), Some(one));
    }

    #[test]
    fn closed_forms_of_jain() {
        assert_eq!(jain(&[2.0; 5]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain(&[]), None);
    }
}
