//! What trainings say together: points lost by policy, and who keeps within bounds.

use std::collections::{BTreeMap, BTreeSet};

use laxity_report::{Meta, Report, Row};

use crate::store::Run;

/// A policy should cost at most this many points at this loss, on every model.
const BOUNDS: [(f64, f64); 2] = [(5.0, 1.0), (10.0, 2.0)];

/// Means of a policy on a model at a loss rate, against training without loss.
struct Cell {
    mean: f64,
    /// Standard error of the difference.
    error: f64,
}

/// A table for each model, then a verdict for each policy.
pub(crate) fn text(runs: &[Run]) -> String {
    let mut scores: BTreeMap<(&str, &str, u64), Vec<f64>> = BTreeMap::new();
    for run in runs {
        let loss = (run.loss_pct * 1e4) as u64;
        scores.entry((&run.model, &run.policy, loss)).or_default().push(run.score_points);
    }
    let models: BTreeSet<_> = scores.keys().map(|key| key.0).collect();
    let policies: BTreeSet<_> = scores.keys().map(|key| key.1).collect();
    let losses: BTreeSet<_> = scores.keys().map(|key| key.2).filter(|loss| *loss > 0).collect();
    let mut text = String::new();
    let mut kept: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for model in models {
        let Some(lossless) = scores.get(&(model, "zero", 0)) else { continue };
        let (mean, error) = moments(lossless);
        text += &format!(
            "\n{model}: lossless {mean:.2} ± {error:.2} points over {} seeds; points gained or lost:\n",
            lossless.len()
        );
        let mut report = Report::new(Meta::new("tolerance", env!("CARGO_PKG_VERSION")));
        for policy in &policies {
            let mut row = Row::new().with("policy", (*policy).to_owned());
            let mut any = false;
            for loss in &losses {
                let Some(found) = scores.get(&(model, policy, *loss)) else { continue };
                let cell = against(found, lossless);
                let percent = *loss as f64 / 1e4;
                let name = format!("loss_{}_pct", percent.to_string().replace('.', "_"));
                row = row.with(name, format!("{:+.2} ± {:.2}", cell.mean, cell.error));
                any = true;
            }
            if any {
                report.push(row);
            }
            let broken = kept.entry(policy).or_default();
            for (percent, bound) in BOUNDS {
                let found = scores.get(&(model, policy, (percent * 1e4) as u64));
                match found.map(|found| against(found, lossless).mean) {
                    None => broken.push(format!("{model} at {percent} %: not measured")),
                    Some(cost) if cost < -bound => {
                        broken.push(format!("{model} at {percent} %: {cost:+.2}"));
                    }
                    Some(_) => {}
                }
            }
        }
        if !report.columns().is_empty() {
            text += &report.to_table();
        }
    }
    if !kept.is_empty() {
        text += "\nAt most 1 point at 5 % and 2 at 10 %, on each of these models (means):\n";
    }
    for (policy, broken) in &kept {
        let verdict = if broken.is_empty() { "kept".to_owned() } else { broken.join(", ") };
        text += &format!("  {policy}: {verdict}\n");
    }
    text
}

/// The mean and its standard error.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

fn against(found: &[f64], lossless: &[f64]) -> Cell {
    let ((with, a), (without, b)) = (moments(found), moments(lossless));
    Cell { mean: with - without, error: (a * a + b * b).sqrt() }
}
