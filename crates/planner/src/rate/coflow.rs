//! Coflows: MADD, and the orders of Varys, Sincronia and Aalo.

mod order;

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Span, Time};
use laxity_topology::LinkId;

use super::round::Round;
use crate::{demand::JobKey, plan::CoflowOrder, reason::Reason, weight::Weight};

/// Flows by their job.
pub(super) fn by_job(round: &Round<'_>, flows: &[usize]) -> BTreeMap<JobKey, Vec<usize>> {
    let mut jobs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for at in flows {
        jobs.entry(round.demands[*at].job).or_default().push(*at);
    }
    jobs
}

/// The link on which some flows take longest: their bits there over its rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bottleneck {
    pub(super) link: LinkId,
    pub(super) bits: u128,
    pub(super) rate: u64,
}

impl Bottleneck {
    /// How long it takes, rounded up; for ever on a link without bandwidth.
    pub(super) fn time(&self) -> Span {
        let ps = self.bits.saturating_mul(1_000_000_000_000);
        let ps = ps
            .checked_add(u128::from(self.rate))
            .and_then(|p| (p - 1).checked_div(self.rate.into()));
        Span::from_ps(ps.and_then(|ps| u64::try_from(ps).ok()).unwrap_or(u64::MAX))
    }

    /// Whether it takes longer than another.
    fn longer(&self, other: &Self) -> bool {
        // bits / rate compared without dividing; bits stay below 2⁷⁰ and rates below 2⁵⁰ in every
        // network there is, and what is larger saturates to "for ever".
        self.bits.saturating_mul(other.rate.into()) > other.bits.saturating_mul(self.rate.into())
    }
}

/// Bits and flows on each link that some flows cross.
fn loads(round: &Round<'_>, flows: &[usize]) -> Vec<(LinkId, u128, u64)> {
    let mut load = vec![(0u128, 0u64); round.left.len()];
    let mut links = Vec::new();
    for at in flows {
        let bits = round.bits(*at);
        for link in round.demands[*at].path.iter() {
            let entry = &mut load[link.index()];
            if entry.1 == 0 {
                links.push(*link);
            }
            (entry.0, entry.1) = (entry.0 + bits, entry.1 + 1);
        }
    }
    links.iter().map(|link| (*link, load[link.index()].0, load[link.index()].1)).collect()
}

/// The effective bottleneck of some flows when links have these rates, `set_aside` for each flow.
pub(super) fn bottleneck(
    round: &Round<'_>,
    flows: &[usize],
    rates: &[u64],
    set_aside: u64,
) -> Option<Bottleneck> {
    let on_links = loads(round, flows).into_iter().map(|(link, bits, count)| {
        let rate = rates[link.index()].saturating_sub(count * set_aside);
        Bottleneck { link, bits, rate }
    });
    // A flow that its ends hold back counts like a link of its own.
    let limited = flows.iter().filter_map(|at| {
        let rate = round.demands[*at].limit?.as_bps();
        Some(Bottleneck { link: round.demands[*at].path[0], bits: round.bits(*at), rate })
    });
    on_links.chain(limited).reduce(|longest, one| if one.longer(&longest) { one } else { longest })
}

/// MADD: each flow the rate at which it ends with the slowest of the coflow. False if a link that
/// the coflow needs has nothing left.
fn madd(round: &mut Round<'_>, flows: &[usize]) -> bool {
    let Some(slowest) = bottleneck(round, flows, &round.left, 0) else { return true };
    if slowest.rate == 0 {
        return false;
    }
    // Rounded up, so that none ends later than the slowest. Where that does not fit, one bit per
    // second is set aside for each flow first.
    let pace = |round: &Round<'_>, at: usize, by: &Bottleneck| {
        let rate = (round.bits(at) * u128::from(by.rate)).div_ceil(by.bits);
        u64::try_from(rate).unwrap_or(u64::MAX)
    };
    let fits = {
        let mut sum = vec![0u64; round.left.len()];
        flows.iter().all(|at| {
            let rate = pace(round, *at, &slowest);
            round.demands[*at].path.iter().all(|link| {
                let sum = &mut sum[link.index()];
                *sum = sum.saturating_add(rate);
                *sum <= round.left[link.index()]
            })
        })
    };
    let careful = bottleneck(round, flows, &round.left, 1).filter(|by| by.rate > 0);
    let by = if fits { Some(slowest) } else { careful };
    for at in flows {
        let rate = match &by {
            Some(by) => pace(round, *at, by),
            // Fewer bits per second than flows: as much as is left.
            None => 1,
        };
        let rate = rate.min(round.room(*at));
        round.give(*at, rate);
        round.reasons[*at] = Reason::WithSlowest { link: slowest.link, ends_in: slowest.time() };
    }
    true
}

