//! Figure 1: updates that travel together, in order at each node, or one after the other.

use laxity_flowsim::updates::{Cluster, Stop, Story, Transfers, run};
use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};
use laxity_topology::Topology;

use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Ordering;

/// Workers on each node.
const PER_NODE: u32 = 4;

const WAYS: [&str; 3] = ["concurrent", "node-shared", "time-shared"];

fn transfers(way: usize) -> Transfers {
    match way {
        0 => Transfers::Together,
        1 => Transfers::NodeOrdered,
        _ => Transfers::ordered(),
    }
}

impl Experiment for Ordering {
    fn name(&self) -> &'static str {
        "mlfabric-ordering"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let counts: &[u32] = if options.quick { &[4, 8, 16, 32] } else { &[4, 8, 16, 32, 64] };
        let mut findings = Findings::new();
        let mut means = [const { Vec::new() }; 3];
        let mut delays = Vec::new();
        for (done, workers) in counts.iter().enumerate() {
            options.progress.tell(&format!("{workers} workers"), done as u64, counts.len() as u64);
            let cluster = cluster(*workers)?;
            for (way, name) in WAYS.into_iter().enumerate() {
                let once = run(&cluster, &transfers(way), Stop::rounds(1))?;
                let steady = steady(&cluster, way)?;
                let mean = once.mean_wait().as_secs_f64();
                findings.row(
                    Row::new()
                        .with("transfers", name)
                        .with("workers", *workers)
                        .with("mean_commit_s", mean)
                        .with("last_commit_s", once.end.since(Time::ZERO).as_secs_f64())
                        .with("steady_mean_wait_s", steady.mean_wait().as_secs_f64())
                        .with("steady_mean_delay", steady.mean_delay()),
                );
                means[way].push((f64::from(*workers), mean));
                delays.push((f64::from(*workers), steady.mean_delay()));
            }
        }
        judge(&mut findings, &means, &delays);
        findings.chose(
            "one server behind one bottleneck; an update takes 1 s alone; N updates are available at once; \
             four workers share a node, which is what node-level order can act on",
        );
        findings.chose(
            "steady columns: workers compute for N/2 s and push again, over 40 s for each worker",
        );
        findings.differs(
            "the delay that halves is the time from available to committed, (N+1)/2N of concurrent \
             transfers; counted in versions, the mean delay of N workers is N-1 under every order, since each \
             cycle of a worker sees one commit of every other",
        );
        let mut chart = LineChart::new("Updates of N workers at once")
            .subtitle("mean time until an update is committed; one update alone takes 1 s")
            .x(Axis::linear("workers"))
            .y(Axis::linear("mean commit").unit("s"));
        for (name, points) in WAYS.iter().zip(means) {
            chart = chart.series(Series::new(*name, points));
        }
        findings.chart("commits", chart.to_svg());
        Ok(findings)
    }
}

/// Workers four to a node, and a server, behind one switch.
fn cluster(workers: u32) -> Result<Cluster, ReproduceError> {
    let nodes = workers.div_ceil(PER_NODE);
    let net = Topology::star(nodes + 1, Rate::from_mbps(80), Span::ZERO)?;
    let server = net.hosts()[nodes as usize];
    let workers: Vec<_> =
        (0..workers).map(|worker| net.hosts()[(worker / PER_NODE) as usize]).collect();
    let mut cluster = Cluster::new(net, server, &workers);
    cluster.update = Bytes::new(10_000_000);
    Ok(cluster)
}

/// Workers that compute and push again and again, started one after the other.
fn steady(cluster: &Cluster, way: usize) -> Result<Story, ReproduceError> {
    let count = cluster.workers.len() as u64;
    let mut cluster = cluster.clone();
    // Slightly different, so that they do not stay in step.
    let takes = |worker: u64| Span::from_ms(500 * count + 13 * worker);
    cluster.compute = (0..count).map(takes).collect();
    Ok(run(&cluster, &transfers(way), Stop::at(Time::ZERO + Span::from_secs(40 * count)))?)
}

fn judge(findings: &mut Findings, means: &[Vec<(f64, f64)>; 3], delays: &[(f64, f64)]) {
    let ratio = |from: usize| {
        let last = means[0].len() - 1;
        means[2][last].1 / means[from][last].1
    };
    findings.claim(
        "time sharing halves the mean delay of concurrent transfers",
        "half",
        format!("{:.2} of concurrent", ratio(0)),
        (0.45..=0.55).contains(&ratio(0)),
    );
    let node = ratio(1);
    findings.claim(
        "order at each node alone is not enough",
        "in between",
        format!("time-shared takes {node:.2} of node-shared"),
        node < 0.95,
    );
    let apart = delays.iter().map(|(n, delay)| (delay - (n - 1.0)).abs() / n).fold(0.0, f64::max);
    findings.claim(
        "in versions the mean delay of N workers is N-1 whatever the order (ours, not the paper's)",
        "not stated",
        format!("at most {:.1} % of N apart", apart * 100.0),
        apart < 0.1,
    );
}
