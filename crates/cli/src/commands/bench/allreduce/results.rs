//! What was measured: a table, a picture, and how Laxity compares, in words.

use std::time::Instant;

use anyhow::Result;
use laxity_report::{
    Meta, Row,
    chart::{Axis, CdfChart},
    stats::{self, Summary},
};

use super::{
    super::compare::{percent, schedule::Count},
    args::{AllReduceArgs, Scheme},
    crew::Sample,
};
use crate::{
    congestion,
    failure::Explain,
    output::{self, To},
};

/// What was measured of one scheme.
pub(super) struct Measured {
    pub(super) scheme: Scheme,
    pub(super) samples: Vec<Sample>,
    pub(super) count: Count,
}

impl Measured {
    fn times(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.ms).collect()
    }

    fn row(&self, args: &AllReduceArgs) -> Row {
        let summary = Summary::of(&self.times());
        let of = |of: fn(&Summary) -> f64| summary.as_ref().map(of);
        let all = |of: fn(&Sample) -> f64| self.samples.iter().map(of).collect::<Vec<_>>();
        let control = match self.scheme {
            Scheme::Default => congestion::default(),
            chosen => chosen.control().map(str::to_owned),
        };
        Row::new()
            .with("scheme", self.scheme.name())
            .with("transport", self.scheme.transport().name())
            .with("control", control)
            .with("algorithm", self.scheme.steps())
            .with("ranks", args.ranks)
            .with("bytes", args.elements() as u64 * 4)
            .with("loss", args.loss.get())
            .with("background", args.background.get())
            .with("mtu_bytes", args.mtu)
            .with("min_delivery", self.scheme.min_delivery(args).get())
            .with("mean_ms", of(|s| s.mean))
            .with("p50_ms", of(|s| s.p50))
            .with("p95_ms", of(|s| s.p95))
            .with("p99_ms", of(|s| s.p99))
            .with("max_ms", of(|s| s.max))
            .with("over_ideal", of(|s| s.mean).map(|mean| mean / args.ideal_ms()))
            .with("delivered_mean", stats::mean(&all(|sample| sample.delivered_mean)))
            .with("delivered_min", stats::min(&all(|sample| sample.delivered_min)))
            .with("cpu_s", stats::mean(&all(|sample| sample.cpu_s)))
            .with("host_wait_p99_ms", stats::mean(&all(|sample| sample.wait_ms)))
            .with("other_load", stats::mean(&all(|sample| sample.other_load)))
            .with("runs", self.samples.len())
            .with("invalid_runs", self.count.invalid)
    }
}

/// What the table shows; other traffic only where there is some.
fn columns(args: &AllReduceArgs) -> Vec<&'static str> {
    let mut columns = vec![
        "scheme",
        "control",
        "algorithm",
        "mean_ms",
        "p50_ms",
        "p99_ms",
        "over_ideal",
        "delivered_mean",
        "delivered_min",
        "cpu_s",
    ];
    columns.extend((args.background.get() > 0.0).then_some("other_load"));
    columns.extend(["runs", "invalid_runs"]);
    columns
}

/// Prints everything, or what there is of it if the measurement was stopped early.
pub(super) fn show(
    args: &AllReduceArgs,
    measured: &[Measured],
    stopped_early: bool,
    started: Instant,
) -> Result<()> {
    let mut report = output::report(started);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    report.meta = std::mem::replace(&mut report.meta, Meta::new("", ""))
        .seed(args.seed)
        .with("kernel", kernel.trim())
        .with("rate_gbps", args.rate.as_gbps_f64())
        .with("rtt_us", args.rtt.as_us())
        .with("buffer_bytes", args.buffer.get())
        .with("line_rate_told", args.line_rate)
        .with("invalid_runs_count", args.accept_invalid)
        .with("stopped_early", stopped_early);
    report.rows.extend(measured.iter().map(|one| one.row(args)));
    output::emit(&report, args.json, To::Stdout, &columns(args))?;
    if !args.json {
        output::print(&words(args, measured), To::Stdout)?;
    }
    // Last: a disk that is full takes nothing else away.
    match &args.svg {
        Some(path) => std::fs::write(path, picture(args, measured)).explain(
            format!("cannot write `{}`", path.display()),
            "check that the folder exists and can be written to",
        ),
        None => Ok(()),
    }
}

