//! What `laxity train` can be told.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, builder::NonEmptyStringValueParser};
use laxity_fabric::{Algorithm, rendezvous::Transport};
use laxity_interface::{Bytes, Fraction, Rate, Span};

use crate::commands::star::ETHERNET;

/// Train a small model over TCP and over Laxity, and see what the network does to it.
///
/// Starts one process per rank on this machine, or in the hosts of a private network (`--lab`). Every
/// step ends with an all-reduce of the gradients, which may lose what `--min-delivery` leaves open;
/// all ranks end every step with the same parameters, bit for bit. With `--mode` sync, async or ssp a
/// server holds the model instead, and workers push gradients to it; server and helpers are processes
/// of their own, each in a host of its own with `--lab`. With RANK, WORLD_SIZE, MASTER_ADDR
/// and MASTER_PORT in the environment, as torchrun sets them, this process is that one rank and
/// starts nothing.
///
/// The result has a row for each epoch, or for each of several `--tests` in it: the time until then without
/// that of tests (`seconds_s`), points of 100 on the test set (`score`), the part of the gradients that
/// arrived since the row before (`delivered`; with a server since the start), and the time of a step and of what
/// the network took of it (`step_ms`, `reduce_ms`). In a lab also the part of all links that other traffic had
/// until the last test (`other_load`). Ctrl-C ends everything and shows the rows until then.
#[derive(ClapArgs, Clone, Debug)]
#[command(after_help = "\
Examples:
  laxity train --quick                                      does it work here? some seconds
  laxity train --lab --ranks 8 --loss 1%                    a network that loses packets
  laxity train --lab --ranks 8 --tcp-control cubic,bbr      over TCP twice, and over Laxity
  laxity train --mode ssp --lab --aggregators 2             a server, two that sum, a scheduler
  laxity train --mode async --replica --kill server --quick a server that dies, and who takes over

Exit code: 0 if all trainings ended well, 1 if not, 2 for a wrong command line, 130 after Ctrl-C.")]
pub(crate) struct TrainArgs {
    /// What is trained: mlp, cnn, lstm, mf or lda on made data. With --data also mlp-mnist, mlp-fashion,
    /// cnn-fashion, cnn-cifar, lstm-shakespeare, mf-movielens, lda-kos (see docs/learn.md)
    #[arg(long, default_value = "mlp")]
    pub(super) model: String,
    /// How ranks train together: all-reduce, or a parameter server with one of three rules
    #[arg(long, value_enum, default_value = "allreduce")]
    pub(super) mode: Method,
    /// Processes that compute; a server and its helpers come on top. Default: 4
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) ranks: Option<u32>,
    /// What carries gradients; one after the other if several are given. Default: tcp,laxity, and of a rank
    /// that others started LAXITY_TRANSPORT
    #[arg(long, value_delimiter = ',')]
    pub(super) transport: Vec<Way>,
    /// The part of every gradient that must arrive (TCP always delivers all of it)
    #[arg(long, default_value = "0.98")]
    pub(super) min_delivery: Fraction,
    /// By which steps an all-reduce goes over TCP; over Laxity whatever may lose is a transpose
    #[arg(long, value_enum, default_value = "ring")]
    pub(super) tcp_algorithm: Steps,
    /// A second process follows the server and takes over when that is lost
    #[arg(long, help_heading = SERVER)]
    pub(super) replica: bool,
    /// A process plans when and through whom updates travel
    #[arg(long, help_heading = SERVER)]
    pub(super) scheduler: bool,
    /// Processes that sum updates on the way; they bring a scheduler
    #[arg(long, value_name = "COUNT", default_value_t = 0, help_heading = SERVER,
          value_parser = clap::value_parser!(u32).range(0..=16))]
    pub(super) aggregators: u32,
    /// The most commits between the version an update is computed from and its own (async, ssp)
    #[arg(long, value_name = "COMMITS", help_heading = SERVER)]
    pub(super) staleness: Option<u64>,
    /// How many updates a worker may be ahead of the slowest (ssp); default: 2
    #[arg(long, value_name = "UPDATES", help_heading = SERVER)]
    pub(super) ahead: Option<u64>,
    /// How far the replica may be behind, by the norms of what it lacks: commits wait for it
    #[arg(long, value_name = "NORM", default_value_t = f64::INFINITY, help_heading = SERVER)]
    pub(super) apart: f64,
    /// Kill a process of this kind (SIGKILL) in the middle, and measure what that costs
    #[arg(long, value_enum, value_name = "ROLE", help_heading = SERVER)]
    pub(super) kill: Option<Victim>,
    /// Kill after so many updates; default: half of them
    #[arg(long, value_name = "UPDATES", requires = "kill", help_heading = SERVER)]
    pub(super) kill_at: Option<u64>,
    /// How often all examples are seen; default: what suits the model
    #[arg(long)]
    pub(super) epochs: Option<usize>,
    /// Tests of the model in each epoch, rows of the table and points of the picture: more than one only
    /// without a server, as workers of a server go on meanwhile
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) tests: u32,
    /// A few dozen steps, to see that everything works
    #[arg(long)]
    pub(super) quick: bool,
    /// Seed of the first parameters, the order of examples and the lab's chance
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Folder with data sets, for models that learn from files
    #[arg(long, value_name = "FOLDER")]
    pub(super) data: Option<PathBuf>,
    /// TCP's congestion control; one training with each if several are given; default: the system's
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(super) tcp_control: Vec<String>,
    /// Each process in a host of a private network on this machine (needs root or user namespaces)
    #[arg(long)]
    pub(super) lab: bool,
    /// Speed of the lab's links
    #[arg(long, default_value = "1Gbps", requires = "lab")]
    pub(super) rate: Rate,
    /// Round trip between the lab's hosts
    #[arg(long, default_value = "500us", requires = "lab")]
    pub(super) rtt: Span,
    /// The part of all packets that every port of the lab loses, such as 0.01 or 1%
    #[arg(long, default_value = "0", requires = "lab")]
    pub(super) loss: Fraction,
    /// What may wait at a port of the lab
    #[arg(long, default_value = "256KB", requires = "lab")]
    pub(super) buffer: Bytes,
    /// The part of every link that other traffic fills (TCP flows from a host of their own)
    #[arg(long, default_value = "0", requires = "lab")]
    pub(super) background: Fraction,
    /// The largest packet in the lab, with its IP header: 9000 for jumbo frames
    #[arg(long, default_value_t = ETHERNET, requires = "lab")]
    pub(super) mtu: u32,
    /// Write parameters after every epoch, to FILE.tcp, FILE.laxity: what carried them is added
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,
    /// Begin with parameters that --checkpoint wrote
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
    /// Draw points on the test set against time here (SVG)
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

