//! `laxity lab down`: end a lab.

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use laxity_lab::Lab;

use super::chosen;

/// End a lab, and every program inside it.
///
/// Also clears away what a lab left whose process was killed.
#[derive(Debug, Args)]
pub(crate) struct DownArgs {
    /// The lab's name; needed where there are several.
    name: Option<String>,

    /// End all labs of this user.
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

/// Runs it.
pub(super) fn run(args: &DownArgs) -> Result<()> {
    let names = if args.all {
        Lab::list().into_iter().map(|lab| lab.name).collect()
    } else {
        vec![chosen(args.name.as_deref())?]
    };
    for name in names {
        let started = Instant::now();
        Lab::end(&name)?;
        eprintln!("lab `{name}` is down after {:.2} s", started.elapsed().as_secs_f64());
    }
    Ok(())
}