fn picture(args: &AllReduceArgs, measured: &[Measured]) -> String {
    let title = format!("All-reduce of {} on {} ranks", args.size, args.ranks);
    let mut chart = CdfChart::new(title)
        .subtitle(format!(
            "{}, {} round trip, packets of {} bytes, {} % loss, {} % other traffic",
            args.rate,
            args.rtt,
            args.mtu,
            percent(args.loss),
            percent(args.background),
        ))
        .x(Axis::log("until the slowest rank has its result").unit("ms"))
        .of("runs")
        .guide(99.0);
    for one in measured.iter().filter(|one| !one.samples.is_empty()) {
        chart = chart.samples(one.scheme.name(), one.times()).slot(one.scheme as usize);
    }
    chart.to_svg()
}

/// How many times longer the others took than Laxity, and what nobody can do.
fn words(args: &AllReduceArgs, measured: &[Measured]) -> String {
    let Some(own) = measured.iter().find(|one| one.scheme == Scheme::Laxity) else {
        return String::new();
    };
    let Some(summary) = Summary::of(&own.times()) else { return String::new() };
    let others = measured.iter().filter(|one| one.scheme != Scheme::Laxity);
    let ratios: Vec<_> = others
        .filter_map(|other| {
            let theirs = Summary::of(&other.times())?;
            let (mean, p99) = (theirs.mean / summary.mean, theirs.p99 / summary.p99);
            Some(format!("{} {mean:.2} ({p99:.2})", other.scheme.name()))
        })
        .collect();
    if ratios.is_empty() {
        return String::new();
    }
    let list = ratios.join(", ");
    let mut words =
        format!("\nHow many times longer than Laxity, in the mean (and at p99): {list}\n");
    let taken = args.background.get();
    if taken > 0.0 {
        let least = args.ideal_ms() / (1.0 - taken);
        words += &format!(
            "Everything takes at least {least:.0} ms where other traffic has its {} % of the links\n",
            percent(args.background)
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use laxity_report::Value;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: AllReduceArgs,
    }

    fn args(words: &[&str]) -> AllReduceArgs {
        Line::parse_from(std::iter::once("allreduce").chain(words.iter().copied())).args
    }

    fn measured(scheme: Scheme, times: &[f64]) -> Measured {
        let sample = |ms: &f64| Sample {
            ms: *ms,
            delivered_min: 1.0,
            delivered_mean: 1.0,
            cpu_s: 1.0,
            other_load: 0.0,
            wait_ms: 0.0,
        };
        let samples: Vec<_> = times.iter().map(sample).collect();
        Measured { scheme, count: Count::default(), samples }
    }

    #[test]
    fn ratios_are_of_the_same_figures() {
        let all = [
            measured(Scheme::Cubic, &[100.0, 300.0]),
            measured(Scheme::Bbr, &[]),
            measured(Scheme::Laxity, &[50.0, 150.0]),
        ];
        let args = args(&[]);
        let words = words(&args, &all);
        assert!(words.contains("cubic 2.00 (2.00)") && !words.contains("bbr"), "{words}");
        assert!(!words.contains("other traffic"), "{words}");
        assert_eq!(super::words(&args, &all[..2]), "");
    }

    /// A loss of 0.02 % was called 0 %.
    #[test]
    fn a_picture_says_what_was_lost() {
        let all = [measured(Scheme::Laxity, &[800.0])];
        for (loss, said) in [("0.02%", "0.02 % loss"), ("1%", ", 1 % loss"), ("0", ", 0 % loss")] {
            let picture = picture(&args(&["--loss", loss]), &all);
            assert!(picture.contains(said), "{picture}");
        }
    }

    #[test]
    fn a_row_has_a_congestion_control_where_there_is_one() {
        let of = |scheme| measured(scheme, &[1.0]).row(&args(&[])).get("control").cloned();
        assert_eq!(of(Scheme::Laxity), Some(Value::Null));
        assert_eq!(of(Scheme::HalvingBbr), Some(Value::from("bbr")));
    }

    #[test]
    fn what_other_traffic_leaves_bounds_everybody() {
        let all = [measured(Scheme::Cubic, &[900.0]), measured(Scheme::Laxity, &[800.0])];
        let words = words(&args(&["--background", "0.5"]), &all);
        assert!(words.contains("at least 700 ms where other traffic has its 50 %"), "{words}");
    }
}
