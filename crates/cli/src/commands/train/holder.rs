//! What ranks do that compute nothing: hold the model, follow it, sum updates, plan.

use std::{
    fs,
    io::Read,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use anyhow::{Context, Result};
use laxity_fabric::{
    Rank,
    rendezvous::Settings,
    roles::{
        Aggregator, AggregatorOptions, Commit, Facts, Gaps, Mode, Node, Notice, Replica,
        ReplicaOptions, Replication, Scheduler, SchedulerOptions, Server, ServerOptions, View,
        drive::Driver,
    },
};
use laxity_interface::{Rate, Span};
use laxity_learn::{Job, Setup};

use super::{
    MODELS, WORDS, alike,
    args::TrainArgs,
    cast::{Cast, Part, awaits, mode},
    rank::{GOODBYE, SIGN, start},
    word::{Held, Promoted, Word},
};
use crate::sys::signal;

/// How often a rank that waits looks whether it is over.
const LOOK: Span = Span::from_ms(50);
/// What hosts outside of a lab send and receive, as far as the scheduler believes.
const USUAL: Rate = Rate::from_gbps(10);
/// How long a server may hang before it is replaced; one that dies is replaced at once.
const SILENCE: Span = Span::from_secs(30);

/// Takes part as a server, replica, aggregator or scheduler, until all workers are gone.
pub(super) fn run(args: &TrainArgs, settings: Settings, mut tell: impl FnMut(&Word)) -> Result<()> {
    let cast = Cast::new(args);
    let rank = settings.rank;
    let (Job { model, setup, .. }, parameters) = start(args)?;
    let steps = (model.examples() / (setup.batch * cast.workers as usize)).max(1)
        * args.epochs.unwrap_or(setup.epochs);
    let elements = parameters.len();
    let node = node(args, &cast, rank, parameters, &setup, steps)?;
    let fabric = alike::join(args, settings)?;
    let over = over();
    let mut watch = Watch::new(cast.workers(), elements);
    let mut driver = Driver::new(fabric, node);
    while !watch.workers.is_empty() && !over.load(Ordering::Relaxed) {
        signal::check()?;
        let until = driver.now() + LOOK;
        driver.step(Some(until));
        while let Some(notice) = driver.node().poll_notice() {
            watch.note(driver.node(), notice, &mut tell)?;
        }
        watch.sign(&mut tell);
    }
    watch.last_words(&mut tell);
    let (fabric, _) = driver.into_parts();
    fabric.shutdown(GOODBYE);
    Ok(())
}

fn node(
    args: &TrainArgs,
    cast: &Cast,
    rank: Rank,
    parameters: Vec<f32>,
    setup: &Setup,
    steps: usize,
) -> Result<Node> {
    let node = Node::new(rank);
    let mode = mode(args).context("an all-reduce has no server")?;
    let options = ServerOptions {
        mode,
        momentum: setup.momentum.into(),
        gaps: Gaps::Scale,
        awaits: awaits(args),
        others: cast.aggregators(),
        scheduler: cast.scheduler(),
        replication: Replication { apart: args.apart, ..Replication::default() },
        ..ServerOptions::new(cast.workers())
    };
    // In a round all workers' mean is one step; otherwise each worker makes its part of one.
    let parts = if matches!(mode, Mode::Sync { .. }) { 1 } else { u64::from(cast.workers) };
    let schedule = setup.schedule;
    let rule = move |update: &mut [f32], facts: &Facts<'_>| {
        let step = (facts.commits / parts) as usize;
        let rate = schedule.rate(step, steps, facts.delay as usize) / parts as f64;
        update.iter_mut().for_each(|number| *number *= -rate as f32);
    };
    Ok(match cast.part(rank) {
        Part::Server => node.with_server(Server::new(rank, parameters, rule, options)?),
        Part::Replica => {
            let options = ReplicaOptions { server: cast.server(), silence: SILENCE, then: options };
            node.with_replica(Replica::new(rank, parameters.len(), rule, options)?)
        }
        Part::Aggregator => {
            let options =
                AggregatorOptions { scheduler: cast.scheduler(), ..AggregatorOptions::default() };
            node.with_aggregator(Aggregator::new(rank, options))
        }
        Part::Scheduler => {
            let view = View::new(if args.lab { args.rate } else { USUAL });
            node.with_scheduler(Scheduler::new(rank, view, SchedulerOptions::default()))
        }
        Part::Worker(_) => node,
    })
}

/// Becomes true when whoever started this rank says that it is over, by closing its input.
fn over() -> Arc<AtomicBool> {
    let over = Arc::new(AtomicBool::new(false));
    if std::env::var_os(WORDS).is_some() {
        let over = over.clone();
        std::thread::spawn(move || {
            // Nothing is ever said; that it ends is the word.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            over.store(true, Ordering::Relaxed);
        });
    }
    over
}

/// What a rank has seen.
struct Watch {
    /// Workers that are not gone.
    workers: Vec<Rank>,
    elements: usize,
    held: Held,
    delays: u64,
    missing: u64,
    told: Held,
    sign: Instant,
    /// Where models are left for a comparison after a death.
    models: Option<std::path::PathBuf>,
}

