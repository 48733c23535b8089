//! How long a controller takes to plan one round of a large cluster: 1,000 hosts and 10,000 flows, with
//! each scheme, and 10,000 updates of a model.
//!
//! `cargo run --release -p laxity-controller --example rounds [-- --json] [--runs N]`
//!
//! Hosts are simulated: they say over the protocol's words what real ones say, without a network. Each
//! round of flows follows a change: some flows end, others come, and all report what they have sent.
//! Times are those of the deciding thread: other processes on the machine do not count.

use std::{collections::BTreeMap, time::Instant};

use laxity_controller::{
    CONTROLLER, Controller, Event, HostKeys, NONCE_BYTES, Opening, Options, Outgoing, Saved,
    SessionId, wire,
};
use laxity_fabric::{
    Rank,
    rendezvous::Secret,
    roles::{
        Add, Aggregator, AggregatorOptions, Mode, Node, Push, Server, ServerOptions, Version,
        Worker, WorkerOptions,
    },
};
use laxity_interface::{Bytes, Flow, Fraction, Job, Rate, Span, Time};
use laxity_planner::Scheme;
use wire::{from_host, to_host};

const HOSTS: u32 = 1000;
const FLOWS: u32 = 10_000;
/// Flows of one job: a shuffle of ten hosts.
const OF_JOB: u32 = 100;
/// Jobs that end, and as many that come, before each round.
const CHANGES: u32 = 2;

/// How long this thread has had a core, in milliseconds, where the system says so.
fn on_cpu() -> Option<f64> {
    // The kernel counts a running thread's time when it looks at it, which is now, or at its next tick.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| ns / 1e6)
}

/// What something took of this thread, in milliseconds.
fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let (start, busy) = (Instant::now(), on_cpu());
    let made = run();
    let wall = start.elapsed().as_secs_f64() * 1e3;
    (made, on_cpu().zip(busy).map_or(wall, |(after, before)| after - before))
}

/// A controller with all hosts attached.
struct Cluster {
    core: Controller,
    now: Time,
    secret: Secret,
}

impl Cluster {
    fn new(options: Options) -> Self {
        let secret = Secret::Insecure;
        let core = Controller::new(Time::ZERO, options, secret.clone(), Saved::default());
        let mut cluster = Self { core, now: Time::ZERO, secret };
        for host in 0..HOSTS {
            cluster.attach(host);
        }
        cluster
    }

    fn attach(&mut self, host: u32) {
        let mut seed = [0; 32];
        seed[..4].copy_from_slice(&host.to_le_bytes());
        let keys = HostKeys::from_seed(seed);
        // Hosts differ, by a rule without chance: 1 to 10 Gbit/s.
        let rate = Rate::from_gbps(1 + u64::from(host * 7) % 10).as_bps();
        let hello = wire::Hello {
            name: name(host),
            up_bps: Some(rate),
            down_bps: Some(rate),
            ..Default::default()
        };
        let nonce = [1; NONCE_BYTES];
        let secret = self.secret.clone();
        let opening = Opening::new(&secret, Some(&keys), nonce, hello);
        let id = SessionId(host.into());
        let at = ([10, 0, (host / 250) as u8, (host % 250) as u8], 4000).into();
        self.core.handle_opened(self.now, id, at, nonce);
        self.core.handle_word(self.now, id, opening.hello());
        let Some(Outgoing::Word(wire::ToHost { word: Some(to_host::Word::Challenge(challenge)) })) =
            self.core.poll_word(self.now, id)
        else {
            panic!("the controller did not answer");
        };
        let proof = opening.proof("here", &challenge).expect("one key");
        self.core.handle_word(self.now, id, proof);
    }

    fn say(&mut self, host: u32, word: from_host::Word) {
        let word = wire::FromHost { word: Some(word) };
        self.core.handle_word(self.now, SessionId(host.into()), word);
    }

    /// Everything that waits is said; words of roles are given to `on_role`.
    fn listen(&mut self, mut on_role: impl FnMut(wire::RoleWord)) -> usize {
        let mut plans = 0;
        for id in self.core.ready().collect::<Vec<_>>() {
            while let Some(Outgoing::Word(word)) = self.core.poll_word(self.now, id) {
                match word.word {
                    Some(to_host::Word::Plans(told)) => plans += told.plans.len(),
                    Some(to_host::Word::Role(word)) => on_role(word),
                    _ => {}
                }
            }
        }
        plans
    }
}

fn name(host: u32) -> String {
    format!("host-{host}")
}

