//! `bounded-tail`: what the slowest flows cost under TCP (§2.1, table 1).

use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};

use super::{
    model::MODELS,
    setting::{self, Layout, Run, Size, find},
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

/// An iteration with the flows' real ends over one in which every flow takes the mean.
fn slowdown(run: &Run, size: &Size) -> Option<f64> {
    let mean = f64::from(run.case.layout.steps(size)) * run.mean_flow_ms()?;
    Some(run.iteration_ms()? / (run.compute_ms + mean))
}

pub(super) fn find_out(options: &Options, size: &Size) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::new();
    findings.columns = vec![
        "model",
        "layout",
        "mean_flow_ms",
        "p99_flow_ms",
        "max_flow_ms",
        "compute_ms",
        "iteration_ms",
        "tail_over_mean",
        "network_tail_over_mean",
        "paper_tail_over_mean",
        "timeouts",
        "drops",
    ];
    setting::open(&mut findings, size);
    findings.chose(
        "Mean: the iteration if every flow took the mean time of all flows, 2 of them one after the other (in a ring of n, 2 \
         (n - 1)). Tail: the iteration as simulated. network_tail_over_mean leaves out computing.",
    );
    let runs = setting::run(options, size, &setting::cases(&LAYOUTS, &["dctcp-plain"]))?;
    for run in &runs {
        let mean = run.mean_flow_ms().map(|mean| mean * f64::from(run.case.layout.steps(size)));
        findings.row(
            Row::new()
                .with("model", run.case.model.name)
                .with("layout", run.case.layout.name())
                .with("mean_flow_ms", run.mean_flow_ms())
                .with("p99_flow_ms", run.p99_flow_ms())
                .with("max_flow_ms", run.flows.map(|flows| flows.max * 1e3))
                .with("compute_ms", run.compute_ms)
                .with("iteration_ms", run.iteration_ms())
                .with("tail_over_mean", slowdown(run, size))
                .with(
                    "network_tail_over_mean",
                    run.network_ms.zip(mean).map(|(network, mean)| 2.0 * network / mean),
                )
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
    let of = |layout| {
        MODELS.each_ref().map(|model| {
            slowdown(find(runs, model.name, layout, "dctcp-plain"), size).unwrap_or(f64::NAN)
        })
    };
    let servers = of(Layout::Servers);
    for (model, ours) in MODELS.iter().zip(servers) {
        findings.claim(
            format!("{}: the slowest flows make the job so many times longer", model.name),
            model.tail,
            format!("{ours:.2}"),
            (ours / model.tail - 1.0).abs() <= 0.1,
        );
    }
    let [rnn, mlp, mf, cnn] = servers;
    findings.claim(
        "models that compute less suffer more: MF, MLP, CNN, RNN",
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
    let bars = LAYOUTS.map(|layout| BarSeries::new(layout.name(), of(layout)));
    let chart = BarChart::new("Tail over mean job completion under DCTCP")
        .categories(MODELS.iter().map(|model| model.name))
        .y(Axis::linear("tail over mean"))
        .series(BarSeries::new("paper", MODELS.each_ref().map(|model| model.tail)));
    findings.chart("models", bars.into_iter().fold(chart, BarChart::series).to_svg());
}
