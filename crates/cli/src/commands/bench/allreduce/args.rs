//! What `laxity bench allreduce` is asked for.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use laxity_fabric::{Algorithm, rendezvous::Transport};
use laxity_interface::{Bytes, Fraction, Rate, Span};

use crate::{
    commands::star::{ETHERNET, Star},
    failure::usage,
};

/// Compare all-reduces over kernel TCP and Laxity in a lab
///
/// Brings up a private network on this machine with a rank in each host, and lets all ranks reduce
/// the same tensor over every scheme, taking turns. A time lasts from the common start until the
/// slowest rank has its result. Connections are kept from run to run, as a training keeps them; one
/// run of each scheme before the clock starts makes them. Runs during which the lab did not keep time
/// are repeated and counted.
#[derive(Clone, Debug, Args)]
pub(crate) struct AllReduceArgs {
    /// Ranks, one per host.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=32))]
    pub(super) ranks: u32,
    /// Size of the tensor.
    #[arg(long, default_value = "25MB")]
    pub(super) size: Bytes,
    /// Packets that every port loses.
    #[arg(long, default_value = "0")]
    pub(super) loss: Fraction,
    /// The part of every link that other traffic fills (TCP flows from a host of their own).
    #[arg(long, value_name = "LOAD", default_value = "0")]
    pub(super) background: Fraction,
    /// The part of every contribution that must arrive over Laxity; TCP delivers everything.
    #[arg(long, default_value = "0.98")]
    pub(super) min_delivery: Fraction,
    /// Runs of each scheme.
    #[arg(long, default_value_t = 20)]
    pub(super) runs: usize,
    /// Who takes part. `default`: the kernel's own congestion control.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values = ["cubic", "default", "laxity"]
    )]
    pub(super) schemes: Vec<Scheme>,
    /// Rate of the links.
    #[arg(long, default_value = "1Gbps")]
    pub(super) rate: Rate,
    /// Round-trip time without queues.
    #[arg(long, default_value = "500us")]
    pub(super) rtt: Span,
    /// What may wait at a port.
    #[arg(long, default_value = "256KB")]
    pub(super) buffer: Bytes,
    /// The largest packet, with its IP header: 9000 where switches and cards are set up for jumbo frames.
    #[arg(long, default_value_t = ETHERNET)]
    pub(super) mtu: u32,
    /// Tell Laxity the rate of the links, as an operator may.
    #[arg(long)]
    pub(super) line_rate: bool,
    /// Seed of losses and other traffic.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Count runs although the lab did not keep time.
    #[arg(long)]
    pub(super) accept_invalid: bool,
    /// Write the distribution of times here (SVG).
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(super) json: bool,
}

/// Steps, and what carries them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum Scheme {
    /// A ring over TCP with cubic
    Cubic,
    /// A ring over TCP with the kernel's default
    Default,
    /// A ring over TCP with bbr
    Bbr,
    /// Halving and doubling over TCP with cubic
    HalvingCubic,
    /// Halving and doubling over TCP with bbr
    HalvingBbr,
    /// A transpose over TCP with cubic
    TransposeCubic,
    /// The transpose that may lose, over Laxity
    Laxity,
    /// The same without encryption, which TCP has not either
    LaxityInsecure,
    /// A transpose over Laxity that loses nothing
    LaxityExact,
    /// A ring over Laxity, which loses nothing
    LaxityRing,
}

