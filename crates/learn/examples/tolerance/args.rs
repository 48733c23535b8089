//! The command line.

use std::path::PathBuf;

use clap::Parser;
use laxity_interface::Fraction;
use laxity_learn::{Part, policy::Policy};
use serde::{Deserialize, Serialize};

/// Trains models with simulated workers that lose chunks, by policy and loss rate.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Jobs; those with a hyphen learn from files in --data. Put slow ones first.
    #[arg(long, value_delimiter = ',', default_value = "cnn,lstm,mlp,mf")]
    pub(crate) models: Vec<String>,
    /// What becomes of lost chunks: parts joined by `+`, see docs/learn.md.
    #[arg(long, value_delimiter = ',', default_value = "zero,mean")]
    pub(crate) policies: Vec<Policy>,
    /// Loss rates; 0 is trained once for all policies.
    #[arg(long, value_delimiter = ',', default_value = "0,0.05,0.1", value_parser = fraction)]
    pub(crate) loss: Vec<Fraction>,
    /// How many seeds.
    #[arg(long, default_value_t = 3)]
    pub(crate) seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    pub(crate) first_seed: u64,
    /// How many neighbouring chunks are lost together, in the mean.
    #[arg(long, default_value_t = 1.0, value_parser = burst)]
    pub(crate) burst: f64,
    /// How old the parameters of a worker may be, in steps.
    #[arg(long, default_value_t = 0)]
    pub(crate) delay: usize,
    /// Workers, instead of the job's own number.
    #[arg(long)]
    pub(crate) workers: Option<usize>,
    /// Epochs, instead of the job's own number.
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
    /// Multiplies the learning rate.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) rate_scale: f64,
    /// The folder with sets of files: mnist, fashion_mnist, cifar10, tinyshakespeare, movielens,
    /// bow_kos.
    #[arg(long)]
    pub(crate) data: Option<PathBuf>,
    /// Small trainings, to see that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Threads, instead of one per processor.
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Only this part of the table: 3/8 is the third of eight.
    #[arg(long, default_value = "1/1")]
    pub(crate) part: Part,
    /// Where results are kept, and found again if the command was stopped.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Show what is in these files instead of training.
    #[arg(long, num_args = 1..)]
    pub(crate) summary: Vec<PathBuf>,
}

/// What rows of one file have in common.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    burst_chunks: f64,
    delay_steps: usize,
    workers: Option<usize>,
    epochs: Option<usize>,
    rate_scale: f64,
    quick: bool,
}

impl Args {
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            burst_chunks: self.burst,
            delay_steps: self.delay,
            workers: self.workers,
            epochs: self.epochs,
            rate_scale: self.rate_scale,
            quick: self.quick,
        }
    }
}

fn fraction(text: &str) -> Result<Fraction, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    Fraction::new(value).map_err(|error| error.to_string())
}

fn burst(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|burst| (1.0..=1e6).contains(burst));
    value.ok_or_else(|| format!("`{text}` is no number of chunks from 1 on"))
}
