//! `laxity lab`: a private network on this machine.

mod check;
mod down;
mod exec;
mod list;
mod program;
mod run;
mod status;
mod up;

pub(crate) use check::possible;

use std::{path::Path, process::ExitCode};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use laxity_lab::{Lab, LabFile, daemon};

use crate::{
    failure::{Explain, usage},
    output::{self, To},
};

/// Put real programs on an emulated network: hosts, links, switches, loss, queues.
///
/// A lab is described by a TOML file. Its hosts are network namespaces on this machine, joined by a
/// software switch; nothing that they send leaves the machine. Any program runs inside, unchanged.
/// It needs root or user namespaces: `laxity lab check` looks.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  laxity lab run examples/lab/lossy.toml                  # up, run its programs, results, down
  laxity lab up examples/lab/star-8.toml                  # bring it up and leave it
  laxity lab exec h1 -- laxity recv out.bin --bind :7000 --insecure
  laxity lab status --watch                               # what every queue does
  laxity lab down

docs/lab.md describes the file and how a lab is built."
)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

/// What can be done with labs.
#[derive(Debug, Subcommand)]
enum LabCommand {
    Up(up::UpArgs),
    Exec(exec::ExecArgs),
    Run(run::RunArgs),
    Status(status::StatusArgs),
    List(list::ListArgs),
    Down(down::DownArgs),
    Check(check::CheckArgs),
    /// Print the JSON schema of lab files, for editors.
    Schema,
    /// Hold a lab: what `lab up` starts.
    #[command(hide = true)]
    Daemon,
}

/// Runs it.
pub(crate) fn run(args: &LabArgs) -> Result<ExitCode> {
    let done = |()| ExitCode::SUCCESS;
    match &args.command {
        LabCommand::Up(args) => up::run(args).map(done),
        LabCommand::Exec(args) => exec::run(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Status(args) => status::run(args).map(done),
        LabCommand::List(args) => list::run(args).map(done),
        LabCommand::Down(args) => down::run(args).map(done),
        LabCommand::Check(args) => check::run(args),
        LabCommand::Schema => schema().map(done),
        LabCommand::Daemon => Ok(daemon::main()),
    }
}

fn schema() -> Result<()> {
    let text = serde_json::to_string_pretty(&LabFile::json_schema())?;
    output::print(&format!("{text}\n"), To::Stdout)
}

/// The program that holds a lab: this one.
pub(crate) fn daemon_command() -> Result<std::process::Command> {
    let program = std::env::current_exe()
        .explain("cannot find the program of this process", "mount /proc, which knows it")?;
    let mut command = std::process::Command::new(program);
    command.args(["lab", "daemon"]);
    Ok(command)
}

/// Reads a lab file.
fn read(path: &Path) -> Result<LabFile> {
    let text = std::fs::read_to_string(path).explain(
        format!("cannot read `{}`", path.display()),
        "name a lab file; examples are in examples/lab",
    )?;
    LabFile::from_toml(&text).explain(
        format!("`{}` is not a lab", path.display()),
        "correct that line; docs/lab.md lists all fields, `laxity lab schema` prints their schema",
    )
}

/// The name of a lab that is not given: that of the only one there is.
fn chosen(name: Option<&str>) -> Result<String> {
    if let Some(name) = name {
        return Ok(name.to_owned());
    }
    let mut all = Lab::list();
    match all.len() {
        0 => Err(anyhow!("no lab is up; bring one up with `laxity lab up FILE`")),
        1 => Ok(all.remove(0).name),
        _ => {
            let names: Vec<_> = all.iter().map(|lab| lab.name.as_str()).collect();
            Err(usage(format!("several labs are there: say which, `{}`", names.join("`, `"))))
        }
    }
}
