//! How long max-min shares take for 100,000 flows on a fat-tree of 1024 hosts.
//!
//! `cargo run --release -p laxity-planner --example scale -- [--json] [--repeat TIMES] [FLOWS]`
//!
//! With `--repeat` all changes are made several times, and of each the least time counts: that leaves out what
//! other programs took meanwhile.

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

/// Time on a processor so far, in milliseconds: wall-clock time means little on a busy machine.
/// Linux tells; elsewhere it is 0.
fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns: u64 = text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
    ns as f64 / 1e6
}

/// Wall-clock and processor times of repeated work, in milliseconds.
#[derive(Default)]
struct Times {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Times {
    fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), cpu_ms());
        let result = work();
        self.cpu.push(cpu_ms() - cpu);
        self.wall.push(wall.elapsed().as_secs_f64() * 1e3);
        result
    }
    /// Of each piece of work the least of several times: what other programs took meanwhile is left out.
    fn keep_least(&mut self, other: Self) {
        let least = |own: &mut Vec<f64>, other: Vec<f64>| {
            own.resize(other.len(), f64::MAX);
            own.iter_mut().zip(other).for_each(|(own, other)| *own = own.min(other));
        };
        least(&mut self.wall, other.wall);
        least(&mut self.cpu, other.cpu);
    }
    fn mean(&self) -> f64 {
        self.wall.iter().sum::<f64>() / self.wall.len() as f64
    }
    fn cpu_mean(&self) -> f64 {
        self.cpu.iter().sum::<f64>() / self.cpu.len() as f64
    }
    /// The processor time that this part of the runs stayed below; 1 for the worst. Some kernels count
    /// it in ticks of milliseconds.
    fn cpu_quantile(&self, part: f64) -> f64 {
        quantile(&self.cpu, part)
    }
}

fn quantile(times: &[f64], part: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|a| a == "--json");
    let number = |after: Option<usize>| arguments.get(after?)?.parse().ok();
    let repeat = arguments.iter().position(|a| a == "--repeat");
    let first = (0..arguments.len())
        .find(|at| repeat.is_none_or(|r| r + 1 != *at) && number(Some(*at)).is_some());
    let count: u64 = number(first).unwrap_or(100_000);
    let repeat = number(repeat.map(|at| at + 1)).unwrap_or(1);

    let started = Instant::now();
    let net = Topology::fat_tree(16, Rate::from_gbps(10), Span::from_us(1))?;
    let mut routing = Times::default();
    let routes = routing.measure(|| Routes::new(&net));

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

    let build = || {
        let mut shares = FairShares::new(&capacity);
        let slots: Vec<_> = first.iter().map(|path| shares.add(path, Weight::ONE)).collect();
        shares.settle();
        (shares, slots)
    };
    let mut full = Times::default();
    for _ in 0..5 {
        full.measure(build);
    }

    let (mut arrivals, mut departures, mut again) = (Times::default(), Times::default(), 0);
    for _ in 0..repeat {
        let (mut arriving, mut departing) = (Times::default(), Times::default());
        let (mut shares, mut slots) = build();
        again = 0;
        for (at, path) in later.iter().enumerate() {
            let slot = arriving.measure(|| {
                let slot = shares.add(path, Weight::ONE);
                again += shares.settle();
                slot
            });
            let leaving = std::mem::replace(&mut slots[pick(7 + at as u64, count as usize)], slot);
            departing.measure(|| {
                shares.remove(leaving);
                again += shares.settle();
            });
        }
        arrivals.keep_least(arriving);
        departures.keep_least(departing);
    }

    // How many of them really have another rate afterwards, for a few changes.
    let (mut shares, slots) = build();
    let mut others = 0;
    let asked = later.len().min(20);
    for path in &later[..asked] {
        let before: Vec<_> = slots.iter().map(|slot| shares.rate(*slot)).collect();
        shares.add(path, Weight::ONE);
        shares.settle();
        others +=
            slots.iter().zip(before).filter(|(slot, rate)| shares.rate(**slot) != *rate).count();
    }
    let other = others / asked;

    let rows = [
        ("routes_of_all_hosts", &routing),
        ("full_allocation", &full),
        ("arrival", &arrivals),
        ("departure", &departures),
    ];
    let seen = again / (arrivals.wall.len() + departures.wall.len());
    if json {
        let row = |(what, times): &(&str, &Times)| {
            format!(
                "{{\"what\":\"{what}\",\"flows\":{count},\"hosts\":{},\"mean_ms\":{:.3},\
                 \"cpu_mean_ms\":{:.3},\"cpu_p50_ms\":{:.3},\"cpu_p99_ms\":{:.3},\"cpu_worst_ms\":{:.3},\
                 \"runs\":{}}}",
                net.hosts().len(),
                times.mean(),
                times.cpu_mean(),
                times.cpu_quantile(0.5),
                times.cpu_quantile(0.99),
                times.cpu_quantile(1.0),
                times.wall.len()
            )
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        println!(
            "{{\"meta\":{{\"command\":\"scale\",\"version\":\"{}\",\"seed\":0,\"cores\":1,\
             \"seconds\":{:.3},\"flows_seen_again\":{seen},\"flows_with_other_rates\":{other}}},\"rows\":[{}]}}",
            env!("CARGO_PKG_VERSION"),
            started.elapsed().as_secs_f64(),
            rows.join(",")
        );
    } else {
        println!("{count} flows, {} hosts, {} links", net.hosts().len(), net.links().len());
        for (what, times) in rows {
            println!("{what}, {} runs, in ms:", times.wall.len());
            for (clock, mean, times) in [
                ("wall clock", times.mean(), &times.wall),
                ("processor", times.cpu_mean(), &times.cpu),
            ] {
                let [p50, p99, worst] = [0.5, 0.99, 1.0].map(|part| quantile(times, part));
                println!(
                    "  {clock:10} mean {mean:7.3}, p50 {p50:7.3}, p99 {p99:7.3}, worst {worst:7.3}"
                );
            }
        }
        println!("a change looks at {seen} flows again, on average");
        println!(
            "{other} have another rate, in whole bit/s, after one of the first {asked} arrivals"
        );
    }
    Ok(())
}
