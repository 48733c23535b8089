//! CadentFlow (seed 000): an application's objective as the network's interface, in fluid simulation.

mod fig1;
mod flexibility;
mod inference;
mod sharing;
mod training;

use laxity_flowsim::profile::{Profile, shipped};
use laxity_interface::Span;
use laxity_report::chart::{Axis, BarChart, BarSeries};

use crate::{error::ReproduceError, experiment::Experiment, findings::Findings};

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[
    &fig1::Fig1,
    &training::Training,
    &flexibility::Flexibility,
    &inference::Inference,
    &sharing::SharedLink,
];

/// The paper's models, as far as it names them; see docs/flowsim.md.
fn models() -> Result<Vec<Profile>, ReproduceError> {
    let model = |name: &&str| {
        shipped::model(name)
            .map_err(|error| ReproduceError::other(format!("reading {name}"), error))
    };
    shipped::PAPER.iter().map(model).collect()
}

/// What every experiment on models chose.
fn choices(findings: &mut Findings) {
    findings.chose(
        "models: the paper names 5 of its 11 and refers to the others; Inception v2, ResNet v1 50, \
         ResNet v2 101 and VGG-16 fill up",
    );
    findings.chose(
        "compute times: the paper measured them on K80s and does not publish them; ours are FLOPs of \
         the graphs over one rate, 1.02 TFLOP/s, which fits published K80 throughput",
    );
    findings
        .chose("parameters go to servers in turn, in the order of creation, as TensorFlow does it");
}

/// Milliseconds.
fn ms(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

/// How much more a time is than another, in percent.
fn over(time: Span, base: Span) -> f64 {
    (time.as_secs_f64() / base.as_secs_f64() - 1.0) * 100.0
}

/// A percentage for a table: thousandths are enough, and parts per million only look like something.
fn shown(percent: f64) -> f64 {
    // Adding zero turns a negative zero into zero.
    (percent * 1e3).round() / 1e3 + 0.0
}

/// A percentage with its sign and the model it is of.
fn of_model(percent: f64, model: &str) -> String {
    format!("{percent:+.1} % ({model})")
}

/// The greatest value and its model.
fn most<'a>(values: impl IntoIterator<Item = (&'a str, f64)>) -> (&'a str, f64) {
    let first = ("none", f64::NEG_INFINITY);
    values.into_iter().fold(first, |most, one| if one.1 > most.1 { one } else { most })
}

/// Bars of several series for each model.
fn by_model(
    title: &str,
    subtitle: &str,
    y: Axis,
    models: &[Profile],
    series: &[(&str, Vec<f64>)],
    reference: Option<(f64, &str)>,
) -> String {
    let mut chart = BarChart::new(title)
        .subtitle(subtitle)
        .categories(models.iter().map(|model| model.model.as_str()))
        .y(y)
        .size(1200, 430);
    for (slot, (name, values)) in series.iter().enumerate() {
        chart = chart.series(BarSeries::new(*name, values.iter().copied()).slot(slot));
    }
    if let Some((y, label)) = reference {
        chart = chart.reference(y, label);
    }
    chart.to_svg()
}
