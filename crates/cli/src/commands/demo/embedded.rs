//! The demo without a lab: a sender and a receiver with an emulated link between them, in one process.

use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use laxity_interface::{Fraction, Span};
use laxity_lab::{ALLOWED_LATENESS, Path};
use laxity_report::{
    Report, Row,
    html::{Page, Section},
    stats::Summary,
};

use super::{
    DemoArgs, picture,
    transfer::{Outcome, Pair},
};

use crate::{
    failure::usage,
    output::{self, To},
};

/// What was measured at one loss rate with one minimum delivery.
pub(super) struct Cell {
    loss: Fraction,
    pub(super) min_delivery: Fraction,
    pub(super) outcomes: Vec<Outcome>,
    /// Transfers that were made again because the machine was too busy to keep the link's times.
    repeated: usize,
}

/// A transfer is made again at most so often, on average, before late ones are taken as they are.
const PATIENCE: usize = 3;

impl Cell {
    /// Whether it needs no further transfer.
    fn complete(&self, runs: usize) -> bool {
        self.outcomes.len() >= runs
    }

    /// Takes a transfer, or puts it aside if the link was late and there is patience left.
    fn take(&mut self, outcome: Outcome, args: &DemoArgs) {
        if outcome.late > args.allowed_lateness() && self.repeated < PATIENCE * args.embedded_runs()
        {
            self.repeated += 1;
        } else {
            self.outcomes.push(outcome);
        }
    }

    /// Transfers among those taken during which the link was late.
    fn late(&self, args: &DemoArgs) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.late > args.allowed_lateness()).count()
    }
}

/// Runs it.
pub(super) fn run(args: &DemoArgs, first: Vec<Section>) -> Result<()> {
    let started = Instant::now();
    if args.rate.as_bps() == 0 || args.size.get() < 4 {
        return Err(usage("--rate and --size must be larger than nothing"));
    }
    let size = usize::try_from(args.size.get() / 4)?;
    let cells = measure(args, size)?;
    let report = report(args, &cells, started);
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create the folder {}", args.out.display()))?;
    let chart = picture::chart(args, &cells);
    let picture = args.out.join("demo.svg");
    let page = args.out.join("demo.html");
    std::fs::write(&picture, &chart)
        .with_context(|| format!("cannot write {}", picture.display()))?;
    std::fs::write(&page, html(args, &report, &chart, first))
        .with_context(|| format!("cannot write {}", page.display()))?;
    let shown = [
        "loss_percent",
        "min_delivery",
        "mean_ms",
        "p99_ms",
        "over_size_by_rate",
        "delivered_mean",
        "delivered_min",
    ];
    output::emit(&report, args.json, To::Stdout, &shown)?;
    if args.json {
        return Ok(());
    }
    output::print(&busy(args, &cells), To::Stdout)?;
    let text = format!(
        "\nsize / rate is {:.1} ms; a ratio of 1 would be that, without headers and round trips\n\
         picture: {}\nreport:  {}\n",
        args.ideal_ms(),
        picture.display(),
        page.display()
    );
    output::print(&text, To::Stdout)
}

impl DemoArgs {
    /// A link that is late by half of its own round trip is not the link that was asked for.
    fn allowed_lateness(&self) -> Span {
        ALLOWED_LATENESS.max(self.rtt / 2)
    }

    fn embedded_runs(&self) -> usize {
        self.runs.unwrap_or(10)
    }

    /// Size over rate.
    pub(super) fn ideal_ms(&self) -> f64 {
        self.rate.time_for(self.size).as_secs_f64() * 1e3
    }
}

/// What to say of a machine that was too busy to keep the link's times; nothing if it was not.
fn busy(args: &DemoArgs, cells: &[Cell]) -> String {
    let repeated: usize = cells.iter().map(|cell| cell.repeated).sum();
    let late: usize = cells.iter().map(|cell| cell.late(args)).sum();
    match (repeated, late) {
        (0, 0) => String::new(),
        (_, 0) => format!(
            "\n{repeated} transfers were made again: the machine was busy and the emulated link ran \
             more than {} late\n",
            args.allowed_lateness()
        ),
        _ => format!(
            "\nthis machine is too busy to keep the link's times: {repeated} transfers were made \
             again, and during {late} of those shown the link still ran more than {} late; end other \
             programs, or give a lower --rate\n",
            args.allowed_lateness()
        ),
    }
}