/// A job of one shuffle: ten hosts send to ten others. What it asks for differs from job to job.
fn job(number: u32) -> Job {
    let base = number * 37;
    let flows = (0..OF_JOB).map(|at| {
        let (from, to) = ((base + at / 10 * 13) % HOSTS, (base + 500 + at % 10 * 17) % HOSTS);
        let size = Bytes::new(1_000_000 + u64::from((number * 31 + at * 7) % 1000) * 100_000);
        let flow = Flow::builder(name(from), name(to), size);
        match number % 4 {
            0 => flow.priority(number / 4 % 8),
            1 => flow.deadline(Span::from_ms(u64::from(500 + at * 40 + number % 97))),
            2 => flow.weight(f64::from(1 + at % 5)),
            _ => flow.min_delivery(Fraction::new(0.9).expect("a fraction")),
        }
    });
    Job::builder(format!("job-{number}")).flows(flows).build().expect("a job")
}

fn owner(number: u32) -> u32 {
    number % HOSTS
}

fn submit(cluster: &mut Cluster, number: u32) {
    let submit = wire::Submit { job: job(number).to_json(), sent: Vec::new(), age_ps: 0 };
    cluster.say(owner(number), from_host::Word::Submit(submit));
}

/// The times of rounds of flows, and of telling their plans, in milliseconds.
fn flows(scheme: Scheme, runs: usize) -> (Vec<f64>, Vec<f64>) {
    let mut options = Options::new("rounds");
    options.flows.scheme = scheme;
    let mut cluster = Cluster::new(options);
    let jobs = FLOWS / OF_JOB;
    (0..jobs).for_each(|number| submit(&mut cluster, number));
    cluster.now += Span::from_ms(20);
    cluster.core.handle_timeout(cluster.now);
    cluster.listen(|_| ());
    while cluster.core.poll_event().is_some() {}
    let (mut times, mut telling) = (Vec::new(), Vec::new());
    for run in 0..runs as u32 {
        for change in 0..CHANGES {
            let old = run * CHANGES + change;
            let word = wire::Withdraw { job: format!("job-{old}") };
            cluster.say(owner(old), from_host::Word::Withdraw(word));
            submit(&mut cluster, jobs + old);
        }
        for number in (run + 1) * CHANGES..jobs + (run + 1) * CHANGES {
            for flow in 0..OF_JOB {
                let bytes = u64::from(run) * 10_000;
                let word = wire::Sent { job: format!("job-{number}"), flow, bytes };
                cluster.say(owner(number), from_host::Word::Sent(word));
            }
        }
        cluster.now += Span::from_ms(20);
        let now = cluster.now;
        times.push(timed(|| cluster.core.handle_timeout(now)).1);
        let planned =
            std::iter::from_fn(|| cluster.core.poll_event()).find_map(|event| match event {
                Event::Round { flows, .. } => Some(flows),
                _ => None,
            });
        assert_eq!(planned, Some(FLOWS as usize), "every flow is planned in every round");
        telling.push(timed(|| cluster.listen(|_| ())).1);
    }
    (times, telling)
}

/// A training job: who does what.
struct Crew {
    label: &'static str,
    servers: u32,
    aggregators: u32,
    staleness: Option<u64>,
}

