//! `laxity lab list`: which labs there are.

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use laxity_lab::Lab;
use laxity_report::Row;

use crate::output::{self, To};

/// List the labs of this user.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(super) fn run(args: &ListArgs) -> Result<()> {
    let mut report = output::report(Instant::now());
    for listed in Lab::list() {
        let lab = Lab::open(&listed.name).ok();
        let status = lab.as_ref().and_then(|lab| lab.status().ok());
        let state = if listed.alive { "up" } else { "dead: `laxity lab down` clears it away" };
        report.push(
            Row::new()
                .with("lab", listed.name)
                .with("state", state)
                .with("hosts", lab.map(|lab| lab.hosts().len() as u64))
                .with("up_s", status.map(|status| status.up_for.as_secs_f64()))
                .with("pid", listed.process),
        );
    }
    if report.rows.is_empty() && !args.json {
        eprintln!("no lab is up; bring one up with `laxity lab up FILE`");
        return Ok(());
    }
    output::emit(&report, args.json, To::Stdout, &["lab", "state", "hosts", "up_s", "pid"])
}
