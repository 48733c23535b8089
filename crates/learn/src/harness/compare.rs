//! Scores of trainings against those of others.

use std::collections::BTreeMap;

/// Scores by seed.
pub type Scores = BTreeMap<u64, f64>;

/// A mean and how sure it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error; none for a single number, which says nothing about chance.
    pub error: Option<f64>,
}

impl Mean {
    /// Of these numbers; none if there is none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|x| (x - value).powi(2)).sum();
        let error = (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt());
        (!values.is_empty()).then_some(Self { value, error })
    }
}

/// What `scores` gained over `base`, in the mean.
///
/// Trainings of the same seed have the same data, start and order, so seeds that both have are
/// compared one by one: what a seed does to both of them is no part of the difference. Only where
/// they have none in common, means are compared.
///
/// ```
/// use laxity_learn::{Scores, compare};
///
/// let lossless = Scores::from([(1, 80.0), (2, 90.0), (3, 85.0)]);
/// let lossy = Scores::from([(1, 79.0), (2, 89.0), (4, 20.0)]);
/// let difference = compare(&lossy, &lossless).expect("seeds 1 and 2");
/// assert_eq!((difference.value, difference.error), (-1.0, Some(0.0)));
/// ```
pub fn compare(scores: &Scores, base: &Scores) -> Option<Mean> {
    let pairs: Vec<f64> =
        scores.iter().filter_map(|(seed, score)| Some(score - base.get(seed)?)).collect();
    if !pairs.is_empty() {
        return Mean::of(&pairs);
    }
    let mean = |scores: &Scores| Mean::of(&scores.values().copied().collect::<Vec<_>>());
    let (with, without) = (mean(scores)?, mean(base)?);
    let error = with.error.zip(without.error).map(|(a, b)| a.hypot(b));
    Some(Mean { value: with.value - without.value, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_compared_one_by_one() {
        let base = Scores::from([(1, 70.0), (2, 80.0), (3, 90.0)]);
        let scores = Scores::from([(1, 69.0), (2, 78.0), (3, 87.0)]);
        let found = compare(&scores, &base).expect("pairs");
        // Differences of −1, −2, −3: a standard deviation of 1 over √3.
        assert!((found.value + 2.0).abs() < 1e-12);
        assert!((found.error.expect("three pairs") - 1.0 / 3f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn seeds_that_one_side_lacks_do_not_count() {
        let base = Scores::from([(1, 70.0), (2, 80.0)]);
        let found = compare(&Scores::from([(2, 81.0), (9, 0.0)]), &base).expect("one pair");
        assert_eq!(found, Mean { value: 1.0, error: None });
    }

    #[test]
    fn without_common_seeds_means_are_compared() {
        let base = Scores::from([(1, 70.0), (2, 80.0)]);
        let found = compare(&Scores::from([(3, 79.0), (4, 81.0)]), &base).expect("means");
        assert!((found.value - 5.0).abs() < 1e-12);
        assert!((found.error.expect("two each") - 26f64.sqrt()).abs() < 1e-12);
        assert_eq!(compare(&Scores::new(), &base), None);
    }
}