/// The times of rounds of updates, in milliseconds. The roles are fabric's own.
fn updates(crew: &Crew, runs: usize) -> Vec<f64> {
    let mut times = Vec::new();
    for run in 0..runs {
        let mut options = Options::new("rounds");
        options.crews.batch = usize::MAX;
        options.crews.interval = Span::from_ms(900);
        let mut cluster = Cluster::new(options);
        let workers = HOSTS - crew.aggregators;
        let mut nodes: BTreeMap<u32, Node> = BTreeMap::new();
        for rank in 0..HOSTS {
            let me = Rank::new(rank);
            let scheduler = Some(CONTROLLER);
            let (role, node) = if rank < crew.servers {
                let ranks: Vec<_> = (crew.servers..workers).map(Rank::new).collect();
                let mode = Mode::Async { staleness: crew.staleness };
                let options = ServerOptions { scheduler, mode, ..ServerOptions::new(ranks) };
                let server = Server::new(me, vec![0.0; 4], Add, options);
                (wire::Role::Model, Node::new(me).with_server(server.expect("a server")))
            } else if rank < workers {
                let options = WorkerOptions { scheduler, ..WorkerOptions::default() };
                (wire::Role::Worker, Node::new(me).with_worker(Worker::new(me, options)))
            } else {
                let options = AggregatorOptions { scheduler, ..AggregatorOptions::default() };
                let aggregator = Aggregator::new(me, options);
                (wire::Role::Aggregator, Node::new(me).with_aggregator(aggregator))
            };
            nodes.insert(rank, node);
            let seat = wire::Seat { crew: "train".into(), rank, roles: vec![role.into()] };
            cluster.say(rank, from_host::Word::Seat(seat));
        }
        cluster.now += Span::from_ms(1);
        let now = cluster.now;
        let own = workers - crew.servers;
        for number in 0..FLOWS {
            // Every worker has updates for several servers.
            let worker = crew.servers + number % own;
            let server = Rank::new((number + number / own) % crew.servers);
            let size = 1000 + (number * 31 + run as u32) as usize % 1000;
            let push = Push::new(&vec![1.0; size], Version::default());
            let node = nodes.get_mut(&worker).and_then(Node::worker).expect("a worker");
            node.push(now, server, push).expect("room for it");
        }
        for (rank, node) in &mut nodes {
            while let Some(parcel) = node.poll_parcel(now) {
                let (crew, rank) = ("train".to_owned(), *rank);
                let (envelope, word) = (parcel.envelope.encode().to_vec(), parcel.body.to_vec());
                let word = wire::RoleWord { crew, rank, envelope, word };
                cluster.say(rank, from_host::Word::Role(word));
            }
        }
        cluster.listen(|_| ());
        while cluster.core.poll_event().is_some() {}
        cluster.now += Span::from_ms(950);
        let now = cluster.now;
        times.push(timed(|| cluster.core.handle_timeout(now)).1);
        let planned =
            std::iter::from_fn(|| cluster.core.poll_event()).find_map(|event| match event {
                Event::Updates { updates, .. } => Some(updates),
                _ => None,
            });
        assert_eq!(planned, Some(FLOWS as usize), "every update is planned");
    }
    times
}

/// Middle, 99th percentile and slowest.
fn summary(mut times: Vec<f64>) -> (f64, f64, f64) {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part).round() as usize];
    (at(0.5), at(0.99), at(1.0))
}

fn main() {
    let args: Vec<_> = std::env::args().collect();
    let json = args.iter().any(|arg| arg == "--json");
    let runs = args.iter().position(|arg| arg == "--runs").and_then(|at| args.get(at + 1));
    let runs: usize = runs.and_then(|text| text.parse().ok()).unwrap_or(40);
    let mut rows = Vec::new();
    if !json {
        println!("one round, {HOSTS} hosts; times of computing in ms, {runs} rounds each");
        println!("{:32} {:>8} {:>8} {:>8} {:>14}", "", "median", "p99", "slowest", "telling, p99");
    }
    let mut show = |what: String, count: u32, times: Vec<f64>, telling: Option<Vec<f64>>| {
        let (median, p99, slowest) = summary(times);
        let told = telling.map(|telling| summary(telling).1);
        if json {
            let told = told.map_or_else(|| "null".to_owned(), |ms| format!("{ms:.3}"));
            rows.push(format!(
                "{{\"what\":\"{what}\",\"count\":{count},\"median_ms\":{median:.3},\
                 \"p99_ms\":{p99:.3},\"slowest_ms\":{slowest:.3},\"telling_p99_ms\":{told}}}"
            ));
        } else {
            let told = told.map_or_else(String::new, |ms| format!("{ms:.1}"));
            println!("{what:32} {median:8.1} {p99:8.1} {slowest:8.1} {told:>14}");
        }
    };
    for scheme in Scheme::ALL {
        let (times, telling) = flows(scheme, runs);
        show(format!("{FLOWS} flows, {scheme}"), FLOWS, times, Some(telling));
    }
    let crews = [
        Crew { label: "100 servers, no sums", servers: 100, aggregators: 0, staleness: None },
        Crew { label: "100 servers", servers: 100, aggregators: 100, staleness: None },
        Crew { label: "100 servers, bound", servers: 100, aggregators: 100, staleness: Some(200) },
        Crew { label: "10 servers", servers: 10, aggregators: 100, staleness: None },
        Crew { label: "1 server", servers: 1, aggregators: 100, staleness: None },
    ];
    for crew in crews {
        let times = updates(&crew, runs.min(15));
        show(format!("{FLOWS} updates, {}", crew.label), FLOWS, times, None);
    }
    if json {
        let meta = format!("{{\"hosts\":{HOSTS},\"runs\":{runs}}}");
        println!("{{\"meta\":{meta},\"rows\":[{}]}}", rows.join(","));
    }
}
