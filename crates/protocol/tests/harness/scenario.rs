//! Random scenarios: everything a network and its users may do, from one seed.

use laxity_interface::{Bytes, Finish, GroupId, Rate, Span, Time};
use laxity_link::{Pcg64, stream};
use laxity_protocol::{
    Config, ControllerKind, ElementType, GroupSpec, Key, MessageOrder, Payload, SendRequest,
};
use rand_core::Rng;

use super::{Action, Claim, Job, PathSpec, World, fraction};

/// Draws.
#[derive(Debug)]
pub struct Dice(Pcg64);

impl Dice {
    pub fn new(seed: u64, label: &str) -> Self {
        Self(stream(seed, label, 0))
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n.max(1)
    }
    pub fn range(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }
    pub fn unit(&mut self) -> f64 {
        laxity_link::uniform(&mut self.0)
    }
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
    /// Evenly spread over orders of magnitude.
    pub fn log(&mut self, from: f64, to: f64) -> f64 {
        from * (to / from).powf(self.unit())
    }
    fn span(&mut self, from: Span, to: Span) -> Span {
        Span::from_ps(self.log(from.as_ps() as f64, to.as_ps() as f64) as u64)
    }
}

/// How rough it may get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weather {
    /// Every job has to succeed.
    Fair,
    /// Anything goes.
    Foul,
}

/// A path of one direction.
pub fn path(dice: &mut Dice, weather: Weather) -> PathSpec {
    let rate = Rate::bps(dice.log(5e6, 1e10) as u64);
    let rate = (!dice.chance(0.1)).then_some(rate);
    let delay = dice.span(Span::from_us(2), Span::from_ms(20));
    let fair = weather == Weather::Fair;
    // A queue that does not hold two packets is not fair.
    let queue = Bytes::new(dice.log(if fair { 2e4 } else { 6e3 }, 1e6) as u64);
    let mut path = PathSpec::clean(rate, delay, queue);
    path.loss = match dice.below(10) {
        0 | 1 => 0.0,
        2..=5 => dice.unit() * 0.05,
        6..=8 => dice.unit() * 0.3,
        _ if fair => dice.unit() * 0.1,
        _ => dice.unit() * 0.9,
    };
    if dice.chance(0.25) {
        path.jitter = delay / dice.range(1, 8);
    }
    if dice.chance(0.2) {
        path.duplicate = dice.unit() * 0.3;
    }
    if dice.chance(0.2) {
        path.reorder = (dice.unit() * 0.3, delay / dice.range(1, 10));
    }
    if dice.chance(0.2) {
        path.corrupt = dice.unit() * 0.1;
    }
    if dice.chance(0.25) {
        path.ecn = Some(Bytes::new(dice.log(2e3, 2e5) as u64));
    }
    if !fair {
        if dice.chance(0.2) {
            path.bursts = Some((dice.unit() * 0.1, 0.05 + dice.unit() * 0.5));
        }
        if dice.chance(0.1) {
            path.spikes = (dice.unit() * 0.02, dice.span(Span::from_us(100), Span::from_ms(100)));
        }
        if dice.chance(0.1) {
            let from = Time::ZERO + dice.span(Span::from_us(100), Span::from_ms(500));
            path.blackout = Some((from, from + dice.span(Span::from_ms(1), Span::from_secs(2))));
        }
    }
    path
}

fn controller(dice: &mut Dice, rate: Option<Rate>) -> ControllerKind {
    let rate = rate.unwrap_or(Rate::from_gbps(1));
    match dice.below(9) {
        0 => ControllerKind::SLACK,
        1 => ControllerKind::Slack { reaction: 0.25, marks_count: true },
        2 => ControllerKind::FixedTlr { reaction: 1.0 / 16.0 },
        3 | 4 => ControllerKind::Dctcp,
        5 => ControllerKind::Assigned(rate.mul_f64(0.2 + dice.unit())),
        _ => ControllerKind::Laxity,
    }
}

