//! `bounded-bounds`: the bound up to which loss costs no epochs, by model and by data (§2.2, tables 3 and 4).

use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};

use super::learned::{self, Kind};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Bounds;

/// Table 3, and table 4: models, the seed of their data, the paper's bound.
const CASES: [(&str, Kind, u64, f64); 6] = [
    ("RNN1", Kind::Rnn, 1, 0.10),
    ("MLP", Kind::Mlp, 1, 0.15),
    ("MF", Kind::Mf, 1, 0.35),
    ("CNN1", Kind::Cnn, 1, 0.15),
    ("RNN2", Kind::Rnn, 2, 0.15),
    ("CNN2", Kind::Cnn, 2, 0.15),
];

impl Experiment for Bounds {
    fn name(&self) -> &'static str {
        "bounded-bounds"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let quick = [0.1, 0.15, 0.25, 0.35];
        let full = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5];
        let rates = options.pick(&quick[..], &full[..]);
        let seeds = options.pick(1, 3);
        let mut findings = Findings::new();
        learned::open(&mut findings, options, seeds);
        findings.chose("the second data set of a model is made from another seed");
        let mut bounds = Vec::new();
        for (name, kind, data, paper) in CASES {
            let found = learned::measure(options, kind.job(options.quick, data), rates, seeds)?;
            let bound = found.same();
            for one in &found.rates {
                findings.row(
                    Row::new()
                        .with("model", name)
                        .with("loss_pct", (one.rate * 100.0).round())
                        .with("epochs", one.mean())
                        .with("bound_pct", (bound * 100.0).round())
                        .with("paper_bound_pct", (paper * 100.0_f64).round()),
                );
            }
            findings.claim(
                format!("{name} tolerates {:.0} %", paper * 100.0),
                paper,
                bound,
                bound >= paper - 1e-9,
            );
            bounds.push(bound);
        }
        let least = bounds.iter().copied().fold(f64::INFINITY, f64::min);
        findings.claim(
            "every model tolerates 10 % or more",
            "10 to 35 %",
            format!("at least {:.0} %", least * 100.0),
            least >= 0.1,
        );
        let apart = [(0, 4), (3, 5)].map(|(one, other)| (bounds[one] - bounds[other]).abs());
        findings.claim(
            "the bound of a model is similar on other data",
            "RNN .10 and .15, CNN .15 and .15",
            format!(
                "RNN {:.2} and {:.2}, CNN {:.2} and {:.2}",
                bounds[0], bounds[4], bounds[3], bounds[5]
            ),
            apart.into_iter().all(|apart| apart <= 0.051),
        );
        let chart = BarChart::new("Loss that costs no epochs")
            .subtitle("largest rate up to which training takes at most a tenth longer")
            .categories(CASES.map(|(name, ..)| name.to_owned()))
            .y(Axis::linear("loss tolerance bound").unit("%"))
            .series(BarSeries::new("here", bounds.iter().map(|bound| bound * 100.0)))
            .series(BarSeries::new("paper", CASES.map(|(.., paper)| paper * 100.0)));
        findings.chart("bounds", chart.to_svg());
        Ok(findings)
    }
}
