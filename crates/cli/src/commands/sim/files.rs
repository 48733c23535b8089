//! Results as files: tables, pictures, a page.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use laxity_report::{
    Report,
    html::{self, Section},
};

use super::pictures::Picture;
use crate::failure::Explain;

/// What stands around the tables.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) intro: String,
    /// The scenario, for the command that repeats a run.
    pub(super) file: PathBuf,
    pub(super) pictures: Vec<Picture>,
}

/// Writes results.csv, results.json, the pictures and report.html; runs.csv and runs.json as well, if
/// results are of several runs.
pub(super) fn write(
    folder: &Path,
    page: &Page,
    report: &Report,
    columns: &[&str],
    runs: Option<&Report>,
) -> Result<()> {
    let mut all = vec![
        ("results.csv".to_owned(), report.to_csv()),
        ("results.json".to_owned(), report.to_json_string()),
    ];
    if let Some(runs) = runs {
        all.push(("runs.csv".to_owned(), runs.to_csv()));
        all.push(("runs.json".to_owned(), runs.to_json_string()));
    }
    all.extend(page.pictures.iter().map(|picture| (picture.file.clone(), picture.svg.clone())));
    all.push(("report.html".to_owned(), html(page, report, columns, runs)));
    for (name, text) in all {
        let path = folder.join(name);
        fs::write(&path, text).explain(
            format!("cannot write `{}`", path.display()),
            "is there room, and may you write there?",
        )?;
    }
    Ok(())
}

fn html(page: &Page, report: &Report, columns: &[&str], runs: Option<&Report>) -> String {
    let repeat = format!(
        "Every run can be repeated packet by packet: laxity sim run {} --point K --seed N, with point and seed \
         of its row. Equal trace hashes mean equal packets.",
        page.file.display()
    );
    let mut html = html::Page::new(&page.title).intro(format!("{}\n\n{repeat}", page.intro));
    for picture in &page.pictures {
        html = html.section(Section::new(&picture.title).svg(&picture.svg));
    }
    html = html.section(Section::new("Results").table_of(report, columns));
    let each = runs.unwrap_or(report);
    let columns: &[&str] = &[
        "point",
        "seed",
        "workload",
        "scheme",
        "mean_job_ms",
        "p99_job_ms",
        "unfinished_jobs",
        "drops",
        "sent_again",
        "timeouts",
        "end_ms",
        "stopped",
        "trace_hash",
    ];
    html = html.section(Section::new("Runs").table_of(each, columns));
    html.provenance(&report.meta).to_html()
}
