//! Jobs with slack behind exact traffic: what they wait for, and what the exact traffic loses to them.
//!
//! `cargo run --release -p laxity-packetsim --example behind -- [--seeds N] [--ms N] [--min D]
//! [--case backlog|poisson] [--kb N] [--flows N] [--load L] [--ports shared|single] [SCHEME]`
//!
//! `backlog`: one receiver, 40 Gbit/s. Some flows of DCTCP fill the first queue of its port; jobs from
//! eight other hosts, a tenth of the line, ask for later ones (`shared`), or all stand in one
//! (`single`). `poisson`: 16 hosts, all to all, exact flows of DCTCP and as many jobs with slack, 10 KB
//! to 1 MB. Prints the completion times of the jobs, those of the exact flows, and what was left open.

use std::{env, error::Error};

use laxity_interface::{Bytes, Fraction, Layout, Rate, Span, Time};
use laxity_packetsim::{
    Chance, Flow, HostId, Limits, Messages, Outcome, PortSetup, Ready, Schedule, Scheme, Setup,
    Simulation, World,
};
use laxity_topology::Topology;

const LINE: Rate = Rate::from_gbps(40);
const BUFFER: Bytes = Bytes::new(1_500_000);
const MARK: u32 = 65;
const MESSAGE: u32 = 1400;
/// What carries flows: jobs with slack, and exact ones.
const SLACK: u8 = 0;
const EXACT: u8 = 1;

struct Options {
    seeds: u64,
    span: Span,
    min: Fraction,
    case: Option<String>,
    kb: Option<u64>,
    flows: Option<u16>,
    load: Option<f64>,
    ports: Layout,
    scheme: Scheme,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut found = Options {
        seeds: 3,
        span: Span::from_ms(50),
        min: Fraction::new(0.7)?,
        case: None,
        kb: None,
        flows: None,
        load: None,
        ports: Layout::Shared,
        scheme: "laxity".parse()?,
    };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--seeds" => found.seeds = value()?.parse()?,
            "--ms" => found.span = Span::from_ms(value()?.parse()?),
            "--min" => found.min = Fraction::new(value()?.parse()?)?,
            "--case" => found.case = Some(value()?),
            "--kb" => found.kb = Some(value()?.parse()?),
            "--flows" => found.flows = Some(value()?.parse()?),
            "--load" => found.load = Some(value()?.parse()?),
            "--ports" => {
                found.ports = match value()?.as_str() {
                    "shared" => Layout::Shared,
                    "single" => Layout::Single,
                    other => return Err(format!("no ports `{other}`: shared, single").into()),
                }
            }
            name => found.scheme = name.parse()?,
        }
    }
    Ok(found)
}

fn flow(from: u64, to: u64, stack: u8, bytes: u64, min_delivery: Fraction) -> Flow {
    let count = bytes.div_ceil(u64::from(MESSAGE)).max(1) as u32;
    let messages = Messages::Equal { count, bytes: MESSAGE };
    let (from, to) = (HostId(from as u16), HostId(to as u16));
    Flow { from, to, stack, tag: u64::from(stack), messages, ready: Ready::AtOnce, min_delivery }
}

fn run(
    hosts: u32,
    seed: u64,
    flows: Vec<(Time, Flow)>,
    options: &Options,
) -> Result<Outcome, Box<dyn Error>> {
    let topology = Topology::star(hosts, LINE, Span::from_us(2))?;
    let setup = Setup::new(topology, PortSetup::named(options.ports, BUFFER, MARK), seed);
    let base_rtt = Simulation::new(&setup, |_| Vec::new())?.base_rtt();
    let world = World { line_rate: LINE, base_rtt, hosts: hosts as usize };
    let exact: Scheme = "dctcp".parse()?;
    let stacks = |host| {
        let slack = options.scheme.stack_on(options.ports, host, seed, &world);
        vec![slack, exact.stack(host, seed, &world)]
    };
    let mut simulation = Simulation::new(&setup, stacks)?;
    Ok(simulation.run(&mut Schedule::new(flows), Limits::until(Time::ZERO + Span::from_secs(5))))
}

/// What came of all seeds.
#[derive(Default)]
struct Figures {
    /// Completion times in microseconds, by stack.
    times: [Vec<f64>; 2],
    open: usize,
    drops: u64,
    again: u64,
}

