//! Rules on links, asked about every packet.

use std::collections::BTreeSet;

use laxity_interface::{Fraction, Span};
use rand_pcg::Pcg64Mcg;

use super::Trouble;
use crate::random::{chance, stream};

/// What becomes of a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing happens to it.
    Pass,
    /// It is lost.
    Drop,
    /// It arrives later than it would have.
    Late(Span),
}

/// The rules of one link in order: the first that does not pass a packet decides. Every rule sees
/// every packet, else a rule would shift the random numbers of those behind it.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    position: u64,
    /// How many faults hold the link down.
    down: u32,
}

#[derive(Debug)]
enum Rule {
    Loss { probability: Fraction, rng: Pcg64Mcg },
    Bursts { begin: Fraction, end: Fraction, bad: bool, rng: Pcg64Mcg },
    Nth(BTreeSet<u64>),
    Late { probability: Fraction, extra: Span, rng: Pcg64Mcg },
}

impl Rules {
    /// Adds the rule of a fault. Links that are down are no rule: they change with time.
    pub(crate) fn add(&mut self, trouble: &Trouble, seed: u64, fault: usize, link: u32) {
        let rng = stream(seed, "fault", (fault as u64) << 32 | u64::from(link));
        self.rules.push(match *trouble {
            Trouble::Loss { probability } => Rule::Loss { probability, rng },
            Trouble::Bursts { begin, end } => Rule::Bursts { begin, end, bad: false, rng },
            Trouble::Nth { ref positions } => Rule::Nth(positions.iter().copied().collect()),
            Trouble::Late { probability, extra } => Rule::Late { probability, extra, rng },
            Trouble::Down { .. } => return,
        });
    }

    /// Takes the link down or up again; says whether that changed anything.
    pub(crate) fn set_down(&mut self, down: bool) {
        match down {
            true => self.down += 1,
            false => self.down -= 1,
        }
    }

    /// Judges the next packet.
    pub(crate) fn judge(&mut self) -> Verdict {
        let mut verdict = if self.down > 0 { Verdict::Drop } else { Verdict::Pass };
        for rule in &mut self.rules {
            let own = rule.judge(self.position);
            if verdict == Verdict::Pass {
                verdict = own;
            }
        }
        self.position += 1;
        verdict
    }
}

impl Rule {
    fn judge(&mut self, position: u64) -> Verdict {
        let lost = match self {
            Self::Loss { probability, rng } => chance(rng, *probability),
            Self::Bursts { begin, end, bad, rng } => {
                *bad ^= chance(rng, if *bad { *end } else { *begin });
                *bad
            }
            Self::Nth(positions) => positions.contains(&position),
            Self::Late { probability, extra, rng } => {
                return if chance(rng, *probability) {
                    Verdict::Late(*extra)
                } else {
                    Verdict::Pass
                };
            }
        };
        if lost { Verdict::Drop } else { Verdict::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fraction(value: f64) -> Fraction {
        Fraction::new(value).unwrap()
    }

    fn verdicts(troubles: &[Trouble], seed: u64, link: u32) -> Vec<Verdict> {
        let mut rules = Rules::default();
        for (fault, trouble) in troubles.iter().enumerate() {
            rules.add(trouble, seed, fault, link);
        }
        (0..100_000).map(|_| rules.judge()).collect()
    }

    fn lost(verdicts: &[Verdict]) -> f64 {
        let lost = verdicts.iter().filter(|verdict| **verdict == Verdict::Drop).count();
        lost as f64 / verdicts.len() as f64
    }

    #[test]
    fn losses_are_near_their_probability_and_repeat_by_seed() {
        let loss = [Trouble::Loss { probability: fraction(0.07) }];
        let first = verdicts(&loss, 1, 0);
        // Five standard deviations of a binomial: 5·sqrt(0.07·0.93/100000) = 0.004.
        assert!((lost(&first) - 0.07).abs() < 0.004, "{}", lost(&first));
        assert_eq!(first, verdicts(&loss, 1, 0));
        assert_ne!(first, verdicts(&loss, 2, 0));
        assert_ne!(first, verdicts(&loss, 1, 1));
    }

    #[test]
    fn bursts_have_the_loss_and_length_of_the_chain() {
        let chain = [Trouble::Bursts { begin: fraction(0.02), end: fraction(0.2) }];
        let all = verdicts(&chain, 3, 0);
        assert!((lost(&all) - 1.0 / 11.0).abs() < 0.01, "{}", lost(&all));
        let bursts = all.windows(2).filter(|w| w[0] != Verdict::Drop && w[1] == Verdict::Drop);
        let length = lost(&all) * all.len() as f64 / bursts.count() as f64;
        assert!((length - 5.0).abs() < 0.4, "{length}");
    }

    #[test]
    fn one_rule_more_does_not_shift_the_others() {
        let late = Trouble::Late { probability: fraction(0.1), extra: Span::from_us(3) };
        let nth = Trouble::Nth { positions: vec![0, 3] };
        let alone = verdicts(std::slice::from_ref(&late), 5, 0);
        let mut both = Rules::default();
        both.add(&late, 5, 0, 0);
        both.add(&nth, 5, 1, 0);
        let both: Vec<_> = (0..100_000).map(|_| both.judge()).collect();
        assert_eq!(alone[4..], both[4..]);
        assert!([0, 3].iter().all(|at| both[*at] != Verdict::Pass));
    }
}
