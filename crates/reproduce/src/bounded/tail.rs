//! `bounded-tail`: what the slowest flows cost under TCP (§2.1, table 1).

use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};

use super::{
    model::MODELS,
    setting::{self, Layout, Size, TCP},
    training::{self, Run, find},
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Tail;

const LAYOUTS: [Layout; 3] = [Layout::Servers, Layout::Halves, Layout::Ring];

impl Experiment for Tail {
    fn name(&self) -> &'static str {
        "bounded-tail"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        find_out(options, &Size::of(options))
    }
}

/// An iteration with the flows' real ends over one in which every flow takes the mean, with so much
/// computing.
fn slowdown(run: &Run, size: &Size, compute_ms: f64) -> Option<f64> {
    let mean = f64::from(run.case.layout.steps(size)) * run.mean_flow_ms()?;
    Some((compute_ms + 2.0 * run.network_ms?) / (compute_ms + mean))
}

pub(super) fn find_out(options: &Options, size: &Size) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::new();
    findings.columns = vec![
        "model",
        "layout",
        "mean_flow_ms",
        "p99_flow_ms",
        "max_flow_ms",
        "network_tail_over_mean",
        "tail_over_mean_by_operations",
        "paper_tail_over_mean",
        "compute_ms",
        "timeouts",
        "drops",
    ];
    setting::open(&mut findings, size);
    findings.chose(
        "Mean: the iteration if every flow took the mean time of all flows, 2 of them one after the other (in a ring of n, 2 \
         (n - 1)). Tail: the iteration as simulated. network_tail_over_mean leaves out computing; compute_ms is the computing \
         that makes the ratio with servers the paper's, 0 if none does.",
    );
    let runs = training::run(options, size, &setting::cases(&LAYOUTS, &[TCP]))?;
    for run in &runs {
        let by_operations = run.case.model.compute_ms();
        findings.row(
            Row::new()
                .with("model", run.case.model.name)
                .with("layout", run.case.layout.name())
                .with("mean_flow_ms", run.mean_flow_ms())
                .with("p99_flow_ms", run.p99_flow_ms())
                .with("max_flow_ms", run.flows.map(|flows| flows.max * 1e3))
                .with("compute_ms", run.compute_ms)
                .with("compute_by_operations_ms", by_operations)
                .with("network_tail_over_mean", slowdown(run, size, 0.0))
                .with("tail_over_mean", slowdown(run, size, run.compute_ms))
                .with("tail_over_mean_by_operations", slowdown(run, size, by_operations))
                .with("paper_tail_over_mean", run.case.model.tail)
                .with("timeouts", run.timeouts)
                .with("drops", run.drops)
                .with("unfinished", run.unfinished),
        );
    }
    judge(&mut findings, &runs, size);
    Ok(findings)
}

fn judge(findings: &mut Findings, runs: &[Run], size: &Size) {
    let of = |layout, compute: fn(&Run) -> f64| {
        MODELS.each_ref().map(|model| {
            let run = find(runs, model.name, layout, TCP);
            slowdown(run, size, compute(run)).unwrap_or(f64::NAN)
        })
    };
    let servers = of(Layout::Servers, |_| 0.0);
    for (model, ours) in MODELS.iter().zip(servers) {
        findings.claim(
            format!(
                "{}: without computing, the slowest flows make an iteration at least as many times longer as the paper's job",
                model.name
            ),
            model.tail,
            format!("{ours:.2}"),
            ours >= model.tail,
        );
    }
    let [rnn, mlp, mf, cnn] = of(Layout::Servers, |run| run.case.model.compute_ms());
    findings.claim(
        "with computing by operations, models that compute less suffer more: MF, MLP, CNN, RNN",
        "1.93, 1.77, 1.32, 1.10",
        format!("{mf:.3}, {mlp:.3}, {cnn:.3}, {rnn:.3}"),
        mf > mlp && mlp > cnn && cnn > rnn,
    );
    let timeouts: u64 = runs.iter().map(|run| run.timeouts).sum();
    let drops: u64 = runs.iter().map(|run| run.drops).sum();
    findings.differs(format!(
        "Few flows make the tail: one that meets a timeout of 10 ms makes everybody wait ({drops} lost packets and {timeouts} \
         timeouts in all runs, background included). How many iterations have one is chance; without one the ratio is near 1. \
         The paper says neither how its DCTCP recovers nor its least timeout.",
    ));
    let bars = LAYOUTS.map(|layout| BarSeries::new(layout.name(), of(layout, |_| 0.0)));
    let chart = BarChart::new("Tail over mean of an iteration under DCTCP, without computing")
        .categories(MODELS.iter().map(|model| model.name))
        .y(Axis::linear("tail over mean"))
        .series(BarSeries::new("paper", MODELS.each_ref().map(|model| model.tail)));
    findings.chart("models", bars.into_iter().fold(chart, BarChart::series).to_svg());
}
