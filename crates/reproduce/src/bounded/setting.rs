//! The paper's simulated network (§3.1), and training on it.

use std::sync::atomic::{AtomicU64, Ordering};

use laxity_interface::{Bytes, Span};
use laxity_packetsim::{
    PortSetup, Scheme, Simulation, World,
    measure::{self, Ideal, Measured, Summary},
    scenario::{Point, Scenario, each},
    workload::Started,
};

use super::model::{MODELS, Model};
use crate::{error::ReproduceError, findings::Findings, options::Options};

/// What ports keep for the farewells that end UDP's flows.
const FAREWELLS: u64 = 6_000;
/// What the paper calls TCP: DCTCP as papers compare with it.
pub(super) const TCP: &str = "dctcp-plain";
const BUFFER: u64 = 450_000;
const MARK_ABOVE: u64 = 90_000;
/// From the end of an iteration to the begin of the next, in the simulation.
const GAP: Span = Span::from_us(100);

/// How large the network and the jobs are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Racks of 16 hosts.
    pub(super) racks: u32,
    /// What models are divided by (1, but for tests).
    pub(super) smaller: u64,
    /// Iterations of one run.
    pub(super) iterations: u32,
    /// Background before the training begins.
    pub(super) warm_us: u64,
    /// Seeds, counted from the one that was asked for.
    pub(super) seeds: u64,
}

impl Size {
    const FULL: Self = Self { racks: 8, smaller: 1, iterations: 10, warm_us: 5_000, seeds: 3 };
    const QUICK: Self = Self { iterations: 2, warm_us: 1_000, seeds: 1, ..Self::FULL };

    pub(super) fn of(options: &Options) -> Self {
        options.pick(Self::QUICK, Self::FULL)
    }
}

/// Who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Seven workers and a parameter server in every rack.
    Servers,
    /// Four workers and four parameter servers in every rack.
    Halves,
    /// All eight in a ring, rack by rack.
    Ring,
}

impl Layout {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Servers => "7 workers, 1 server a rack",
            Self::Halves => "4 workers, 4 servers a rack",
            Self::Ring => "ring",
        }
    }

    /// Transfers that follow each other in an iteration.
    pub(super) fn steps(self, size: &Size) -> u32 {
        match self {
            Self::Servers | Self::Halves => 2,
            Self::Ring => 2 * (8 * size.racks - 1),
        }
    }

    fn workload(self, size: &Size) -> String {
        let workers = match self {
            Self::Ring => {
                return "kind = \"ring-all-reduce\"\nhosts = { first = 8, of = 16 }\n".to_owned();
            }
            Self::Servers => 7,
            Self::Halves => 4,
        };
        let servers = (0..size.racks).flat_map(|rack| (workers..8).map(move |at| 16 * rack + at));
        let servers: Vec<_> = servers.map(|host| format!("\"h{host}\"")).collect();
        format!(
            "kind = \"parameter-server\"\nworkers = {{ first = {workers}, of = 16 }}\nservers = [{}]\n",
            servers.join(", ")
        )
    }
}

/// One training to simulate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) model: &'static Model,
    pub(super) layout: Layout,
    pub(super) scheme: &'static str,
}