impl Figures {
    fn add(&mut self, outcome: &Outcome) {
        for done in &outcome.done {
            let took = done.finished.since(done.started);
            self.times[done.tag as usize].push(took.as_secs_f64() * 1e6);
        }
        self.open += outcome.unfinished.len() + outcome.done.iter().filter(|d| d.short).count();
        self.drops += outcome.drops;
        self.again += outcome.tally.again;
    }

    fn print(mut self, title: &str) {
        let mut words = String::new();
        for times in &mut self.times {
            times.sort_by(f64::total_cmp);
            let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
            let at = |percent: usize| {
                let at = (times.len() * percent).div_ceil(100).max(1) - 1;
                times.get(at).copied().unwrap_or(f64::NAN)
            };
            words += &format!("{:6} {mean:9.0} {:9.0} {:9.0}  ", times.len(), at(50), at(99));
        }
        println!("{title:28} {words}{:4} {:7} {:7}", self.open, self.drops, self.again);
    }
}

/// Exact flows that fill the line until the end, and jobs of one size beside them.
fn backlog(kb: u64, exact: u16, options: &Options) -> Result<Figures, Box<dyn Error>> {
    let mut figures = Figures::default();
    for seed in 1..=options.seeds {
        let mut chance = Chance::new(seed, "behind", kb);
        let all = LINE.bytes_in(options.span).get();
        let mut flows = Vec::new();
        for from in 0..u64::from(exact) {
            let bytes = all / u64::from(exact);
            flows.push((Time::ZERO, flow(1 + from, 0, EXACT, bytes, Fraction::ONE)));
        }
        let part = options.load.unwrap_or(0.1);
        let gap = kb as f64 * 1000.0 / (LINE.as_bps() as f64 / 8.0 * part);
        // Not before exact flows have settled, and not where they are about to end.
        let (mut now, end) = (1e-3, options.span.as_secs_f64() * 0.9);
        loop {
            now += chance.exponential() * gap;
            if now > end {
                break;
            }
            let from = 1 + u64::from(exact) + chance.below(8);
            let job = flow(from, 0, SLACK, kb * 1000, options.min);
            flows.push((Time::ZERO + Span::from_secs_f64(now), job));
        }
        figures.add(&run(u32::from(exact) + 9, seed, flows, options)?);
    }
    Ok(figures)
}

/// Exact flows and jobs with slack that come and go.
fn poisson(load: f64, options: &Options) -> Result<Figures, Box<dyn Error>> {
    let (hosts, mut figures) = (16, Figures::default());
    for seed in 1..=options.seeds {
        let mut flows = Vec::new();
        for (stack, min) in [(SLACK, options.min), (EXACT, Fraction::ONE)] {
            let mut chance = Chance::new(seed, "behind", u64::from(stack));
            // 10 KB to 1 MB, each decade alike: 215 KB in the mean.
            let gap = 215e3 / (LINE.as_bps() as f64 / 8.0 * load / 2.0 * hosts as f64);
            let mut now = 0.0;
            while now < options.span.as_secs_f64() {
                now += chance.exponential() * gap;
                let from = chance.below(hosts);
                let to = (from + 1 + chance.below(hosts - 1)) % hosts;
                let bytes = 10e3 * 100f64.powf(chance.uniform());
                let at = Time::ZERO + Span::from_secs_f64(now);
                flows.push((at, flow(from, to, stack, bytes as u64, min)));
            }
        }
        flows.sort_by_key(|(at, _)| *at);
        figures.add(&run(hosts as u32, seed, flows, options)?);
    }
    Ok(figures)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let wants = |case: &str| options.case.as_deref().is_none_or(|only| only == case);
    println!(
        "{:28} {:>6} {:>9} {:>9} {:>9}  {:>6} {:>9} {:>9} {:>9}  {:>4} {:>7} {:>7}",
        "case",
        "jobs",
        "mean us",
        "p50",
        "p99",
        "exact",
        "mean us",
        "p50",
        "p99",
        "open",
        "drops",
        "again"
    );
    if wants("backlog") {
        for exact in options.flows.map_or_else(|| vec![1, 2, 4, 8], |one| vec![one]) {
            for kb in options.kb.map_or_else(|| vec![64, 256, 1000, 4000, 10_000], |one| vec![one])
            {
                backlog(kb, exact, &options)?.print(&format!("{exact} flows, jobs of {kb} KB"));
            }
        }
    }
    if wants("poisson") {
        for load in options.load.map_or_else(|| vec![0.4, 0.6, 0.8], |one| vec![one]) {
            poisson(load, &options)?.print(&format!("poisson, load {load}"));
        }
    }
    Ok(())
}
