//! Fair sharing: max-min, weights, strict priorities, jobs that stay outside.

use std::collections::BTreeMap;

use super::round::Round;
use crate::{reason::Reason, weight::Weight};

/// `max-min`: every flow the same, up to what its links have.
pub(super) fn max_min(round: &mut Round<'_>, flows: &[usize]) {
    round.share(flows, |_| Weight::ONE, |_, link, flows| Reason::FairShare { link, flows });
}

/// `weighted`: shares in proportion to weights.
pub(super) fn weighted(round: &mut Round<'_>, flows: &[usize]) {
    let decide = |demand: &crate::Demand, link, flows| {
        let weight = demand.weight.get();
        Reason::WeightedShare { link, flows, weight }
    };
    round.share(flows, |demand| demand.weight, decide);
}

/// `priority`: levels one after the other, max-min inside; flows without one come last.
pub(super) fn priority(round: &mut Round<'_>, flows: &[usize]) {
    by_level(round, flows, |_| Weight::ONE);
}

/// Levels one after the other, shared by weight inside.
pub(super) fn by_level(
    round: &mut Round<'_>,
    flows: &[usize],
    weight: impl Fn(&crate::Demand) -> Weight + Copy,
) {
    let mut levels: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for at in flows {
        let level = round.demands[*at].priority.map_or(u64::MAX, u64::from);
        levels.entry(level).or_default().push(*at);
    }
    for flows in levels.values() {
        let (open, shut): (Vec<_>, Vec<_>) =
            flows.iter().copied().partition(|at| round.room(*at) > 0);
        for at in shut {
            let (level, link) = (round.demands[at].priority, round.tightest(at));
            if round.rates[at] == 0 {
                round.reasons[at] = Reason::PriorityWaits { level, link };
            }
        }
        let keep: Vec<_> = open.iter().map(|at| (round.rates[*at], round.reasons[*at])).collect();
        round.share(&open, weight, |demand, link, _| {
            let level = demand.priority;
            Reason::PriorityTurn { level, link }
        });
        // A flow that had a rate before keeps the reason for it: that part was a promise.
        for (at, (rate, reason)) in open.into_iter().zip(keep) {
            if rate > 0 {
                round.reasons[at] = reason;
            }
        }
    }
}

/// Gives flows of jobs outside their fair share of the part of each link that is kept for them.
/// Returns what each got.
pub(super) fn keep_minimum(round: &mut Round<'_>, flows: &[usize]) -> Vec<u64> {
    if flows.is_empty() {
        return Vec::new();
    }
    let part = round.options.outsiders.get();
    let kept = |capacity: &u64| (*capacity as f64 * part) as u64;
    let all = std::mem::take(&mut round.left);
    // CORRECTNESS: a product with a fraction, rounded down, can exceed the factor by rounding of
    // the conversion to floating point only.
    round.left = all.iter().map(|left| kept(left).min(*left)).collect();
    let before = round.left.clone();
    round.share(flows, |_| Weight::ONE, |_, link, _| Reason::Outsider { link });
    for (at, all) in all.into_iter().enumerate() {
        round.left[at] = all - (before[at] - round.left[at]);
    }
    flows.iter().map(|at| round.rates[*at]).collect()
}

/// Shares what jobs that take part leave between those that do not.
///
/// What they were kept is given back first, so that the whole is max-min and not two layers.
pub(super) fn outsiders(round: &mut Round<'_>, flows: &[usize], kept: Vec<u64>) {
    for (at, kept) in flows.iter().zip(kept) {
        round.rates[*at] -= kept;
        for link in round.demands[*at].path.iter() {
            round.left[link.index()] += kept;
        }
    }
    if !flows.is_empty() {
        round.share(flows, |_| Weight::ONE, |_, link, _| Reason::Outsider { link });
    }
}
