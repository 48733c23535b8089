//! Rules on links, asked about every packet.

use std::collections::BTreeSet;

use laxity_interface::{Fraction, Span, Time};
use rand_pcg::Pcg64Mcg;

use super::{Fault, Only, Trouble};
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
/// every packet that it is about, else a rule would shift the random numbers of those behind it.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<(Only, Rule)>,
    /// How many faults hold the link down.
    down: u32,
}

#[derive(Debug)]
enum Rule {
    Loss { probability: Fraction, rng: Pcg64Mcg },
    Bursts { begin: Fraction, end: Fraction, bad: bool, rng: Pcg64Mcg },
    Nth { positions: BTreeSet<u64>, next: u64 },
    Late { probability: Fraction, extra: Span, rng: Pcg64Mcg },
}

impl Rules {
    /// Adds the rule of a fault. Links that are down are no rule: they change with time.
    pub(crate) fn add(&mut self, fault: &Fault, seed: u64, number: usize, link: u32) {
        let rng = stream(seed, "fault", (number as u64) << 32 | u64::from(link));
        let rule = match fault.what {
            Trouble::Loss { probability } => Rule::Loss { probability, rng },
            Trouble::Bursts { begin, end } => Rule::Bursts { begin, end, bad: false, rng },
            Trouble::Nth { ref positions } => {
                Rule::Nth { positions: positions.iter().copied().collect(), next: 0 }
            }
            Trouble::Late { probability, extra } => Rule::Late { probability, extra, rng },
            Trouble::Down { .. } => return,
        };
        self.rules.push((fault.only, rule));
    }

    /// Takes the link down or up again; says whether that changed anything.
    pub(crate) fn set_down(&mut self, down: bool) {
        match down {
            true => self.down += 1,
            false => self.down -= 1,
        }
    }

    /// Judges the next packet: one of this stack and size, which leaves now.
    pub(crate) fn judge(&mut self, stack: u8, size: u32, now: Time) -> Verdict {
        let mut verdict = if self.down > 0 { Verdict::Drop } else { Verdict::Pass };
        for (_, rule) in self.rules.iter_mut().filter(|(only, _)| only.holds(stack, size, now)) {
            let own = rule.judge();
            if verdict == Verdict::Pass {
                verdict = own;
            }
        }
        verdict
    }
}

impl Rule {
    fn judge(&mut self) -> Verdict {
        let lost = match self {
            Self::Loss { probability, rng } => chance(rng, *probability),
            Self::Bursts { begin, end, bad, rng } => {
                *bad ^= chance(rng, if *bad { *end } else { *begin });
                *bad
            }
            Self::Nth { positions, next } => {
                *next += 1;
                positions.contains(&(*next - 1))
            }
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
            rules.add(&Fault::everywhere(trouble.clone()), seed, fault, link);
        }
        (0..100_000).map(|_| rules.judge(0, 1518, Time::ZERO)).collect()
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
        both.add(&Fault::everywhere(late), 5, 0, 0);
        both.add(&Fault::everywhere(nth), 5, 1, 0);
        let both: Vec<_> = (0..100_000).map(|_| both.judge(0, 1518, Time::ZERO)).collect();
        assert_eq!(alone[4..], both[4..]);
        assert!([0, 3].iter().all(|at| both[*at] != Verdict::Pass));
    }

    #[test]
    fn a_fault_may_be_about_some_packets_only() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let only =
            Only { stack: Some(1), larger_than: Some(64), from: Some(at(10)), until: Some(at(20)) };
        let nth = Trouble::Nth { positions: vec![0] };
        let mut rules = Rules::default();
        rules.add(&Fault::everywhere(nth).only(only), 1, 0, 0);
        for (stack, size, us) in [(0, 1518, 15), (1, 64, 15), (1, 1518, 9), (1, 1518, 20)] {
            assert_eq!(rules.judge(stack, size, at(us)), Verdict::Pass, "{stack} {size} {us}");
        }
        assert_eq!(rules.judge(1, 65, at(10)), Verdict::Drop, "the first that it is about");
        assert_eq!(rules.judge(1, 65, at(11)), Verdict::Pass);
    }
}
