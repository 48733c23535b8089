//! `laxity plan trace`: what schedulers make of a trace of coflows.

use std::{path::PathBuf, time::Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use laxity_flowsim::coflow::{self, Fabric, Scheduler, Trace};
use laxity_interface::{Rate, Span};
use laxity_report::Row;

use super::read;
use crate::{
    failure::Explain,
    output::{self, To},
    progress,
};

/// Run a trace of coflows under per-flow fairness, Varys, Aalo and Sincronia
///
/// FILE is in the format of the public coflow benchmark: a line with the numbers of ports and coflows,
/// then for each coflow its name, arrival in ms, mappers, and reducers with their megabytes.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The trace.
    file: PathBuf,
    /// Who decides about rates.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["per-flow", "varys", "aalo", "sincronia"])]
    schemes: Vec<Who>,
    /// What each port sends and receives.
    #[arg(long, default_value = "1Gbps")]
    port: Rate,
    /// How long bandwidth that a flow leaves behind may lie idle.
    #[arg(long, default_value = "1s")]
    tick: Span,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Who {
    PerFlow,
    Varys,
    Aalo,
    Sincronia,
}

impl From<Who> for Scheduler {
    fn from(who: Who) -> Self {
        match who {
            Who::PerFlow => Self::PerFlow,
            Who::Varys => Self::Varys,
            Who::Aalo => Self::Aalo,
            Who::Sincronia => Self::Sincronia,
        }
    }
}

pub(super) fn run(args: &TraceArgs) -> Result<()> {
    let started = Instant::now();
    let trace = Trace::parse(&read::text(&args.file)?).explain(
        format!("`{}` is no trace of coflows", args.file.display()),
        "see docs/flowsim.md for the format",
    )?;
    let fabric = Fabric { port: args.port, tick: args.tick };
    let mut report = output::report(started);
    report.meta = report
        .meta
        .with("ports", u64::from(trace.ports))
        .with("coflows", trace.coflows.len())
        .with("flows", trace.flows())
        .with("bytes", trace.size().get());
    let mut base = None;
    for who in &args.schemes {
        let scheduler = Scheduler::from(*who);
        let (bar, began) = (progress::spinner(scheduler.name()), Instant::now());
        let count = trace.coflows.len();
        let run = coflow::run(&trace, &fabric, scheduler, |done| {
            bar.set_message(format!("{scheduler}: {done} of {count} coflows done"));
        })?;
        bar.finish_and_clear();
        let mean = run.mean_s();
        let base = *base.get_or_insert(mean);
        report.push(
            Row::new()
                .with("scheme", scheduler.name())
                .with("mean_s", mean)
                .with("p50_s", run.quantile_s(0.5))
                .with("p95_s", run.quantile_s(0.95))
                .with("times_faster", base / mean)
                .with("plans", run.plans)
                .with("took_s", began.elapsed().as_secs_f64()),
        );
    }
    report.meta.seconds = started.elapsed().as_secs_f64();
    let columns = ["scheme", "mean_s", "p50_s", "p95_s", "times_faster", "plans", "took_s"];
    output::emit(&report, args.json, To::Stdout, &columns)
}
