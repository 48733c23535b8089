//! Trainings with a parameter server, and what must hold at their end.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{finish_within, json, lab::LONG, laxity, text};

/// Runs a short training over both transports; returns what is known of each at its end.
pub(crate) fn train(words: &[&str]) -> Vec<Value> {
    ends(laxity(&[QUICK, words].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// What makes it short, and its result JSON.
pub(crate) const QUICK: &[&str] = &["train", "--quick", "--json"];

/// Runs a training to its end, which is good; returns the last row of each transport.
pub(crate) fn ends(command: &mut Command) -> Vec<Value> {
    let output = finish_within(command.spawn().unwrap(), LONG);
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["meta"]["stopped_early"], false, "{}", report["meta"]);
    let rows = report["rows"].as_array().expect("rows").clone();
    let ends: Vec<_> = rows.into_iter().filter(|row| row["commits"].is_u64()).collect();
    assert!(!ends.is_empty(), "{}", text(&output.stderr));
    ends
}

/// A number in a row.
pub(crate) fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"))
}

/// Of one process per update each, so that every acknowledged update is a commit.
pub(crate) fn nothing_acknowledged_is_lost(row: &Value) {
    assert!(number(row, "acknowledged") > 0.0, "{row}");
    assert!(number(row, "acknowledged") <= number(row, "commits"), "{row}");
}