/// All models with these layouts and schemes.
pub(super) fn cases(layouts: &[Layout], schemes: &[&'static str]) -> Vec<Case> {
    let mut all = Vec::new();
    for model in &MODELS {
        for &layout in layouts {
            all.extend(schemes.iter().map(|&scheme| Case { model, layout, scheme }));
        }
    }
    all
}

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct Run {
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

/// What the paper leaves open.
pub(super) fn open(findings: &mut Findings, size: &Size) {
    findings.chose(
        "The paper prints neither sizes nor computing times nor numbers of epochs of its models. Sizes are those of the usual \
         examples for its data sets. Computing times are those that make its table 1 true: with plain DCTCP, servers and the \
         simulated network, an iteration takes as many times longer than with mean flows as the table says. Speed-ups by \
         operations of a batch over a speed are in the rows besides:",
    );
    for model in &MODELS {
        let (bytes, compute) = (model.bytes() as f64 / 1e6, model.compute_ms());
        findings.chose(format!(
            "{}: {bytes:.2} MB; by operations {compute:.4} ms a batch ({}).",
            model.name, model.why
        ));
    }
    findings.chose(
        "Epochs are not simulated: within the bounds of table 3 all of a model's runs need the same number, so they cancel. \
         Times are of one iteration, compute + 2 x network.",
    );
    findings.chose(format!(
        "One job on all hosts for training ({}); parameter servers: 7 workers and 1 server a rack unless said otherwise. \
         The paper does not say how many jobs there are or who is a server.",
        8 * size.racks
    ));
    findings.chose(
        "Network time is half of the mean time that a simulated iteration takes without computing (push and pull, or both \
         halves of the ring's steps), over consecutive iterations 0.1 ms apart. The paper's 2 x network comes to the same.",
    );
    findings.chose(format!(
        "Background: flows of the DCTCP paper's web search over plain DCTCP at load 0.5 of the core, from {} ms before \
         training. All links 40 Gbit/s, so a rack's 16 hosts share 160 Gbit/s (4:1). 1 us of delay per link. A port has \
         450 KB. Plain DCTCP has timeouts of 10 ms and no probes; strong DCTCP (`dctcp`) has probes and 1 ms.",
        size.warm_us as f64 / 1e3
    ));
    findings.chose(format!(
        "{} iterations of every training, with each of {} seeds.",
        size.iterations, size.seeds
    ));
    if size.iterations < Size::FULL.iterations {
        findings
            .chose("Quick: the paper's network and whole models, but few iterations of one seed.");
    }
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
        let ran = train(case, size, *seed);
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

fn text(case: &Case, size: &Size) -> String {
    // A message is what fits a packet; Laxity's packets have more headers.
    let message = if case.scheme == "laxity" { 1400 } else { 1460 };
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = {}\nspines = 4\nhosts = 16\noversubscription = 4\nrate = \"40Gbps\"\ndelay = \"1us\"\n\
         [switch]\nbuffer = \"{BUFFER}B\"\nmark-above = \"{MARK_ABOVE}B\"\n[limits]\nuntil = \"5s\"\n\
         [[workloads]]\nname = \"training\"\n{}scheme = \"{}\"\nbytes = \"{}B\"\nmessage = \"{message}B\"\n\
         iterations = {}\ncompute = \"{}us\"\nstart = \"{}us\"\nmin-delivery = {}\n\
         [[workloads]]\nname = \"background\"\nkind = \"poisson\"\nscheme = \"dctcp-plain\"\n\
         hosts = {{ last = 8, of = 16 }}\nbackground = true\nsize = \"web-search\"\nload = 0.5\nof = \"core\"\n",
        size.racks,
        case.layout.workload(size),
        case.scheme,
        case.model.bytes() / size.smaller,
        size.iterations,
        GAP.as_us(),
        size.warm_us,
        1.0 - case.model.bound,
    )
}

/// Ports are the paper's for everybody; Laxity has its own, with the same buffer and threshold.
fn simulation(point: &Point, seed: u64) -> Result<Simulation, laxity_packetsim::SetupError> {
    let mut setup = point.setup(seed);
    if !point.workloads[0].scheme.to_string().starts_with("laxity") {
        // Only UDP's packets may be dropped early: its farewells pass, everybody else sees no difference.
        setup.switch = PortSetup::fifo(Bytes::new(BUFFER), Some(Bytes::new(MARK_ABOVE)))
            .with_droppable_above(Bytes::new(BUFFER - FAREWELLS));
    }
    let base_rtt = Simulation::new(&setup, |_| Vec::new())?.base_rtt();
    let hosts = point.topology.hosts().len();
    let world = World { line_rate: point.line_rate(), base_rtt, hosts };
    let schemes = point.schemes();
    Simulation::new(&setup, |host| {
        schemes.iter().map(|scheme: &Scheme| scheme.stack(host, seed, &world)).collect()
    })
}

fn train(case: &Case, size: &Size, seed: u64) -> Result<Run, ReproduceError> {
    let what = || format!("training {} over {}", case.model.name, case.scheme);
    let scenario =
        Scenario::from_toml(&text(case, size)).map_err(|e| ReproduceError::other(what(), e))?;
    let point = scenario.point(0);
    let mut simulation = simulation(&point, seed).map_err(|e| ReproduceError::other(what(), e))?;
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
