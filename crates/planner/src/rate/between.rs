//! Several jobs: each gets a part of the links, the scheme decides inside it.

use std::collections::BTreeMap;

use laxity_interface::{Rate, Span};
use laxity_topology::LinkId;

use super::{coflow, round::Round};
use crate::{demand::JobKey, plan::BetweenJobs, reason::Reason};

/// What jobs need and may use of each link that they cross.
#[derive(Debug)]
struct Part {
    job: JobKey,
    flows: Vec<usize>,
    /// Bits on each link.
    bits: BTreeMap<LinkId, u128>,
    /// What it may use of each link.
    rate: BTreeMap<LinkId, u64>,
}

/// Runs the scheme for each job on its part of the network.
pub(super) fn run_apart(round: &mut Round<'_>, flows: &[usize], policy: BetweenJobs) {
    let mut parts: Vec<_> = coflow::by_job(round, flows)
        .into_iter()
        .map(|(job, flows)| {
            let mut bits: BTreeMap<LinkId, u128> = BTreeMap::new();
            for at in &flows {
                for link in round.demands[*at].path.iter() {
                    *bits.entry(*link).or_default() += round.bits(*at);
                }
            }
            Part { job, flows, bits, rate: BTreeMap::new() }
        })
        .collect();
    if policy == BetweenJobs::WorstSlowdown {
        let worst = worst_slowdown(round, &parts);
        for part in &mut parts {
            let slowdown = expected(round, part, worst);
            round.job_reasons.push((part.job, Reason::JobSlowdown { job: part.job, slowdown }));
            let end = time_left(round, part, worst);
            for (link, bits) in &part.bits {
                let rate = (*bits as f64 / end) as u64;
                part.rate.insert(*link, rate);
            }
        }
    }
    split_rest(round, &mut parts, policy);
    for part in &parts {
        let links = part.rate.iter().filter(|(_, rate)| **rate > 0);
        let tightest = links.max_by(|a, b| {
            let time = |(link, rate): &(&LinkId, &u64)| part.bits[link] as f64 / **rate as f64;
            time(a).total_cmp(&time(b))
        });
        if let Some((link, rate)) = tightest
            && policy != BetweenJobs::WorstSlowdown
        {
            let (job, link, part) = (part.job, *link, Rate::bps(*rate));
            round.job_reasons.push((job, Reason::JobPart { job, link, part }));
        }
    }
    for part in parts {
        let all = round.left.clone();
        round.left.fill(0);
        for (link, rate) in &part.rate {
            round.left[link.index()] = *rate;
        }
        super::run(round, &part.flows);
        let mut after = all;
        for (link, rate) in &part.rate {
            after[link.index()] -= rate - round.left[link.index()];
        }
        round.left = after;
    }
}

/// Divides what is left of each link between the jobs on it: equally, or by weight.
fn split_rest(round: &Round<'_>, parts: &mut [Part], policy: BetweenJobs) {
    let weight = |job: &JobKey| match policy {
        BetweenJobs::Weights => u128::from(round.jobs[job].weight.units()),
        _ => 1,
    };
    let mut total: BTreeMap<LinkId, (u128, u64)> = BTreeMap::new();
    for part in parts.iter() {
        for link in part.bits.keys() {
            let entry = total.entry(*link).or_default();
            entry.0 += weight(&part.job);
            entry.1 += part.rate.get(link).copied().unwrap_or(0);
        }
    }
    for part in parts {
        for link in part.bits.keys() {
            let (weights, taken) = total[link];
            // Rounding of the needs may ask for a bit too much: then all of it is scaled down.
            let left = round.left[link.index()];
            let own = part.rate.entry(*link).or_default();
            if taken > left {
                *own = (u128::from(*own) * u128::from(left) / u128::from(taken)) as u64;
            } else {
                *own += (u128::from(left - taken) * weight(&part.job) / weights) as u64;
            }
        }
    }
}

/// How long a job would take alone, from its start.
fn alone(round: &Round<'_>, part: &Part) -> f64 {
    let stated = round.jobs[&part.job].alone.filter(|span| !span.is_zero());
    stated.map_or_else(|| least(round, part), Span::as_secs_f64)
}

/// How long what remains of a job takes with the whole network for itself.
fn least(round: &Round<'_>, part: &Part) -> f64 {
    let on = |(link, bits): (&LinkId, &u128)| *bits as f64 / round.left[link.index()].max(1) as f64;
    part.bits.iter().map(on).fold(0.0, f64::max)
}

/// The time that a job has left if its slowdown is to be this, in seconds.
fn time_left(round: &Round<'_>, part: &Part, slowdown: f64) -> f64 {
    let elapsed = round.now.since(round.jobs[&part.job].arrived).as_secs_f64();
    let own = slowdown.max((elapsed + least(round, part)) / alone(round, part));
    own * alone(round, part) - elapsed
}

/// The slowdown that a job can expect when the worst is this: no less than alone from now on.
fn expected(round: &Round<'_>, part: &Part, worst: f64) -> f64 {
    let elapsed = round.now.since(round.jobs[&part.job].arrived).as_secs_f64();
    worst.max((elapsed + least(round, part)) / alone(round, part))
}

/// The smallest slowdown that all jobs can keep at once, by bisection: every job then needs its
/// bits over the time it has left, and every link must carry the sum.
fn worst_slowdown(round: &Round<'_>, parts: &[Part]) -> f64 {
    let fits = |slowdown: f64| {
        let mut need: BTreeMap<LinkId, f64> = BTreeMap::new();
        for part in parts {
            let time = time_left(round, part, slowdown);
            for (link, bits) in &part.bits {
                *need.entry(*link).or_default() += *bits as f64 / time;
            }
        }
        need.iter().all(|(link, rate)| *rate <= round.left[link.index()] as f64 * (1.0 + 1e-12))
    };
    let mut high = 1.0;
    while !fits(high) && high < 1e12 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if fits(middle) { high = middle } else { low = middle }
    }
    high
}
