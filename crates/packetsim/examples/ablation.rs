//! What the steps of NetApprox' ATP are worth, on one workload after the other.
//!
//! `cargo run --release -p laxity-packetsim --example ablation -- [--seeds N] [--schemes A,B] [--list]
//! [CASE…]`
//!
//! All jobs of a case use the same step. It prints the mean time of jobs and the time of the last job
//! (the mean of seeds), each with what it saves over the first step and with how many seeds; what no step
//! can be below (`least`: at every receiver the job with the least left goes first, and nothing is sent
//! in vain; the last job cannot end before the busiest receiver has all); what equal shares of the
//! receivers' links would give (`equal`), all for the payload that is enough, without headers; the first
//! end over the last at receivers with several jobs (`level`: 1 if all end together); how much of the
//! time from its first job's start to its last job's end a receiver's link was busy with data, and the
//! part of that data which was needed (`busy`, `needed`); of what was lost, the part that was lost before
//! the receiver's own link (`inside`); and for each queue of the switches the part of all data packets
//! that came to it and, of those, the part that it lost.

use std::{collections::BTreeMap, env, error::Error};

use laxity_interface::{Ecn, Time};
use laxity_packetsim::{
    Observer, TraceEvent,
    measure::{self, Summary},
    scenario::{Point, Scenario},
    workload::Started,
};
use laxity_topology::LinkId;

/// The step before the last, the two halves of the last, and the last.
const SCHEMES: &str = "atp-mrdf,atp-fixtlr,atp-fixprio,atp-full";
const PARTS: [&str; 5] = ["0.3", "0.5", "0.7", "0.9", "0.95"];

/// Networks: the quick size of `netapprox-breakdown`, the paper's, and one switch.
const SMALL: &str = "kind = \"fat-tree\"\nk = 4\nhosts-per-edge = 3";
const PAPER: &str = "kind = \"fat-tree\"\nk = 8\nhosts-per-edge = 6";
const STAR: &str = "kind = \"star\"\nhosts = 24";

/// Parts of a sender's line that its messages take where they become ready one by one.
const LOADS: [&str; 5] = ["0.1", "0.3", "0.6", "0.9", "1.2"];

/// Exact traffic that does not end.
const EXACT: &str = "[[workloads]]\nkind = \"poisson\"\nscheme = \"dctcp\"\nsize = \"fbhd\"\nmessages = 1\nload = 0.3\n\
                     background = true\n";

struct Case {
    name: String,
    network: &'static str,
    buffer: &'static str,
    /// Workloads of the step that is looked at.
    jobs: Vec<String>,
    /// What else there is.
    beside: &'static str,
}

impl Case {
    fn new(name: &str, part: &str, network: &'static str, jobs: &[&str]) -> Self {
        let with_part = |job: &&str| format!("{job}\nmin-delivery = {part}");
        Self {
            name: format!("{name}-{part}"),
            network,
            buffer: "1.5MB",
            jobs: jobs.iter().map(with_part).collect(),
            beside: "",
        }
    }

    fn scenario(&self, scheme: &str, seeds: u64) -> String {
        let jobs =
            self.jobs.iter().map(|job| format!("[[workloads]]\nscheme = \"{scheme}\"\n{job}\n"));
        format!(
            "seeds = {{ from = 1, to = {seeds}, step = 1 }}\n[topology]\n{}\nrate = \"40Gbps\"\ndelay = \"1us\"\n[switch]\n\
             buffer = \"{}\"\nmark-above = \"65packets\"\n[limits]\nuntil = \"2s\"\n{}{}",
            self.network,
            self.buffer,
            jobs.collect::<String>(),
            self.beside,
        )
    }
}

