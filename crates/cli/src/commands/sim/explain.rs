//! `laxity sim explain`: what would be simulated, in words.

use std::{fmt::Write as _, path::PathBuf, time::Instant};

use anyhow::Result;
use clap::Args;
use laxity_interface::{Rate, Time};
use laxity_packetsim::{
    Routing, SharedMemory,
    scenario::{Dry, Point, Scenario},
};
use laxity_topology::LinkId;

use super::{read, rows};
use crate::{
    failure::Explain,
    output::{self, To},
};

/// Say what would be simulated: hosts, links, flows, loads, ideal times
///
/// Nothing is simulated: flows are counted as if each had the network to itself.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The scenario.
    file: PathBuf,
    /// Which combination of values, if fields have several.
    #[arg(long, value_name = "K", default_value_t = 0)]
    point: u64,
    /// The seed. Default: the first of the file.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print JSON instead of words.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ExplainArgs) -> Result<()> {
    let started = Instant::now();
    let scenario = read::scenario(&args.file)?;
    let point = read::point(&scenario, args.point)?;
    let seed = read::seed(&scenario, args.seed);
    let facts = Facts::new(&point, seed)?;
    if !args.json {
        return output::print(&words(&scenario, &point, seed, &facts), To::Stdout);
    }
    let mut report = output::report(started);
    let net = &point.topology;
    report.meta = report
        .meta
        .seed(seed)
        .with("scenario", scenario.name())
        .with("points", scenario.points())
        .with("hosts", net.hosts().len())
        .with("switches", net.switch_count())
        .with("links", net.links().len())
        .with("line_rate_gbps", point.line_rate().as_gbps_f64())
        .with("base_rtt_us", facts.base_rtt_us)
        .with("bdp_bytes", facts.bdp)
        .with("busiest_link", facts.busiest.as_ref().map(|(name, _)| name.clone()))
        .with("busiest_load", facts.busiest.as_ref().map(|(_, load)| *load))
        .with("ideal_end_ms", facts.dry.end.as_ps() as f64 / 1e9)
        .with("faults", point.faults_in_words().join("; "));
    for (workload, dry) in point.workloads.iter().zip(&facts.dry.workloads) {
        let row = rows::settings(&point)
            .with("workload", workload.name.as_str())
            .with("scheme", workload.scheme.to_string())
            .with("flows", dry.flows)
            .with("messages", dry.messages)
            .with("bytes", dry.bytes)
            .with("packets", dry.packets);
        report.push(rows::times(row, "ideal_ms", dry.ideal_s.as_ref(), 1e3));
    }
    output::emit(&report, true, To::Stdout, &[])
}

struct Facts {
    base_rtt_us: f64,
    bdp: u64,
    dry: Dry,
    busiest: Option<(String, f64)>,
    hops: f64,
}

impl Facts {
    fn new(point: &Point, seed: u64) -> Result<Self> {
        let simulation = point.simulation(seed).explain("this cannot be simulated", "")?;
        let base_rtt = simulation.base_rtt();
        let dry = point.dry(seed);
        let net = &point.topology;
        let name = |link: LinkId| {
            let link = net.link(link);
            format!("{} -> {}", net.name(link.from), net.name(link.to))
        };
        let busiest = dry.busiest(point).map(|(link, load)| (name(link), load));
        let all: u64 = dry.link_bytes.iter().sum();
        let hops = all as f64 / dry.first_bytes.max(1) as f64;
        let bdp = point.line_rate().bytes_in(base_rtt).get();
        Ok(Self { base_rtt_us: base_rtt.as_secs_f64() * 1e6, bdp, dry, busiest, hops })
    }
}

