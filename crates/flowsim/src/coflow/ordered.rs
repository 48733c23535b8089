//! Schedulers that know of coflows.
//!
//! A wide coflow has tens of thousands of flows but only hundreds of ports, and what the planner
//! decides about coflows depends on nothing but the load of each port. So the planner is asked about
//! loads: a coflow is given to it as one demand for each port that it uses. Its answer, the order of
//! coflows and the pace of each, is then spread over the flows: a flow gets the part of its port's
//! rate that it has of the port's load, and what is left goes to flows in the order of their coflows.
//! Tests compare order and pace with the planner's own answers for all flows.

use laxity_interface::{Bytes, Span, Time};
use laxity_planner::{
    AaloQueues, CoflowOrder, Demand, FlowKey, JobKey, JobView, Network, Options, PlanError, Reason,
    Scheme, allocate, bottleneck_time,
};

use super::{Completion, Fabric, Run, links, trace::Trace};

/// A flow on its way. Bits and rates are floating-point numbers here: sums of them are formed in a
/// fixed order, so results repeat.
#[derive(Debug, Clone, Copy)]
struct Moving {
    links: [u32; 2],
    /// Bits that are left.
    left: f64,
    /// Bits per second.
    rate: f64,
}

/// A coflow that is not done, its flows with the largest first.
#[derive(Debug)]
struct Live {
    coflow: usize,
    arrived: Time,
    /// Bits.
    sent: f64,
    /// Whether a flow has come or gone since rates were given.
    changed: bool,
    flows: Vec<Moving>,
}

/// Less than this many bits are rounding.
const NOTHING: f64 = 0.01;

/// The planner's view of the fabric, and the scheme.
#[derive(Debug)]
struct Planner {
    network: Network,
    ports: usize,
    port: f64,
    scheme: Scheme,
    queues: AaloQueues,
}

