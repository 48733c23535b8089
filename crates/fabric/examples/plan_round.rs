//! How long a scheduler takes to plan one round of a large cluster.
//!
//! `cargo run --release -p laxity-fabric --example plan_round [-- --json]`

use std::time::Instant;

use laxity_fabric::{
    Rank,
    roles::{
        Letter, Notice, Role, RoleKind, Scheduler, SchedulerOptions, UpdateId, Version, View,
        words::{Announce, Register, Word},
    },
};
use laxity_interface::{Rate, Span, Time};

const HOSTS: u32 = 1000;
const UPDATES: u32 = 10_000;
const RUNS: usize = 15;

struct Shape {
    name: &'static str,
    servers: u32,
    aggregators: u32,
    staleness: Option<u64>,
}

fn register(scheduler: &mut Scheduler, host: u32, role: RoleKind, staleness: Option<u64>) {
    let version = Version { epoch: 0, commits: 1_000_000 };
    let word = Word::Register(Register { role, sync: false, staleness, version });
    let (from, to_role) = (Rank::new(host), RoleKind::Scheduler);
    let letter = Letter { from, from_role: role, to_role, epoch: 0, word, tensor: None };
    scheduler.handle_letter(Time::ZERO, letter);
}

/// How long this thread has had a core, in milliseconds, where the system says so: other processes on the
/// machine do not count.
fn on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| ns / 1e6)
}

/// The times of some rounds in milliseconds, and what the last decided.
fn measure(shape: &Shape) -> (Vec<f64>, Notice) {
    let mut times = Vec::new();
    let mut decided = None;
    for run in 0..RUNS {
        let mut view = View::new(Rate::from_gbps(10));
        for host in 0..HOSTS {
            // Hosts differ, by a rule without chance: 1 to 10 Gbit/s.
            let rate = Rate::from_gbps(1 + u64::from(host * 7 + run as u32) % 10);
            view = view.with_host(Rank::new(host), rate, rate);
        }
        let options = SchedulerOptions {
            batch: usize::MAX,
            interval: Span::from_secs(1),
            ..SchedulerOptions::default()
        };
        let mut scheduler = Scheduler::new(Rank::new(HOSTS), view, options);
        for server in 0..shape.servers {
            register(&mut scheduler, server, RoleKind::Model, shape.staleness);
        }
        let workers = HOSTS - shape.aggregators;
        for host in workers..HOSTS {
            register(&mut scheduler, host, RoleKind::Aggregator, None);
        }
        let now = Time::ZERO + Span::from_secs(1);
        let own = workers - shape.servers;
        for number in 0..UPDATES {
            // Every worker has updates for several servers.
            let worker = Rank::new(shape.servers + number % own);
            let server = Rank::new((number + number / own) % shape.servers);
            scheduler.announce(
                now,
                Announce {
                    update: UpdateId { worker, number: number.into() },
                    server,
                    bytes: 1_000_000 + u64::from(number * 31 % 1000) * 1000,
                    norm: 1.0,
                    version: Version { epoch: 0, commits: 1_000_000 },
                },
            );
        }
        let (start, busy) = (Instant::now(), on_cpu());
        scheduler.plan_round(now);
        let wall = start.elapsed().as_secs_f64() * 1e3;
        times.push(on_cpu().zip(busy).map_or(wall, |(after, before)| after - before));
        decided = std::iter::from_fn(|| scheduler.poll_notice()).last();
    }
    times.sort_by(f64::total_cmp);
    (times, decided.expect("a round was planned"))
}

fn main() {
    let json = std::env::args().any(|arg| arg == "--json");
    let shapes = [
        Shape { name: "100 servers, no sums", servers: 100, aggregators: 0, staleness: None },
        Shape { name: "100 servers", servers: 100, aggregators: 100, staleness: None },
        Shape { name: "100 servers, bound", servers: 100, aggregators: 100, staleness: Some(200) },
        Shape { name: "10 servers", servers: 10, aggregators: 100, staleness: None },
        Shape { name: "1 server", servers: 1, aggregators: 100, staleness: None },
    ];
    let mut rows = Vec::new();
    if !json {
        println!(
            "one round: {HOSTS} hosts, {UPDATES} updates, {RUNS} runs; times of computing in ms"
        );
        println!("{:22} {:>8} {:>8} {:>8}  decided", "", "least", "middle", "most");
    }
    for shape in shapes {
        let (times, decided) = measure(&shape);
        let (least, middle, most) = (times[0], times[RUNS / 2], times[RUNS - 1]);
        let Notice::Round { updates, summed, dropped } = decided else { continue };
        if json {
            rows.push(format!(
                "{{\"shape\":\"{}\",\"servers\":{},\"aggregators\":{},\"least_ms\":{least:.3},\
                 \"middle_ms\":{middle:.3},\"most_ms\":{most:.3},\"updates\":{updates},\
                 \"summed\":{summed},\"dropped\":{dropped}}}",
                shape.name, shape.servers, shape.aggregators
            ));
        } else {
            println!(
                "{:22} {least:8.1} {middle:8.1} {most:8.1}  {updates} planned, {summed} summed, \
                 {dropped} dropped",
                shape.name
            );
        }
    }
    if json {
        let meta = format!("{{\"hosts\":{HOSTS},\"updates\":{UPDATES},\"runs\":{RUNS}}}");
        println!("{{\"meta\":{meta},\"rows\":[{}]}}", rows.join(","));
    }
}
