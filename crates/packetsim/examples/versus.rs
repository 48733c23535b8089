//! Schemes side by side: all-to-all and incast on one switch at 40 Gbit/s.
//!
//! `cargo run --release -p laxity-packetsim --example versus -- [--jobs N] [--seeds N] [--kb N]
//! [--message N] [--case all|incast|lone] [SCHEME…]`
//!
//! Prints job completion times (JCT, mean and 99th percentile) and slowdowns: JCT over the time that
//! the promised bytes alone would take in an empty network. For incast the ideal is that of all
//! senders' promised bytes through the receiver's link.

use std::{env, error::Error};

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{
    Flow, HostId, Limits, Messages, Outcome, PortBase, Schedule, Scheme, Setup, Simulation, World,
    ideal_time, packet_sizes,
};
use laxity_topology::Topology;

const LINE: Rate = Rate::from_gbps(40);
const BUFFER: Bytes = Bytes::new(1_500_000);
const MARK: u32 = 65;
const LOAD: f64 = 0.6;

struct Options {
    jobs: usize,
    seeds: u64,
    kb: Option<u64>,
    message: u32,
    case: Option<String>,
    schemes: Vec<Scheme>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut found =
        Options { jobs: 4000, seeds: 3, kb: None, message: 1400, case: None, schemes: Vec::new() };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--jobs" => found.jobs = value()?.parse()?,
            "--seeds" => found.seeds = value()?.parse()?,
            "--kb" => found.kb = Some(value()?.parse()?),
            "--message" => found.message = value()?.parse()?,
            "--case" => found.case = Some(value()?),
            name => found.schemes.push(name.parse()?),
        }
    }
    if found.schemes.is_empty() {
        let names = ["laxity", "atp-full", "dctcp-es"];
        found.schemes = names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
    }
    Ok(found)
}

/// Numbers that can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn flow(from: u16, to: u16, bytes: u64, message: u32, min: Fraction) -> Flow {
    let count = bytes.div_ceil(u64::from(message)).max(1) as u32;
    Flow {
        from: HostId(from),
        to: HostId(to),
        stack: 0,
        tag: 0,
        messages: Messages::Equal { count, bytes: message },
        min_delivery: min,
    }
}

fn setup(scheme: Scheme, hosts: u32, seed: u64) -> Result<Setup, Box<dyn Error>> {
    let topology = Topology::star(hosts, LINE, Span::from_us(2))?;
    let base = PortBase { buffer: BUFFER, mark_above_packets: MARK, rate: LINE };
    let (switch, nic, routing) = (scheme.ports(&base), scheme.nic(), scheme.routing());
    Ok(Setup { topology, routing, switch, nic, faults: Vec::new(), seed })
}

fn run(scheme: Scheme, setup: &Setup, flows: &[(Time, Flow)]) -> Result<Outcome, Box<dyn Error>> {
    let base_rtt = Simulation::new(setup, |_| Vec::new())?.base_rtt();
    let world = World { line_rate: LINE, base_rtt, hosts: setup.topology.hosts().len() };
    let mut simulation =
        Simulation::new(setup, |host| vec![scheme.stack(host, setup.seed, &world)])?;
    let mut driver = Schedule::new(flows.to_vec());
    Ok(simulation.run(&mut driver, Limits::until(Time::from_ps(0) + Span::from_secs(20))))
}

/// Bytes that have to arrive.
fn promised(flow: &Flow) -> u64 {
    let count = flow.min_delivery.of(u64::from(flow.messages.count()));
    count * u64::from(flow.messages.size(0))
}

#[derive(Default)]
struct Figures {
    times: Vec<f64>,
    slowdowns: Vec<f64>,
    short: usize,
    unfinished: usize,
    drops: u64,
    sent: u64,
    again: u64,
    timeouts: u64,
    need: u64,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn p99(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * 99).div_ceil(100).max(1) - 1;
    values.get(at).copied().unwrap_or(f64::NAN)
}

impl Figures {
    fn add(&mut self, outcome: &Outcome, ideal: impl Fn(usize) -> Span, flows: &[(Time, Flow)]) {
        for done in &outcome.done {
            let time = done.finished.since(done.started);
            self.times.push(time.as_secs_f64() * 1e6);
            let ideal = ideal(done.flow.index());
            self.slowdowns.push(time.as_secs_f64() / ideal.as_secs_f64());
            let least = done.messages as u64;
            let least = flows[done.flow.index()].1.min_delivery.of(least);
            self.short += usize::from(done.short || u64::from(done.delivered) < least);
        }
        self.unfinished += outcome.unfinished.len();
        self.drops += outcome.drops;
        self.sent += outcome.tally.data_packets;
        self.again += outcome.tally.again;
        self.timeouts += outcome.tally.timeouts;
        self.need +=
            flows.iter().map(|(_, flow)| packet_sizes(promised(flow)).count() as u64).sum::<u64>();
    }

