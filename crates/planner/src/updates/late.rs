//! Updates that are not worth sending.

use laxity_interface::{Span, Time};

use super::{Ordering, Update, UpdateReason, order};
use crate::{error::PlanError, network::Network};

/// Updates that are sent, in order, and those that are not.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropping {
    /// What is sent.
    pub kept: Ordering,
    /// What is not, with the reason.
    pub dropped: Vec<(usize, UpdateReason)>,
}

/// Orders updates and leaves out those that are not worth sending.
///
/// An update whose delay would pass `bound` is not sent. Neither is one that could keep the bound
/// only if others waited for it: with a transfer more than `patience` times as long as the middle
/// one, it would be committed so late that every other worker would have to stop (a worker behind
/// 10 Mbit/s in the paper's example). Leaving one out makes the delays of the others smaller, so
/// the most delayed is left out first and the rest is ordered anew.
pub fn drop_late(
    now: Time,
    network: &Network,
    updates: &[Update],
    version: u64,
    bound: Option<u64>,
    patience: f64,
) -> Result<Dropping, PlanError> {
    super::check(network, updates)?;
    let alone = |update: &Update| {
        let from = update.available.max(now);
        let ends = network.t_end(&update.path, from, update.size);
        ends.map_or(Span::MAX, |ends| ends.since(from))
    };
    let times: Vec<_> = updates.iter().map(alone).collect();
    let mut sorted = times.clone();
    sorted.sort_unstable();
    let usual = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(Span::ZERO);

    let mut dropped = Vec::new();
    let mut kept = Vec::new();
    for (at, takes) in times.iter().enumerate() {
        let slow = *takes > usual.mul_f64(patience.max(1.0));
        if *takes == Span::MAX || bound.is_some() && slow {
            dropped.push((at, UpdateReason::HoldsUp { takes: *takes, usual }));
        } else {
            kept.push(at);
        }
    }
    loop {
        let some: Vec<_> = kept.iter().map(|at| updates[*at].clone()).collect();
        let mut ordering = order(now, network, &some, version)?;
        let late = ordering
            .updates
            .iter()
            .filter(|one| bound.is_some_and(|bound| one.delay > bound))
            .max_by_key(|one| one.delay);
        let Some((late, delay)) = late.map(|late| (late.update, late.delay)) else {
            for one in &mut ordering.updates {
                one.update = kept[one.update];
            }
            return Ok(Dropping { kept: ordering, dropped });
        };
        let bound = bound.unwrap_or(u64::MAX);
        dropped.push((kept.remove(late), UpdateReason::TooStale { delay, bound }));
    }
}
