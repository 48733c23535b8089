//! Loss by chance, single and in bursts.

use laxity_interface::{Fraction, Time};

use crate::{PacketInfo, Pcg64, Rule, Verdict, chance, stream};

/// Loses each packet with the same probability, independently.
#[derive(Debug, Clone)]
pub struct RandomLoss {
    probability: Fraction,
    rng: Pcg64,
}

impl RandomLoss {
    /// Loses packets with this probability.
    pub fn new(probability: Fraction, seed: u64, index: u64) -> Self {
        Self { probability, rng: stream(seed, "random-loss", index) }
    }
}

impl Rule for RandomLoss {
    fn on_packet(&mut self, _: Time, _: &PacketInfo) -> Verdict {
        if chance(&mut self.rng, self.probability) { Verdict::Drop } else { Verdict::Pass }
    }

    fn name(&self) -> &'static str {
        "random-loss"
    }
}

/// Loses packets in bursts: a chain of two states, good and bad, each with its own loss
/// (Gilbert 1960, Elliott 1963).
///
/// ```
/// use laxity_interface::Fraction;
/// use laxity_link::rules::GilbertElliott;
/// // A burst begins at one packet in 100 and lasts 4 packets on average.
/// let bursts = GilbertElliott::new(Fraction::new(0.01)?, Fraction::new(0.25)?, 42, 0);
/// assert!((bursts.mean_loss() - 0.01 / 0.26).abs() < 1e-12);
/// # Ok::<(), laxity_interface::FractionError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GilbertElliott {
    p: Fraction,
    r: Fraction,
    loss_good: Fraction,
    loss_bad: Fraction,
    bad: bool,
    rng: Pcg64,
}

impl GilbertElliott {
    /// Goes from good to bad with probability `p` per packet and back with probability `r`; loses
    /// nothing while good and everything while bad. Begins good.
    pub fn new(p: Fraction, r: Fraction, seed: u64, index: u64) -> Self {
        let rng = stream(seed, "gilbert-elliott", index);
        Self { p, r, loss_good: Fraction::ZERO, loss_bad: Fraction::ONE, bad: false, rng }
    }

    /// The same chain with these losses in the good and in the bad state.
    #[must_use]
    pub const fn with_loss(mut self, good: Fraction, bad: Fraction) -> Self {
        self.loss_good = good;
        self.loss_bad = bad;
        self
    }

    /// The loss in the long run.
    pub fn mean_loss(&self) -> f64 {
        let (p, r) = (self.p.get(), self.r.get());
        // A chain that never moves stays in its first state.
        let bad = if p == 0.0 { 0.0 } else { p / (p + r) };
        (1.0 - bad) * self.loss_good.get() + bad * self.loss_bad.get()
    }
}

impl Rule for GilbertElliott {
    fn on_packet(&mut self, _: Time, _: &PacketInfo) -> Verdict {
        // Two draws for every packet, whatever the state.
        let moves = chance(&mut self.rng, if self.bad { self.r } else { self.p });
        self.bad ^= moves;
        let lost = chance(&mut self.rng, if self.bad { self.loss_bad } else { self.loss_good });
        if lost { Verdict::Drop } else { Verdict::Pass }
    }

    fn name(&self) -> &'static str {
        "gilbert-elliott"
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Bytes;

    use super::*;

    fn fraction(value: f64) -> Fraction {
        Fraction::new(value).unwrap()
    }

    /// One entry per packet: whether it was lost.
    fn losses(mut rule: impl Rule, packets: usize) -> Vec<bool> {
        let packet = PacketInfo::new(Bytes::new(1400));
        (0..packets).map(|_| rule.on_packet(Time::ZERO, &packet) == Verdict::Drop).collect()
    }

    fn mean(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn random_loss_is_near_its_probability() {
        let lost = losses(RandomLoss::new(fraction(0.07), 1, 0), 100_000);
        // Five standard deviations of a binomial: 5·sqrt(0.07·0.93/100000) = 0.004.
        assert!((mean(&lost) - 0.07).abs() < 0.004, "{}", mean(&lost));
        assert_eq!(mean(&losses(RandomLoss::new(Fraction::ONE, 1, 0), 100)), 1.0);
        assert_eq!(mean(&losses(RandomLoss::new(Fraction::ZERO, 1, 0), 100)), 0.0);
    }

    #[test]
    fn bursts_have_the_loss_and_the_length_of_the_chain() {
        let rule = GilbertElliott::new(fraction(0.02), fraction(0.2), 3, 0);
        let expected = rule.mean_loss();
        assert!((expected - 1.0 / 11.0).abs() < 1e-12);
        let lost = losses(rule, 400_000);
        assert!((mean(&lost) - expected).abs() < 0.005, "{}", mean(&lost));
        // Bursts last 1/r = 5 packets on average; independent losses would last 1.1.
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let length = lost.iter().filter(|lost| **lost).count() as f64 / bursts as f64;
        assert!((length - 5.0).abs() < 0.2, "{length}");
    }

    #[test]
    fn both_states_may_lose_in_part() {
        let rule = GilbertElliott::new(fraction(0.1), fraction(0.3), 3, 0)
            .with_loss(fraction(0.01), fraction(0.5));
        let expected = 0.75 * 0.01 + 0.25 * 0.5;
        assert!((rule.mean_loss() - expected).abs() < 1e-12);
        let mean = mean(&losses(rule, 400_000));
        assert!((mean - expected).abs() < 0.005, "{mean}");
    }

    #[test]
    fn a_chain_that_never_moves_stays_good() {
        let rule = GilbertElliott::new(Fraction::ZERO, Fraction::ZERO, 3, 0);
        assert_eq!(rule.mean_loss(), 0.0);
        assert_eq!(mean(&losses(rule, 1000)), 0.0);
    }

    #[test]
    fn the_seed_and_the_index_decide() {
        let run = |seed, index| losses(RandomLoss::new(fraction(0.5), seed, index), 64);
        assert_eq!(run(1, 0), run(1, 0));
        assert_ne!(run(1, 0), run(2, 0));
        assert_ne!(run(1, 0), run(1, 1));
    }
}