    fn print(mut self, title: &str, scheme: Scheme) {
        let (jct, slowdown) = (mean(&self.times), mean(&self.slowdowns));
        let (jct99, slowdown99) = (p99(&mut self.times), p99(&mut self.slowdowns));
        println!(
            "{title:24} {scheme:14} {jct:9.1} {jct99:9.1} {slowdown:8.2} {slowdown99:8.2} {:6.2} {:7} {:5} {:4} {:4}",
            self.sent as f64 / self.need as f64,
            self.drops,
            self.timeouts,
            self.short,
            self.unfinished,
        );
    }
}

fn all_to_all(scheme: Scheme, options: &Options, min: Fraction) -> Result<Figures, Box<dyn Error>> {
    let hosts = 16;
    let mut figures = Figures::default();
    for seed in 1..=options.seeds {
        let (mut dice, mut now) = (Dice(seed), 0.0);
        let mut flows = Vec::new();
        // Bytes from 10 KB to 1 MB, each decade alike.
        let (least, most) = (10e3f64, 1e6f64);
        let mean_bytes = (most - least) / (most / least).ln();
        let gap = mean_bytes * 8.0 / (LINE.as_bps() as f64 * LOAD * f64::from(hosts));
        for _ in 0..options.jobs {
            now -= (1.0 - dice.roll()).ln() * gap;
            let from = (dice.roll() * f64::from(hosts)) as u16;
            let to = (from + 1 + (dice.roll() * f64::from(hosts - 1)) as u16) % hosts as u16;
            let bytes = least * (most / least).powf(dice.roll());
            let at = Time::ZERO + Span::from_secs_f64(now);
            flows.push((at, flow(from, to, bytes as u64, options.message, min)));
        }
        let setup = setup(scheme, hosts, seed)?;
        let outcome = run(scheme, &setup, &flows)?;
        let ideal = |at: usize| {
            let flow = &flows[at].1;
            ideal_time(&setup, packet_sizes(promised(flow)), flow.from, flow.to)
        };
        figures.add(&outcome, ideal, &flows);
    }
    Ok(figures)
}

fn incast(
    scheme: Scheme,
    options: &Options,
    senders: u16,
    bytes: u64,
    min: Fraction,
) -> Result<Figures, Box<dyn Error>> {
    let mut figures = Figures::default();
    for seed in 1..=options.seeds {
        let setup = setup(scheme, u32::from(senders) + 1, seed)?;
        let flows: Vec<_> = (1..=senders)
            .map(|from| (Time::ZERO, flow(from, 0, bytes, options.message, min)))
            .collect();
        let outcome = run(scheme, &setup, &flows)?;
        let all = promised(&flows[0].1) * u64::from(senders);
        let ideal = ideal_time(&setup, packet_sizes(all), HostId(1), HostId(0));
        figures.add(&outcome, |_| ideal, &flows);
    }
    Ok(figures)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let wants = |case: &str| options.case.as_deref().is_none_or(|only| only == case);
    println!(
        "{:24} {:14} {:>9} {:>9} {:>8} {:>8} {:>6} {:>7} {:>5} {:>4} {:>4}",
        "case",
        "scheme",
        "JCT us",
        "p99",
        "slowdown",
        "p99",
        "sent/",
        "drops",
        "RTOs",
        "shrt",
        "open"
    );
    for min in [0.5, 0.7, 0.9] {
        let fraction = Fraction::new(min)?;
        for scheme in &options.schemes {
            if wants("lone") {
                let bytes = options.kb.unwrap_or(1000) * 1000;
                let title = format!("lone {} KB, d={min}", bytes / 1000);
                incast(*scheme, &options, 1, bytes, fraction)?.print(&title, *scheme);
            }
        }
        for scheme in &options.schemes {
            if wants("all") {
                let title = format!("all-to-all 0.6, d={min}");
                all_to_all(*scheme, &options, fraction)?.print(&title, *scheme);
            }
        }
        for (senders, kb) in [(8, 64), (8, 1000), (32, 64), (32, 1000)] {
            let kb = options.kb.unwrap_or(kb);
            for scheme in &options.schemes {
                if wants("incast") {
                    let title = format!("{senders}->1 {kb} KB, d={min}");
                    let bytes = kb * 1000;
                    incast(*scheme, &options, senders, bytes, fraction)?.print(&title, *scheme);
                }
            }
        }
    }
    Ok(())
}
