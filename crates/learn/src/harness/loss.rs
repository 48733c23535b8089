//! Which chunks do not arrive.

use laxity_interface::Fraction;
use laxity_link::{Pcg64, uniform};

/// How chunks of a worker get lost in a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Loss {
    /// Which share, in the mean.
    pub rate: Fraction,
    /// How many neighbouring chunks share one fate, in the mean; 1: each has its own.
    pub burst: f64,
}

impl Loss {
    /// Each chunk on its own.
    pub fn independent(rate: Fraction) -> Self {
        Self { rate, burst: 1.0 }
    }

    /// For each chunk whether it arrives, given its probability to be lost.
    ///
    /// Neighbours in a burst draw one number together, and are lost if it is below their
    /// probability: bursts do not change how much is lost, only how it clusters.
    pub fn arrivals(self, shares: &[f64], rng: &mut Pcg64) -> Vec<bool> {
        let mut fate = uniform(rng);
        shares
            .iter()
            .enumerate()
            .map(|(chunk, share)| {
                if chunk > 0 && uniform(rng) * self.burst < 1.0 {
                    fate = uniform(rng);
                }
                fate >= *share
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use laxity_link::stream;

    use super::*;

    #[test]
    fn the_rate_is_kept_and_bursts_have_their_length() {
        let rate = Fraction::new(0.1).expect("a fraction");
        let mut rng = stream(1, "test", 0);
        for burst in [1.0, 8.0] {
            let arrived = Loss { rate, burst }.arrivals(&vec![0.1; 200_000], &mut rng);
            let lost = arrived.iter().filter(|arrived| !**arrived).count() as f64;
            assert!((lost / 200_000.0 - 0.1).abs() < 0.01, "{lost} lost");
            let runs = arrived.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
            // A run is a burst and, with probability 0.1 each, those that follow it.
            let expected = burst / 0.9;
            assert!((lost / runs / expected - 1.0).abs() < 0.1, "{} {expected}", lost / runs);
        }
    }

    #[test]
    fn nothing_is_lost_at_0_and_everything_at_1() {
        let (loss, mut rng) = (Loss::independent(Fraction::ZERO), stream(1, "test", 1));
        assert!(loss.arrivals(&[0.0; 1000], &mut rng).iter().all(|arrived| *arrived));
        assert!(!loss.arrivals(&[1.0; 1000], &mut rng).iter().any(|arrived| *arrived));
    }
}
