//! A copy of the model that may lag behind by a bounded distance, against a chain; the server dies.

use laxity_fabric::roles::{AckAfter, Mode, Node, Replication, norm};
use laxity_interface::{Span, Time};
use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};

use super::live::{
    setting::{Compute, Contention, Setting},
    task::Task,
    world::{SERVER, System, World, ada_delay},
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Replicas;

/// Momentum makes copies drift: a difference is repeated with every step.
const MOMENTUM: f64 = 0.5;
const RATE: f64 = 0.03;

/// What came of one training.
struct Run {
    /// Until the server is killed, or the end.
    commits_per_s: f64,
    /// Bytes for the replica per commit, in models.
    copies_per_commit: f64,
    /// The largest distance that norms allowed, and the largest there was.
    allowed: f64,
    apart: f64,
    /// The largest distance of a commit by itself.
    alone: f64,
    /// After a death.
    failover: Option<Failover>,
    /// Seconds until the target.
    seconds: Option<f64>,
}

struct Failover {
    takes_ms: f64,
    commits_lost: u64,
    apart: f64,
    commits_after: u64,
}

impl Experiment for Replicas {
    fn name(&self) -> &'static str {
        "mlfabric-replica"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let workers = options.pick(8, 16);
        let task = Task::pictures(16, 16, 1.4);
        let setting =
            Setting { compute: Compute::Cs1, contention: Contention::Ns2, seed: options.seed };
        let chain = Replication { ack: AckAfter::Replicated, apart: 0.0, required: false };
        let within = |apart| Replication { ack: AckAfter::Commit, apart, required: false };
        let seconds = options.pick(60, 240);
        let run = |replica, kill| train(&task, replica, workers, setting, seconds, kill);
        options.progress.tell("training with copies", 0, 8);
        let alone = run(None, false)?;
        let chained = run(Some(chain), false)?;
        // Bounds in units of what one commit moves the model.
        let one = chained.alone;
        let mut findings = Findings::new();
        findings.row(row("no copy", None, &alone));
        findings.row(row("chain", Some(0.0), &chained));
        let mut bars = vec![("chain".to_owned(), chained.copies_per_commit)];
        let (mut kept, mut bounded) = (true, Vec::new());
        for (done, factor) in [2.0, 8.0, 32.0].into_iter().enumerate() {
            options.progress.tell("training with copies", 2 + 2 * done as u64, 8);
            let most = factor * one;
            let lives = run(Some(within(most)), false)?;
            let dies = run(Some(within(most)), true)?;
            for (run, dies) in [(&lives, false), (&dies, true)] {
                // A commit that is larger by itself passes when the copy lacks nothing else.
                kept &= run.apart <= run.allowed && run.allowed <= most.max(run.alone);
                kept &= run.failover.as_ref().is_none_or(|over| over.apart <= most.max(run.alone));
                let way = if dies { "bounded, server dies" } else { "bounded" };
                findings.row(row(way, Some(most), run));
            }
            bars.push((format!("within {factor} commits"), lives.copies_per_commit));
            bounded.push((lives, dies));
        }
        options.progress.tell("training with copies", 7, 8);
        let chained_dies = run(Some(chain), true)?;
        findings.row(row("chain, server dies", Some(0.0), &chained_dies));
        judge(&mut findings, &alone, &chained, &chained_dies, &bounded, kept);
        findings.chose(format!(
            "{workers} workers, plain asynchronous training of a perceptron with momentum {MOMENTUM} over the shipping \
             roles in virtual time; contention CS1, NS2 as in mlfabric-async; the server is killed after half of \
             {seconds} s; bounds are 2, 8 and 32 times the largest step of one commit"
        ));
        findings.chose(
            "chain: a worker's update counts when the copy has it, and a commit waits for the copy of the one before; \
             bounded: updates count at once, and copies have what others leave of the link until a commit would pass \
             the bound",
        );
        findings.differs(
            "distances are measured: server and copy are both at hand in virtual time; the bound itself uses norms only",
        );
        let chart = BarChart::new("What copies cost the server")
            .subtitle("models sent to the replica for each commit")
            .categories(bars.iter().map(|(name, _)| name.clone()))
            .y(Axis::linear("models per commit"))
            .series(BarSeries::new("copies", bars.iter().map(|(_, load)| *load)));
        findings.chart("load", chart.to_svg());
        Ok(findings)
    }
}

