//! One program of `laxity lab run`: started, watched, its output collected.

use std::{
    ffi::OsString,
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::Result;
use indicatif::ProgressBar;
use laxity_lab::{Lab, Program, end_with_parent};
use laxity_report::Row;

use crate::{failure::Explain, sys::process};

/// Output beyond this is not kept for JSON; it is still shown or written.
const KEPT: usize = 1 << 20;
/// How long a program may take to end once it is told to.
const POLITE: Duration = Duration::from_secs(1);

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// By itself, or as it should.
    Ended(ExitStatus),
    /// It was a server, and was told to end when the others had.
    Served,
    /// It took longer than it may.
    TimeLimit,
    /// The run ended before it.
    Stopped,
    /// It was never started.
    NotStarted,
}

/// A program that was started.
pub(super) struct Running<'a> {
    pub(super) program: &'a Program,
    child: Child,
    started: Instant,
    started_s: f64,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
    seconds: f64,
    outcome: Option<Outcome>,
}

impl<'a> Running<'a> {
    /// Starts it in its host. What it says goes to files in `out`, or line by line to stderr.
    pub(super) fn start(
        program: &'a Program,
        lab: &Lab,
        out: Option<&Path>,
        bar: &ProgressBar,
        since: Instant,
    ) -> Result<Self> {
        let mut command = Command::new(&program.command[0]);
        command.args(&program.command[1..]);
        if let Some(path) = path_with_us() {
            command.env("PATH", path);
        }
        command.envs(&program.env);
        // A group of its own: what it starts can be ended with it.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut command = lab.enter(&program.host, command)?;
        end_with_parent(&mut command);
        let mut child = command.spawn().explain(
            format!("cannot run `{}` in {}", program.command[0], program.host),
            "check that the program is there; a command with spaces goes into a list, or into one \
             text for the shell",
        )?;
        let open = |ending: &str| {
            out.map(|folder| {
                let path = folder.join(format!("{}.{ending}", program.name));
                File::create(&path).explain(
                    format!("cannot write `{}`", path.display()),
                    "check that the folder can be written to",
                )
            })
            .transpose()
        };
        let (out, err) = (open("out")?, open("err")?);
        let name = program.name.clone();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let collect = |from: Option<Box<dyn Read + Send>>, file: Option<File>| {
            let (name, bar) = (name.clone(), bar.clone());
            thread::spawn(move || {
                from.map_or_else(Vec::new, |from| collect(from, file, &name, &bar))
            })
        };
        let stdout = collect(stdout.map(|it| Box::new(it) as _), out);
        let stderr = collect(stderr.map(|it| Box::new(it) as _), err);
        let started_s = since.elapsed().as_secs_f64();
        let started = Instant::now();
        Ok(Self { program, child, started, started_s, stdout, stderr, seconds: 0.0, outcome: None })
    }

    /// Whether it has ended; ends it if it takes too long.
    pub(super) fn look(&mut self) -> Result<bool> {
        if self.outcome.is_some() {
            return Ok(true);
        }
        if let Some(status) = self.child.try_wait()? {
            self.note(Outcome::Ended(status));
        } else if self.started.elapsed() > self.program.time_limit.to_std() {
            self.end(Outcome::TimeLimit);
        }
        Ok(self.outcome.is_some())
    }

    /// Ends it now.
    pub(super) fn end(&mut self, outcome: Outcome) {
        if self.outcome.is_some() {
            return;
        }
        process::signal_group(self.child.id(), libc::SIGTERM);
        let told = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && told.elapsed() < POLITE {
            thread::sleep(Duration::from_millis(5));
        }
        // Also for what the program left running in its group.
        process::signal_group(self.child.id(), libc::SIGKILL);
        let _ = self.child.wait();
        self.note(outcome);
    }

    fn note(&mut self, outcome: Outcome) {
        self.seconds = self.started.elapsed().as_secs_f64();
        self.outcome = Some(outcome);
    }

    /// What came of it.
    ///
    /// PRECONDITION: nothing is left in the lab that could keep its output open.
    pub(super) fn finish(self) -> Finished<'a> {
        let text = |thread: JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&thread.join().unwrap_or_default()).into_owned()
        };
        Finished {
            program: self.program,
            outcome: self.outcome.unwrap_or(Outcome::Stopped),
            started_s: Some(self.started_s),
            seconds: Some(self.seconds),
            stdout: text(self.stdout),
            stderr: text(self.stderr),
        }
    }
}

/// Where programs are looked for, with the folder of this one last: files say `laxity`, also before
/// it is installed.
fn path_with_us() -> Option<OsString> {
    let us = std::env::current_exe().ok()?;
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain([us.parent()?.to_owned()]);
    std::env::join_paths(folders).ok()
}

/// Reads to the end: into a file, or as lines with the program's name in front.
fn collect(
    from: Box<dyn Read + Send>,
    mut file: Option<File>,
    name: &str,
    bar: &ProgressBar,
) -> Vec<u8> {
    let (mut kept, mut line) = (Vec::new(), Vec::new());
    let mut from = BufReader::new(from);
    while let Ok(1..) = from.read_until(b'\n', &mut line) {
        match &mut file {
            // A full disk must not hold the program up: what can be kept is kept.
            Some(file) => drop(file.write_all(&line)),
            None => bar.suspend(|| {
                eprintln!("[{name}] {}", String::from_utf8_lossy(&line).trim_end_matches('\n'));
            }),
        }
        let room = KEPT.saturating_sub(kept.len()).min(line.len());
        kept.extend(&line[..room]);
        line.clear();
    }
    kept
}

/// A program that has ended.
pub(super) struct Finished<'a> {
    pub(super) program: &'a Program,
    outcome: Outcome,
    started_s: Option<f64>,
    seconds: Option<f64>,
    stdout: String,
    stderr: String,
}

impl<'a> Finished<'a> {
    /// One that was never started.
    pub(super) fn not_started(program: &'a Program) -> Self {
        let (stdout, stderr) = (String::new(), String::new());
        let outcome = Outcome::NotStarted;
        Self { program, outcome, started_s: None, seconds: None, stdout, stderr }
    }

    /// Whether it makes the run a failure.
    pub(super) fn fails_the_run(&self) -> bool {
        self.program.must_succeed && !self.ended_well()
    }

    fn ended_well(&self) -> bool {
        match self.outcome {
            Outcome::Ended(status) => status.success(),
            Outcome::Served => true,
            Outcome::TimeLimit | Outcome::Stopped | Outcome::NotStarted => false,
        }
    }

    /// As a row of the results.
    pub(super) fn row(&self) -> Row {
        let (word, status) = match self.outcome {
            Outcome::Ended(status) if status.success() => ("ok", Some(status)),
            Outcome::Ended(status) => ("failed", Some(status)),
            Outcome::Served => ("served", None),
            Outcome::TimeLimit => ("time limit", None),
            Outcome::Stopped => ("stopped", None),
            Outcome::NotStarted => ("not started", None),
        };
        Row::new()
            .with("row", "program")
            .with("program", &*self.program.name)
            .with("host", &*self.program.host)
            .with("outcome", word)
            .with("ok", self.ended_well())
            .with("exit_code", status.and_then(|status| status.code()))
            .with("signal", status.and_then(|status| status.signal()))
            .with("start_s", self.started_s)
            .with("seconds", self.seconds)
            .with("stdout", &*self.stdout)
            .with("stderr", &*self.stderr)
    }
}