fn config(dice: &mut Dice, keyed: bool, rate: Option<Rate>) -> Config {
    let mut config = match keyed {
        true => Config::keyed(Key::new([7; 32])),
        false => Config::insecure(),
    };
    config.slack_controller = controller(dice, rate);
    config.exact_controller = controller(dice, rate);
    config.line_rate = rate.filter(|_| dice.chance(0.5));
    config.max_datagram = dice.pick(&[1200, 1232, 1452, 1452, 8900]);
    config.max_jobs = dice.pick(&[3, 64, 64]);
    config.dead_after = Span::from_secs(2);
    config.connect_timeout = Span::from_secs(3);
    if dice.chance(0.2) {
        config.unclaimed_limit = Bytes::new(dice.log(100.0, 1e5) as u64);
    }
    config
}

fn groups(dice: &mut Dice) -> Vec<GroupSpec> {
    let count = dice.pick(&[1, 1, 1, 2, 3, 5]);
    let group = |dice: &mut Dice, at: u16| {
        let least = match dice.below(4) {
            0 => 1.0,
            1 => dice.unit(),
            _ => dice.pick(&[0.0, 0.5, 0.8, 0.9, 0.95, 0.99]),
        };
        GroupSpec { id: GroupId(at * 7 % 64), min_delivery: fraction(least) }
    };
    (0..count).map(|at| group(dice, at)).collect()
}

fn tensor(dice: &mut Dice, groups: &[GroupSpec]) -> Payload {
    use ElementType::{Bf16, F32, F64, I32, U8};
    let element = dice.pick(&[U8, Bf16, F32, F32, I32, F64]);
    let bytes = match dice.below(40) {
        0..5 => dice.below(16),
        5..10 => dice.below(3000),
        10 => dice.below(4_000_000),
        11..15 => dice.below(400_000),
        _ => dice.below(60_000),
    };
    let elements = bytes / element.size() as u64;
    let mut starts: Vec<u64> = groups.iter().skip(1).map(|_| dice.below(elements)).collect();
    starts.extend([0]);
    starts.sort_unstable();
    starts.dedup();
    let ranges = starts.iter().map(|start| (*start, dice.pick(groups).id)).collect();
    let ranges = if dice.chance(0.5) { ranges } else { Vec::new() };
    Payload::Tensor { element, elements, groups: ranges }
}

fn size(dice: &mut Dice) -> u64 {
    match dice.below(8) {
        0 => 0,
        1..=4 => dice.range(1, 300),
        5 => dice.range(1000, 1500),
        6 => dice.below(5000),
        _ => dice.below(15_000),
    }
}

fn messages(dice: &mut Dice, job_groups: &[GroupSpec], job: &mut Job) -> Payload {
    let count = dice.pick(&[0, 2, 5, 20, 50]);
    let message = |dice: &mut Dice| (dice.pick(job_groups).id, size(dice));
    let sizes: Vec<_> = (0..dice.below(count + 1)).map(|_| message(dice)).collect();
    if !dice.chance(0.3) {
        return Payload::Messages { sizes, estimate: Vec::new(), max_message: 0 };
    }
    let estimate = job_groups.iter().map(|_| dice.below(20)).collect();
    let until = dice.span(Span::from_us(10), Span::from_ms(30));
    job.close_at = until;
    job.pushes = (0..dice.below(count + 1))
        .map(|_| {
            let (group, size) = message(dice);
            (until.mul_f64(dice.unit()), group, size)
        })
        .collect();
    job.pushes.sort();
    Payload::Messages { sizes, estimate, max_message: 15_000 }
}

