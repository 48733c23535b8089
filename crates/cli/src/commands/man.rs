//! `laxity man`: manual pages.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

use crate::{
    args::Cli,
    failure::Explain,
    output::{self, To},
};

/// Print the manual page, or write one per command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity man | man -l -
  laxity man --out ~/.local/share/man/man1    # then: man laxity-send")]
pub(crate) struct ManArgs {
    /// Write `laxity.1` and a page per command (`laxity-send.1`, …) into this folder, which is made
    /// if need be. Default: print `laxity.1`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: &ManArgs) -> Result<()> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page).context("cannot write the page")?;
        return output::print(&String::from_utf8_lossy(&page), To::Stdout);
    };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .explain(
            format!("cannot write manual pages to `{}`", folder.display()),
            "give a folder that you may write to",
        )
}
