//! What trainings say together: points lost by policy, and who keeps within bounds.

use std::collections::{BTreeMap, BTreeSet};

use laxity_learn::{Mean, Scores, compare};
use laxity_report::{Meta, Report, Row};

use crate::store::Run;

/// A policy should cost at most this many points at this loss, on every model.
const BOUNDS: [(f64, f64); 2] = [(5.0, 1.0), (10.0, 2.0)];

/// A table for each model, then a verdict for each policy.
pub(crate) fn text(runs: &[Run]) -> String {
    let mut scores: BTreeMap<(&str, &str, u64), Scores> = BTreeMap::new();
    for run in runs {
        let loss = (run.loss_pct * 1e4) as u64;
        scores
            .entry((&run.model, &run.policy, loss))
            .or_default()
            .insert(run.seed, run.score_points);
    }
    let models: BTreeSet<_> = scores.keys().map(|key| key.0).collect();
    let policies: BTreeSet<_> = scores.keys().map(|key| key.1).collect();
    let losses: BTreeSet<_> = scores.keys().map(|key| key.2).filter(|loss| *loss > 0).collect();
    let mut text = String::new();
    let mut kept: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for model in models {
        let Some(lossless) = scores.get(&(model, "zero", 0)) else { continue };
        let Some(mean) = Mean::of(&lossless.values().copied().collect::<Vec<_>>()) else {
            continue;
        };
        text += &format!(
            "\n{model}: lossless {} points over {} seeds; gained or lost against the same seed:\n",
            shown(mean).trim_start_matches('+'),
            lossless.len()
        );
        let mut report = Report::new(Meta::new("tolerance", env!("CARGO_PKG_VERSION")));
        for policy in &policies {
            let mut row = Row::new().with("policy", (*policy).to_owned());
            let mut any = false;
            for loss in &losses {
                let found = scores.get(&(model, policy, *loss));
                let Some(found) = found.and_then(|found| compare(found, lossless)) else {
                    continue;
                };
                let percent = *loss as f64 / 1e4;
                let name = format!("loss_{}_pct", percent.to_string().replace('.', "_"));
                row = row.with(name, shown(found));
                any = true;
            }
            if any {
                report.push(row);
            }
            let broken = kept.entry(policy).or_default();
            for (percent, bound) in BOUNDS {
                let found = scores.get(&(model, policy, (percent * 1e4) as u64));
                match found.and_then(|found| compare(found, lossless)).map(|mean| mean.value) {
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

/// With the standard error, if there is one.
fn shown(mean: Mean) -> String {
    let error = mean.error.map(|error| format!(" ± {error:.2}"));
    format!("{:+.2}{}", mean.value, error.unwrap_or_default())
}