fn job(dice: &mut Dice, nodes: usize, weather: Weather) -> Job {
    let from = dice.below(nodes as u64) as usize;
    let to = (from + dice.range(1, nodes as u64 - 1) as usize) % nodes;
    let groups = groups(dice);
    let request = SendRequest::tensor(ElementType::U8, 0, fraction(1.0));
    let mut shell = Job::new(from, to, request.clone());
    let payload = match dice.chance(0.5) {
        true => tensor(dice, &groups),
        false => messages(dice, &groups, &mut shell),
    };
    let fair = weather == Weather::Fair;
    let request = SendRequest {
        payload,
        groups,
        finish: dice.pick(&[Finish::FirstPass, Finish::Enough]),
        deadline: dice.chance(0.3).then(|| dice.span(Span::from_us(50), Span::from_ms(200))),
        time_limit: Some(Span::from_secs(if fair { 60 } else { dice.range(1, 4) })),
        priority: dice.below(3) as u32,
        weight: dice.log(0.1, 10.0),
        order: dice.pick(&[MessageOrder::FewestRemaining, MessageOrder::Given]),
        label: vec![1; dice.below(30) as usize],
    };
    let mut job = Job::new(from, to, request);
    (job.pushes, job.close_at) = (shell.pushes, shell.close_at);
    if dice.chance(0.4) {
        job.at = dice.span(Span::from_us(1), Span::from_ms(50));
    }
    job.claim = match dice.below(10) {
        0 if !fair => Claim::Never,
        1 | 2 => Claim::After(dice.span(Span::from_us(10), Span::from_ms(100))),
        _ => Claim::AtOnce,
    };
    if !fair && dice.chance(0.03) {
        job.cancel_send = Some(dice.span(Span::from_us(10), Span::from_ms(20)));
    }
    if !fair && dice.chance(0.03) {
        job.cancel_recv = Some(dice.span(Span::from_us(10), Span::from_ms(20)));
    }
    job
}

/// The world of a seed. Two in five are fair.
pub fn build(seed: u64) -> (World, Weather) {
    let mut dice = Dice::new(seed, "scenario");
    let weather = if dice.chance(0.4) { Weather::Fair } else { Weather::Foul };
    let nodes = dice.pick(&[2, 2, 2, 2, 2, 3, 4]);
    let keyed = dice.chance(0.4);
    let there = path(&mut dice, weather);
    let mut specs = Vec::new();
    for from in 0..nodes {
        for to in (0..nodes).filter(|to| *to != from) {
            let spec = if dice.chance(0.5) { path(&mut dice, weather) } else { there.clone() };
            specs.push((from, to, spec));
        }
    }
    // Who is assigned a rate is assigned one that the slowest of its paths carries, or nearly.
    let rate = |node: usize| {
        specs.iter().filter(|spec| spec.0 == node).filter_map(|spec| spec.2.rate).min()
    };
    let configs = (0..nodes).map(|node| config(&mut dice, keyed, rate(node))).collect();
    let mut world = World::new("", seed, configs);
    for (from, to, spec) in &specs {
        world.link(&[(*from, *to)], spec, seed);
    }
    let mut pairs = Vec::new();
    for _ in 0..dice.pick(&[1, 1, 2, 2, 3, 5]) {
        let job = job(&mut dice, nodes, weather);
        pairs.push((job.from.min(job.to), job.from.max(job.to)));
        world.add(job);
    }
    pairs.sort_unstable();
    pairs.dedup();
    for (from, to) in pairs {
        world.plan(Time::ZERO, Action::Connect(from, to));
    }
    if weather == Weather::Foul && dice.chance(0.05) {
        let at = Time::ZERO + dice.span(Span::from_us(500), Span::from_ms(100));
        world.plan(at, Action::Close(0, 1));
    }
    if weather == Weather::Foul && dice.chance(0.25) {
        world.kill = Some((dice.below(nodes as u64) as usize, dice.log(1.0, 500.0) as u64));
    }
    world.title = format!(
        "seed {seed}: LAXITY_SEED={seed} cargo test -p laxity-protocol replay\n{weather:?}, keyed {keyed}, kill {:?}\npaths {specs:?}\njobs {:?}",
        world.kill,
        world.jobs.iter().map(harness_spec).collect::<Vec<_>>()
    );
    (world, weather)
}

/// The planned part of a job, for the output of a failing run.
fn harness_spec(job: &Job) -> String {
    let Job { from, to, at, request, pushes, close_at, claim, cancel_send, cancel_recv, .. } = job;
    format!(
        "\n{from}→{to} at {at} claim {claim:?} cancel {cancel_send:?} {cancel_recv:?} {request:?} pushes {pushes:?} close {close_at}"
    )
}
