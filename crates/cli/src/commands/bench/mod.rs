//! `laxity bench`: measurements that anyone can repeat.

mod allreduce;
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
    #[command(name = "allreduce")]
    AllReduce(allreduce::AllReduceArgs),
    Serve(serve::ServeArgs),
    #[command(hide = true)]
    Worker(worker::WorkerArgs),
    #[command(hide = true)]
    Rank(allreduce::rank::RankArgs),
}

/// Runs one.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    match &args.what {
        Bench::Transfer(args) => transfer::run(args),
        Bench::Compare(args) => compare::run(args),
        Bench::AllReduce(args) => allreduce::run(args),
        Bench::Serve(args) => serve::run(args),
        Bench::Worker(args) => worker::run(args),
        Bench::Rank(args) => allreduce::rank::run(args),
    }
}
