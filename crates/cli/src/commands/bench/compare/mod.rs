//! `laxity bench compare`: the same transfers over kernel TCP and Laxity, side by side in a lab.
//!
//! `plan` says what is measured, `schedule` whose turn it is, `stage` holds a lab with a worker in every
//! host, `play` makes one run of it, `measure` and `fairness` collect runs, `results` and `pictures` show
//! them.

mod args;
mod crew;
mod fairness;
mod measure;
mod network;
mod pictures;
mod plan;
mod play;
mod results;
pub(super) mod schedule;
mod stage;

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use laxity_interface::{Fraction, Rate, Span};
use laxity_lab::dctcp::Dctcp;
use laxity_report::{Report, Value, html::Section};

pub(crate) use args::CompareArgs;
use args::{Case, Scheme};
use measure::Measured;
pub(super) use plan::percent;
use plan::{Setting, Workload};
use stage::Stage;

use crate::{
    failure::shown_when_stopped,
    output::{self, To},
    sys::signal,
};

pub(super) fn run(args: &CompareArgs) -> Result<()> {
    run_after(args, Vec::new())
}

/// The same, with these sections first on the page.
fn run_after(args: &CompareArgs, first: Vec<Section>) -> Result<()> {
    let started = Instant::now();
    let mut args = args.clone().check()?;
    args.svg.as_deref().map_or(Ok(()), output::make_folder)?;
    args.html.as_deref().map_or(Ok(()), output::check_file)?;
    signal::watch();
    // Kept until the end: its congestion control is in the kernel as long as this lives.
    let dctcp = dctcp(&mut args);
    let plan = plan::plan(&args);
    let bar = progress(&args, &plan);
    let mut measured = Vec::new();
    let mut report = output::report(started);
    let ended = measure_all(&args, &plan, &bar, &mut report, &mut measured);
    bar.finish_and_clear();
    drop(dctcp);
    let measured_any =
        report.rows.iter().any(|row| row.get("runs").and_then(Value::as_f64) > Some(0.0));
    let stopped = shown_when_stopped(ended, measured_any)?;
    describe(&mut report, &args, started);
    report.meta = report.meta.with("stopped_early", stopped.is_some());
    show(&args, &report, &measured, first)?;
    stopped.map_or(Ok(()), Err)
}

/// Measures everything. What there is when something fails is in `report` and `measured`.
fn measure_all(
    args: &CompareArgs,
    plan: &[(Setting, Vec<Workload>)],
    bar: &ProgressBar,
    report: &mut Report,
    measured: &mut Vec<Measured>,
) -> Result<()> {
    for (number, (setting, workloads)) in plan.iter().enumerate() {
        bar.set_message(format!("bringing up the lab for {}", setting.words()));
        signal::check()?;
        let mut stage = Stage::up(setting, number, args.tcp_ecn)?;
        for workload in workloads {
            let before = measured.len();
            let ended = measure::measure(args, &mut stage, setting, workload, bar, measured);
            report.rows.extend(measured[before..].iter().map(Measured::row));
            ended?;
        }
        if setting.case == Case::Fairness {
            fairness::measure(args, &mut stage, setting, bar, &mut report.rows)?;
        }
        if let Some(trouble) = stage.down()? {
            bar.suspend(|| eprintln!("note: {}: {trouble}", setting.words()));
        }
    }
    Ok(())
}

/// The part of it that `laxity demo` shows: loss and incast, short, with a page and pictures in `out`.
pub(crate) fn demo(
    out: &Path,
    runs: usize,
    seed: u64,
    json: bool,
    first: Vec<Section>,
) -> Result<()> {
    std::fs::create_dir_all(out)
        .with_context(|| format!("cannot create the folder {}", out.display()))?;
    let page = out.join("demo.html");
    let args = CompareArgs {
        cases: vec![Case::Loss, Case::Incast],
        background: Fraction::ZERO,
        runs: Some(runs),
        // A minute of it is enough.
        quick: true,
        // What every kernel has.
        schemes: vec![Scheme::Cubic, Scheme::Bbr, Scheme::Laxity],
        rate: Rate::from_gbps(1),
        rtt: Span::from_us(500),
        min_delivery: Fraction::new(0.9)?,
        first_pass: false,
        insecure: false,
        ack_loss: false,
        no_ecn: false,
        tcp_ecn: false,
        seed,
        accept_invalid: false,
        svg: Some(out.to_owned()),
        html: Some(page.clone()),
        json,
    };
    run_after(&args, first)?;
    if json {
        return Ok(());
    }
    let text = format!("\nreport and pictures: {}\n", page.display());
    output::print(&text, To::Stdout)
}

/// Loads DCTCP if it is to take part; where that is impossible, says why and leaves it out.
fn dctcp(args: &mut CompareArgs) -> Option<Dctcp> {
    if !args.schemes.contains(&Scheme::Dctcp) {
        return None;
    }
    let loaded = if args.no_ecn {
        Err("it needs ports that mark, which --no-ecn forbids".to_owned())
    } else {
        Dctcp::load().map_err(|error| error.to_string())
    };
    match loaded {
        Ok(dctcp) => Some(dctcp),
        Err(why) => {
            eprintln!("note: without dctcp: {why}");
            args.schemes.retain(|scheme| *scheme != Scheme::Dctcp);
            None
        }
    }
}

fn progress(args: &CompareArgs, plan: &[(Setting, Vec<Workload>)]) -> ProgressBar {
    let runs: usize = plan
        .iter()
        .map(|(setting, workloads)| match setting.case {
            Case::Fairness => fairness::runs(args),
            _ => workloads.iter().map(|load| load.runs * load.contenders.len()).sum(),
        })
        .sum();
    let style = ProgressStyle::with_template("{msg:48} [{bar:30}] {pos}/{len} runs, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    // Hidden by itself when standard error is not a terminal.
    ProgressBar::new(runs as u64).with_style(style)
}

fn describe(report: &mut Report, args: &CompareArgs, started: Instant) {
    report.meta.seconds = started.elapsed().as_secs_f64();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    report.meta = std::mem::replace(&mut report.meta, laxity_report::Meta::new("", ""))
        .seed(args.seed)
        .with("kernel", kernel.trim())
        .with("rate_gbps", args.rate.as_gbps_f64())
        .with("rtt_us", args.rtt.as_us())
        .with("loss_of", if args.ack_loss { "data and acknowledgements" } else { "data" })
        .with("finish", if args.first_pass { "first-pass" } else { "enough" })
        .with("laxity_keyed", !args.insecure)
        .with("ports_mark", !args.no_ecn)
        .with("tcp_asks_for_ecn", args.tcp_ecn)
        .with("invalid_runs_count", args.accept_invalid);
}

fn show(
    args: &CompareArgs,
    report: &Report,
    measured: &[Measured],
    first: Vec<Section>,
) -> Result<()> {
    let pictures = pictures::pictures(args, measured);
    let words = results::words(measured);
    if let Some(folder) = &args.svg {
        pictures::write_all(folder, &pictures)?;
    }
    if let Some(path) = &args.html {
        pictures::write_page(path, args, report, &pictures, &words, first)?;
    }
    if args.json {
        return output::emit(report, true, To::Stdout, &[]);
    }
    for (fairness, columns) in
        [(false, results::TRANSFER_COLUMNS), (true, results::FAIRNESS_COLUMNS)]
    {
        let part = results::part(report, fairness);
        if !part.rows.is_empty() {
            output::emit(&part, false, To::Stdout, columns)?;
        }
    }
    output::print(&words, To::Stdout)
}