impl Watch {
    fn new(workers: Vec<Rank>, elements: usize) -> Self {
        Self {
            workers,
            elements,
            held: Held { delivered: 1.0, ..Held::default() },
            delays: 0,
            missing: 0,
            told: Held::default(),
            sign: Instant::now(),
            models: std::env::var_os(MODELS).map(Into::into),
        }
    }

    fn note(&mut self, node: &Node, notice: Notice, tell: &mut impl FnMut(&Word)) -> Result<()> {
        match notice {
            Notice::Lost { peer, reason, left, .. } => {
                let known = self.workers.len();
                self.workers.retain(|worker| *worker != peer);
                // Only those that serve: at the end a replica may not reach who has left.
                let lost = known != self.workers.len() && !left;
                if lost && node.server().is_some() {
                    eprintln!("note: {} goes on without {peer}: {reason}", node.rank());
                }
            }
            Notice::Refusal { what, .. } => eprintln!("note: {}: {what}", node.rank()),
            Notice::Refused { update, reason } => {
                eprintln!("note: {} did not take {update}: {reason}", node.rank());
            }
            Notice::Commit(commit) => {
                self.commit(&commit);
                let first = commit.version.epoch == 0;
                if let (Some(folder), Some(server)) = (&self.models, node.server())
                    && first
                {
                    // By turns: a death in the middle of one leaves the other.
                    let name = format!("server-{}", commit.version.commits % 2);
                    leave(folder, &name, server.version().commits, server.model())?;
                }
                // The first is told of at once: an epoch may end before the next sign of life.
                if self.models.is_some() || self.told.updates == 0 {
                    self.tell(tell);
                }
            }
            Notice::Promoted(promotion) => {
                if let (Some(folder), Some(server)) = (&self.models, node.server()) {
                    leave(folder, "replica", promotion.version.commits, server.model())?;
                }
                tell(&Word::Promoted(Promoted {
                    commits: promotion.version.commits,
                    heard: promotion.heard.commits,
                    apart: promotion.apart,
                    silent_ms: promotion.silent.as_secs_f64() * 1e3,
                }));
            }
            Notice::NothingToPromote { server } => {
                eprintln!("note: {server} is gone before {} had its model", node.rank());
            }
            _ => {}
        }
        Ok(())
    }

    fn commit(&mut self, commit: &Commit) {
        let held = &mut self.held;
        (held.epoch, held.commits) = (commit.version.epoch, commit.version.commits);
        let members = commit.members.len() as u64;
        held.updates += members;
        self.delays += commit.delay * members;
        held.delay_mean = self.delays as f64 / held.updates.max(1) as f64;
        held.delay_max = held.delay_max.max(commit.delay);
        self.missing += commit.members.iter().map(|member| member.lost).sum::<u64>();
        let all = held.updates * self.elements as u64;
        held.delivered = 1.0 - self.missing as f64 / all.max(1) as f64;
        held.apart = commit.apart;
        held.apart_max = held.apart_max.max(commit.apart.unwrap_or(0.0));
    }

    fn sign(&mut self, tell: &mut impl FnMut(&Word)) {
        if self.sign.elapsed() > SIGN {
            self.tell(tell);
        }
    }

    fn tell(&mut self, tell: &mut impl FnMut(&Word)) {
        self.sign = Instant::now();
        if self.told != self.held && self.held.updates > 0 {
            self.told = self.held;
            tell(&Word::Held(self.held));
        }
    }

    fn last_words(&mut self, tell: &mut impl FnMut(&Word)) {
        self.tell(tell);
    }
}

/// Leaves a model in a file: its version, its numbers, its version again.
fn leave(folder: &Path, name: &str, commits: u64, model: &[f32]) -> Result<()> {
    let mut bytes = commits.to_le_bytes().to_vec();
    bytes.extend(model.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(commits.to_le_bytes());
    let path = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use laxity_fabric::roles::{UpdateId, Version, words::Member};

    use super::*;

    /// The commit of a round of two, the first of which lacks the first quarter of its elements.
    fn round(commits: u64) -> Commit {
        let member = |worker: u32, lost: u64| Member {
            update: UpdateId { worker: Rank::new(worker), number: commits },
            version: Version::default(),
            norm: 1.0,
            lost,
        };
        Commit {
            version: Version { commits, ..Version::default() },
            members: vec![member(0, 25), member(1, 0)],
            delay: 0,
            missing: std::iter::once(0..25).collect(),
            apart: None,
        }
    }

    #[test]
    fn what_is_lost_counts_once() {
        let mut watch = Watch::new(vec![Rank::new(0), Rank::new(1)], 100);
        assert_eq!(watch.held.delivered, 1.0);
        for commits in 1..=3 {
            watch.commit(&round(commits));
            // Of two updates of 100 elements each.
            assert_eq!(watch.held.delivered, 1.0 - 25.0 / 200.0);
        }
        assert_eq!((watch.held.commits, watch.held.updates), (3, 6));
    }
}
