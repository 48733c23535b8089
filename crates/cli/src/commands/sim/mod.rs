//! `laxity sim`: packets through a datacenter in virtual time.

mod bench;
mod explain;
mod files;
mod pictures;
mod pool;
mod read;
mod rows;
mod run;
mod sweep;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Simulate networks packet by packet: transports, queues, workloads
///
/// FILE is a scenario: a network, its ports, workloads and the scheme that carries each of them. Any
/// field may have several values; `sweep` goes through all combinations. The same file and seed give the
/// same packets on every machine. docs/packetsim.md describes the fields, examples/sim has files.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    what: Sim,
}

const AFTER: &str = "\
Examples:
  laxity sim explain examples/sim/incast.toml             # what would be simulated
  laxity sim run examples/sim/incast.toml --point 3       # one combination, one seed
  laxity sim sweep examples/sim/incast.toml --out results # all, with CSV, JSON, SVG and a page
  laxity sim bench --json                                 # how fast the simulator is here";

#[derive(Debug, Subcommand)]
enum Sim {
    Run(run::RunArgs),
    Sweep(sweep::SweepArgs),
    Explain(explain::ExplainArgs),
    Bench(bench::BenchArgs),
}

/// Runs one.
pub(crate) fn run(args: &SimArgs) -> Result<()> {
    match &args.what {
        Sim::Run(args) => run::run(args),
        Sim::Sweep(args) => sweep::run(args),
        Sim::Explain(args) => explain::run(args),
        Sim::Bench(args) => bench::run(args),
    }
}
