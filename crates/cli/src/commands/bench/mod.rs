//! `laxity bench`: measurements that anyone can repeat.

pub(crate) mod compare;
mod cpu;
mod laxity;
mod serve;
mod tcp;
mod transfer;
mod worker;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Measure, side by side with what people use today
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    Transfer(transfer::TransferArgs),
    Compare(compare::CompareArgs),
    Serve(serve::ServeArgs),
    #[command(hide = true)]
    Worker(worker::WorkerArgs),
}

/// Runs one.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    match &args.what {
        Bench::Transfer(args) => transfer::run(args),
        Bench::Compare(args) => compare::run(args),
        Bench::Serve(args) => serve::run(args),
        Bench::Worker(args) => worker::run(args),
    }
}