impl Scheme {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Default => "default",
            Self::Bbr => "bbr",
            Self::HalvingCubic => "halving-cubic",
            Self::HalvingBbr => "halving-bbr",
            Self::TransposeCubic => "transpose-cubic",
            Self::Laxity => "laxity",
            Self::LaxityInsecure => "laxity-insecure",
            Self::LaxityExact => "laxity-exact",
            Self::LaxityRing => "laxity-ring",
        }
    }

    pub(super) fn algorithm(self) -> Algorithm {
        match self {
            Self::Cubic | Self::Default | Self::Bbr | Self::LaxityRing => Algorithm::Ring,
            Self::HalvingCubic | Self::HalvingBbr => Algorithm::HalvingDoubling,
            Self::TransposeCubic | Self::Laxity | Self::LaxityInsecure | Self::LaxityExact => {
                Algorithm::Transpose
            }
        }
    }

    /// Its steps, in words.
    pub(super) fn steps(self) -> &'static str {
        match self.algorithm() {
            Algorithm::Ring => "ring",
            Algorithm::HalvingDoubling => "halving-doubling",
            _ => "transpose",
        }
    }

    pub(super) fn transport(self) -> Transport {
        match self {
            Self::Laxity | Self::LaxityInsecure | Self::LaxityExact | Self::LaxityRing => {
                Transport::Laxity
            }
            _ => Transport::Tcp,
        }
    }

    /// TCP's congestion control, where it is not left to the kernel.
    pub(super) fn control(self) -> Option<&'static str> {
        match self {
            Self::Cubic | Self::HalvingCubic | Self::TransposeCubic => Some("cubic"),
            Self::Bbr | Self::HalvingBbr => Some("bbr"),
            Self::Default
            | Self::Laxity
            | Self::LaxityInsecure
            | Self::LaxityExact
            | Self::LaxityRing => None,
        }
    }

    /// What has to arrive.
    pub(super) fn min_delivery(self, args: &AllReduceArgs) -> Fraction {
        match self {
            Self::Laxity | Self::LaxityInsecure => args.min_delivery,
            _ => Fraction::ONE,
        }
    }
}

/// More hold nobody's patience.
const MOST_RUNS: usize = 10_000;

impl AllReduceArgs {
    /// Refuses what cannot be measured, and puts schemes in order.
    pub(super) fn check(mut self) -> Result<Self> {
        if self.runs == 0 || self.runs > MOST_RUNS {
            return Err(usage(format!("--runs must lie between 1 and {MOST_RUNS}")));
        }
        if self.size.get() < 4 * u64::from(self.ranks) || self.size.get() > 1 << 30 {
            return Err(usage("--size must lie between 4 bytes for each rank and 1 GiB"));
        }
        if self.min_delivery.get() <= 0.0 {
            return Err(usage("--min-delivery must be above 0: delivering nothing takes no time"));
        }
        self.star().check()?;
        self.schemes.sort_unstable();
        self.schemes.dedup();
        Ok(self)
    }

    /// The network.
    pub(super) fn star(&self) -> Star {
        let Self { ranks, seed, rate, rtt, loss, buffer, background, mtu, .. } = *self;
        Star { ranks, seed, rate, rtt, loss, buffer, background, mtu }
    }

    /// Numbers in the tensor.
    pub(super) fn elements(&self) -> usize {
        (self.size.get() / 4) as usize
    }

    /// What one rank's link needs for the bytes of an all-reduce, without headers and round trips.
    pub(super) fn ideal_ms(&self) -> f64 {
        let part = f64::from(self.ranks - 1) / f64::from(self.ranks);
        2.0 * part * self.size.get() as f64 * 8.0 / self.rate.as_bps() as f64 * 1e3
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: AllReduceArgs,
    }

    fn parse(words: &[&str]) -> Result<AllReduceArgs> {
        let words = std::iter::once("allreduce").chain(words.iter().copied());
        Line::try_parse_from(words)?.args.check()
    }

    #[test]
    fn a_ring_of_eight_is_compared_by_default() {
        let args = parse(&["--schemes", "laxity,cubic,laxity"]).unwrap();
        assert_eq!(args.schemes, [Scheme::Cubic, Scheme::Laxity]);
        // 7/8 of 25 MB there and 7/8 back, at 1 Gbit/s.
        assert_eq!(args.ideal_ms(), 350.0);
        assert_eq!(Scheme::Cubic.steps(), "ring");
        assert_eq!(Scheme::Cubic.min_delivery(&args), Fraction::ONE);
        assert_eq!(Scheme::Laxity.min_delivery(&args).get(), 0.98);
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_the_option_named() {
        for (words, named) in [
            (&["--runs", "0"][..], "--runs"),
            (&["--size", "8"], "--size"),
            (&["--rate", "10kbps"], "--rate"),
            (&["--min-delivery", "0"], "--min-delivery"),
            (&["--background", "95%"], "--background"),
            (&["--ranks", "1"], "--ranks"),
            (&["--mtu", "64"], "--mtu"),
            (&["--schemes", "vegas"], "vegas"),
        ] {
            let error = parse(words).unwrap_err().to_string();
            assert!(error.contains(named), "{words:?}: {error}");
        }
    }
}
