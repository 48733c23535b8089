//! Schedulers that know of coflows: rates are planned when a coflow comes or goes.

use laxity_interface::{Bytes, Time};
use laxity_planner::{
    Demand, FlowKey, JobKey, JobView, Network, Options, PlanError, Scheme, allocate,
};

use super::{BYTE, Completion, Fabric, Run, links, trace::Trace};

/// A flow on its way: what is left in 10⁻¹² of a bit, and its rate.
#[derive(Debug, Clone, Copy)]
struct Left {
    left: u128,
    rate: u64,
}

pub(super) fn run(
    trace: &Trace,
    fabric: &Fabric,
    scheme: Scheme,
    mut progress: impl FnMut(usize),
) -> Result<Run, PlanError> {
    let network = Network::of_rates(&vec![fabric.port; 2 * trace.ports as usize]);
    let mut options = Options::new(scheme);
    // These schemes hand out everything themselves.
    options.spare = false;
    let mut demands: Vec<Demand> = Vec::new();
    let mut flows: Vec<Left> = Vec::new();
    let mut jobs: Vec<JobView> = Vec::new();
    let mut open: Vec<_> = trace.coflows.iter().map(|coflow| coflow.pieces.len()).collect();
    let mut ends = vec![Time::ZERO; trace.coflows.len()];
    let (mut now, mut next_arrival, mut done, mut plans, mut key) = (Time::ZERO, 0, 0, 0, 0);
    while done < trace.coflows.len() {
        while next_arrival < trace.coflows.len() && trace.coflows[next_arrival].arrives <= now {
            let job = JobKey(next_arrival as u32);
            jobs.push(JobView { arrived: now, ..JobView::new(job) });
            for piece in &trace.coflows[next_arrival].pieces {
                let path = links(trace.ports, piece.from, piece.to).into();
                demands.push(Demand::new(FlowKey(key), job, path, piece.size).released(now));
                flows.push(Left { left: u128::from(piece.size.get()) * BYTE, rate: 0 });
                key += 1;
            }
            next_arrival += 1;
        }
        let plan = allocate(now, &network, &demands, &jobs, &options)?;
        plans += 1;
        let mut soonest = u64::MAX;
        for (flow, decision) in flows.iter_mut().zip(&plan.decisions) {
            flow.rate = decision.rate.as_bps();
            let ps = flow.left.div_ceil(u128::from(flow.rate.max(1)));
            if flow.rate > 0 {
                soonest = soonest.min(ps as u64);
            }
        }

        // Until the next arrival, a change of queues, or the end of a coflow; and if a flow has ended,
        // not much longer than the tick.
        let by_flow = Time::from_ps(now.as_ps().saturating_add(soonest)).max(now + fabric.tick);
        let arrival = trace.coflows.get(next_arrival).map(|coflow| coflow.arrives);
        let mut until = arrival.into_iter().chain(plan.valid_until).fold(by_flow, Time::min);
        until = until.min(first_end(now, &demands, &flows, &open));
        let ps = u128::from(until.since(now).as_ps());
        let before = done;
        for (demand, flow) in demands.iter_mut().zip(&mut flows) {
            let sent = u128::from(flow.rate) * ps;
            if sent < flow.left {
                flow.left -= sent;
                let left = flow.left.div_ceil(BYTE) as u64;
                demand.sent = demand.size - Bytes::new(left);
                continue;
            }
            let took = flow.left.div_ceil(u128::from(flow.rate.max(1)));
            let coflow = demand.job.0 as usize;
            ends[coflow] = ends[coflow].max(Time::from_ps(now.as_ps() + took as u64));
            open[coflow] -= 1;
            done += usize::from(open[coflow] == 0);
            flow.left = 0;
        }
        tidy(&mut demands, &mut flows, &mut jobs, &open);
        if done != before {
            progress(done);
        }
        now = until;
    }
    let coflows = trace.coflows.iter().zip(ends).enumerate();
    let completions = coflows.map(|(coflow, (described, end))| Completion {
        coflow,
        arrived: described.arrives,
        end,
    });
    Ok(Run { completions: completions.collect(), plans })
}

/// When the first coflow is done at the present rates.
fn first_end(now: Time, demands: &[Demand], flows: &[Left], open: &[usize]) -> Time {
    let mut ends: Vec<(u64, usize)> = vec![(0, 0); open.len()];
    for (demand, flow) in demands.iter().zip(flows) {
        let end = &mut ends[demand.job.0 as usize];
        end.1 += 1;
        end.0 = match flow.rate {
            0 => u64::MAX,
            rate => end.0.max(flow.left.div_ceil(u128::from(rate)) as u64),
        };
    }
    let whole = ends.iter().filter(|(_, count)| *count > 0).map(|(ps, _)| *ps).min();
    Time::from_ps(now.as_ps().saturating_add(whole.unwrap_or(u64::MAX)))
}

/// Forgets flows that are done, and coflows without flows.
fn tidy(
    demands: &mut Vec<Demand>,
    flows: &mut Vec<Left>,
    jobs: &mut Vec<JobView>,
    open: &[usize],
) {
    let mut at = 0;
    demands.retain(|demand| {
        let keep = flows[at].left > 0;
        at += 1;
        if !keep && let Ok(job) = jobs.binary_search_by_key(&demand.job, |job| job.key) {
            jobs[job].sent_before += demand.size;
        }
        keep
    });
    flows.retain(|flow| flow.left > 0);
    jobs.retain(|job| open[job.key.0 as usize] > 0);
}
