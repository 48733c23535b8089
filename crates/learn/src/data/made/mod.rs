//! Sets that are made from a seed and need no files: the same seed, the same set.
//!
//! They are no stand-in for real data where a figure is to be believed. They have what makes the
//! models behave as they do on real data (things to find, noise, rare cases), and they are always
//! at hand.

mod documents;
mod ratings;
mod strokes;
mod text;

pub use documents::documents;
pub use ratings::ratings;
pub use strokes::strokes;
pub use text::text;

use laxity_link::{Pcg64, uniform};

/// A whole number below `limit`.
fn below(rng: &mut Pcg64, limit: usize) -> usize {
    ((uniform(rng) * limit as f64) as usize).min(limit - 1)
}

/// Sums of weights, to draw from with [`pick`].
fn running_sums(weights: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    weights
        .into_iter()
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect()
}

/// A place, with the probability of its weight.
fn pick(rng: &mut Pcg64, sums: &[f64]) -> usize {
    let drawn = uniform(rng) * sums.last().expect("something to choose from");
    sums.partition_point(|sum| *sum <= drawn).min(sums.len() - 1)
}

/// Zipf's law: the n-th has a weight of 1 / n.
fn zipf(count: usize) -> Vec<f64> {
    running_sums((1..=count).map(|rank| 1.0 / rank as f64))
}

#[cfg(test)]
mod tests {
    use laxity_link::stream;

    use super::*;

    #[test]
    fn picks_follow_their_weights() {
        let (mut rng, sums) = (stream(1, "test", 0), running_sums([1.0, 0.0, 3.0]));
        let mut counts = [0; 3];
        (0..4000).for_each(|_| counts[pick(&mut rng, &sums)] += 1);
        assert!((900..1100).contains(&counts[0]) && counts[1] == 0, "{counts:?}");
    }

    #[test]
    fn the_same_seed_makes_the_same_sets() {
        assert_eq!(strokes(7, 30, 5), strokes(7, 30, 5));
        assert_ne!(strokes(7, 30, 5), strokes(8, 30, 5));
        assert_eq!(ratings(7, 20, 30, 100), ratings(7, 20, 30, 100));
        assert_eq!(text(7, 500), text(7, 500));
        assert_eq!(documents(7, 20, 50, 4), documents(7, 20, 50, 4));
    }
}
