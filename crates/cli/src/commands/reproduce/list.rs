//! `laxity reproduce list`: what there is.

use std::time::Instant;

use anyhow::Result;
use laxity_report::Row;
use laxity_reproduce::{Family, all};

use crate::output::{self, To};

/// One row for each experiment.
pub(super) fn run(families: &[Family], json: bool, started: Instant) -> Result<()> {
    let mut report = output::report(started);
    for found in all() {
        let entry = found.entry;
        if !families.is_empty() && !families.contains(&entry.family) {
            continue;
        }
        report.push(
            Row::new()
                .with("name", entry.name)
                .with("family", entry.family.name())
                .with("seed", entry.family.seed())
                .with("status", found.status().to_string())
                .with("what", entry.what)
                .with("paper", entry.paper),
        );
    }
    output::emit(&report, json, To::Stdout, &["name", "seed", "status", "what", "paper"])
}