fn cases() -> Vec<Case> {
    let random = |messages: u32, size: &str| {
        format!("kind = \"random\"\nmessages = {messages}\nsize = \"{size}\"")
    };
    let poisson = |load: f64, count: u32| {
        format!(
            "kind = \"poisson\"\nmessages = 5000\nsize = \"fbkv\"\nload = {load}\ncount = {count}"
        )
    };
    let standard = random(5000, "fbkv");
    let one_by_one = |jobs: &str, arrivals: &str, load: &str| {
        format!("{jobs}\narrivals = \"{arrivals}\"\narrival-load = {load}")
    };
    let mut all = Vec::new();
    for part in PARTS {
        let case = |name: &str, jobs: &[&str]| Case::new(name, part, SMALL, jobs);
        all.push(case("standard", &[&standard]));
        all.push(Case { beside: EXACT, ..case("exact", &[&standard]) });
        all.push(Case { buffer: "125KB", ..case("shallow", &[&standard]) });
        all.push(case("long", &[&random(20_000, "fbkv")]));
        all.push(case("hadoop", &[&random(50, "fbhd")]));
        all.push(case("packets", &[&random(400, "1400B")]));
        all.push(case("sizes", &[&random(2000, "fbkv"), &random(10_000, "fbkv")]));
        all.push(case("open", &[&poisson(0.8, 150)]));
        let incast = "kind = \"incast\"\nsenders = 12\nmessages = 3000\nsize = \"fbkv\"";
        all.push(Case::new("incast", part, STAR, &[incast]));
        // Messages that become ready one by one, at a part of their sender's line.
        for load in LOADS {
            let slow = |jobs: &str, arrivals| one_by_one(jobs, arrivals, load);
            all.push(case(&format!("kv{load}"), &[&slow(&standard, "fbkv")]));
            all.push(case(&format!("hd{load}"), &[&slow(&random(50, "fbhd"), "exponential")]));
            all.push(Case {
                beside: EXACT,
                ..case(&format!("kv{load}-exact"), &[&slow(&standard, "fbkv")])
            });
            let name = format!("kv{load}-incast");
            all.push(Case::new(&name, part, STAR, &[&slow(incast, "fbkv")]));
        }
        all.push(Case::new("paper", part, PAPER, &[&random(2000, "fbkv")]));
    }
    // Jobs with different minimum deliveries in one run.
    let three = |job: &str| {
        ["0.3", "0.6", "0.95"].map(|part| format!("{job}\nmin-delivery = {part}")).to_vec()
    };
    let mixed = |name: &str, job: &str| Case {
        name: name.into(),
        jobs: three(job),
        ..Case::new(name, "1", SMALL, &[])
    };
    all.push(mixed("mixed", &standard));
    all.push(mixed("mixed-open", &poisson(0.27, 50)));
    all.push(Case { beside: EXACT, ..mixed("mixed-exact", &standard) });
    all
}

/// Data packets of the steps at the switches, by queue.
#[derive(Default)]
struct Queues {
    passed: [u64; 8],
    lost: [u64; 8],
    /// Bytes that reached their hosts.
    arrived: u64,
    lost_inside: u64,
    of_switches: Vec<bool>,
    to_hosts: Vec<bool>,
}

impl Queues {
    fn in_words(&self) -> String {
        let came = |queue: usize| self.passed[queue] + self.lost[queue];
        let all = (0..8).map(came).sum::<u64>().max(1) as f64 / 100.0;
        let one = |queue: usize| {
            let lost = 100.0 * self.lost[queue] as f64 / came(queue) as f64;
            format!("{queue}:{:.0}/{lost:.0}", came(queue) as f64 / all)
        };
        (0..8).filter(|queue| came(*queue) > 0).map(one).collect::<Vec<_>>().join(" ")
    }
}

