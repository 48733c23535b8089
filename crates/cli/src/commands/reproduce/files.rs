//! What `--out` leaves behind.

use std::{fs, path::Path};

use anyhow::Result;
use laxity_report::Report;

use super::{Done, page, show};
use crate::failure::Explain;

/// Makes the folder before anything runs for minutes.
pub(super) fn prepare(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).explain(
        format!("cannot make the folder `{}`", folder.display()),
        "choose a folder that can be written to",
    )
}

/// Rows as CSV, everything as JSON, and the charts of one experiment.
pub(super) fn write(folder: &Path, one: &Done) -> Result<()> {
    let name = one.found.entry.name;
    put(folder, &format!("{name}.csv"), &one.report.to_csv())?;
    put(folder, &format!("{name}.json"), &show::json(&one.report, std::slice::from_ref(one)))?;
    for chart in &one.findings.charts {
        put(folder, &format!("{name}-{}.svg", chart.name), &chart.svg)?;
    }
    Ok(())
}

/// One page with everything.
pub(super) fn write_page(folder: &Path, done: &[Done], summary: &Report) -> Result<()> {
    put(folder, "index.html", &page::html(done, summary))
}

fn put(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, text).explain(
        format!("cannot write `{}`", path.display()),
        "check that there is room and that the folder can be written to",
    )
}
