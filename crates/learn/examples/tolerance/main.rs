//! What chunk loss does to training, by policy: a table of many trainings.
//!
//! `cargo run --release -p laxity-learn --example tolerance -- --models mlp,cnn,lstm,mf --policies
//! zero,mean,mean+velocity --loss 0,0.01,0.05,0.1,0.2,0.35 --seeds 3 --json OUT`
//!
//! Results are kept in OUT as they come: the same command again goes on where it was stopped.
//! `--part 3/8` computes the third of eight parts, each into its own file, and `--summary FILE…`
//! shows what is in one or several files. `docs/learn.md` describes the columns.

mod args;
mod store;
mod summary;

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal, Write},
    time::Instant,
};

use anyhow::{Context, Result};
use clap::Parser;
use laxity_learn::{Case, Job, Loss, Schedule, Setup, Size, run_all};

use crate::{
    args::Args,
    store::{Run, Store},
};

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.summary.is_empty() {
        let stores: Vec<_> =
            args.summary.iter().map(|file| Store::load(file)).collect::<Result<_>>()?;
        let runs: Vec<_> = stores.into_iter().flat_map(|store| store.rows).collect();
        print!("{}", summary::text(&runs));
        return Ok(());
    }
    let mut store = match &args.json {
        Some(file) if file.exists() => {
            let store = Store::load(file)?;
            store.check(&args.settings(), file)?;
            store
        }
        _ => Store::new(args.settings()),
    };
    let size = if args.quick { Size::Quick } else { Size::Full };
    let jobs: Vec<_> = args
        .models
        .iter()
        .map(|name| Job::new(name, args.data.as_deref(), size))
        .collect::<Result<_, _>>()?;
    let known: BTreeSet<_> = store.rows.iter().map(Run::key).collect();
    let mut wanted: Vec<(Case, Run)> = plan(&args, &jobs)?;
    let mut number = 0;
    wanted.retain(|_| {
        number += 1;
        args.part.has(number - 1)
    });
    let all = wanted.len();
    wanted.retain(|(_, run)| !known.contains(&run.key()));
    let threads = match args.threads {
        Some(threads) => threads,
        None => std::thread::available_parallelism().context("cannot count processors")?.get(),
    };
    eprintln!("{} of {all} trainings to do on {threads} threads", wanted.len());
    let cases: Vec<_> = wanted.iter().map(|(case, _)| *case).collect();
    let (started, mut done, mut failure) = (Instant::now(), 0, None);
    run_all(&jobs, &cases, threads, |at, curve| {
        let run = wanted[at].1.clone().finished(&curve);
        done += 1;
        progress(done, cases.len(), started, &run);
        store.rows.push(run);
        if let Some(file) = &args.json {
            failure = store.save(file).err();
        }
    });
    eprintln!();
    failure.map_or(Ok(()), Err)?;
    print!("{}", summary::text(&store.rows));
    Ok(())
}

/// All trainings of the table, in an order that does not depend on what was done before.
fn plan(args: &Args, jobs: &[Job]) -> Result<Vec<(Case, Run)>> {
    let mut all = Vec::new();
    for (job, found) in jobs.iter().enumerate() {
        for rate in &args.loss {
            for policy in &args.policies {
                // Without loss all policies do the same.
                if rate.get() == 0.0 && policy != &args.policies[0] {
                    continue;
                }
                for seed in args.first_seed..args.first_seed + args.seeds {
                    let base = found.setup;
                    let setup = Setup {
                        policy: if rate.get() == 0.0 { "zero".parse()? } else { *policy },
                        loss: Loss { rate: *rate, burst: args.burst },
                        workers: args.workers.unwrap_or(base.workers),
                        epochs: args.epochs.unwrap_or(base.epochs),
                        schedule: scaled(base.schedule, args.rate_scale),
                        delay: args.delay,
                        seed,
                        ..base
                    };
                    all.push((Case { job, setup }, Run::planned(&found.name, &setup)));
                }
            }
        }
    }
    Ok(all)
}

fn scaled(schedule: Schedule, by: f64) -> Schedule {
    match schedule {
        Schedule::Constant(rate) => Schedule::Constant(rate * by),
        Schedule::Cosine(rate) => Schedule::Cosine(rate * by),
        Schedule::AdaDelay { l, c } => Schedule::AdaDelay { l: l / by, c: c / by },
    }
}

fn progress(done: usize, all: usize, started: Instant, run: &Run) {
    let left = started.elapsed().as_secs_f64() / done as f64 * (all - done) as f64;
    let line = format!(
        "{done}/{all}, about {:.0} s left; last: {} {} at {} %, seed {}: {:.1} points",
        left, run.model, run.policy, run.loss_pct, run.seed, run.score_points
    );
    let mut out = io::stderr();
    let (start, end) = if out.is_terminal() { ("\r\x1b[K", "") } else { ("", "\n") };
    // A progress line that cannot be written is no reason to stop.
    let _ = write!(out, "{start}{line}{end}").and_then(|()| out.flush());
}