pub(super) fn run(
    trace: &Trace,
    fabric: &Fabric,
    scheme: Scheme,
    mut progress: impl FnMut(usize),
) -> Result<Run, PlanError> {
    let planner = Planner::new(trace, fabric, scheme);
    let mut live: Vec<Live> = Vec::new();
    let mut before = Vec::new();
    let mut ends = vec![Time::ZERO; trace.coflows.len()];
    let (mut now, mut next_arrival, mut plans) = (Time::ZERO, 0, 0);
    loop {
        while let Some(coflow) = trace.coflows.get(next_arrival)
            && coflow.arrives <= now
        {
            live.push(Live::new(trace, next_arrival));
            next_arrival += 1;
        }
        let arrival = trace.coflows.get(next_arrival).map(|coflow| coflow.arrives);
        if live.is_empty() {
            let Some(arrival) = arrival else { break };
            now = arrival;
            continue;
        }
        let wake = planner.plan(now, &mut live, &mut before)?;
        plans += 1;

        // Until a coflow comes or goes or changes its queue; if only a flow has ended, not before the
        // tick is over.
        let moving = live.iter().flat_map(|live| &live.flows).filter(|flow| flow.rate > 0.0);
        let soonest = moving.map(|flow| flow.left / flow.rate).fold(f64::INFINITY, f64::min);
        let whole = live.iter().map(Live::time_left).fold(f64::INFINITY, f64::min);
        let by_flow = later(now, soonest).max(now + fabric.tick);
        let until = by_flow.min(later(now, whole)).min(later(now, wake));
        let until = arrival.map_or(until, |arrival| until.min(arrival));
        let open = live.len();
        for one in &mut live {
            let end = one.advance(now, until);
            ends[one.coflow] = ends[one.coflow].max(end);
        }
        live.retain(|live| !live.flows.is_empty());
        if live.len() < open {
            progress(next_arrival - live.len());
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

/// A moment this many seconds later, rounded up to a picosecond, and never the same.
fn later(now: Time, seconds: f64) -> Time {
    let ps = (seconds * 1e12).ceil();
    if ps < 1.8e19 { now + Span::from_ps((ps as u64).max(1)) } else { Time::MAX }
}

impl Live {
    fn new(trace: &Trace, coflow: usize) -> Self {
        let described = &trace.coflows[coflow];
        let mut flows: Vec<_> = described
            .pieces
            .iter()
            .map(|piece| Moving {
                links: links(trace.ports, piece.from, piece.to),
                left: piece.size.get() as f64 * 8.0,
                rate: 0.0,
            })
            .collect();
        flows.sort_by(|a, b| b.left.total_cmp(&a.left));
        Self { coflow, arrived: described.arrives, sent: 0.0, changed: true, flows }
    }

    /// Seconds until all of it is done.
    fn time_left(&self) -> f64 {
        let time =
            |flow: &Moving| if flow.rate > 0.0 { flow.left / flow.rate } else { f64::INFINITY };
        self.flows.iter().map(time).fold(0.0, f64::max)
    }

    /// Lets time pass; returns when the last of the flows that ended did.
    fn advance(&mut self, now: Time, until: Time) -> Time {
        let seconds = until.since(now).as_secs_f64();
        let mut last = Time::ZERO;
        let mut sent = 0.0;
        for flow in &mut self.flows {
            let bits = flow.rate * seconds;
            if flow.left - bits > NOTHING {
                flow.left -= bits;
                sent += bits;
                continue;
            }
            sent += flow.left;
            let end = if flow.rate > 0.0 { later(now, flow.left / flow.rate) } else { until };
            last = last.max(end.min(until));
            flow.left = 0.0;
        }
        self.sent += sent;
        self.changed |= last > Time::ZERO;
        self.flows.retain(|flow| flow.left > 0.0);
        last
    }
}

impl Planner {
    fn new(trace: &Trace, fabric: &Fabric, scheme: Scheme) -> Self {
        let ports = 2 * trace.ports as usize;
        Self {
            network: Network::of_rates(&vec![fabric.port; ports]),
            ports,
            port: fabric.port.as_bps() as f64,
            scheme,
            queues: AaloQueues::default(),
        }
    }

    /// Gives every flow a rate; `before` is the order of the last time. Returns the seconds until a coflow changes its queue.
    fn plan(
        &self,
        now: Time,
        live: &mut [Live],
        before: &mut Vec<usize>,
    ) -> Result<f64, PlanError> {
        let mut left = vec![self.port; self.ports];
        match self.scheme {
            Scheme::Aalo => Ok(self.aalo(live, before, &mut left)),
            _ => {
                let order = self.order(now, live)?;
                self.paces(now, live, &order, &mut left)?;
                for at in order {
                    share_out(&mut live[at].flows, &mut left, 2, |flow| flow.left);
                }
                Ok(f64::INFINITY)
            }
        }
    }

    /// The load of each port, as demands of a coflow; keys start at `first`.
    fn loads(&self, live: &Live, job: JobKey, first: u64) -> Vec<Demand> {
        let mut bits = vec![0.0; self.ports];
        for flow in &live.flows {
            for link in flow.links {
                bits[link as usize] += flow.left;
            }
        }
        let used = bits.iter().enumerate().filter(|(_, bits)| **bits > 0.0);
        used.zip(first..)
            .map(|((port, bits), key)| {
                let size = Bytes::new(((bits / 8.0).ceil() as u64).max(1));
                Demand::new(FlowKey(key), job, [port as u32].into(), size)
            })
            .collect()
    }

    /// Positions in `live`, first to last.
    fn order(&self, now: Time, live: &[Live]) -> Result<Vec<usize>, PlanError> {
        if self.scheme == Scheme::Varys {
            let mut keyed: Vec<_> = live
                .iter()
                .enumerate()
                .map(|(at, live)| {
                    let loads = self.loads(live, JobKey(0), 0);
                    let longest = bottleneck_time(now, &self.network, &loads);
                    (longest.unwrap_or(Span::MAX), live.arrived, at)
                })
                .collect();
            keyed.sort_unstable();
            return Ok(keyed.into_iter().map(|(_, _, at)| at).collect());
        }
        let demands = self.all_loads(live);
        let plan = allocate(now, &self.network, &demands, &[], &bare(Options::new(self.scheme)))?;
        let mut places: Vec<_> = plan
            .jobs
            .iter()
            .filter_map(|(job, reason)| match reason {
                Reason::CoflowOrder { place, .. } => Some((*place, job.0 as usize)),
                _ => None,
            })
            .collect();
        places.sort_unstable();
        Ok(places.into_iter().map(|(_, at)| at).collect())
    }

    fn all_loads(&self, live: &[Live]) -> Vec<Demand> {
        let mut demands = Vec::new();
        for (at, live) in live.iter().enumerate() {
            demands.extend(self.loads(live, JobKey(at as u32), demands.len() as u64));
        }
        demands
    }

    /// MADD for all coflows in this order: each flow the part of its coflow's pace.
    fn paces(
        &self,
        now: Time,
        live: &mut [Live],
        order: &[usize],
        left: &mut [f64],
    ) -> Result<(), PlanError> {
        let demands = self.all_loads(live);
        // The order is decided already: places are told as arrivals.
        let mut jobs: Vec<_> = (0..live.len() as u32).map(|at| JobView::new(JobKey(at))).collect();
        for (place, at) in order.iter().enumerate() {
            jobs[*at].arrived = Time::from_ps(place as u64);
        }
        let mut options = bare(Options::new(Scheme::Madd));
        options.coflows = CoflowOrder::Arrival;
        let plan = allocate(now, &self.network, &demands, &jobs, &options)?;
        // What each coflow does of all its bits in a second.
        let mut pace = vec![f64::INFINITY; live.len()];
        for (demand, decision) in demands.iter().zip(&plan.decisions) {
            let own = &mut pace[demand.job.0 as usize];
            let bits = demand.size.get() as f64 * 8.0;
            *own = own.min(decision.rate.as_bps() as f64 / bits);
        }
        for (live, pace) in live.iter_mut().zip(pace) {
            for flow in &mut live.flows {
                flow.rate = flow.left * pace;
                for link in flow.links {
                    left[link as usize] = (left[link as usize] - flow.rate).max(0.0);
                }
            }
        }
        Ok(())
    }

    /// Queues by what coflows have sent, inside a queue by arrival, inside a coflow equal parts: nobody
    /// knows the sizes. Four rounds come close to max-min, at a tenth of its cost for wide coflows.
    ///
    /// Up to the first coflow that changed or has another place than before, nothing can be different.
    fn aalo(&self, live: &mut [Live], before: &mut Vec<usize>, left: &mut [f64]) -> f64 {
        let mut keyed: Vec<_> = live
            .iter()
            .enumerate()
            .map(|(at, live)| {
                let (mut queue, mut limit) = (0, self.queues.first.get() as f64 * 8.0);
                while live.sent >= limit - NOTHING && queue + 1 < self.queues.count {
                    (queue, limit) = (queue + 1, limit * f64::from(self.queues.factor.max(2)));
                }
                let limit = if queue + 1 < self.queues.count { limit } else { f64::INFINITY };
                ((queue, live.arrived, at), limit)
            })
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut wake = f64::INFINITY;
        let order: Vec<_> = keyed.iter().map(|((_, _, at), _)| live[*at].coflow).collect();
        let same = order.iter().zip(before.iter()).take_while(|(a, b)| a == b).count();
        *before = order;
        let mut stale = false;
        for (place, ((_, _, at), limit)) in keyed.into_iter().enumerate() {
            let live = &mut live[at];
            stale |= place >= same || std::mem::take(&mut live.changed);
            live.changed = false;
            if !stale {
                let mut total = 0.0;
                for flow in &live.flows {
                    total += flow.rate;
                    for link in flow.links {
                        left[link as usize] -= flow.rate;
                    }
                }
                if total > 0.0 {
                    wake = wake.min((limit - live.sent) / total);
                }
                continue;
            }
            for flow in &mut live.flows {
                flow.rate = 0.0;
            }
            share_out(&mut live.flows, left, 4, |_| 1.0);
            let total: f64 = live.flows.iter().map(|flow| flow.rate).sum();
            if total > 0.0 {
                wake = wake.min((limit - live.sent) / total);
            }
        }
        wake
    }
}

/// Without handing out what the scheme leaves: that is done flow by flow.
fn bare(mut options: Options) -> Options {
    options.spare = false;
    options
}

/// Flows of a coflow take what is left: on each port in proportion to their weights there. Later rounds
/// pick up what the other end of a flow kept it from taking.
fn share_out(flows: &mut [Moving], left: &mut [f64], rounds: u32, weight: impl Fn(&Moving) -> f64) {
    let mut part = vec![0.0; left.len()];
    for _ in 0..rounds {
        part.fill(0.0);
        let mut any = false;
        for flow in flows.iter().filter(|f| f.links.iter().all(|l| left[*l as usize] >= 1.0)) {
            any = true;
            for link in flow.links {
                part[link as usize] += weight(flow);
            }
        }
        if !any {
            return;
        }
        // What each port gives to a unit of weight.
        for (part, left) in part.iter_mut().zip(left.iter()) {
            *part = if *left >= 1.0 && *part > 0.0 { left / *part } else { 0.0 };
        }
        for flow in flows.iter_mut() {
            let [from, to] = flow.links.map(|link| link as usize);
            let more = weight(flow) * part[from].min(part[to]);
            flow.rate += more;
            left[from] = (left[from] - more).max(0.0);
            left[to] = (left[to] - more).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands(trace: &Trace) -> Vec<Demand> {
        let mut demands = Vec::new();
        for (at, coflow) in trace.coflows.iter().enumerate() {
            for piece in &coflow.pieces {
                let path = links(trace.ports, piece.from, piece.to).into();
                let key = FlowKey(demands.len() as u64);
                demands.push(Demand::new(key, JobKey(at as u32), path, piece.size));
            }
        }
        demands
    }

    fn at_once(seed: u64) -> (Trace, Vec<Live>) {
        let mut trace = Trace::generate(seed, 12, 8, Span::ZERO);
        for coflow in &mut trace.coflows {
            coflow.arrives = Time::ZERO;
        }
        let live = (0..trace.coflows.len()).map(|at| Live::new(&trace, at)).collect();
        (trace, live)
    }

    #[test]
    fn the_order_is_the_planners_for_all_flows() {
        for seed in 0..40 {
            for scheme in [Scheme::Varys, Scheme::Sincronia] {
                let (trace, live) = at_once(seed);
                let planner = Planner::new(&trace, &Fabric::default(), scheme);
                let own = planner.order(Time::ZERO, &live).unwrap();
                let options = bare(Options::new(scheme));
                let asked = allocate(Time::ZERO, &planner.network, &demands(&trace), &[], &options)
                    .unwrap();
                let asked: Vec<_> = asked.jobs.iter().map(|(job, _)| job.0 as usize).collect();
                assert_eq!(own, asked, "{seed} {scheme}");
            }
        }
    }

    #[test]
    fn the_pace_is_the_planners_for_all_flows() {
        for seed in 0..40 {
            let (trace, mut live) = at_once(seed);
            let planner = Planner::new(&trace, &Fabric::default(), Scheme::Varys);
            let order: Vec<_> = (0..live.len()).collect();
            let mut left = vec![planner.port; planner.ports];
            planner.paces(Time::ZERO, &mut live, &order, &mut left).unwrap();
            let mut options = bare(Options::new(Scheme::Madd));
            options.coflows = CoflowOrder::Arrival;
            let all = demands(&trace);
            let asked = allocate(Time::ZERO, &planner.network, &all, &[], &options).unwrap();
            for (at, live) in live.iter().enumerate() {
                let own: f64 = live.flows.iter().map(|flow| flow.rate).sum();
                let flows =
                    all.iter().zip(&asked.decisions).filter(|(d, _)| d.job.0 as usize == at);
                let asked: f64 = flows.map(|(_, d)| d.rate.as_bps() as f64).sum();
                // Rates of the planner are whole bits per second, rounded for each flow.
                let rounding = 1000.0 + 1e-4 * asked;
                assert!((own - asked).abs() <= rounding, "{seed}, coflow {at}: {own} {asked}");
            }
        }
    }

    #[test]
    fn no_port_is_over_its_rate_and_none_idles_with_work() {
        for seed in 0..40 {
            for scheme in [Scheme::Varys, Scheme::Sincronia, Scheme::Aalo] {
                let (trace, mut live) = at_once(seed);
                let planner = Planner::new(&trace, &Fabric::default(), scheme);
                planner.plan(Time::ZERO, &mut live, &mut Vec::new()).unwrap();
                let mut load = vec![0.0; planner.ports];
                for flow in live.iter().flat_map(|live| &live.flows) {
                    for link in flow.links {
                        load[link as usize] += flow.rate;
                    }
                }
                assert!(load.iter().all(|load| *load <= planner.port * (1.0 + 1e-9)));
                // The planner's own total for all flows, which leaves nothing over.
                let options = bare(Options::new(scheme));
                let asked = allocate(Time::ZERO, &planner.network, &demands(&trace), &[], &options)
                    .unwrap();
                let asked: f64 = asked.decisions.iter().map(|d| d.rate.as_bps() as f64).sum();
                let own: f64 = live.iter().flat_map(|l| &l.flows).map(|flow| flow.rate).sum();
                assert!(own >= 0.85 * asked, "{seed} {scheme}: {own} {asked}");
            }
        }
    }
}
