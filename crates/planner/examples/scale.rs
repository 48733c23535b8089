//! How long max-min shares take for 100,000 flows on a fat-tree of 1024 hosts.
//!
//! `cargo run --release -p laxity-planner --example scale -- [--json] [FLOWS]`

use std::time::Instant;

use laxity_interface::{Rate, Span};
use laxity_planner::{FairShares, Weight};
use laxity_topology::{Path, Routes, Topology, flow_hash};

/// A number for each question, spread evenly.
fn pick(seed: u64, count: usize) -> usize {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) % count as u64) as usize
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|a| a == "--json");
    let count: u64 = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(100_000);

    let started = Instant::now();
    let net = Topology::fat_tree(16, Rate::from_gbps(10), Span::from_us(1))?;
    let routes = Routes::new(&net);
    let routing = started.elapsed();

    let route = |flow: u64| {
        let hosts = net.hosts();
        let from = pick(2 * flow, hosts.len());
        let to = (from + 1 + pick(2 * flow + 1, hosts.len() - 1)) % hosts.len();
        let hash = flow_hash(hosts[from], hosts[to], flow);
        routes.path(&net, hosts[from], hosts[to], hash)
    };
    let paths = (0..count + 200).map(route).collect::<Result<Vec<Path>, _>>()?;
    let (first, later) = paths.split_at(count as usize);
    let capacity: Vec<_> = net.links().iter().map(|link| link.capacity).collect();

    let full = |paths: &[Path]| {
        let started = Instant::now();
        let mut shares = FairShares::new(&capacity);
        let slots: Vec<_> = paths.iter().map(|path| shares.add(path, Weight::ONE)).collect();
        shares.settle();
        (shares, slots, started.elapsed())
    };
    let mut runs: Vec<_> = (0..5).map(|_| full(first).2).collect();
    runs.sort_unstable();
    let (mut shares, mut slots, _) = full(first);

    let (mut arrivals, mut departures, mut again) = (Vec::new(), Vec::new(), 0);
    for (at, path) in later.iter().enumerate() {
        let started = Instant::now();
        let slot = shares.add(path, Weight::ONE);
        again += shares.settle();
        arrivals.push(started.elapsed());
        let leaving = std::mem::replace(&mut slots[pick(7 + at as u64, count as usize)], slot);
        let started = Instant::now();
        shares.remove(leaving);
        again += shares.settle();
        departures.push(started.elapsed());
    }
    arrivals.sort_unstable();
    departures.sort_unstable();

    let ms = |span: std::time::Duration| span.as_secs_f64() * 1e3;
    let mean = |spans: &[std::time::Duration]| {
        spans.iter().map(|span| ms(*span)).sum::<f64>() / spans.len() as f64
    };
    let rows = [
        ("routes_of_1024_hosts", ms(routing), ms(routing), 1),
        ("full_allocation", mean(&runs), ms(runs[runs.len() - 1]), runs.len()),
        ("arrival", mean(&arrivals), ms(arrivals[arrivals.len() - 1]), arrivals.len()),
        ("departure", mean(&departures), ms(departures[departures.len() - 1]), departures.len()),
    ];
    let seen = again / (arrivals.len() + departures.len());
    if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(what, mean, worst, runs)| {
                format!(
                    "{{\"what\":\"{what}\",\"flows\":{count},\"hosts\":{},\"mean_ms\":{mean:.3},\
                     \"worst_ms\":{worst:.3},\"runs\":{runs}}}",
                    net.hosts().len()
                )
            })
            .collect();
        println!(
            "{{\"meta\":{{\"command\":\"scale\",\"version\":\"{}\",\"seed\":0,\"cores\":1,\
             \"seconds\":{:.3},\"flows_seen_again\":{seen}}},\"rows\":[{}]}}",
            env!("CARGO_PKG_VERSION"),
            started.elapsed().as_secs_f64(),
            rows.join(",")
        );
    } else {
        println!("{count} flows, {} hosts, {} links", net.hosts().len(), net.links().len());
        for (what, mean, worst, runs) in rows {
            println!("{what:22} mean {mean:8.3} ms   worst {worst:8.3} ms   of {runs}");
        }
        println!("a change looks at {seen} flows again, on average");
    }
    Ok(())
}
