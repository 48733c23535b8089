//! Schemes side by side: all-to-all and incast on one switch at 40 Gbit/s.
//!
//! `cargo run --release -p laxity-packetsim --example versus -- [--jobs N] [--seeds N] [--kb N]
//! [--message N|fbkv|fbhd] [--case all|incast|lone] [--fabric star|leaf-spine] [--load L] [SCHEME…]`
//!
//! Prints job completion times (JCT, mean and 99th percentile) and slowdowns: JCT over the time that
//! the promised bytes alone would take in an empty network. For incast the ideal is that of all
//! senders' promised bytes through the receiver's link, and the last two columns say what no scheme can
//! be below: the k-th job cannot end before the k smallest have passed that link.

use std::{env, error::Error};

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{
    Chance, Flow, HostId, Limits, Messages, Outcome, PortBase, Ready, Schedule, Scheme, Setup,
    Simulation, World, ideal_time, packet_sizes, sizes::Sizes,
};
use laxity_topology::Topology;

const LINE: Rate = Rate::from_gbps(40);
const BUFFER: Bytes = Bytes::new(1_500_000);
const MARK: u32 = 65;

struct Options {
    jobs: usize,
    seeds: u64,
    kb: Option<u64>,
    /// How large messages are.
    message: Sizes,
    load: f64,
    fabric: Fabric,
    case: Option<String>,
    schemes: Vec<Scheme>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut found = Options {
        jobs: 4000,
        seeds: 3,
        kb: None,
        message: "1400B".parse()?,
        load: 0.6,
        fabric: Fabric::Star,
        case: None,
        schemes: Vec::new(),
    };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--jobs" => found.jobs = value()?.parse()?,
            "--seeds" => found.seeds = value()?.parse()?,
            "--kb" => found.kb = Some(value()?.parse()?),
            "--message" => {
                let value = value()?;
                let plain = value.bytes().all(|byte| byte.is_ascii_digit());
                found.message = if plain { format!("{value}B").parse()? } else { value.parse()? };
            }
            "--load" => found.load = value()?.parse()?,
            "--fabric" => {
                found.fabric = match value()?.as_str() {
                    "star" => Fabric::Star,
                    "leaf-spine" => Fabric::LeafSpine,
                    other => return Err(format!("no fabric `{other}`: star, leaf-spine").into()),
                }
            }
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

/// What is between the hosts.
#[derive(Clone, Copy)]
enum Fabric {
    /// One switch.
    Star,
    /// Eight hosts under each leaf and as much between leaves and spines.
    LeafSpine,
}

impl Fabric {
    fn build(self, hosts: u32) -> Result<Topology, Box<dyn Error>> {
        Ok(match self {
            Self::Star => Topology::star(hosts, LINE, Span::from_us(2))?,
            Self::LeafSpine => {
                let leaves = hosts.div_ceil(8);
                Topology::leaf_spine(leaves, 4, hosts.div_ceil(leaves), LINE, 1, Span::from_us(1))?
            }
        })
    }
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

fn flow(from: u16, to: u16, bytes: u64, sizes: &Sizes, min: Fraction, chance: &mut Chance) -> Flow {
    let messages = match sizes {
        Sizes::Fixed(size) => {
            let count = bytes.div_ceil(size.get()).max(1) as u32;
            Messages::Equal { count, bytes: size.get() as u32 }
        }
        // Ten at least, so that there is something to leave out.
        drawn => {
            let count = (bytes as f64 / drawn.mean()).round().max(10.0) as u32;
            Messages::Sizes((0..count).map(|_| drawn.sample(chance)).collect())
        }
    };
    let (from, to) = (HostId(from), HostId(to));
    Flow { from, to, stack: 0, tag: 0, messages, ready: Ready::AtOnce, min_delivery: min }
}

fn setup(scheme: Scheme, fabric: Fabric, hosts: u32, seed: u64) -> Result<Setup, Box<dyn Error>> {
    let topology = fabric.build(hosts)?;
    let base = PortBase { buffer: BUFFER, mark_above_packets: MARK, rate: LINE };
    let (switch, nic, routing) = (scheme.ports(&base), scheme.nic(), scheme.routing());
    Ok(Setup { nic, routing, ..Setup::new(topology, switch, seed) })
}

fn run(scheme: Scheme, setup: &Setup, flows: &[(Time, Flow)]) -> Result<Outcome, Box<dyn Error>> {
    let base_rtt = Simulation::new(setup, |_| Vec::new())?.base_rtt();
    let world = World { line_rate: LINE, base_rtt, hosts: setup.topology.hosts().len() };
    let mut simulation =
        Simulation::new(setup, |host| vec![scheme.stack(host, setup.seed, &world)])?;
    let mut driver = Schedule::new(flows.to_vec());
    Ok(simulation.run(&mut driver, Limits::until(Time::from_ps(0) + Span::from_secs(20))))
}

/// Bytes that have to arrive: the smallest messages that are enough.
fn promised(flow: &Flow) -> u64 {
    let count = flow.min_delivery.of(u64::from(flow.messages.count())) as usize;
    let mut sizes: Vec<_> = (0..flow.messages.count()).map(|at| flow.messages.size(at)).collect();
    sizes.sort_unstable();
    sizes[..count].iter().map(|size| u64::from(*size)).sum()
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
    /// For incast: when the first, the second, … job can have ended at the soonest, in microseconds.
    soonest: Vec<f64>,
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
        let bound = match self.soonest.is_empty() {
            true => String::new(),
            false => format!("{:9.1} {:9.1}", mean(&self.soonest), p99(&mut self.soonest)),
        };
        println!(
            "{title:24} {scheme:14} {jct:9.1} {jct99:9.1} {slowdown:8.2} {slowdown99:8.2} {:6.2} {:7} {:5} {:4} {:4} {bound}",
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
        let mut chance = Chance::new(seed, "versus", 0);
        let mut drawn = Vec::new();
        // Bytes from 10 KB to 1 MB, each decade alike.
        let (least, most) = (10e3f64, 1e6f64);
        for _ in 0..options.jobs {
            let pause = -(1.0 - dice.roll()).ln();
            let from = (dice.roll() * f64::from(hosts)) as u16;
            let to = (from + 1 + (dice.roll() * f64::from(hosts - 1)) as u16) % hosts as u16;
            let bytes = least * (most / least).powf(dice.roll());
            drawn.push((pause, flow(from, to, bytes as u64, &options.message, min, &mut chance)));
        }
        let bytes: u64 = drawn.iter().map(|(_, flow)| flow.messages.total()).sum();
        let capacity = LINE.as_bps() as f64 * options.load * f64::from(hosts);
        let gap = bytes as f64 * 8.0 / capacity / options.jobs as f64;
        let mut flows = Vec::new();
        for (pause, flow) in drawn {
            now += pause * gap;
            flows.push((Time::ZERO + Span::from_secs_f64(now), flow));
        }
        let setup = setup(scheme, options.fabric, hosts, seed)?;
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
        let setup = setup(scheme, options.fabric, u32::from(senders) + 1, seed)?;
        let mut chance = Chance::new(seed, "versus", 1);
        let flows: Vec<_> = (1..=senders)
            .map(|from| (Time::ZERO, flow(from, 0, bytes, &options.message, min, &mut chance)))
            .collect();
        let outcome = run(scheme, &setup, &flows)?;
        let mut sizes: Vec<_> = flows.iter().map(|(_, flow)| promised(flow)).collect();
        sizes.sort_unstable();
        let mut sum = 0;
        let soonest = sizes.iter().map(|size| {
            sum += size;
            ideal_time(&setup, packet_sizes(sum), HostId(1), HostId(0))
        });
        let soonest: Vec<_> = soonest.collect();
        let ideal = soonest.last().copied().ok_or("no senders")?;
        figures.add(&outcome, |_| ideal, &flows);
        figures.soonest.extend(soonest.iter().map(|span| span.as_secs_f64() * 1e6));
    }
    Ok(figures)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let wants = |case: &str| options.case.as_deref().is_none_or(|only| only == case);
    println!(
        "{:24} {:14} {:>9} {:>9} {:>8} {:>8} {:>6} {:>7} {:>5} {:>4} {:>4} {:>9} {:>9}",
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
        "open",
        ">= mean",
        ">= p99"
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
                let title = format!("all-to-all {}, d={min}", options.load);
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
