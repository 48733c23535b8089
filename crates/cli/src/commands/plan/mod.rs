//! `laxity plan`: who sends what, when and how fast, and what that is worth.

mod compare;
mod picture;
mod profile;
mod read;
mod rows;
mod trace;

use std::{path::PathBuf, time::Instant};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use laxity_flowsim::{Settings, simulate};
use laxity_planner::{BetweenJobs, Options, Pace, Scheme};

use crate::{
    failure::{Explain, Usage},
    output::{self, To},
    progress,
};

/// Plan jobs on a network: rates, order, and the reason for each decision
///
/// FILE has a network and jobs with their operations and flows (see examples/plan and
/// docs/flowsim.md), or jobs alone with the network in a file of its own. Time passes in a fluid
/// simulation; the rates are those that a live controller would set.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// Jobs, with or without their network: TOML, or JSON if the name ends in .json.
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// The network, if FILE has none.
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// How bandwidth is given to flows: max-min, weighted, node-ordered, connection-ordered, madd,
    /// varys, sincronia, aalo, priority, deadline or combined.
    #[arg(long, default_value = "combined")]
    scheme: Scheme,
    /// How jobs share the network among each other.
    #[arg(long, value_enum, default_value = "merged")]
    between: Between,
    /// How fast flows with a deadline are sent.
    #[arg(long, value_enum, default_value = "least")]
    pace: PaceArg,
    /// Say why each flow gets its rate, whenever that changes.
    #[arg(long)]
    explain: bool,
    /// Run every scheme and compare.
    #[arg(long, conflicts_with_all = ["explain", "svg"])]
    compare: bool,
    /// Write the timeline as a picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    Profile(profile::ProfileArgs),
    Trace(trace::TraceArgs),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Between {
    /// No borders: tags of different jobs are compared with each other.
    Merged,
    /// The same part of every link for each job on it.
    MaxMin,
    /// Parts by the jobs' weights.
    Weights,
    /// Parts that make the worst slowdown smallest.
    WorstSlowdown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PaceArg {
    /// Just fast enough.
    Least,
    /// The earliest takes all it can.
    Full,
}

impl PlanArgs {
    fn options(&self, scheme: Scheme) -> Options {
        let between = match self.between {
            Between::Merged => BetweenJobs::Merged,
            Between::MaxMin => BetweenJobs::MaxMin,
            Between::Weights => BetweenJobs::Weights,
            Between::WorstSlowdown => BetweenJobs::WorstSlowdown,
        };
        let pace = match self.pace {
            PaceArg::Least => Pace::Least,
            PaceArg::Full => Pace::Full,
        };
        Options::new(scheme).between(between).pace(pace)
    }
}

/// Runs one.
pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    match (&args.what, &args.file) {
        (Some(What::Profile(args)), _) => profile::run(args),
        (Some(What::Trace(args)), _) => trace::run(args),
        (None, Some(file)) => plan(args, file),
        (None, None) => Err(anyhow!(Usage("give a FILE, or `profile`, or `trace`".into()))),
    }
}

fn plan(args: &PlanArgs, file: &std::path::Path) -> Result<()> {
    let started = Instant::now();
    let world = read::world(file, args.network.as_deref())?;
    let mut report = output::report(started);
    let bar = progress::spinner("planning");
    if args.compare {
        compare::fill(&mut report, args, &world)?;
    } else {
        let settings = Settings::new(args.options(args.scheme)).traced();
        let outcome =
            simulate(&world, &settings).explain(format!("cannot plan `{}`", file.display()), "")?;
        report.meta = report.meta.with("scheme", args.scheme.name());
        rows::fill(&mut report, &world, &outcome, args.explain);
        if let Some(path) = &args.svg {
            let svg = picture::timeline(&world, &outcome, args.scheme);
            std::fs::write(path, svg).explain(
                format!("cannot write `{}`", path.display()),
                "check that the folder exists and can be written to",
            )?;
        }
    }
    bar.finish_and_clear();
    report.meta.seconds = started.elapsed().as_secs_f64();
    if args.json {
        return output::emit(&report, true, To::Stdout, &[]);
    }
    if args.compare {
        return output::emit(&report, false, To::Stdout, compare::COLUMNS);
    }
    rows::print(&report, args.explain)
}
