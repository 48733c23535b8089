//! Softmax and cross entropy.

use std::cmp::Ordering;

use super::exp;

/// Turns a row of scores into the derivative of its cross entropy against `label`, in place.
///
/// Returns the cross entropy in nats and whether the label had the highest score (the first of
/// equals wins).
pub(crate) fn cross_entropy(scores: &mut [f32], label: usize) -> (f64, bool) {
    let mut best = 0;
    for (at, score) in scores.iter().enumerate() {
        // A score that is not a number makes the whole row wrong, and the loss not a number.
        if score.partial_cmp(&scores[best]).is_none_or(Ordering::is_gt) {
            best = at;
        }
    }
    let (top, wanted) = (scores[best], scores[label]);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = exp(*score - top);
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
    scores[label] -= 1.0;
    let loss = libm::log(f64::from(sum)) - f64::from(wanted - top);
    (loss, best == label && loss.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_cost_the_logarithm_of_their_number() {
        let mut scores = [2.5; 8];
        let (loss, hit) = cross_entropy(&mut scores, 0);
        assert!((loss - 8f64.ln()).abs() < 1e-6 && hit);
        assert!((scores[0] + 0.875).abs() < 1e-6 && (scores[1] - 0.125).abs() < 1e-6);
    }

    #[test]
    fn large_scores_do_not_overflow_and_broken_ones_are_seen() {
        let (loss, hit) = cross_entropy(&mut [1e30, 0.0], 0);
        assert!(loss.abs() < 1e-6 && hit);
        let (loss, hit) = cross_entropy(&mut [f32::NAN, 0.0], 0);
        assert!(loss.is_nan() && !hit);
    }
}
