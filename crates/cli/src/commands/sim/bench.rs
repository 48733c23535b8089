//! `laxity sim bench`: how fast the simulator is on this machine.

use std::{fs, time::Instant};

use anyhow::Result;
use clap::Args;
use laxity_interface::Span;
use laxity_packetsim::speed::{self, Load, SpeedReport};
use laxity_report::Row;

use crate::{
    failure::{Explain, usage},
    output::{self, To},
    progress,
};

/// Loads that stay the same from version to version: name, hosts, the load, and a little of it.
const STANDARD: [(&str, u32, Load, Load); 2] = [
    ("leaf-spine-128-permutation", 128, Load::SMALL, Load::Permutation { time: Span::from_ms(1) }),
    ("fat-tree-1024-100k-flows", 1024, Load::LARGE, Load::ManyFlows { flows: 1_000 }),
];

/// Measure packet-hops per second, time per event and memory
///
/// DCTCP on 128 hosts that keep their links busy for 10 ms, and 100,000 flows among 1,024 hosts. One core
/// does the work. A packet-hop is one packet, data or control, leaving one queue. Setting up the
/// network is not counted.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Only scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// How often each is run; the fastest counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// A tenth of the time and a hundredth of the flows, to see that everything works.
    #[arg(long)]
    quick: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &BenchArgs) -> Result<()> {
    let started = Instant::now();
    let mut report = output::report(started);
    for (name, hosts, load, little) in STANDARD {
        let load = if args.quick { little } else { load };
        if args.only.as_ref().is_none_or(|part| name.contains(part.as_str())) {
            report.push(measure(name, hosts, load, args.runs)?);
        }
    }
    if report.rows.is_empty() {
        return Err(usage("--only: no scenario has this in its name"));
    }
    report.meta.seconds = started.elapsed().as_secs_f64();
    output::emit(
        &report,
        args.json,
        To::Stdout,
        &[
            "scenario",
            "packet_hops",
            "events",
            "wall_s",
            "packet_hops_per_s",
            "ns_per_event",
            "peak_rss_mib",
        ],
    )
}

fn measure(name: &'static str, hosts: u32, load: Load, runs: u32) -> Result<Row> {
    let bar = progress::spinner(format!("simulating {name}"));
    forget_peak();
    let began = Instant::now();
    let mut best: Option<SpeedReport> = None;
    for _ in 0..runs {
        let speed = speed::run(load, || began.elapsed().as_secs_f64());
        let speed = speed.explain(format!("cannot simulate {name}"), "")?;
        if best.is_none_or(|best| speed.seconds < best.seconds) {
            best = Some(speed);
        }
    }
    bar.finish_and_clear();
    let best = best.expect("at least one run");
    Ok(Row::new()
        .with("scenario", name)
        .with("hosts", hosts)
        .with("finished_flows", best.flows)
        .with("simulated_ms", best.simulated.as_secs_f64() * 1e3)
        .with("packet_hops", best.packet_hops)
        .with("events", best.events)
        .with("wall_s", best.seconds)
        .with("packet_hops_per_s", best.hops_per_second())
        .with("ns_per_event", best.ns_per_event())
        .with("peak_rss_mib", peak_rss_mib())
        .with("trace_hash", format!("{:016x}", best.trace_hash))
        .with("runs", runs))
}

/// The most memory that this process has held, if the kernel says so.
fn peak_rss_mib() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// Starts that measure anew; where that is not allowed, it is the largest of all scenarios so far.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