const SERVER: &str = "With a parameter server";

impl TrainArgs {
    /// Processes that compute.
    pub(super) fn ranks(&self) -> u32 {
        self.ranks.unwrap_or(4)
    }

    /// What carries gradients, one training with each.
    pub(super) fn transports(&self) -> Vec<Transport> {
        match self.transport.is_empty() {
            true => vec![Transport::Tcp, Transport::Laxity],
            false => self.transport.iter().map(|way| way.transport()).collect(),
        }
    }
}

/// How ranks train together; docs/roles.md has the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Method {
    /// All reduce their gradients, in every step
    Allreduce,
    /// The server takes the mean of all workers' updates, round by round
    Sync,
    /// Each update counts as it arrives
    Async,
    /// The same, but nobody gets far ahead of the slowest
    Ssp,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Allreduce => "allreduce",
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Ssp => "ssp",
        }
    }
}

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Victim {
    /// Its replica takes over
    Server,
    /// The server goes on alone
    Replica,
    /// The last one; others do not wait for it
    Worker,
    /// Its workers send straight to the server
    Aggregator,
    /// Workers go by themselves
    Scheduler,
}

impl Victim {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Replica => "replica",
            Self::Worker => "worker",
            Self::Aggregator => "aggregator",
            Self::Scheduler => "scheduler",
        }
    }
}

/// How an all-reduce goes; docs/fabric.md has bytes and steps of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Steps {
    /// What is expected to be fastest, by what is measured before the first step
    Auto,
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
            Self::Auto => Algorithm::Auto,
            Self::Ring => Algorithm::Ring,
            Self::HalvingDoubling => Algorithm::HalvingDoubling,
            Self::Transpose => Algorithm::Transpose,
        }
    }
}

/// What carries gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Way {
    /// Kernel TCP
    Tcp,
    /// Laxity
    Laxity,
}

impl Way {
    pub(super) fn transport(self) -> Transport {
        match self {
            Self::Tcp => Transport::Tcp,
            Self::Laxity => Transport::Laxity,
        }
    }
}
