//! The paper's simulated network (§7.1), and runs of scenarios on it.

use std::sync::atomic::{AtomicU64, Ordering};

use laxity_interface::Span;
use laxity_packetsim::{
    SeriesSetup,
    measure::{Measured, Summary},
    scenario::{Point, Ran, Scenario, Task, each},
};
use laxity_topology::LinkId;

use super::merged;
use crate::{error::ReproduceError, findings::Findings, options::Options};

/// A gain of "up to x" counts as found here if ours is at least this part of it.
pub(super) const HALF: f64 = 0.5;

/// Seeds of the full and of the quick size, counted from the one that was asked for.
const SEEDS: u64 = 3;
const QUICK_SEEDS: u64 = 2;

/// The parts of a sender's line that its messages take where they become ready one by one. UDP loses 35 %
/// in the paper: among random pairs, senders have to take 0.9 of their lines for that (`udp_loss` below), and
/// the workload that loses so much here is FBHD, whose jobs are larger than buffers. FBKV is the "lighter" one.
pub(super) const FBKV_LOAD: f64 = 0.6;
pub(super) const FBHD_LOAD: f64 = 0.9;

/// How the messages of jobs become ready.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Messages {
    /// All are there when a job starts.
    AtOnce,
    /// One by one, so that they take this part of their sender's line; with the gaps of FBKV's study, or
    /// with exponential ones where there is no study.
    OneByOne(f64, &'static str),
}

impl Messages {
    pub(super) const FBKV: Self = Self::OneByOne(FBKV_LOAD, "fbkv");
    pub(super) const FBHD: Self = Self::OneByOne(FBHD_LOAD, "exponential");

    /// Lines of a workload.
    pub(super) fn lines(self) -> String {
        match self {
            Self::AtOnce => String::new(),
            Self::OneByOne(load, gaps) => {
                format!("arrivals = \"{gaps}\"\narrival-load = {load}\n")
            }
        }
    }

    /// For rows: `at once`, or the load.
    pub(super) fn label(self) -> String {
        match self {
            Self::AtOnce => "at once".into(),
            Self::OneByOne(load, _) => load.to_string(),
        }
    }
}

/// One point of a scenario, all seeds together.
pub(super) struct Run {
    pub(super) point: Point,
    pub(super) workloads: Vec<Measured>,
    /// Packets lost over data packets sent.
    pub(super) packet_loss: f64,
    pub(super) timeouts: u64,
    /// Credits that found nothing to send.
    pub(super) wasted_credits: u64,
    /// Mean bytes that waited at a switch port that was used, and the most at any.
    pub(super) queue: Option<(f64, u64)>,
}

impl Run {
    /// The scheme of a workload.
    pub(super) fn scheme(&self, workload: usize) -> String {
        self.point.workloads[workload].scheme.to_string()
    }

    pub(super) fn min_delivery(&self) -> f64 {
        self.point.workloads[0].min_delivery.get()
    }

    /// Completion times of a workload's flows: a flow is what the paper calls a job. `None` if one of
    /// them did not end or ended short.
    pub(super) fn times(&self, workload: usize) -> Option<&Summary> {
        let measured = &self.workloads[workload];
        let whole = measured.unfinished_flows == 0 && measured.short_flows == 0;
        measured.flow_s.as_ref().filter(|_| whole)
    }

    pub(super) fn mean_ms(&self, workload: usize) -> Option<f64> {
        self.times(workload).map(|summary| summary.mean * 1e3)
    }
}

/// The head of every scenario: the paper's fat-tree, or a small one.
pub(super) fn head(options: &Options) -> String {
    head_with(options, "")
}

/// The same with more lines about the switches.
pub(super) fn head_with(options: &Options, switch: &str) -> String {
    let shape = options.pick("k = 4\nhosts-per-edge = 3", "k = 8\nhosts-per-edge = 6");
    let last = options.seed + options.pick(QUICK_SEEDS, SEEDS) - 1;
    format!(
        "seeds = {{ from = {}, to = {last}, step = 1 }}\n[topology]\nkind = \"fat-tree\"\n{shape}\nrate = \"40Gbps\"\ndelay = \"1us\"\n\
         [switch]\nbuffer = \"1.5MB\"\nmark-above = \"65packets\"\n{switch}[limits]\nuntil = \"2s\"\n",
        options.seed
    )
}

/// What the paper leaves open about the network and the jobs, whose messages are all there at the start.
pub(super) fn open(findings: &mut Findings, options: &Options) {
    open_with(findings, options);
    findings.chose(
        "All messages of a job are there when it starts. The paper draws times between messages from its traces and does not \
         say how it scales them; netapprox-overall, -incast and -breakdown have rows with such times.",
    );
}

/// The same with messages that become ready one by one.
pub(super) fn open_one_by_one(findings: &mut Findings, options: &Options) {
    open_with(findings, options);
    findings.chose(
        "Messages become ready one by one, as the paper says; `arrivals` is the part of a sender's line that they take, which \
         the paper does not give. FBKV's own gaps (19 us in the mean) would take 0.2 % of it, and nothing would get lost. The \
         paper's UDP loses 35 %, for which senders have to take 0.9 of their lines; so FBHD has 0.9, and FBKV, which the paper \
         calls lighter, 0.6. Gaps have the shape of FBKV's study (a generalized Pareto distribution), those of FBHD are \
         exponential. How many messages a job has is known when it starts (\u{a7}6), so it can end before its last is there. \
         Claims are judged with these rows; rows with `at once` have all messages at the start.",
    );
}

