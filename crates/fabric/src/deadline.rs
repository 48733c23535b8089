//! Until when late contributions are waited for.

use laxity_interface::{Fraction, Span};

/// Until when contributions are waited for, from the start of an operation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Deadline {
    /// For as long as the operation may take.
    #[default]
    None,
    /// So long.
    After(Span),
    /// By what the last operations of the same stream took; see [`adaptive_deadline`].
    Adaptive(Adaptive),
}

/// How a deadline follows the tail of what was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adaptive {
    /// Which part of the measured operations would have met it, before `factor`.
    pub quantile: Fraction,
    /// How much longer than that is waited.
    pub factor: f64,
    /// Never less than this.
    pub floor: Span,
    /// Operations that are measured before the first deadline is set.
    pub warm_up: usize,
}

impl Default for Adaptive {
    /// OptiReduce (NSDI '25, §3.2) takes the 95th percentile of 20 calibration runs; without
    /// calibration runs the tail is guessed from fewer, so there is more room above it.
    fn default() -> Self {
        Self {
            quantile: Fraction::new(0.99).expect("a fraction"),
            factor: 1.5,
            floor: Span::from_ms(1),
            warm_up: 10,
        }
    }
}

/// Where a deadline comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DeadlineReason {
    /// Too few operations have been measured.
    WarmingUp {
        /// So many have been.
        measured: usize,
    },
    /// A quantile of the measured times, with room.
    Tail {
        /// The quantile.
        measured: Span,
    },
    /// The quantile lies below the floor.
    Floor {
        /// The quantile.
        measured: Span,
    },
}

/// A deadline from the times that recent operations took, in any order, and where it comes from.
///
/// ```
/// use laxity_fabric::{Adaptive, DeadlineReason, adaptive_deadline};
/// use laxity_interface::Span;
///
/// let took: Vec<_> = (1..=100).map(Span::from_ms).collect();
/// let (deadline, reason) = adaptive_deadline(&took, &Adaptive::default());
/// assert_eq!(reason, DeadlineReason::Tail { measured: Span::from_ms(99) });
/// assert_eq!(deadline, Some(Span::from_us(148_500)));
/// ```
pub fn adaptive_deadline(took: &[Span], rule: &Adaptive) -> (Option<Span>, DeadlineReason) {
    if took.is_empty() || took.len() < rule.warm_up {
        return (None, DeadlineReason::WarmingUp { measured: took.len() });
    }
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let place = rule.quantile.of(sorted.len() as u64).max(1) as usize - 1;
    let measured = sorted[place];
    let deadline = measured.mul_f64(rule.factor);
    if deadline < rule.floor {
        (Some(rule.floor), DeadlineReason::Floor { measured })
    } else {
        (Some(deadline), DeadlineReason::Tail { measured })
    }
}

/// The times of the last operations of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    took: std::collections::VecDeque<Span>,
}

impl Times {
    /// As many as are remembered.
    const KEPT: usize = 128;

    /// Remembers one more.
    pub(crate) fn add(&mut self, took: Span) {
        if self.took.len() == Self::KEPT {
            self.took.pop_front();
        }
        self.took.push_back(took);
    }

    /// The deadline that follows from them.
    pub(crate) fn deadline(&self, rule: &Adaptive) -> Option<Span> {
        adaptive_deadline(&self.took.iter().copied().collect::<Vec<_>>(), rule).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_moves_the_deadline_and_the_body_does_not() {
        let rule = Adaptive::default();
        let mut took = vec![Span::from_ms(10); 100];
        let calm = adaptive_deadline(&took, &rule).0.unwrap();
        assert_eq!(calm, Span::from_ms(15));
        took[3] = Span::from_ms(500);
        assert_eq!(adaptive_deadline(&took, &rule).0, Some(calm), "one in a hundred is above p99");
        took[4] = Span::from_ms(500);
        assert!(adaptive_deadline(&took, &rule).0.unwrap() > calm);
    }

    #[test]
    fn few_times_give_no_deadline_and_short_ones_the_floor() {
        let rule = Adaptive::default();
        assert_eq!(
            adaptive_deadline(&[Span::from_ms(1); 9], &rule),
            (None, DeadlineReason::WarmingUp { measured: 9 })
        );
        let (deadline, _) = adaptive_deadline(&[Span::from_us(1); 10], &rule);
        assert_eq!(deadline, Some(rule.floor));
    }
}