fn measure(args: &DemoArgs, elements: usize) -> Result<Vec<Cell>> {
    let bars = MultiProgress::new();
    let total = args.loss.len() * args.min_delivery.len() * args.embedded_runs();
    let bar = bars.add(
        ProgressBar::new(total as u64)
            .with_style(style("{msg:28} [{bar:40}] {pos}/{len} transfers, {eta} left")),
    );
    let each = bars.add(ProgressBar::new(100).with_style(style("{msg:28} [{bar:40}] {percent}%")));
    let mut cells = Vec::new();
    for (at, loss) in args.loss.iter().enumerate() {
        let path = Path::new(args.rate, args.rtt).with_loss(*loss);
        let pair = Pair::start(&path, args.seed.wrapping_add(at as u64), elements)?;
        let first = cells.len();
        cells.extend(args.min_delivery.iter().map(|min_delivery| Cell {
            loss: *loss,
            min_delivery: *min_delivery,
            outcomes: Vec::new(),
            repeated: 0,
        }));
        // Minimum deliveries take turns, so that a busy moment of the machine touches all alike.
        while cells[first..].iter().any(|cell| !cell.complete(args.embedded_runs())) {
            for cell in
                cells[first..].iter_mut().filter(|cell| !cell.complete(args.embedded_runs()))
            {
                bar.set_message(format!("loss {loss}, at least {}", cell.min_delivery));
                each.set_message("this transfer");
                let outcome = pair.transfer(cell.min_delivery, args.enough, |part| {
                    each.set_position((part * 100.0) as u64);
                })?;
                let before = cell.outcomes.len();
                cell.take(outcome, args);
                bar.inc((cell.outcomes.len() - before) as u64);
            }
        }
    }
    each.finish_and_clear();
    bar.finish_and_clear();
    Ok(cells)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn report(args: &DemoArgs, cells: &[Cell], started: Instant) -> Report {
    let mut report = output::report(started);
    report.meta = report
        .meta
        .seed(args.seed)
        .with("bytes", args.size.get())
        .with("rate_mbps", args.rate.as_bps() as f64 / 1e6)
        .with("rtt_ms", args.rtt.as_secs_f64() * 1e3)
        .with("finish", if args.enough { "enough" } else { "first-pass" });
    for cell in cells {
        let times: Vec<f64> = cell.outcomes.iter().map(|o| o.elapsed.as_secs_f64() * 1e3).collect();
        let fractions: Vec<f64> = cell.outcomes.iter().map(|o| o.delivered).collect();
        let summary = Summary::of(&times);
        let ratio = |of: fn(&Summary) -> f64| summary.as_ref().map(|s| of(s) / args.ideal_ms());
        report.push(
            Row::new()
                .with("loss_percent", cell.loss.get() * 100.0)
                .with("min_delivery", cell.min_delivery.get())
                .with("mean_ms", summary.as_ref().map(|s| s.mean))
                .with("p50_ms", summary.as_ref().map(|s| s.p50))
                .with("p99_ms", summary.as_ref().map(|s| s.p99))
                .with("over_size_by_rate", ratio(|s| s.mean))
                .with("p99_over_size_by_rate", ratio(|s| s.p99))
                .with("delivered_mean", laxity_report::stats::mean(&fractions))
                .with("delivered_min", laxity_report::stats::min(&fractions))
                .with("runs", cell.outcomes.len())
                .with("late_runs", cell.late(args))
                .with("repeated_runs", cell.repeated),
        );
    }
    report
}

fn html(args: &DemoArgs, report: &Report, chart: &str, first: Vec<Section>) -> String {
    let text = format!(
        "A tensor of {} goes through an emulated link of {} with a round trip of {}. The receiver \
         needs at least the stated fraction of it; what the network loses beyond that is sent again, \
         and nothing else is.",
        args.size, args.rate, args.rtt
    );
    let page = Page::new("Laxity: the same transfer at several loss rates").intro(text);
    first
        .into_iter()
        .fold(page, Page::section)
        .section(Section::new("Completion time").svg(chart))
        .section(Section::new("Figures").table(report))
        .provenance(&report.meta)
        .to_html()
}
