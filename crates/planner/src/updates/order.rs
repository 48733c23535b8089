//! The order in which updates are sent: the one that arrives first goes first.

use std::{cmp::Reverse, collections::BinaryHeap};

use laxity_interface::{Bytes, Span, Time};

use super::{Update, UpdateReason, check};
use crate::{error::PlanError, network::Network};

/// An update with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ordered {
    /// Its place among the updates that were given.
    pub update: usize,
    /// When its transfer begins to use bandwidth.
    pub starts: Time,
    /// When it is committed.
    pub ends: Time,
    /// How many updates are committed between its version and it.
    pub delay: u64,
    /// Why it has its place.
    pub reason: UpdateReason,
}

/// Updates in the order of their commits.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordering {
    /// First to last.
    pub updates: Vec<Ordered>,
    /// What is left of the network beside them.
    pub left: Network,
}

impl Ordering {
    /// The mean time from `now` until a commit.
    pub fn mean_commit(&self, now: Time) -> Span {
        mean(self.updates.iter().map(|one| one.ends.since(now)))
    }

    /// The mean delay.
    pub fn mean_delay(&self) -> f64 {
        let sum: u64 = self.updates.iter().map(|one| one.delay).sum();
        sum as f64 / self.updates.len().max(1) as f64
    }
}

/// The mean of some times; zero of none.
pub(super) fn mean(spans: impl Iterator<Item = Span>) -> Span {
    let (sum, count) =
        spans.fold((0u128, 0u128), |(s, n), span| (s + u128::from(span.as_ps()), n + 1));
    Span::from_ps((sum / count.max(1)) as u64)
}

/// Orders updates: again and again the one with the smallest t_end, which then has its bandwidth
/// reserved. `version` is the server's: the number of updates committed so far.
///
/// t_end is the smallest T with ∫ from the time available to T of what its path has left ≥ size.
/// Since an update reserves all that its path has, updates that meet on a bottleneck go one after
/// the other; those that do not meet go at the same time.
pub fn order(
    now: Time,
    network: &Network,
    updates: &[Update],
    version: u64,
) -> Result<Ordering, PlanError> {
    check(network, updates)?;
    let mut left = network.clone();
    // By the last known t_end. It never shrinks, so whoever comes first and is up to date is the first.
    let unknown = updates.iter().enumerate();
    let unknown = unknown.map(|(at, update)| Reverse(((Time::ZERO, update.version, at), None)));
    let mut waiting: BinaryHeap<_> = unknown.collect();
    let mut ordered = Vec::with_capacity(updates.len());
    while let Some(Reverse(((known, of, at), found_at))) = waiting.pop() {
        if found_at != Some(ordered.len()) {
            let update = &updates[at];
            let ends = left.t_end(&update.path, update.available.max(now), update.size);
            // Of equals the oldest goes first: its delay is the largest already.
            let key = (ends.unwrap_or(Time::MAX), of, at);
            waiting.push(Reverse((key, Some(ordered.len()))));
            continue;
        }
        if known == Time::MAX {
            return Err(PlanError::Stuck { update: at, after: now });
        }
        let ends = known;
        let update = &updates[at];
        let from = update.available.max(now);
        let starts = left.t_end(&update.path, from, Bytes::new(1)).unwrap_or(from);
        left.take(&update.path, from, ends);
        // Commits happen in the order of arrival, which is this order: t_end never shrinks.
        let delay = (version + ordered.len() as u64).saturating_sub(update.version);
        let reason = UpdateReason::Earliest { ends, delay };
        ordered.push(Ordered { update: at, starts, ends, delay, reason });
    }
    Ok(Ordering { updates: ordered, left })
}
