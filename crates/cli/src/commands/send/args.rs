//! Flags of `laxity send`.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use laxity_endpoint::{ElementType, Finish};
use laxity_interface::{Bytes, Fraction, Span};

use super::groups::GroupRange;
use crate::{
    args::{KeyArgs, NetworkArgs},
    element,
};

/// Send files or stdin to a peer that runs `laxity recv`.
///
/// A file is one job, sent straight from the page cache. Of its packets at least --min-delivery
/// arrive, each whole and unchanged; what is missing is reported on both sides, and zero in the
/// receiver's copy. The default is everything.
///
/// Stdin, pipes and files above 8 GiB go as consecutive jobs (see --segment), which the receiver puts
/// together again; the minimum delivery, --deadline and --time-limit then hold for each of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity send model.bin --to 10.0.0.2:7000 --key-file laxity.key
  laxity send grad.f32 --to 10.0.0.2:7000 --element f32 --min-delivery 99% --finish enough
  laxity send image.raw --to host:7000 --min-delivery 0.9 --group 0..4KiB=1   # the header whole
  tar c data | laxity send - --to host:7000 --label data.tar
  laxity send a.bin b.bin --to host:7000 --json | jq '.rows[].goodput_gbps'")]
pub(crate) struct SendArgs {
    /// Files to send, one after the other; `-` is stdin. Default: stdin.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The receiver, a name or an address with its port.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,

    /// What must arrive, as a fraction of the packets: `0.95` or `95%`.
    #[arg(long, value_name = "FRACTION", default_value = "1", help_heading = SLACK)]
    pub(crate) min_delivery: Fraction,

    /// Another minimum for a range of bytes, such as `0..1MiB=1` or `64MiB..=0.9`; repeatable.
    ///
    /// Ranges are half-open and must not overlap; an end left away means the end of the data. What no
    /// range covers is group 0 and follows --min-delivery; the ranges are groups 1, 2, … in the order
    /// given. A packet that touches several groups counts for the strictest.
    #[arg(long, value_name = "RANGE=FRACTION", help_heading = SLACK)]
    pub(crate) group: Vec<GroupRange>,

    /// What the data consists of: no element is split between packets, so none arrives in part.
    #[arg(long, value_name = "TYPE", default_value = "u8", value_parser = element::parser(),
          help_heading = SLACK)]
    pub(crate) element: ElementType,

    /// When it counts as finished: `enough`, the moment every group has its minimum; `first-pass`,
    /// once everything was also sent once, which takes along what costs no repeat.
    #[arg(long, value_name = "WHEN", default_value = "first-pass", value_parser = finish(),
          help_heading = SLACK)]
    pub(crate) finish: Finish,

    /// After this long it ends with what has arrived, if that is enough; `50ms`. Default: none.
    #[arg(long, value_name = "TIME", help_heading = SLACK)]
    pub(crate) deadline: Option<Span>,

    /// After this long it fails; `30s`. Default: 10 minutes.
    #[arg(long, value_name = "TIME", help_heading = SLACK)]
    pub(crate) time_limit: Option<Span>,

    /// Among jobs to the same peer the smallest goes first.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = SLACK)]
    pub(crate) priority: u32,

    /// The name the receiver sees. Default: the file's name, `stdin` for stdin.
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,

    /// Bytes per job of a stream, three of which are held in memory. A job leaves when it is full or
    /// the stream ends.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = segment)]
    pub(crate) segment: Bytes,

    /// Write which byte ranges are missing to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) missing: Option<PathBuf>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    /// The local address to send from, `HOST:PORT`. Default: any port, by the route.
    #[arg(long, value_name = "ADDR", help_heading = "Network")]
    pub(crate) bind: Option<String>,

    /// How long to wait for the receiver's first answer.
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Network")]
    pub(crate) connect_timeout: Span,

    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

const SLACK: &str = "Slack";

/// Parts of streams start at multiples of this, which every element and every page divides.
const STEP: u64 = 64 << 10;

impl SendArgs {
    /// What to send; stdin if nothing is said.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        if self.files.is_empty() { vec![PathBuf::from("-")] } else { self.files.clone() }
    }
}

fn finish() -> impl TypedValueParser<Value = Finish> {
    PossibleValuesParser::new(["first-pass", "enough"]).map(|name| match name.as_str() {
        "enough" => Finish::Enough,
        _ => Finish::FirstPass,
    })
}

fn segment(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if size.get() == 0 || !size.get().is_multiple_of(STEP) || size > Bytes::from_gib(1) {
        return Err("give a multiple of 64KiB, at most 1GiB".into());
    }
    Ok(size)
}