fn words(scenario: &Scenario, point: &Point, seed: u64, facts: &Facts) -> String {
    let (net, dry) = (&point.topology, &facts.dry);
    let mut text = scenario.name().to_owned();
    if let Some(about) = scenario.about() {
        let _ = write!(text, ": {about}");
    }
    let rates = |of: fn(&laxity_topology::Topology, LinkId) -> bool| {
        let all = (0..net.links().len() as u32).map(LinkId).filter(|link| of(net, *link));
        let mut rates: Vec<Rate> = all.map(|link| net.link(link).capacity).collect();
        rates.sort_unstable();
        rates.dedup();
        rates.iter().map(Rate::to_string).collect::<Vec<_>>().join(", ")
    };
    let own = rates(|net, link| net.host_index(net.link(link).from).is_some());
    let others = rates(|net, link| net.host_index(net.link(link).from).is_none());
    let _ = writeln!(
        text,
        "\n\nNetwork     {} hosts, {} switches, {} links in one direction each\n\
         \u{20}           interfaces {own}; ports of switches {others}\n\
         \u{20}           round trip of the farthest hosts {:.3} us; bandwidth-delay product {} bytes \
         ({:.0} packets)",
        net.hosts().len(),
        net.switch_count(),
        net.links().len(),
        facts.base_rtt_us,
        facts.bdp,
        facts.bdp as f64 / 1518.0
    );
    let setup = point.setup(seed);
    let routing = match setup.routing {
        Routing::Ecmp => "one path per flow",
        Routing::Spray => "a path for every packet",
    };
    let _ = writeln!(
        text,
        "Ports       {}, {} of buffer each{}, marks above {}; {routing}",
        match point.layout {
            Some(layout) => format!("`{layout}`: {}", layout.about()),
            None => format!("as {} wants them", point.ports),
        },
        point.buffer,
        point.memory.map_or_else(String::new, |memory| {
            let SharedMemory { total, share } = memory;
            format!(" out of {total} of their switch (a queue up to {share} times what is free)")
        }),
        point.mark_above
    );
    for (at, fault) in point.faults_in_words().iter().enumerate() {
        let head = if at == 0 { "Faults" } else { "" };
        let _ = writeln!(text, "{head:<12}{fault}");
    }
    let swept: Vec<_> =
        point.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let _ = writeln!(
        text,
        "Sweep       {} points with {} seeds each: {} runs\n\
         This is     point {}, seed {seed}{}{}",
        scenario.points(),
        scenario.seeds().len(),
        scenario.points() * scenario.seeds().len() as u64,
        point.index,
        if swept.is_empty() { "" } else { ": " },
        swept.join(", ")
    );
    for (workload, own) in point.workloads.iter().zip(&dry.workloads) {
        let place = if workload.background { ", in the background" } else { "" };
        let _ = writeln!(
            text,
            "\n{} over {}{place}\n  {} flows of {} messages in all, {:.3} MB, {} data packets; {} has to arrive",
            workload.name,
            workload.scheme,
            own.flows,
            own.messages,
            own.bytes as f64 / 1e6,
            own.packets,
            workload.min_delivery
        );
        if let Some(gaps) = workload.gaps().in_words() {
            let _ = writeln!(text, "  {gaps}");
        }
        if let Some(ideal) = &own.ideal_s {
            let us = |seconds: f64| seconds * 1e6;
            let _ = writeln!(
                text,
                "  alone in the network, a flow takes {:.3} us in the mean (p50 {:.3}, p99 {:.3}, max {:.3})",
                us(ideal.mean),
                us(ideal.p50),
                us(ideal.p99),
                us(ideal.max)
            );
        }
    }
    let packets: u64 = dry.workloads.iter().map(|own| own.packets).sum();
    let _ = writeln!(
        text,
        "\nIf nothing got in the way it would end at {:.3} ms{}; the limit is {:.3} ms",
        dry.end.as_ps() as f64 / 1e9,
        if dry.cut { " (cut short by the limit)" } else { "" },
        point.limits.until.since(Time::ZERO).as_secs_f64() * 1e3
    );
    if let Some((name, load)) = &facts.busiest {
        let end_ms = dry.end.as_ps() as f64 / 1e9;
        let _ = writeln!(
            text,
            "The busiest link ({name}) has to carry {:.1} % of what it could until then; alone it takes {:.3} ms",
            load * 100.0,
            load * end_ms
        );
    }
    let _ = writeln!(
        text,
        "Expect about {:.0} packet-hops of data ({:.1} links per packet), and answers on top",
        packets as f64 * facts.hops,
        facts.hops
    );
    text
}