/// `madd`: the coflow with the smallest effective bottleneck first, or the one that arrived first, each
/// at the rates of MADD.
pub(super) fn madd_each(round: &mut Round<'_>, flows: &[usize]) {
    if round.options.coflows == CoflowOrder::Smallest {
        smallest_first(round, flows);
        return;
    }
    let mut coflows: Vec<_> = by_job(round, flows).into_iter().collect();
    coflows.sort_by_key(|(job, _)| (round.jobs[job].arrived, *job));
    for (place, (_, flows)) in coflows.iter().enumerate() {
        if !madd(round, flows) {
            wait(round, flows, place as u32);
        }
    }
}

/// `varys`: the same, then what is left is taken in that order, the largest flow of a coflow first.
pub(super) fn varys(round: &mut Round<'_>, flows: &[usize]) {
    for flows in smallest_first(round, flows) {
        greedy(round, &flows);
    }
}

/// Coflows at the rates of MADD, the one with the smallest effective bottleneck first; of equals the
/// one that arrived first. Returns their flows in that order.
fn smallest_first(round: &mut Round<'_>, flows: &[usize]) -> Vec<Vec<usize>> {
    let mut coflows: Vec<_> = by_job(round, flows)
        .into_iter()
        .filter_map(|(job, flows)| {
            let slowest = bottleneck(round, &flows, &round.capacity, 0)?;
            Some(((slowest.time(), round.jobs[&job].arrived, job), slowest, flows))
        })
        .collect();
    coflows.sort_by_key(|(key, ..)| *key);
    for (place, ((bottleneck, _, job), slowest, flows)) in coflows.iter().enumerate() {
        let (place, link, bottleneck) = (place as u32, slowest.link, *bottleneck);
        round.job_reasons.push((*job, Reason::CoflowOrder { place, link, bottleneck }));
        if !madd(round, flows) {
            wait(round, flows, place);
        }
    }
    coflows.into_iter().map(|(_, _, flows)| flows).collect()
}

/// `sincronia`: the order of BSSI; flows of earlier coflows take all they can.
pub(super) fn sincronia(round: &mut Round<'_>, flows: &[usize]) {
    let coflows = by_job(round, flows);
    let order = order::bssi(round, &coflows);
    let of = order.len() as u32;
    for (place, job) in order.into_iter().enumerate() {
        let (flows, place) = (&coflows[&job], place as u32);
        if let Some(slowest) = bottleneck(round, flows, &round.capacity, 0) {
            let (link, bottleneck) = (slowest.link, slowest.time());
            round.job_reasons.push((job, Reason::CoflowOrder { place, link, bottleneck }));
        }
        for at in flows {
            round.reasons[*at] = match round.room(*at) {
                0 => Reason::CoflowWaits { place, link: round.tightest(*at) },
                _ => Reason::CoflowTurn { place, of },
            };
        }
        greedy(round, flows);
    }
}

/// `aalo`: queues by what coflows have sent, strictly one after the other; inside a queue in the
/// order of arrival; inside a coflow max-min, since nobody knows the sizes.
pub(super) fn aalo(round: &mut Round<'_>, flows: &[usize]) {
    let queues = round.options.aalo;
    let mut coflows: Vec<_> = by_job(round, flows)
        .into_iter()
        .map(|(job, flows)| {
            let view = &round.jobs[&job];
            let open: Bytes = flows.iter().map(|at| round.demands[*at].sent).sum();
            let sent = view.sent_before + open;
            let (mut queue, mut limit) = (0, queues.first);
            while sent >= limit && queue + 1 < queues.count {
                (queue, limit) = (queue + 1, limit * u64::from(queues.factor.max(2)));
            }
            let last = queue + 1 >= queues.count;
            ((queue, view.arrived, job), sent, (!last).then_some(limit), flows)
        })
        .collect();
    coflows.sort_by_key(|(key, ..)| *key);
    for ((queue, ..), sent, limit, flows) in coflows {
        let (open, shut): (Vec<_>, Vec<_>) =
            flows.iter().copied().partition(|at| round.room(*at) > 0);
        for at in shut {
            round.reasons[at] = Reason::InQueue { queue, sent };
        }
        round.share(&open, |_| Weight::ONE, |_, _, _| Reason::InQueue { queue, sent });
        // The plan ends when the coflow has to change its queue.
        let total: u64 = flows.iter().map(|at| round.rates[*at]).sum();
        if let Some(limit) = limit
            && total > 0
        {
            let span = laxity_interface::Rate::bps(total).time_for(limit - sent);
            let at: Time = round.now + span.max(Span::from_ps(1));
            round.wake(at);
        }
    }
}

/// Flows take all they can, the largest first.
fn greedy(round: &mut Round<'_>, flows: &[usize]) {
    let mut open: Vec<_> = flows.iter().copied().filter(|at| round.room(*at) > 0).collect();
    open.sort_by_key(|at| (std::cmp::Reverse(round.need(*at)), *at));
    for at in open {
        let room = round.room(at);
        round.give(at, room);
    }
}

/// Names the link that keeps each flow of a coflow waiting.
fn wait(round: &mut Round<'_>, flows: &[usize], place: u32) {
    for at in flows {
        let link = round.tightest(*at);
        round.reasons[*at] = Reason::CoflowWaits { place, link };
    }
}