fn train(
    task: &Task,
    replica: Option<Replication>,
    workers: u32,
    setting: Setting,
    seconds: u64,
    kill: bool,
) -> Result<Run, ReproduceError> {
    let mode = Mode::Async { staleness: None };
    let rule = ada_delay(RATE, 0.03);
    let system = System { mode, scheduler: None, answers: None, replica, momentum: MOMENTUM, rule };
    let mut world = World::new(task, &system, workers, setting)?;
    let end = Time::ZERO + Span::from_secs(seconds);
    let half = Time::ZERO + Span::from_ms(seconds * 500);
    let copy = world.replica_rank();
    let (mut seen, mut apart, mut alone) = (0, 0.0f64, 0.0f64);
    let mut before: Vec<f32> = task.model.start(setting.seed);
    let mut reached = None;
    let until = if kill { half } else { end };
    while world.step(until)? {
        if world.story.commits == seen {
            continue;
        }
        seen = world.story.commits;
        let server = world.nodes.get(&SERVER).and_then(Node::server);
        let follows = world.nodes.get(&copy).and_then(Node::replica);
        if let Some(server) = server {
            alone = alone.max(distance(server.model(), &before));
            before.copy_from_slice(server.model());
            // Until the first copy has arrived there is nothing to compare.
            if let Some(follows) = follows.filter(|_| server.apart().is_some()) {
                apart = apart.max(distance(server.model(), follows.model()));
            }
        }
        if reached.is_none() && seen.is_multiple_of(16) {
            let loss = task.model.evaluate(&before).loss;
            reached = Some(world.now).filter(|_| loss <= task.target);
        }
    }
    let lasted = world.now.since(Time::ZERO).as_secs_f64();
    let commits_per_s = world.story.commits as f64 / lasted;
    let copied = world.network.carried(copy).1 as f64 / task.bytes() as f64;
    let copies_per_commit = copied / world.story.commits.max(1) as f64;
    let allowed = world.story.apart;
    let failover = if kill { Some(fail_over(&mut world, end)?) } else { None };
    let seconds = reached.map(|at: Time| at.since(Time::ZERO).as_secs_f64());
    Ok(Run { commits_per_s, copies_per_commit, allowed, apart, alone, failover, seconds })
}

/// Kills the server and trains on until the end.
fn fail_over(world: &mut World<'_>, end: Time) -> Result<Failover, ReproduceError> {
    let killed = world.now;
    let dead = world.kill(SERVER);
    let (version, model) = dead
        .as_ref()
        .and_then(Node::server)
        .map(|server| (server.version(), server.model().to_vec()))
        .ok_or_else(|| ReproduceError::other("killing the server", "there is none"))?;
    let mut apart = f64::INFINITY;
    let mut after = world.story.commits;
    while world.step(end)? {
        if apart.is_infinite() && world.story.promoted.is_some() {
            after = world.story.commits;
            apart = world.server().map_or(apart, |server| distance(server.model(), &model));
        }
    }
    let (at, promotion) = world
        .story
        .promoted
        .ok_or_else(|| ReproduceError::other("waiting for the replica", "it did not take over"))?;
    Ok(Failover {
        takes_ms: at.since(killed).as_secs_f64() * 1e3,
        commits_lost: version.commits - promotion.version.commits,
        apart,
        commits_after: world.story.commits - after,
    })
}

fn distance(one: &[f32], other: &[f32]) -> f64 {
    let apart: Vec<f32> = one.iter().zip(other).map(|(a, b)| a - b).collect();
    norm(&apart)
}

fn row(way: &str, bound: Option<f64>, run: &Run) -> Row {
    let over = run.failover.as_ref();
    Row::new()
        .with("way", way)
        .with("bound", bound)
        .with("commits_per_s", run.commits_per_s)
        .with("copies_per_commit", run.copies_per_commit)
        .with("most_apart_by_norms", run.allowed)
        .with("most_apart", run.apart)
        .with("target_s", run.seconds)
        .with("failover_ms", over.map(|over| over.takes_ms))
        .with("commits_lost", over.map(|over| over.commits_lost))
        .with("apart_at_failover", over.map(|over| over.apart))
        .with("commits_after", over.map(|over| over.commits_after))
}

fn judge(
    findings: &mut Findings,
    alone: &Run,
    chained: &Run,
    chained_dies: &Run,
    bounded: &[(Run, Run)],
    kept: bool,
) {
    findings.claim(
        "the bound is kept, at every commit and when the server dies",
        "kept",
        if kept { "kept in all trainings" } else { "passed" },
        kept,
    );
    let deaths: Vec<_> = bounded.iter().filter_map(|(_, dies)| dies.failover.as_ref()).collect();
    let slowest = deaths.iter().map(|over| over.takes_ms).fold(0.0, f64::max);
    findings.claim(
        "the replica takes over without a restart",
        "no restart",
        format!(
            "within {slowest:.0} ms of the death; {} more commits at least",
            deaths.iter().map(|over| over.commits_after).min().unwrap_or(0)
        ),
        deaths.len() == bounded.len() && deaths.iter().all(|over| over.commits_after > 0),
    );
    let loosest = bounded.last().map_or(f64::NAN, |(lives, _)| lives.copies_per_commit);
    findings.claim(
        "a bounded copy loads the server less than a chain",
        "less",
        format!("{loosest:.2} models for each commit instead of {:.2}", chained.copies_per_commit),
        loosest < chained.copies_per_commit,
    );
    let fastest = bounded.last().map_or(f64::NAN, |(lives, _)| lives.commits_per_s);
    findings.claim(
        "a chain slows training down, a bounded copy does not",
        "chain slower",
        format!(
            "{:.2} commits a second in a chain, {fastest:.2} bounded, {:.2} without a copy",
            chained.commits_per_s, alone.commits_per_s
        ),
        chained.commits_per_s < fastest && fastest > 0.97 * alone.commits_per_s,
    );
    let lost = chained_dies.failover.as_ref().map_or(0, |over| over.commits_lost);
    findings.claim(
        "a chain loses at most the commit that is being copied (ours, not the paper's)",
        "not stated",
        format!("{lost} commits"),
        lost <= 1,
    );
}
