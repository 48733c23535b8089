//! `laxity lab run`: bring a lab up, run its programs, show what came of them, end it.

use std::{
    path::PathBuf,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::Args;
use indicatif::ProgressBar;
use laxity_lab::{Lab, LabFile, Program, Status};

use super::{
    program::{Finished, Outcome, Running},
    read, status,
    up::{bring_up, name_of},
};
use crate::{
    failure::{self, Explain, usage},
    output::{self, To},
    progress,
    sys::signal,
};

/// Bring a lab up, run the programs that its file names, show how they ended, and end the lab.
///
/// What programs say goes to stderr with their names in front, or to files with --out. The lab ends in
/// any case: after a failure, after Ctrl-C, and when this process is killed.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: 0 if every program that must succeed did, 1 if not, 130 after Ctrl-C.")]
pub(crate) struct RunArgs {
    /// The lab file, with `[[programs]]`.
    file: PathBuf,

    /// What to call the lab; the file's name and this process's number if left out.
    #[arg(long)]
    name: Option<String>,

    /// Write what each program says to NAME.out and NAME.err in this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Leave the switch at ordinary priority, also where real-time priority is allowed.
    #[arg(long)]
    no_realtime: bool,

    /// Print the results as JSON, with what the programs said.
    #[arg(long)]
    json: bool,
}

/// How often programs are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How often the lab is asked how it is doing.
const ASK: Duration = Duration::from_millis(500);

/// Runs it.
pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let file = read(&args.file)?;
    if file.programs().is_empty() {
        let path = args.file.display();
        return Err(usage(format!(
            "`{path}` names no programs: add `[[programs]]` with a `host` and a `command`, or use \
             `laxity lab up`"
        )));
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None => format!("{}-{}", name_of(None, &args.file)?, std::process::id()),
    };
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).explain(
            format!("cannot make the folder `{}`", folder.display()),
            "name one that can be written to",
        )?;
    }
    signal::watch();
    let bar = progress::spinner("bringing the lab up");
    let lab = bring_up(&file, &name, args.no_realtime)?;
    let mut running = Vec::new();
    let outcome = perform(args, &file, &lab, &bar, &mut running);
    for program in &mut running {
        program.end(Outcome::Stopped);
    }
    let status = lab.status();
    bar.set_message("ending the lab");
    // Whatever else is in there is ended with it, so every output comes to its end.
    let ended = lab.down();
    let mut finished: Vec<_> = running.into_iter().map(Running::finish).collect();
    bar.finish_and_clear();
    match outcome {
        Err(error) if !failure::is_interrupt(&error) => return Err(error),
        outcome => {
            let ran: Vec<_> = finished.iter().map(|it| it.program.name.clone()).collect();
            let left = file.programs().iter().filter(|it| !ran.contains(&it.name));
            finished.extend(left.map(Finished::not_started));
            print(args, started, &finished, status.ok().as_ref())?;
            outcome?;
        }
    }
    ended?;
    let failed = finished.iter().any(Finished::fails_the_run);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Starts every program at its time and waits for the last that is no server.
fn perform<'a>(
    args: &RunArgs,
    file: &'a LabFile,
    lab: &Lab,
    bar: &ProgressBar,
    running: &mut Vec<Running<'a>>,
) -> Result<()> {
    let since = Instant::now();
    let mut due: Vec<&Program> = file.programs().iter().collect();
    due.sort_by_key(|program| program.start);
    let (mut due, total) = (due.into_iter().peekable(), due_total(file));
    let mut asked = Instant::now();
    loop {
        signal::check()?;
        while let Some(program) = due.next_if(|next| next.start.to_std() <= since.elapsed()) {
            running.push(Running::start(program, lab, args.out.as_deref(), bar, since)?);
        }
        let mut busy = 0;
        for program in running.iter_mut() {
            if !program.look()? && !program.program.server {
                busy += 1;
            }
        }
        let to_come = due.clone().filter(|program| !program.server).count();
        if busy + to_come == 0 {
            break;
        }
        if asked.elapsed() > ASK {
            asked = Instant::now();
            let packets: u64 =
                lab.status()?.ports.iter().map(|port| port.counters.delivered.packets).sum();
            let done = total - busy - to_come;
            bar.set_message(format!("{done} of {total} programs done, {packets} packets"));
        }
        thread::sleep(LOOK);
    }
    for program in running.iter_mut().filter(|program| program.program.server) {
        program.end(Outcome::Served);
    }
    Ok(())
}

fn due_total(file: &LabFile) -> usize {
    file.programs().iter().filter(|program| !program.server).count()
}

fn print(
    args: &RunArgs,
    started: Instant,
    finished: &[Finished<'_>],
    status: Option<&Status>,
) -> Result<()> {
    let mut report = output::report(started);
    finished.iter().for_each(|program| report.push(program.row()));
    if let Some(status) = status {
        if args.json {
            status::push_others(&mut report, status);
        } else if !status.health.is_valid() {
            let late = status.health.lateness.p99;
            eprintln!(
                "warning: the switch did not keep time (p99 {late} late, {} frames lost in rings): \
                 times measured in this run are too long; keep the machine idle and repeat it",
                status.health.ring_drops
            );
        }
    }
    let columns = ["program", "host", "outcome", "exit_code", "start_s", "seconds"];
    output::emit(&report, args.json, To::Stdout, &columns)
}
