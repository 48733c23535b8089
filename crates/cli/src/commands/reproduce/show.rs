//! What an experiment found, for people and for programs.

use std::{fmt::Write, path::Path};

use laxity_report::{Claim, Meta, Report, Row};
use serde::Serialize;

use super::Done;

/// Rows, claims in words, choices and differences.
pub(super) fn text(one: &Done) -> String {
    let (entry, findings) = (one.found.entry, &one.findings);
    let mut out = format!("{} (paper {}): {}\n", entry.name, entry.family.seed(), entry.what);
    let _ = writeln!(out, "the paper: {}\n", entry.paper);
    let rows = Report { claims: Vec::new(), ..one.report.clone() };
    let table = match findings.columns.as_slice() {
        [] => rows.table(),
        columns => rows.table().columns(columns.iter().copied()),
    };
    let _ = writeln!(out, "{table}");
    for claim in &findings.claims {
        let _ = writeln!(out, "{}", sentence(claim));
    }
    for (heading, list) in
        [("chosen here:", &findings.chosen), ("differences:", &findings.differences)]
    {
        if !list.is_empty() {
            let _ = writeln!(out, "{heading}");
        }
        for line in list {
            let _ = writeln!(out, "  - {line}");
        }
    }
    let _ = writeln!(out, "took {:.1} s\n", one.report.meta.seconds);
    out
}

fn verdict(claim: &Claim) -> &'static str {
    if claim.holds { "holds" } else { "DOES NOT HOLD" }
}

fn sentence(claim: &Claim) -> String {
    let (paper, ours) = (claim.paper.display(), claim.ours.display());
    format!("{}: {} (paper: {paper}; here: {ours})", verdict(claim), claim.claim)
}

/// The last lines: how many claims hold, and where files are.
pub(super) fn total(done: &[Done], folder: Option<&Path>) -> String {
    let claims = || done.iter().flat_map(|one| &one.findings.claims);
    let holds = claims().filter(|claim| claim.holds).count();
    let mut out = format!("{holds} of {} claims hold\n", claims().count());
    for one in done.iter().filter(|_| done.len() > 1) {
        for claim in one.findings.claims.iter().filter(|claim| !claim.holds) {
            let _ = writeln!(out, "{}: {}", one.found.entry.name, sentence(claim));
        }
    }
    if let Some(folder) = folder {
        let _ = writeln!(out, "files are in {}, begin with index.html", folder.display());
    }
    out
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    paper: &'a str,
    what: &'a str,
    found_by_paper: &'a str,
    seconds: f64,
    chosen: &'a [String],
    differences: &'a [String],
}

#[derive(Serialize)]
struct Whole<'a> {
    meta: &'a Meta,
    rows: &'a [Row],
    claims: &'a [Claim],
    experiments: Vec<About<'a>>,
}

/// The report as one object, with what each experiment chose and where it differs.
pub(super) fn json(report: &Report, done: &[Done]) -> String {
    let experiments = done.iter().map(|one| About {
        name: one.found.entry.name,
        paper: one.found.entry.family.seed(),
        what: one.found.entry.what,
        found_by_paper: one.found.entry.paper,
        seconds: one.report.meta.seconds,
        chosen: &one.findings.chosen,
        differences: &one.findings.differences,
    });
    let whole = Whole {
        meta: &report.meta,
        rows: &report.rows,
        claims: &report.claims,
        experiments: experiments.collect(),
    };
    let mut text = serde_json::to_string_pretty(&whole).expect("plain values become JSON");
    text.push('\n');
    text
}
