//! `bounded-tolerance`: epochs until convergence against the rate of loss (§2.2, figure 2).

use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::learned::{self, Kind, Tolerance};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Tolerances;

/// The models of figure 2 and the paper's (x1, x2).
const MODELS: [(Kind, f64, f64); 2] = [(Kind::Mlp, 0.15, 0.55), (Kind::Rnn, 0.10, 0.90)];

impl Experiment for Tolerances {
    fn name(&self) -> &'static str {
        "bounded-tolerance"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let quick = [0.05, 0.1, 0.15, 0.25, 0.4, 0.55, 0.7, 0.9];
        let full: Vec<f64> = (1..20).map(|step| f64::from(step) * 0.05).collect();
        let rates = options.pick(&quick[..], &full[..]);
        let seeds = options.pick(2, 3);
        let mut findings = Findings::new();
        learned::open(&mut findings, options, seeds);
        let mut chart = LineChart::new("Epochs until convergence")
            .subtitle("over the epochs without loss; where a line ends, training does not converge")
            .x(Axis::linear("chunks lost").unit("%"))
            .y(Axis::linear("epochs over lossless"));
        for (kind, x1, x2) in MODELS {
            let found = learned::measure(options, kind.job(options.quick, 1), rates, seeds)?;
            let lossless = found.rates[0].mean().unwrap_or(1.0);
            for one in &found.rates {
                let spread = one.spread();
                findings.row(
                    Row::new()
                        .with("model", kind.name())
                        .with("loss_pct", (one.rate * 100.0).round())
                        .with("epochs", one.mean())
                        .with("least_epochs", spread.map(|(least, _)| least))
                        .with("most_epochs", spread.map(|(_, most)| most))
                        .with("target_points", found.target),
                );
            }
            let points = found.rates.iter();
            let points = points.map_while(|one| Some((one.rate * 100.0, one.mean()? / lossless)));
            chart = chart.series(Series::new(kind.name(), points.collect::<Vec<_>>()));
            judge(&mut findings, kind, (x1, x2), &found);
        }
        findings.chart("epochs", chart.to_svg());
        Ok(findings)
    }
}

fn judge(findings: &mut Findings, kind: Kind, (x1, x2): (f64, f64), found: &Tolerance) {
    let name = kind.name();
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    findings.claim(
        format!("{name} converges in the same epochs with up to {} lost", percent(x1)),
        percent(x1),
        percent(found.same()),
        found.same() >= x1,
    );
    let most = found.rates.last().map_or(0.0, |one| one.rate);
    let ours = found.converges();
    findings.claim(
        format!("{name} converges in more epochs with up to {} lost", percent(x2)),
        percent(x2),
        if ours < most { percent(ours) } else { format!("{} (no more was tried)", percent(ours)) },
        ours >= x2 && found.same() < ours,
    );
}
