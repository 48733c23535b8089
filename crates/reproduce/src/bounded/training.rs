//! Trainings on the paper's network, and what came of them.

use std::sync::atomic::{AtomicU64, Ordering};

use laxity_packetsim::{
    measure::{self, Ideal, Measured, Summary},
    scenario::each,
    workload::Started,
};

use super::{
    model::MODELS,
    setting::{self, Case, GAP, Layout, Size, TCP},
};
use crate::{error::ReproduceError, memory::Memory, options::Options};

/// Everything that one simulated training depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TrainingKey {
    model: &'static str,
    layout: Layout,
    scheme: &'static str,
    size: Size,
    seed: u64,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(super) case: Case,
    /// The paper's network time: half of what an iteration takes without computing. `None` if
    /// something did not end.
    pub(super) network_ms: Option<f64>,
    /// Times of single flows in seconds.
    pub(super) flows: Option<Summary>,
    pub(super) flow_times: Vec<f64>,
    /// The part of the bytes that did not arrive, in the mean and of the worst flow.
    pub(super) loss: f64,
    pub(super) worst_loss: f64,
    /// Flows that ended with less than the bound allows, as a part of all.
    pub(super) short: f64,
    pub(super) unfinished: usize,
    /// Of all traffic, the background's included.
    pub(super) timeouts: u64,
    pub(super) drops: u64,
    /// Computing of one batch that makes table 1 true; see [`compute`].
    pub(super) compute_ms: f64,
}

impl Run {
    /// One iteration: compute + 2 × network (§3.1, equation 1). Times the number of iterations it is
    /// the job completion time.
    pub(super) fn iteration_ms(&self) -> Option<f64> {
        self.network_ms.map(|network| self.compute_ms + 2.0 * network)
    }

    /// The same with computing by operations over a speed.
    pub(super) fn iteration_by_operations_ms(&self) -> Option<f64> {
        self.network_ms.map(|network| self.case.model.compute_ms() + 2.0 * network)
    }

    pub(super) fn mean_flow_ms(&self) -> Option<f64> {
        self.flows.map(|flows| flows.mean * 1e3)
    }

    pub(super) fn p99_flow_ms(&self) -> Option<f64> {
        self.flows.map(|flows| flows.p99 * 1e3)
    }
}

/// The run of a model.
pub(super) fn find<'a>(runs: &'a [Run], model: &str, layout: Layout, scheme: &str) -> &'a Run {
    let same = |run: &&Run| {
        run.case.model.name == model && run.case.layout == layout && run.case.scheme == scheme
    };
    runs.iter().find(same).expect("every case was run")
}

/// How many times faster a run is than another.
pub(super) fn speedup(own: &Run, other: &Run) -> Option<f64> {
    Some(other.iteration_ms()? / own.iteration_ms()?)
}

/// The same with computing by operations over a speed.
pub(super) fn speedup_by_operations(own: &Run, other: &Run) -> Option<f64> {
    Some(other.iteration_by_operations_ms()? / own.iteration_by_operations_ms()?)
}

/// The paper prints no computing times, but what TCP's slowest flows make of each model's job (table
/// 1): r = (compute + 2 · network) / (compute + 2 · mean flow). With the simulated network times of TCP
/// that is an equation for the computing time. Where the network alone has less than r, nothing fits,
/// and 0 comes closest.
fn compute(tcp: &Run) -> Option<f64> {
    let (tail, mean, r) = (tcp.network_ms?, tcp.mean_flow_ms()?, tcp.case.model.tail);
    Some((2.0 * (tail - r * mean) / (r - 1.0)).max(0.0))
}

