//! The loss budget of one group, in whole messages (equation 1 of the NetApprox paper).

use crate::wire::Counts;

/// What has become of a group's messages, as the sender knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Budget {
    /// N.
    pub(crate) total: u64,
    /// ceil(d·N).
    pub(crate) required: u64,
    /// Known to have arrived.
    pub(crate) acked: u64,
    /// Lost at least a piece that was not sent again.
    pub(crate) damaged: u64,
}

impl Budget {
    /// For the wire.
    pub(crate) fn counts(&self) -> Counts {
        Counts { total: self.total, required: self.required }
    }

    /// How many may be lost in all. A whole number: a group whose N is too small to spare one message
    /// is an exact group.
    pub(crate) fn allowed(&self) -> u64 {
        self.total - self.required
    }

    /// How many damaged messages have to be sent again because the budget does not cover them.
    /// `expected` are further losses that are on their way.
    pub(crate) fn needed(&self, expected: u64) -> u64 {
        (self.damaged + expected).saturating_sub(self.allowed()).min(self.damaged)
    }
}

/// Equation 1: what may still be lost, over everything that is not home yet. Several groups or jobs on
/// one lane add up. A group without a budget has nothing to add above the line.
pub(crate) fn target_loss_rate<'a>(budgets: impl IntoIterator<Item = &'a Budget>) -> f64 {
    let (mut may_lose, mut not_home) = (0, 0);
    for budget in budgets {
        may_lose += budget.allowed().saturating_sub(budget.damaged);
        not_home += budget.total.saturating_sub(budget.acked);
    }
    if not_home == 0 { 0.0 } else { (may_lose as f64 / not_home as f64).clamp(0.0, 1.0) }
}

/// The same at the beginning, for ever: 1 − d (the paper's strawman).
pub(crate) fn promised_loss_rate<'a>(budgets: impl IntoIterator<Item = &'a Budget>) -> f64 {
    let sum = |sum: (u64, u64), budget: &Budget| (sum.0 + budget.allowed(), sum.1 + budget.total);
    let (allowed, total) = budgets.into_iter().fold((0, 0), sum);
    if total == 0 { 0.0 } else { allowed as f64 / total as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_at_one_minus_d_and_follows_fate() {
        let mut budget = Budget { total: 100, required: 90, ..Budget::default() };
        assert_eq!(target_loss_rate([&budget]), 0.1);
        budget.acked = 50;
        assert_eq!(target_loss_rate([&budget]), 0.2, "half home and nothing lost: bolder");
        budget.damaged = 10;
        assert_eq!(target_loss_rate([&budget]), 0.0, "budget spent");
        budget.damaged = 25;
        assert_eq!(target_loss_rate([&budget]), 0.0, "never negative");
        budget.acked = 100;
        assert_eq!(target_loss_rate([&budget]), 0.0);
        assert_eq!(promised_loss_rate([&budget]), 0.1, "whatever became of it");
        assert_eq!(promised_loss_rate([]), 0.0);
    }

    #[test]
    fn resends_exactly_what_the_budget_does_not_cover() {
        let mut budget = Budget { total: 10, required: 8, ..Budget::default() };
        for (damaged, expected, needed) in [(0, 0, 0), (2, 0, 0), (3, 0, 1), (2, 1, 1), (1, 9, 1)] {
            budget.damaged = damaged;
            assert_eq!(budget.needed(expected), needed, "{damaged} {expected}");
        }
    }
}
