//! `laxity lab up`: bring a lab up and leave it.

use std::{path::PathBuf, time::Instant};

use anyhow::Result;
use clap::Args;
use laxity_lab::{Lab, LabFile, UpOptions};
use laxity_report::Row;

use super::{daemon_command, read};
use crate::{
    failure::{Explain, usage},
    output::{self, To},
};

/// Bring a lab up and leave it running.
///
/// A process in the background holds it until `laxity lab down`. Changes and background traffic that
/// the file describes begin now; its programs are for `laxity lab run`.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The lab file.
    file: PathBuf,

    /// What to call the lab; the file's name if left out.
    #[arg(long)]
    name: Option<String>,

    /// Leave the switch at ordinary priority, also where real-time priority is allowed.
    #[arg(long)]
    no_realtime: bool,

    /// Print the hosts as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(super) fn run(args: &UpArgs) -> Result<()> {
    let started = Instant::now();
    let file = read(&args.file)?;
    let name = name_of(args.name.as_deref(), &args.file)?;
    let mut lab = bring_up(&file, &name, args.no_realtime)?;
    lab.keep()?;
    let mut report = output::report(started);
    for host in lab.hosts() {
        let address = host.address.to_string();
        report.push(
            Row::new().with("lab", &*name).with("host", &*host.name).with("address", address),
        );
    }
    output::emit(&report, args.json, To::Stdout, &["host", "address"])?;
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("lab `{name}` is up after {seconds:.2} s; `laxity lab down {name}` ends it");
    Ok(())
}

/// Brings a lab up; it ends with this process unless it is kept.
pub(super) fn bring_up(file: &LabFile, name: &str, no_realtime: bool) -> Result<Lab> {
    let mut options = UpOptions::default();
    options.realtime = !no_realtime;
    Lab::up_with(file, name, daemon_command()?, &options)
        .explain(format!("cannot bring up lab `{name}`"), "")
}

/// The name that is given, else that of the file.
pub(super) fn name_of(given: Option<&str>, file: &std::path::Path) -> Result<String> {
    if let Some(name) = given {
        return Ok(name.to_owned());
    }
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    stem.map(str::to_owned).ok_or_else(|| usage("the file has no name: give the lab one, --name"))
}
