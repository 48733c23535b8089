//! What `laxity bench compare` is asked for.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use laxity_interface::{Fraction, Rate, Span};

use crate::failure::usage;

/// Compare kernel TCP and Laxity in a lab: loss, incast, shuffle, fairness
///
/// Brings up a private network on this machine and runs the same transfers over every scheme, taking
/// turns. Connections are made before the clock starts, and anew for each run. A time lasts from the start
/// of the senders until the receiver had the last byte that it needed; for incast and shuffle that is the
/// last of the group. Runs during which the lab did not keep time are repeated and counted.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareArgs {
    /// What to compare. Default: all.
    #[arg(value_enum)]
    pub(super) cases: Vec<Case>,
    /// Other traffic on the measured links: TCP flows of mixed sizes that fill this part of them.
    #[arg(long, value_name = "LOAD", default_value = "0")]
    pub(super) background: Fraction,
    /// Runs of each kind. Default: between 5 and 100, by what a run takes.
    #[arg(long)]
    pub(super) runs: Option<usize>,
    /// Few and short runs, to see that everything works: the figures mean little.
    #[arg(long)]
    pub(super) quick: bool,
    /// What to compare.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values = ["cubic", "bbr", "reno", "dctcp", "laxity"]
    )]
    pub(super) schemes: Vec<Scheme>,
    /// Rate of the links.
    #[arg(long, default_value = "1Gbps")]
    pub(super) rate: Rate,
    /// Round-trip time without queues.
    #[arg(long, default_value = "500us")]
    pub(super) rtt: Span,
    /// What Laxity has to deliver; TCP delivers everything.
    #[arg(long, default_value = "0.9")]
    pub(super) min_delivery: Fraction,
    /// Let Laxity's jobs end after their first pass instead of as soon as they have enough.
    #[arg(long)]
    pub(super) first_pass: bool,
    /// Run Laxity without a key.
    #[arg(long)]
    pub(super) insecure: bool,
    /// Lose packets in both directions instead of data only.
    #[arg(long)]
    pub(super) ack_loss: bool,
    /// Let switch ports mark nothing; DCTCP is then left out.
    #[arg(long)]
    pub(super) no_ecn: bool,
    /// Let TCP ask for ECN, which kernels do not do by themselves.
    #[arg(long)]
    pub(super) tcp_ecn: bool,
    /// Seed of losses and other traffic.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Count runs although the lab did not keep time.
    #[arg(long)]
    pub(super) accept_invalid: bool,
    /// Write the distributions of completion times to this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) svg: Option<PathBuf>,
    /// Write a page with tables and pictures.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(super) json: bool,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum Case {
    /// One transfer of 25 MB under 0, 0.1, 1 and 3 % loss.
    Loss,
    /// Eight senders, one receiver: 1 MB and 25 MB each, with 64 KB and 256 KB of port buffer.
    Incast,
    /// Eight hosts, everybody sends to everybody.
    Shuffle,
    /// Laxity beside one TCP flow on one link, with and without slack queues.
    Fairness,
}

impl Case {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Incast => "incast",
            Self::Shuffle => "shuffle",
            Self::Fairness => "fairness",
        }
    }
}

/// How bytes travel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum Scheme {
    Cubic,
    Bbr,
    Reno,
    Dctcp,
    Laxity,
}

impl Scheme {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Reno => "reno",
            Self::Dctcp => "dctcp",
            Self::Laxity => "laxity",
        }
    }
}

/// More hold nobody's patience.
const MOST_RUNS: usize = 10_000;

impl CompareArgs {
    /// Refuses what cannot be measured, and puts cases and schemes in order.
    pub(super) fn check(mut self) -> Result<Self> {
        if self.runs.is_some_and(|runs| runs == 0 || runs > MOST_RUNS) {
            return Err(usage(format!("--runs must lie between 1 and {MOST_RUNS}")));
        }
        if self.rate.as_bps() < 1_000_000 {
            return Err(usage("--rate must be at least 1Mbps: a run would take minutes"));
        }
        if self.rate.as_bps() > 10_000_000_000 {
            return Err(usage(
                "--rate must be at most 10Gbps, and few machines emulate more than 2",
            ));
        }
        if self.rtt > Span::from_secs(1) {
            return Err(usage("--rtt must be at most 1s"));
        }
        if self.min_delivery.get() <= 0.0 {
            return Err(usage("--min-delivery must be above 0: delivering nothing takes no time"));
        }
        if self.background.get() > 0.9 {
            return Err(usage("--background must be at most 0.9: the rest is what is measured"));
        }
        if self.cases.is_empty() {
            self.cases = vec![Case::Loss, Case::Incast, Case::Shuffle, Case::Fairness];
        }
        self.cases.sort_unstable();
        self.cases.dedup();
        self.schemes.sort_unstable();
        self.schemes.dedup();
        if self.schemes.is_empty() {
            return Err(usage("--schemes names none"));
        }
        let fair = self.schemes.contains(&Scheme::Laxity)
            && self.schemes.iter().any(|s| matches!(s, Scheme::Cubic | Scheme::Bbr));
        if !fair && self.cases == [Case::Fairness] {
            return Err(usage("fairness needs laxity, and cubic or bbr, among --schemes"));
        }
        self.cases.retain(|case| fair || *case != Case::Fairness);
        Ok(self)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CompareArgs,
    }

    pub(in super::super) fn parse(words: &[&str]) -> Result<CompareArgs> {
        let words = std::iter::once("compare").chain(words.iter().copied());
        Line::try_parse_from(words)?.args.check()
    }

    #[test]
    fn everything_is_compared_by_default_in_a_fixed_order() {
        let args = parse(&[]).unwrap();
        assert_eq!(args.cases.len(), 4);
        assert_eq!(args.schemes.len(), 5);
        let args = parse(&["incast", "loss", "incast", "--schemes", "laxity,bbr,laxity"]).unwrap();
        assert_eq!(args.cases, [Case::Loss, Case::Incast]);
        assert_eq!(args.schemes, [Scheme::Bbr, Scheme::Laxity]);
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_the_option_named() {
        for (words, named) in [
            (&["--runs", "0"][..], "--runs"),
            (&["--rate", "10kbps"], "--rate"),
            (&["--rate", "100Gbps"], "--rate"),
            (&["--rtt", "2s"], "--rtt"),
            (&["--min-delivery", "0"], "--min-delivery"),
            (&["--background", "95%"], "--background"),
            (&["fairness", "--schemes", "laxity"], "--schemes"),
            (&["--schemes", "vegas"], "vegas"),
            (&["everything"], "everything"),
        ] {
            let error = parse(words).unwrap_err().to_string();
            assert!(error.contains(named), "{words:?}: {error}");
        }
    }
}
