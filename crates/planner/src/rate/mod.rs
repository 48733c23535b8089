//! Rates for flows: what every scheme shares.

mod between;
mod check;
mod coflow;
mod deadline;
mod fair;
mod ordered;
mod round;

use std::collections::{BTreeMap, BTreeSet};

use laxity_interface::{Bytes, Span, Time};
use laxity_topology::LinkId;

use crate::{
    demand::{Demand, JobKey, JobView},
    error::PlanError,
    network::Network,
    plan::{BetweenJobs, Options, Plan, Scheme},
    reason::Reason,
};
use round::Round;

/// Gives every flow a rate.
///
/// Jobs that `jobs` does not describe are as [`JobView::new`] says. The plan holds until a flow
/// arrives or ends, or until [`Plan::valid_until`]. Flows with equal claims are served in the order
/// of the demands where an order is needed, so the same question has the same answer.
pub fn allocate(
    now: Time,
    network: &Network,
    demands: &[Demand],
    jobs: &[JobView],
    options: &Options,
) -> Result<Plan, PlanError> {
    check::demands(network, demands)?;
    let jobs = views(demands, jobs)?;
    let mut round = Round::new(now, network, demands, &jobs, options);
    let (inside, outside): (Vec<_>, Vec<_>) =
        round.ready().into_iter().partition(|at| jobs[&demands[*at].job].takes_part);

    let kept = fair::keep_minimum(&mut round, &outside);
    match options.between {
        BetweenJobs::Merged => run(&mut round, &inside),
        policy => between::run_apart(&mut round, &inside, policy),
    }
    fair::outsiders(&mut round, &outside, kept);
    if options.spare {
        round.hand_out_spare(&inside);
    }
    Ok(round.finish(network))
}

/// The scheme, for some flows, on what is left of the links.
fn run(round: &mut Round<'_>, flows: &[usize]) {
    match round.options.scheme {
        Scheme::MaxMin => fair::max_min(round, flows),
        Scheme::Weighted => fair::weighted(round, flows),
        Scheme::NodeOrdered => ordered::node_ordered(round, flows),
        Scheme::ConnectionOrdered => ordered::connection_ordered(round, flows),
        Scheme::Madd => coflow::madd_each(round, flows),
        Scheme::Varys => coflow::varys(round, flows),
        Scheme::Sincronia => coflow::sincronia(round, flows),
        Scheme::Aalo => coflow::aalo(round, flows),
        Scheme::Priority => fair::priority(round, flows),
        Scheme::Deadline => deadline::deadline(round, flows),
        Scheme::Combined => deadline::combined(round, flows),
    }
}

/// The jobs of all demands, described or not.
fn views(demands: &[Demand], jobs: &[JobView]) -> Result<BTreeMap<JobKey, JobView>, PlanError> {
    let mut views = BTreeMap::new();
    for job in jobs {
        if views.insert(job.key, job.clone()).is_some() {
            return Err(PlanError::DuplicateJob { job: job.key });
        }
    }
    let described: BTreeSet<_> = views.keys().copied().collect();
    for demand in demands {
        let arrived = demand.released;
        let new = || JobView { arrived, ..JobView::new(demand.job) };
        let view = views.entry(demand.job).or_insert_with(new);
        if !described.contains(&demand.job) {
            view.arrived = view.arrived.min(arrived);
        }
    }
    Ok(views)
}

/// How long these flows take at least, all bandwidth for them alone: the link that needs longest.
/// Nothing if a link that they need carries nothing.
pub fn bottleneck_time(now: Time, network: &Network, demands: &[Demand]) -> Option<Span> {
    let mut load: BTreeMap<LinkId, Bytes> = BTreeMap::new();
    for demand in demands {
        for link in demand.path.iter() {
            *load.entry(*link).or_default() += demand.remaining();
        }
    }
    let mut last = now;
    for (link, bytes) in load {
        last = last.max(network.link(link).t_end(now, bytes)?);
    }
    Some(last.since(now))
}

/// The CCT flexibility ratio of seed 000: the time until the last deadline over the least time in
/// which all flows can be sent; (40 − 10) / 15 = 2. Nothing without a deadline.
pub fn flexibility(now: Time, network: &Network, demands: &[Demand]) -> Option<f64> {
    let last = demands.iter().filter_map(|demand| demand.deadline).max()?;
    let least = bottleneck_time(now, network, demands)?;
    Some(last.since(now).as_secs_f64() / least.as_secs_f64())
}

/// A reason for flows that nothing has been decided about.
const UNDECIDED: Reason = Reason::NotReleased { at: Time::MAX };
