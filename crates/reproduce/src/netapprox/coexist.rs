//! `netapprox-coexist`: exact jobs beside approximate ones (§7.1.4).

use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::setting::{self, Run, less, percent};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Coexist;

/// What carries the approximate jobs.
const BESIDE: [&str; 3] = ["atp-full", "dctcp-plain-es", "laxity"];

impl Experiment for Coexist {
    fn name(&self) -> &'static str {
        "netapprox-coexist"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "approximate_share",
            "min_delivery",
            "beside",
            "exact_mean_ms",
            "exact_p99_ms",
            "approximate_mean_ms",
            "unfinished",
        ];
        setting::open(&mut findings, options);
        findings.chose(
            "Every host sends an exact and an approximate job to random others at the same time; the share is of the messages \
             of both. Exact jobs go over plain DCTCP. Ports are NetApprox' in all cases: DCTCP has queue 0 to itself.",
        );
        let all = options.pick(5_000, 10_000);
        let mut runs = Vec::new();
        for share in [0.25, 0.5, 0.75] {
            let approximate = (f64::from(all) * share) as u32;
            let text = format!(
                "{}[[workloads]]\nname = \"approximate\"\nkind = \"random\"\nscheme = [{}]\n\
                 messages = {approximate}\nsize = \"fbkv\"\nmin-delivery = {}\n\
                 [[workloads]]\nname = \"exact\"\nkind = \"random\"\nscheme = \"dctcp-plain\"\nmessages = {}\n\
                 size = \"fbkv\"\n",
                setting::head_with(options, "ports = \"atp-full\"\n"),
                BESIDE.map(|name| format!("\"{name}\"")).join(", "),
                options.pick("[0.5, 0.9]", "[0.4, 0.5, 0.6, 0.7, 0.8, 0.9]"),
                all - approximate
            );
            let what = format!("{} approximate", percent(share));
            runs.extend(
                setting::run(options, &what, &text, None)?.into_iter().map(|run| (share, run)),
            );
        }
        for (share, run) in &runs {
            findings.row(row(*share, run));
        }
        judge(&mut findings, &runs);
        Ok(findings)
    }
}

fn row(share: f64, run: &Run) -> Row {
    let exact = run.workloads[1].flow_s.as_ref();
    let unfinished = run.workloads.iter().map(|own| own.unfinished_flows).sum::<usize>();
    Row::new()
        .with("approximate_share", share)
        .with("min_delivery", run.min_delivery())
        .with("beside", run.scheme(0))
        .with("exact_mean_ms", exact.map(|s| s.mean * 1e3))
        .with("exact_p99_ms", exact.map(|s| s.p99 * 1e3))
        .with("approximate_mean_ms", run.workloads[0].flow_s.as_ref().map(|s| s.mean * 1e3))
        .with("packet_loss", run.packet_loss)
        .with("unfinished", unfinished)
}

fn judge(findings: &mut Findings, runs: &[(f64, Run)]) {
    let pair = |share: f64, own: &Run, other: &str| {
        let found = runs.iter().find(|(s, run)| {
            *s == share && run.scheme(0) == other && run.min_delivery() == own.min_delivery()
        });
        found.and_then(|(_, run)| run.mean_ms(1))
    };
    let mut gains: Vec<(f64, f64, f64)> = Vec::new();
    for (share, run) in runs.iter().filter(|(_, run)| run.scheme(0) == "atp-full") {
        let beside = pair(*share, run, "dctcp-plain-es");
        gains.extend(
            run.mean_ms(1)
                .zip(beside)
                .map(|(own, other)| (*share, run.min_delivery(), less(own, other))),
        );
    }
    let most = gains.iter().map(|gain| gain.2).fold(f64::MIN, f64::max);
    let least = gains.iter().map(|gain| gain.2).fold(f64::MAX, f64::min);
    findings.claim(
        "exact jobs end sooner beside ATP than beside DCTCP-ES, at all shares and minimum deliveries",
        "up to 79 % less time",
        format!("{} to {} less time", percent(least), percent(most)),
        !gains.is_empty() && least > 0.0,
    );
    let mean = |share: f64| {
        let own: Vec<_> = gains.iter().filter(|gain| gain.0 == share).map(|gain| gain.2).collect();
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    findings.claim(
        "the more approximate traffic, the larger the gain",
        "especially with more of it",
        format!(
            "{}, {}, {} in the mean",
            percent(mean(0.25)),
            percent(mean(0.5)),
            percent(mean(0.75))
        ),
        mean(0.25) < mean(0.5) && mean(0.5) < mean(0.75),
    );
    let chart = LineChart::new("Exact jobs beside approximate ones: mean completion time")
        .x(Axis::linear("approximate share of the messages"))
        .y(Axis::linear("completion time of exact jobs").unit("ms"))
        .note("Minimum delivery 0.9.");
    let chart = BESIDE.iter().fold(chart, |chart, scheme| {
        let own =
            runs.iter().filter(|(_, run)| run.scheme(0) == *scheme && run.min_delivery() == 0.9);
        let points = own.map(|(share, run)| (*share, run.mean_ms(1).unwrap_or(f64::NAN)));
        chart.series(Series::new(format!("beside {scheme}"), points))
    });
    findings.chart("exact", chart.to_svg());
}
