//! Flags of `laxity recv`.

use std::path::PathBuf;

use clap::Args;
use laxity_interface::{Bytes, Span};

use crate::args::{KeyArgs, NetworkArgs};

/// Receive what `laxity send` sends.
///
/// Bytes go straight to their place in the file, in whatever order they arrive. What the sender's
/// minimum delivery allowed to be lost is zero in the file and listed in the report. The file appears
/// under its name when it is finished, never half-written.
///
/// Tensors that programs send through the library are written as their raw elements; messages one
/// after the other, as they arrive.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity recv model.bin --bind :7000 --key-file laxity.key
  laxity recv inbox/ --bind 10.0.0.2:7000 --forever      # names from the senders
  laxity recv - --bind :7000 | tar x
  laxity recv grad.f32 --bind :7000 --missing missing.json --json")]
pub(crate) struct RecvArgs {
    /// A file to write (replaced if it exists), a folder, or `-` for stdout. Default: stdout.
    ///
    /// In a folder, files are named by the senders' labels: plain names only, nothing that leaves the
    /// folder, nothing hidden, no existing file (but see --force). With `-` the report goes to stderr.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The address to listen on: `HOST:PORT`, or `:PORT` for every address of this machine. Port 0
    /// takes any; the one taken is printed to stderr.
    #[arg(long, value_name = "ADDR")]
    pub(crate) bind: String,

    /// How many transfers to receive.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "forever",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: u64,

    /// Receive until interrupted; each transfer is reported as it ends.
    #[arg(long)]
    pub(crate) forever: bool,

    /// Refuse transfers larger than this.
    #[arg(long, value_name = "SIZE", default_value = "64GiB")]
    pub(crate) max_bytes: Bytes,

    /// Fail if no transfer begins within this time; `30s`. Default: wait for ever.
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,

    /// In a folder, replace existing files.
    #[arg(long)]
    pub(crate) force: bool,

    /// Write which byte ranges are missing to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) missing: Option<PathBuf>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}
