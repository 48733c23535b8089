//! The `laxity` command: send and receive with a stated minimum delivery, make keys, measure,
//! check a machine.
//!
//! **What it is.** A thin, careful shell around `laxity-endpoint`: it parses, opens files, shows
//! progress and prints one [`laxity_report::Report`] as a table or, with `--json`, as one object.
//! Results go to stdout, everything said on the way to stderr.
//!
//! **What it is not.** No protocol lives here.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (128 + the signal).

mod address;
mod args;
mod commands;
mod congestion;
mod delivery;
mod element;
mod failure;
mod keys;
mod label;
mod output;
mod progress;
mod sys;
mod wait;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Wrong usage ends here, with code 2 and clap's own words.
    let cli = args::Cli::parse();
    match commands::run(cli.command) {
        Ok(code) => code,
        Err(error) => failure::print(&error),
    }
}
