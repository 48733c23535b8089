//! `laxity bench allreduce`: the same all-reduce over kernel TCP and Laxity, side by side in a lab.
//!
//! `crew` holds a lab with a rank in every host, `rank` is such a process, `message` what they say to
//! each other, `results` shows what came of it. Whose turn it is, `bench compare` knows.

mod args;
mod crew;
mod message;
pub(super) mod rank;
mod results;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;

pub(crate) use args::AllReduceArgs;
use crew::{Crew, Sample};
use results::Measured;

use super::compare::schedule::{Schedule, Verdict};
use crate::{failure::shown_when_stopped, output, progress, sys::signal};

/// A run that is slower than this many times the ideal is stuck.
const STUCK: f64 = 60.0;
/// And never before this time.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn run(args: &AllReduceArgs) -> Result<()> {
    let started = Instant::now();
    let args = args.clone().check()?;
    args.svg.as_deref().map_or(Ok(()), output::check_file)?;
    signal::watch();
    let all = args.schemes.len() * args.runs;
    let bar = progress::count(all as u64, "bringing up the lab");
    let limit = Duration::from_secs_f64(args.ideal_ms() * STUCK / 1e3).max(PATIENCE);
    let mut crew = Crew::up(&args, limit)?;
    // Connections are made, windows opened and pages touched before anything counts.
    for (place, scheme) in args.schemes.iter().enumerate() {
        bar.set_message(format!("{} makes its connections", scheme.name()));
        crew.reduce(place).with_context(|| format!("the first run of {}", scheme.name()))?;
    }
    crew.forget_late();
    let mut schedule = Schedule::new(args.schemes.len(), args.runs, args.accept_invalid);
    let mut samples = vec![Vec::new(); args.schemes.len()];
    let ended = take_turns(&args, &mut crew, &bar, &mut schedule, &mut samples);
    bar.finish_and_clear();
    let stopped = shown_when_stopped(ended, samples.iter().any(|runs| !runs.is_empty()))?;
    // Ranks that a signal has ended say no goodbye.
    let late = if stopped.is_some() { crew.late() } else { crew.down()? };
    if let Some(late) = late {
        eprintln!(
            "note: during some runs the lab was late, by up to {late} (p99 of a run); a machine with \
             less to do would help"
        );
    }
    let measured: Vec<_> = args
        .schemes
        .iter()
        .zip(samples)
        .enumerate()
        .map(|(who, (scheme, samples))| Measured {
            scheme: *scheme,
            samples,
            count: schedule.count(who),
        })
        .collect();
    results::show(&args, &measured, stopped.is_some(), started)?;
    stopped.map_or(Ok(()), Err)
}

fn take_turns(
    args: &AllReduceArgs,
    crew: &mut Crew,
    bar: &ProgressBar,
    schedule: &mut Schedule,
    samples: &mut [Vec<Sample>],
) -> Result<()> {
    while let Some(who) = schedule.next() {
        let name = args.schemes[who].name();
        bar.set_message(name);
        let (sample, verdict) = crew.reduce(who).with_context(|| format!("a run of {name}"))?;
        schedule.note(who, verdict);
        if verdict == Verdict::Valid || args.accept_invalid {
            samples[who].push(sample);
        }
        bar.set_position(schedule.done() as u64);
    }
    Ok(())
}