impl Observer for Queues {
    fn on_event(&mut self, _: Time, event: &TraceEvent<'_>) {
        // The steps are the first stack, and their data understands marks.
        match event {
            TraceEvent::Sent { link, packet } if self.of_switches[link.0 as usize] => {
                let counts = packet.stack == 0 && packet.ecn != Ecn::NotEct;
                self.passed[usize::from(packet.class)] += u64::from(counts);
            }
            TraceEvent::Dropped { link: Some(link), packet, .. } => {
                let counts = packet.stack == 0 && packet.ecn != Ecn::NotEct;
                self.lost[usize::from(packet.class)] += u64::from(counts);
                self.lost_inside += u64::from(counts && !self.to_hosts[link.0 as usize]);
            }
            TraceEvent::Delivered { packet, .. } => {
                let counts = packet.stack == 0 && packet.ecn != Ecn::NotEct;
                self.arrived += u64::from(counts) * u64::from(packet.size);
            }
            _ => {}
        }
    }
}

/// Seconds that each job takes if only the receivers' links count: with the least left first, or with
/// equal shares.
fn at_receivers(started: &[&Started], bps: f64, least_first: bool) -> Vec<f64> {
    let mut receivers = BTreeMap::<_, Vec<(f64, f64)>>::new();
    for one in started {
        let seconds = measure::needed(&one.flow).1 as f64 * 8.0 / bps;
        receivers
            .entry(one.flow.to)
            .or_default()
            .push((one.at.since(Time::ZERO).as_secs_f64(), seconds));
    }
    receivers.into_values().flat_map(|jobs| one_link(jobs, least_first)).collect()
}

/// Times of jobs, each with its start and its length, on one link.
fn one_link(mut later: Vec<(f64, f64)>, least_first: bool) -> Vec<f64> {
    later.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut now, mut open, mut times) = (0.0f64, Vec::<(f64, f64)>::new(), Vec::new());
    while !later.is_empty() || !open.is_empty() {
        if open.is_empty() {
            now = now.max(later.last().expect("one of the two has some").0);
        }
        while later.last().is_some_and(|job| job.0 <= now) {
            open.extend(later.pop());
        }
        open.sort_by(|a, b| a.1.total_cmp(&b.1));
        let sharers = if least_first { 1 } else { open.len() };
        let until_end = open[0].1 * sharers as f64;
        let step = later.last().map_or(until_end, |next| until_end.min(next.0 - now));
        now += step;
        for job in &mut open[..sharers] {
            job.1 -= step / sharers as f64;
        }
        if step >= until_end {
            times.push(now - open.remove(0).0);
        }
    }
    times
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

