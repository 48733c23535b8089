//! `bounded-alternatives`: what else one could do about the tail (§2.3, figure 3).

use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};

use super::{
    model::MODELS,
    setting::{self, LAXITY, Layout, Size, TCP},
    training::{self, Run, find, speedup},
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Alternatives;

/// TCP with parameters dropped at the sender.
const DROPPING: &str = "dctcp-plain-ss";
const SCHEMES: [&str; 5] = [TCP, DROPPING, "udp", "bounded", LAXITY];

impl Experiment for Alternatives {
    fn name(&self) -> &'static str {
        "bounded-alternatives"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        find_out(options, &Size::of(options))
    }
}

pub(super) fn find_out(options: &Options, size: &Size) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::new();
    findings.columns = vec![
        "model",
        "layout",
        "scheme",
        "bound",
        "iteration_ms",
        "speedup",
        "loss",
        "worst_loss",
        "short_flows",
        "p99_flow_ms",
        "timeouts",
    ];
    setting::open(&mut findings, size);
    findings.chose(
        "dctcp-plain-ss drops parameters at the sender: it sends as many packets as have to arrive, spread evenly, over plain \
         DCTCP. UDP sends everything once at line rate; a flow of UDP ends when enough has arrived or nothing more will.",
    );
    let mut cases = setting::cases(&[Layout::Servers], &SCHEMES);
    cases.extend(setting::cases(&[Layout::Ring], &[TCP]));
    let runs = training::run(options, size, &cases)?;
    for run in &runs {
        let tcp = find(&runs, run.case.model.name, Layout::Servers, TCP);
        findings.row(
            Row::new()
                .with("model", run.case.model.name)
                .with("layout", run.case.layout.name())
                .with("scheme", run.case.scheme)
                .with("bound", run.case.model.bound)
                .with("network_ms", run.network_ms)
                .with("compute_ms", run.compute_ms)
                .with("iteration_ms", run.iteration_ms())
                .with("speedup", speedup(run, tcp))
                .with("loss", run.loss)
                .with("worst_loss", run.worst_loss)
                .with("short_flows", run.short)
                .with("mean_flow_ms", run.mean_flow_ms())
                .with("p99_flow_ms", run.p99_flow_ms())
                .with("timeouts", run.timeouts)
                .with("drops", run.drops)
                .with("unfinished", run.unfinished),
        );
    }
    judge(&mut findings, &runs);
    Ok(findings)
}

fn gains(runs: &[Run], layout: Layout, scheme: &str) -> [f64; 4] {
    MODELS.each_ref().map(|model| {
        let tcp = find(runs, model.name, Layout::Servers, TCP);
        speedup(find(runs, model.name, layout, scheme), tcp).unwrap_or(f64::NAN)
    })
}

fn list(values: [f64; 4]) -> String {
    let each = MODELS.iter().zip(values).map(|(model, value)| format!("{} {value:.2}", model.name));
    each.collect::<Vec<_>>().join(", ")
}

fn judge(findings: &mut Findings, runs: &[Run]) {
    let servers = |scheme| gains(runs, Layout::Servers, scheme);
    let (dropping, bounded) = (servers(DROPPING), servers("bounded"));
    let ring = gains(runs, Layout::Ring, TCP);
    let ahead = |own: [f64; 4], other: [f64; 4]| own.iter().zip(other).all(|(a, b)| *a > b);
    findings.claim(
        "dropping parameters at the sender gains less than the transport does",
        "marginal gain",
        format!("dropping: {}; bounded: {}", list(dropping), list(bounded)),
        ahead(bounded, dropping),
    );
    findings.claim(
        "TCP with a ring takes about as long as TCP with servers (within 25 %)",
        "comparable",
        format!("ring's speed-up: {}", list(ring)),
        ring.iter().all(|gain| (0.8..=1.25).contains(gain)),
    );
    let udp = MODELS.each_ref().map(|model| find(runs, model.name, Layout::Servers, "udp"));
    findings.claim(
        "UDP loses more than models tolerate",
        "may exceed the bound",
        format!("worst loss: {}", list(udp.map(|run| run.worst_loss))),
        udp.iter().all(|run| run.worst_loss > run.case.model.bound),
    );
    findings.claim(
        "only the transport helps: bounded is faster than TCP and than every other way that keeps the bound",
        "bounded first",
        format!("bounded: {}; laxity (not in the paper): {}", list(bounded), list(servers(LAXITY))),
        bounded.iter().all(|gain| *gain > 1.0) && ahead(bounded, dropping) && ahead(bounded, ring),
    );
    let chart = BarChart::new("Speed-up of an iteration over DCTCP with servers")
        .categories(MODELS.iter().map(|model| model.name))
        .y(Axis::linear("times as fast"))
        .reference(1.0, "DCTCP, servers")
        .note("UDP does not keep the bound on loss.");
    let bars = [
        ("dropping at the sender", dropping),
        ("ring", ring),
        ("udp", servers("udp")),
        ("bounded", bounded),
        ("laxity", servers(LAXITY)),
    ];
    let chart = bars
        .into_iter()
        .fold(chart, |chart, (name, values)| chart.series(BarSeries::new(name, values)));
    findings.chart("models", chart.to_svg());
}
