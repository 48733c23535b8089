//! `laxity lab exec`: run a program inside a host.

use std::{
    ffi::OsString,
    io::ErrorKind,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use anyhow::Result;
use clap::Args;
use laxity_lab::Lab;

use super::chosen;

/// Run a program inside a host.
///
/// This process becomes the program: its exit code, signals and the terminal are the program's own.
/// All hosts' names resolve inside.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity lab exec h1 -- ip addr
  laxity lab exec h1                     # a shell
  laxity lab exec --lab star-8 h2 -- iperf3 -c h1

Exit code: the program's; 126 or 127 if it cannot be run.")]
pub(crate) struct ExecArgs {
    /// The host's name.
    host: String,

    /// The program and its arguments; a shell if left out.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,

    /// The lab's name; needed where there are several.
    #[arg(long)]
    lab: Option<String>,
}

/// Runs it. Returns only if that fails.
pub(super) fn run(args: &ExecArgs) -> Result<ExitCode> {
    let lab = Lab::open(&chosen(args.lab.as_deref())?)?;
    let shell = || std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    let program = args.command.first().cloned().unwrap_or_else(shell);
    let mut command = Command::new(&program);
    command.args(args.command.iter().skip(1));
    let error = lab.enter(&args.host, command)?.exec();
    eprintln!("error: cannot run `{}` in {}: {error}", program.display(), args.host);
    // As shells do it.
    Ok(ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }))
}