fn most(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

/// What was saved, and with how many seeds.
fn gain(own: &[f64], first: &[f64]) -> String {
    let better = own.iter().zip(first).filter(|(own, first)| own < first).count();
    format!("{:+3.0} % {better}/{}", 100.0 * (1.0 - mean(own) / mean(first)), own.len())
}

/// One step in one case.
#[derive(Default)]
struct Found {
    /// Of all seeds, by workload.
    times: Vec<Vec<f64>>,
    /// Mean and last of each seed.
    means: Vec<f64>,
    lasts: Vec<f64>,
    least: Vec<f64>,
    least_lasts: Vec<f64>,
    equal: Vec<f64>,
    level: Vec<f64>,
    /// Bytes that had to arrive, and that could have while receivers waited.
    needed: u64,
    room: f64,
    open: usize,
    drops: u64,
    sent: u64,
    queues: Queues,
}

impl Found {
    fn add(&mut self, point: &Point, seed: u64, own: usize) -> Result<(), Box<dyn Error>> {
        let net = &point.topology;
        let links = || (0..net.links().len() as u32).map(|link| net.link(LinkId(link)));
        self.queues.of_switches = links().map(|link| net.host_index(link.from).is_none()).collect();
        self.queues.to_hosts = links().map(|link| net.host_index(link.to).is_some()).collect();
        let ran = point.run_with(seed, None, Some(&mut self.queues))?;
        self.times.resize(own, Vec::new());
        let mut all = Vec::new();
        for (times, measured) in self.times.iter_mut().zip(&ran.workloads) {
            times.extend_from_slice(&measured.flow_times);
            all.extend_from_slice(&measured.flow_times);
            self.open += measured.unfinished_flows + measured.short_flows;
        }
        self.means.push(mean(&all));
        self.lasts.push(most(&all));
        self.drops += ran.outcome.drops;
        self.sent += ran.outcome.tally.data_packets;
        let jobs: Vec<_> =
            ran.started.iter().filter(|one| usize::from(one.tag().workload) < own).collect();
        let bps = point.line_rate().as_bps() as f64;
        let least = at_receivers(&jobs, bps, true);
        self.least_lasts.push(most(&least));
        self.least.extend(least);
        self.equal.extend(at_receivers(&jobs, bps, false));
        let mut ends = BTreeMap::<_, Vec<f64>>::new();
        let mut waits = BTreeMap::<_, (Time, Time)>::new();
        for done in &ran.outcome.done {
            let one = &ran.started[done.flow.index()];
            if usize::from(one.tag().workload) < own {
                let time = done.finished.since(one.at).as_secs_f64();
                ends.entry(one.flow.to).or_default().push(time);
                let wait = waits.entry(one.flow.to).or_insert((one.at, done.finished));
                *wait = (wait.0.min(one.at), wait.1.max(done.finished));
            }
        }
        self.needed += jobs.iter().map(|one| measure::needed(&one.flow).1).sum::<u64>();
        let seconds = waits.values().map(|(from, to)| to.since(*from).as_secs_f64());
        self.room += seconds.sum::<f64>() * bps / 8.0;
        let several = ends.values().filter(|ends| ends.len() > 1);
        let first = |ends: &[f64]| ends.iter().copied().fold(f64::MAX, f64::min);
        self.level.extend(several.map(|ends| first(ends) / most(ends)));
        Ok(())
    }

    fn print(&self, scheme: &str, first: Option<&Self>) {
        let all = self.times.concat();
        let Some(summary) = Summary::of(&all) else { return };
        let gains = |pick: fn(&Self) -> &Vec<f64>| {
            first.map(|first| gain(pick(self), pick(first))).unwrap_or_default()
        };
        let workloads: Vec<_> =
            self.times.iter().map(|times| format!("{:.4}", mean(times) * 1e3)).collect();
        println!(
            "  {scheme:12} mean {:.4} {:10} last {:.4} {:10} least {:.4} {:.4} equal {:.4} level {:.2} busy {:.2} needed {:.2} lost {:2.0} % inside {:2.0} % open {} | {} | {}",
            summary.mean * 1e3,
            gains(|found| &found.means),
            mean(&self.lasts) * 1e3,
            gains(|found| &found.lasts),
            mean(&self.least) * 1e3,
            mean(&self.least_lasts) * 1e3,
            mean(&self.equal) * 1e3,
            mean(&self.level),
            self.queues.arrived as f64 / self.room,
            self.needed as f64 / self.queues.arrived as f64,
            self.drops as f64 / self.sent as f64 * 100.0,
            100.0 * self.queues.lost_inside as f64
                / self.queues.lost.iter().sum::<u64>().max(1) as f64,
            self.open,
            workloads.join(" "),
            self.queues.in_words(),
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seeds, mut schemes, mut list, mut wanted) = (2, SCHEMES.to_owned(), false, Vec::new());
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--seeds" => seeds = value()?.parse()?,
            "--schemes" => schemes = value()?,
            "--list" => list = true,
            _ => wanted.push(arg),
        }
    }
    for case in cases() {
        let asked_for =
            |name: &String| case.name == *name || case.name.starts_with(&format!("{name}-"));
        if !wanted.is_empty() && !wanted.iter().any(asked_for) {
            continue;
        }
        println!("{}", case.name);
        if list {
            continue;
        }
        let mut first = None;
        for scheme in schemes.split(',') {
            let scenario = Scenario::from_toml(&case.scenario(scheme, seeds))?;
            let mut found = Found::default();
            for task in scenario.tasks() {
                found.add(&task.point, task.seed, case.jobs.len())?;
            }
            found.print(scheme, first.as_ref());
            first.get_or_insert(found);
        }
    }
    Ok(())
}
