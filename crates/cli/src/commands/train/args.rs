//! What `laxity train` can be told.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use laxity_fabric::{Algorithm, rendezvous::Transport};
use laxity_interface::{Bytes, Fraction, Rate, Span};

/// Train a small model over TCP and over Laxity, and see what the network does to it.
///
/// Starts one process per rank on this machine, or in the hosts of a private network (`--lab`). Every
/// step ends with an all-reduce of the gradients, which may lose what `--min-delivery` leaves open;
/// all ranks end every step with the same parameters, bit for bit. With RANK, WORLD_SIZE, MASTER_ADDR
/// and MASTER_PORT in the environment, as torchrun sets them, this process is that one rank and
/// starts nothing.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct TrainArgs {
    /// What is trained: mlp, cnn, lstm, mf, lda, or one that needs --data (see docs/learn.md)
    #[arg(long, default_value = "mlp")]
    pub(super) model: String,
    /// Processes that train together
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) ranks: u32,
    /// What carries gradients; one after the other if several are given
    #[arg(long, value_delimiter = ',', default_values = ["tcp", "laxity"])]
    pub(super) transport: Vec<Carried>,
    /// The part of every gradient that must arrive (TCP always delivers all of it)
    #[arg(long, default_value = "0.98")]
    pub(super) min_delivery: Fraction,
    /// By which steps gradients are reduced over TCP; over Laxity whatever may lose is a transpose
    #[arg(long, value_enum, default_value = "ring")]
    pub(super) tcp_algorithm: Steps,
    /// Epochs; default: what suits the model
    #[arg(long)]
    pub(super) epochs: Option<usize>,
    /// A few dozen steps, to see that everything works
    #[arg(long)]
    pub(super) quick: bool,
    /// Of the start, the order of examples and the lab's chance
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Folder with data sets, for models that learn from files
    #[arg(long, value_name = "FOLDER")]
    pub(super) data: Option<PathBuf>,
    /// TCP's congestion control; default: the system's
    #[arg(long, value_name = "NAME")]
    pub(super) tcp_control: Option<String>,
    /// Each rank in a host of a private network on this machine (needs root or user namespaces)
    #[arg(long)]
    pub(super) lab: bool,
    /// Speed of the lab's links
    #[arg(long, default_value = "1Gbps", requires = "lab")]
    pub(super) rate: Rate,
    /// Round trip between the lab's hosts
    #[arg(long, default_value = "500us", requires = "lab")]
    pub(super) rtt: Span,
    /// Packets that every port of the lab loses
    #[arg(long, default_value = "0", requires = "lab")]
    pub(super) loss: Fraction,
    /// What may wait at a port of the lab
    #[arg(long, default_value = "256KB", requires = "lab")]
    pub(super) buffer: Bytes,
    /// The part of every link that other traffic fills (TCP flows from a host of their own)
    #[arg(long, default_value = "0", requires = "lab")]
    pub(super) background: Fraction,
    /// Write parameters here after every epoch (by rank 0; one file per transport)
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,
    /// Begin with these parameters
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
    /// Draw accuracy against time here (SVG)
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// How an all-reduce goes; docs/fabric.md has bytes and steps of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Steps {
    /// Parts go round, as in gloo and NCCL
    Ring,
    /// Pairs exchange half, a quarter, … and back
    HalvingDoubling,
    /// Everybody sends each shard straight to its owner
    Transpose,
}

impl Steps {
    pub(super) fn algorithm(self) -> Algorithm {
        match self {
            Self::Ring => Algorithm::Ring,
            Self::HalvingDoubling => Algorithm::HalvingDoubling,
            Self::Transpose => Algorithm::Transpose,
        }
    }
}

/// What carries gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Carried {
    /// Kernel TCP
    Tcp,
    /// Laxity
    Laxity,
}

impl Carried {
    pub(super) fn transport(self) -> Transport {
        match self {
            Self::Tcp => Transport::Tcp,
            Self::Laxity => Transport::Laxity,
        }
    }
}