/// What both have in common.
fn open_with(findings: &mut Findings, options: &Options) {
    findings.chose(
        "The paper's fat-tree of k = 12 has 432 hosts, not 192: k = 8 with 6 hosts under an edge switch has 192 (and 1.5 \
         times more hosts than uplinks).",
    );
    let seeds = options.pick(QUICK_SEEDS, SEEDS);
    findings.chose(format!("{seeds} seeds; times are of all flows of all of them."));
    if options.quick {
        findings
            .chose("Quick: k = 4 with 3 hosts under an edge switch, 24 hosts, and shorter jobs.");
    }
    findings.chose(
        "The paper gives its switches \"eight priority queues with a total buffer space of 1.5 MB\". That is read as the \
         buffer of a port, which spares UDP losses. It may be that of a whole switch (`memory` in a scenario): \
         docs/reproduce.md says what changes then.",
    );
    findings.chose("1 us of delay per link; the paper gives none.");
    findings.chose(
        "Every host sends one job to a random other host, all at the same time. So 1/e of all receivers have no sender and \
         the others several, which explains the paper's 35 % loss of UDP (1/e is 36.8 %).",
    );
    findings
        .chose("A job is one flow: its time is from its start until the receiver has its part.");
}

/// Runs every point of a scenario; with a time between samples, queues of switches are looked at.
pub(super) fn run(
    options: &Options,
    what: &str,
    text: &str,
    sample: Option<Span>,
) -> Result<Vec<Run>, ReproduceError> {
    let scenario = Scenario::from_toml(text).map_err(|error| ReproduceError::other(what, error))?;
    let tasks = scenario.tasks();
    let (done, of) = (AtomicU64::new(0), tasks.len() as u64);
    options.progress.tell(what, 0, of);
    let act = |task: &Task| {
        let series = sample.map(|interval| SeriesSetup { interval, links: ports(&task.point) });
        let ran = task.point.run_with(task.seed, series, None);
        options.progress.tell(what, 1 + done.fetch_add(1, Ordering::Relaxed), of);
        ran.map(|ran| keep(task, ran))
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = each(&tasks, threads, act).into_iter().collect::<Result<Vec<_>, _>>();
    let mut runs = runs.map_err(|error| ReproduceError::other(what, error))?;
    let mut points = Vec::new();
    while !runs.is_empty() {
        // All seeds of a point come one behind the other.
        let rest = runs.split_off(scenario.seeds().len().min(runs.len()));
        points.push(merge(std::mem::replace(&mut runs, rest)));
    }
    Ok(points)
}

/// Ports of switches.
fn ports(point: &Point) -> Vec<LinkId> {
    let net = &point.topology;
    let all = (0..net.links().len() as u32).map(LinkId);
    all.filter(|link| net.host_index(net.link(*link).from).is_none()).collect()
}

/// What is kept of one run.
struct Kept {
    point: Point,
    workloads: Vec<Measured>,
    drops: u64,
    data_packets: u64,
    timeouts: u64,
    wasted_credits: u64,
    queue: Option<(f64, u64)>,
}

fn keep(task: &Task, ran: Ran) -> Kept {
    let outcome = ran.outcome;
    let queue = outcome.series.map(|series| {
        // Ports that nobody uses would make every queue look short.
        let used =
            series.links.iter().filter(|link| link.samples.last().is_some_and(|s| s.sent > 0));
        let means: Vec<_> = used.clone().map(|link| link.mean_waiting()).collect();
        let most = used.flat_map(|link| &link.samples).map(|sample| sample.waiting()).max();
        (means.iter().sum::<f64>() / means.len().max(1) as f64, most.unwrap_or(0))
    });
    Kept {
        point: task.point.clone(),
        workloads: ran.workloads,
        drops: outcome.drops,
        data_packets: outcome.tally.data_packets,
        timeouts: outcome.tally.timeouts,
        wasted_credits: outcome.tally.wasted_credits,
        queue,
    }
}

/// The runs of one point with all seeds.
fn merge(runs: Vec<Kept>) -> Run {
    let sum = |pick: fn(&Kept) -> u64| runs.iter().map(pick).sum::<u64>();
    let queues: Vec<_> = runs.iter().filter_map(|run| run.queue).collect();
    let mean = queues.iter().map(|queue| queue.0).sum::<f64>() / queues.len().max(1) as f64;
    let most = queues.iter().map(|queue| queue.1).max();
    let measured: Vec<_> = runs.iter().map(|run| run.workloads.clone()).collect();
    Run {
        point: runs[0].point.clone(),
        workloads: merged::workloads(&measured),
        packet_loss: sum(|run| run.drops) as f64 / sum(|run| run.data_packets).max(1) as f64,
        timeouts: sum(|run| run.timeouts),
        wasted_credits: sum(|run| run.wasted_credits),
        queue: most.map(|most| (mean, most)),
    }
}

/// By how much less time `ours` is than `theirs`: 0.2 is 20 % less.
pub(super) fn less(ours: f64, theirs: f64) -> f64 {
    1.0 - ours / theirs
}

/// A part as people read it.
pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What receivers without buffers lose if every host sends at this part of its line to a random one:
    /// the number of senders is Poisson distributed with the mean 1.
    fn udp_loss(load: f64) -> f64 {
        let (mut chance, mut arrives) = ((-1.0f64).exp(), 0.0);
        for senders in 1..40 {
            chance /= f64::from(senders);
            arrives += chance * (load * f64::from(senders)).min(1.0);
        }
        1.0 - arrives / load
    }

    #[test]
    fn the_loss_of_udp_says_how_much_is_sent() {
        assert!((udp_loss(1.0) - 0.368).abs() < 1e-3, "1/e");
        assert!((udp_loss(FBHD_LOAD) - 0.35).abs() < 0.015, "{}", udp_loss(FBHD_LOAD));
        assert!(udp_loss(FBKV_LOAD) < 0.2);
    }
}
