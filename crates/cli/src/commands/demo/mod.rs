//! `laxity demo`: what slack is worth, on this machine, in a minute or two.

mod embedded;
mod picture;
mod training;
mod transfer;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use laxity_interface::{Bytes, Fraction, Rate, Span};

use super::{bench, lab};
use crate::{
    failure::usage,
    output::{self, To},
};

/// See what slack is worth: the same training and transfers over TCP and Laxity in a network of eight hosts
///
/// Brings up a private network on this machine with losses and other traffic, trains a model on eight
/// hosts over TCP and over Laxity, then sends 1 MB with and without loss and from eight hosts to one over
/// cubic, bbr and Laxity, and draws what happened. Where network namespaces are not allowed, or with
/// --embedded, two processes train over loopback, and a sender and a receiver in this process talk
/// through an emulated link, over Laxity alone.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Use the emulated link instead of a lab.
    #[arg(long)]
    embedded: bool,
    /// With --embedded: size of the tensor.
    #[arg(long, default_value = "2500KB", requires = "embedded")]
    size: Bytes,
    /// With --embedded: rate of the link.
    #[arg(long, default_value = "200Mbps", requires = "embedded")]
    rate: Rate,
    /// With --embedded: round-trip time of the link.
    #[arg(long, default_value = "1ms", requires = "embedded")]
    rtt: Span,
    /// With --embedded: loss rates of the link, in both directions.
    #[arg(
        long,
        value_delimiter = ',',
        default_values = ["0%", "0.1%", "1%", "3%", "10%"],
        requires = "embedded"
    )]
    loss: Vec<Fraction>,
    /// With --embedded: minimum deliveries to ask for.
    #[arg(
        long,
        value_delimiter = ',',
        default_values = ["1", "0.95", "0.9"],
        requires = "embedded"
    )]
    min_delivery: Vec<Fraction>,
    /// With --embedded: end each transfer the moment it has enough, instead of after its first pass.
    #[arg(long, requires = "embedded")]
    enough: bool,
    /// Transfers of each kind. Default: 5 in the lab, 10 through the emulated link.
    #[arg(long)]
    runs: Option<usize>,
    /// Epochs of the training; 0 leaves it out.
    #[arg(long, default_value_t = 4)]
    epochs: usize,
    /// Seed of the losses.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for the pictures and the report.
    #[arg(long, default_value = "demo-out")]
    out: PathBuf,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the demo.
pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    if args.runs.is_some_and(|runs| runs == 0 || runs > 10_000) {
        return Err(usage("--runs must lie between 1 and 10000"));
    }
    let lab = if args.embedded {
        false
    } else {
        let possible = lab::possible();
        if let Err(error) = &possible {
            eprintln!("note: no lab is possible here, an emulated link takes its place: {error:#}");
        }
        possible.is_ok()
    };
    let stage = if lab { training::Stage::Lab } else { training::Stage::Here };
    let mut sections = Vec::new();
    if args.epochs > 0 {
        let (section, words) = training::run(stage, args.epochs, args.seed, &args.out)?;
        sections.push(section);
        // The result's own place is left to whoever reads JSON.
        output::print(&format!("{words}\n\n"), if args.json { To::Stderr } else { To::Stdout })?;
    }
    if lab {
        let runs = args.runs.unwrap_or(5);
        return bench::compare::demo(&args.out, runs, args.seed, args.json, sections);
    }
    embedded::run(args, sections)
}
