//! `netapprox-breakdown`: what each part of ATP is worth (§7.1.3).

use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};

use super::setting::{self, HALF, Run, less, percent};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Breakdown;

/// Each adds something to the one before, and the paper's largest gain over it.
const STEPS: [(&str, &str, f64); 4] = [
    ("atp-base", "", 0.0),
    ("atp-rc", "rate control", 0.42),
    ("atp-mrdf", "fewest remaining first", 0.39),
    ("atp-full", "moving target and queue", 0.47),
];

impl Experiment for Breakdown {
    fn name(&self) -> &'static str {
        "netapprox-breakdown"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "scheme",
            "min_delivery",
            "mean_ms",
            "p99_ms",
            "less_than_before",
            "packet_loss",
            "unfinished",
        ];
        setting::open(&mut findings, options);
        let messages = options.pick(5_000, 10_000);
        findings.chose(format!("{messages} messages of `fbkv` (FBKV) in a job."));
        let schemes: Vec<_> = STEPS.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
        let text = format!(
            "{}[[workloads]]\nname = \"jobs\"\nkind = \"random\"\nscheme = [{}]\nmessages = {messages}\nsize = \"fbkv\"\n\
             min-delivery = {}\n",
            setting::head(options),
            schemes.join(", "),
            options.pick("[0.5, 0.7, 0.9]", "{ from = 0.4, to = 0.9, step = 0.1 }")
        );
        let runs = setting::run(options, "steps of ATP", &text, None)?;
        let of = |scheme: &str| -> Vec<&Run> {
            runs.iter().filter(|run| run.scheme(0) == scheme).collect()
        };
        for (at, (scheme, what, paper)) in STEPS.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| of(STEPS[before].0));
            let mut gains = Vec::new();
            for (place, run) in of(scheme).into_iter().enumerate() {
                let earlier = before.as_ref().and_then(|all| all[place].mean_ms(0));
                let gain = earlier.zip(run.mean_ms(0)).map(|(before, now)| less(now, before));
                gains.extend(gain);
                let measured = &run.workloads[0];
                let flows = measured.flow_s.as_ref();
                findings.row(
                    Row::new()
                        .with("scheme", *scheme)
                        .with("min_delivery", run.min_delivery())
                        .with("mean_ms", flows.map(|s| s.mean * 1e3))
                        .with("p99_ms", flows.map(|s| s.p99 * 1e3))
                        .with("less_than_before", gain)
                        .with("packet_loss", run.packet_loss)
                        .with("unfinished", measured.unfinished_flows),
                );
            }
            if before.is_some() {
                let most = gains.iter().copied().fold(f64::MIN, f64::max);
                let ours = if gains.is_empty() {
                    "no pair".into()
                } else {
                    format!("up to {}", percent(most))
                };
                let claim = format!("{what} ({scheme}) saves time over the step before");
                findings.claim(
                    claim,
                    format!("up to {}", percent(*paper)),
                    ours,
                    most >= HALF * paper,
                );
            }
        }
        let parts: Vec<_> =
            of(STEPS[0].0).iter().map(|run| run.min_delivery().to_string()).collect();
        let chart = BarChart::new("Steps of ATP: mean job completion time")
            .categories(parts)
            .x_caption("minimum delivery")
            .y(Axis::linear("completion time").unit("ms"));
        let chart = STEPS.iter().fold(chart, |chart, (scheme, ..)| {
            chart.series(BarSeries::new(*scheme, of(scheme).iter().map(|run| run.mean_ms(0))))
        });
        findings.chart("steps", chart.to_svg());
        findings.differs(
            "Rate control saves little: a random receiver's own link is the bottleneck, it is full either way, and what ATP_Base \
             sends in vain (packet_loss) probably takes room that hardly anybody else could use. The last step saves little, \
             probably because all jobs are alike: with the same minimum delivery their targets and queues move together.",
        );
        Ok(findings)
    }
}
