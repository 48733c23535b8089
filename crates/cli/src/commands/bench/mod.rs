//! `laxity bench`: measurements that anyone can repeat.

mod cpu;
mod laxity;
mod serve;
mod tcp;
mod transfer;

use clap::Subcommand;

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Goodput, latency and CPU of transfers over kernel TCP and Laxity, side by side in one run.
    Transfer(transfer::Transfer),
    /// The other end of `bench transfer --to`, on another host.
    Serve(serve::Serve),
}

/// Runs one.
pub fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Transfer(transfer) => transfer::run(transfer),
        Bench::Serve(serve) => serve::run(serve),
    }
}