/// Runs all of them.
pub(super) fn run(
    options: &Options,
    size: &Size,
    cases: &[Case],
) -> Result<Vec<Run>, ReproduceError> {
    let seeds = options.seed..options.seed + size.seeds;
    let tasks: Vec<_> =
        cases.iter().flat_map(|case| seeds.clone().map(move |seed| (case, seed))).collect();
    let (done, of) = (AtomicU64::new(0), tasks.len() as u64);
    options.progress.tell("training", 0, of);
    let act = |(case, seed): &(&Case, u64)| {
        let ran = recall(&options.memory, case, size, *seed);
        options.progress.tell("training", 1 + done.fetch_add(1, Ordering::Relaxed), of);
        ran
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = each(&tasks, threads, act).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut runs: Vec<_> = runs.chunks(size.seeds as usize).map(merge).collect();
    for model in &MODELS {
        let own = |run: &&Run| run.case.model.name == model.name;
        let tcp = |run: &&Run| run.case.layout == Layout::Servers && run.case.scheme == TCP;
        let computing = runs.iter().filter(own).find(tcp).and_then(compute).unwrap_or(0.0);
        for run in runs.iter_mut().filter(|run| run.case.model.name == model.name) {
            run.compute_ms = computing;
        }
    }
    Ok(runs)
}

/// The runs of one case with all seeds: times of all of them, means of parts, sums of counts.
fn merge(runs: &[Run]) -> Run {
    let mean = |pick: fn(&Run) -> f64| runs.iter().map(pick).sum::<f64>() / runs.len() as f64;
    let networks: Option<Vec<f64>> = runs.iter().map(|run| run.network_ms).collect();
    let flow_times: Vec<f64> = runs.iter().flat_map(|run| run.flow_times.clone()).collect();
    Run {
        case: runs[0].case,
        network_ms: networks.map(|all| all.iter().sum::<f64>() / all.len() as f64),
        flows: Summary::of(&flow_times),
        flow_times,
        loss: mean(|run| run.loss),
        worst_loss: runs.iter().map(|run| run.worst_loss).fold(0.0, f64::max),
        short: mean(|run| run.short),
        unfinished: runs.iter().map(|run| run.unfinished).sum(),
        timeouts: runs.iter().map(|run| run.timeouts).sum(),
        drops: runs.iter().map(|run| run.drops).sum(),
        compute_ms: runs[0].compute_ms,
    }
}

/// From memory, or simulated and kept there.
fn recall(memory: &Memory, case: &Case, size: &Size, seed: u64) -> Result<Run, ReproduceError> {
    let Case { model, layout, scheme } = *case;
    let key = TrainingKey { model: model.name, layout, scheme, size: *size, seed };
    if let Some(run) = memory.recall(&key) {
        return Ok(run);
    }
    let run = train(case, size, seed)?;
    memory.keep(key, run.clone());
    Ok(run)
}

fn train(case: &Case, size: &Size, seed: u64) -> Result<Run, ReproduceError> {
    let what = || format!("training {} over {}", case.model.name, case.scheme);
    let scenario = setting::scenario(case, size).map_err(|e| ReproduceError::other(what(), e))?;
    let point = scenario.point(0);
    let simulation = setting::simulation(case, &point, seed);
    let mut simulation = simulation.map_err(|e| ReproduceError::other(what(), e))?;
    let mut driver = point.driver(seed);
    let outcome = simulation.run(&mut driver, point.limits);
    let started = driver.into_started();
    let mut ideal = Ideal::new(&point.topology);
    let time = |started: &Started| ideal.time(&started.flow);
    let mut workloads = measure::measure(2, &started, &outcome.done, outcome.end, time);
    let own = workloads.swap_remove(0);
    let ends = outcome.done.iter().filter(|done| started[done.flow.index()].tag().workload == 0);
    let losses: Vec<f64> = ends
        .map(|done| {
            let all = started[done.flow.index()].flow.messages.total();
            1.0 - done.bytes as f64 / all as f64
        })
        .collect();
    Ok(Run {
        case: *case,
        network_ms: network_ms(&own, size),
        flows: own.flow_s,
        loss: losses.iter().sum::<f64>() / losses.len().max(1) as f64,
        worst_loss: losses.iter().copied().fold(0.0, f64::max),
        short: own.short_flows as f64 / own.flows.max(1) as f64,
        unfinished: own.unfinished_flows,
        timeouts: outcome.tally.timeouts,
        drops: outcome.drops,
        compute_ms: 0.0,
        flow_times: own.flow_times,
    })
}

/// Hosts begin the next iteration each when it can, so single iterations overlap; all together do not.
fn network_ms(own: &Measured, size: &Size) -> Option<f64> {
    let whole = own.unfinished_flows == 0 && own.jobs == size.iterations as usize;
    let sending = own.took.as_secs_f64() - GAP.as_secs_f64() * f64::from(size.iterations - 1);
    whole.then(|| sending * 1e3 / f64::from(2 * size.iterations))
}
