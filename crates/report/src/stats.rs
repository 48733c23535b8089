//! Small exact statistics over samples that fit in memory.
//!
//! Percentiles use the **nearest-rank** definition: the p-th percentile of N samples is the
//! ⌈p/100 · N⌉-th smallest, and the smallest for p = 0. It is always a sample that really occurred,
//! never an interpolation, so a p99 of 40 samples is simply the largest: too few samples show as such.
//!
//! Every function ignores NaN samples and returns `None` where no sample is left.

/// Mean, percentiles, maximum and count of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median by nearest rank.
    pub p50: f64,
    /// 95th percentile by nearest rank.
    pub p95: f64,
    /// 99th percentile by nearest rank.
    pub p99: f64,
    /// Largest sample.
    pub max: f64,
    /// Number of samples.
    pub n: usize,
}

impl Summary {
    /// Summarises samples in any order; `None` without samples.
    ///
    /// ```
    /// use laxity_report::stats::Summary;
    /// let s = Summary::of(&[3.0, 1.0, 2.0]).unwrap();
    /// assert_eq!((s.mean, s.p50, s.p99, s.n), (2.0, 2.0, 3.0, 3));
    /// ```
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        Some(Self {
            mean: mean(&sorted)?,
            p50: nearest_rank(&sorted, 50.0)?,
            p95: nearest_rank(&sorted, 95.0)?,
            p99: nearest_rank(&sorted, 99.0)?,
            max: *sorted.last()?,
            n: sorted.len(),
        })
    }
}

/// The samples in ascending order, without NaN.
#[must_use]
pub fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| !x.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The `p`-th percentile (0 to 100, clamped) of samples in any order, by nearest rank.
#[must_use]
pub fn percentile(samples: &[f64], p: f64) -> Option<f64> {
    nearest_rank(&sorted(samples), p)
}

/// The `p`-th percentile of samples already in ascending order.
///
/// PRECONDITION: `sorted` is ascending and without NaN, as [`sorted()`] returns it.
#[must_use]
pub fn nearest_rank(sorted: &[f64], p: f64) -> Option<f64> {
    let n = sorted.len();
    // 99.9 / 100 * 1000 is a hair above 999 in binary; without the margin it would round up a rank.
    let rank = (p.clamp(0.0, 100.0) * n as f64 / 100.0 - 1e-9).ceil();
    sorted.get((rank as usize).clamp(1, n.max(1)) - 1).copied()
}

/// Arithmetic mean.
#[must_use]
pub fn mean(samples: &[f64]) -> Option<f64> {
    let (sum, n) = numbers(samples).fold((0.0, 0_usize), |(sum, n), x| (sum + x, n + 1));
    (n > 0).then(|| sum / n as f64)
}

/// Smallest sample.
#[must_use]
pub fn min(samples: &[f64]) -> Option<f64> {
    numbers(samples).min_by(f64::total_cmp)
}

/// Largest sample.
#[must_use]
pub fn max(samples: &[f64]) -> Option<f64> {
    numbers(samples).max_by(f64::total_cmp)
}

/// Jain's fairness index (Σx)² / (n · Σx²): 1 when all shares are equal, 1/n when one has everything.
///
/// All zeros count as equal shares, so the index is 1; an infinite share has no index.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let largest = numbers(shares).map(f64::abs).max_by(f64::total_cmp).filter(|x| x.is_finite())?;
    if largest == 0.0 {
        return Some(1.0);
    }
    // Scaled, so that squares cannot overflow; by a power of two, so that scaling does not round.
    let scale = largest.log2().floor().exp2();
    let (sum, squares, n) = numbers(shares)
        .map(|x| x / scale)
        .fold((0.0, 0.0, 0_usize), |(sum, squares, n), x| (sum + x, squares + x * x, n + 1));
    Some(sum * sum / (n as f64 * squares))
}

fn numbers(samples: &[f64]) -> impl Iterator<Item = f64> {
    samples.iter().copied().filter(|x| !x.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_the_textbook_nearest_rank() {
        // The worked example of Wikipedia's "Percentile", nearest-rank method.
        let samples = [50.0, 15.0, 40.0, 20.0, 35.0];
        for (p, expected) in
            [(0.0, 15.0), (5.0, 15.0), (30.0, 20.0), (40.0, 20.0), (50.0, 35.0), (100.0, 50.0)]
        {
            assert_eq!(percentile(&samples, p), Some(expected), "p{p}");
        }
    }

    #[test]
    fn percentile_of_one_to_n_is_p() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        for p in 1..=100 {
            assert_eq!(percentile(&hundred, p.into()), Some(p.into()));
        }
        let thousand: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(percentile(&thousand, 99.9), Some(999.0));
        assert_eq!(percentile(&thousand, 250.0), Some(1000.0));
    }

    #[test]
    fn jain_closed_forms() {
        assert_eq!(jain(&[5.0; 7]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(16.0 / 20.0));
        assert_eq!(jain(&[0.0, 0.0]), Some(1.0));
        assert_eq!(jain(&[1e300, 1e300]), Some(1.0));
        assert_eq!(jain(&[f64::INFINITY, 1.0]), None);
    }

    #[test]
    fn nothing_in_nothing_out() {
        for empty in [&[][..], &[f64::NAN]] {
            assert_eq!(Summary::of(empty), None);
            assert_eq!(
                [percentile(empty, 50.0), mean(empty), min(empty), max(empty), jain(empty)],
                [None; 5]
            );
        }
    }

    #[test]
    fn one_sample_is_everything() {
        let s = Summary::of(&[4.5, f64::NAN]).unwrap();
        assert_eq!(s, Summary { mean: 4.5, p50: 4.5, p95: 4.5, p99: 4.5, max: 4.5, n: 1 });
        assert_eq!((min(&[2.0, -1.0]), max(&[2.0, -1.0])), (Some(-1.0), Some(2.0)));
    }
}
