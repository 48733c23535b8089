//! Following a training from outside: what its ranks say, and who is killed when.

use std::{fs, path::Path, time::Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use laxity_fabric::Rank;

use super::{
    args::TrainArgs,
    cast::Cast,
    crew::Crew,
    network::Place,
    results::{self, Run},
    word::{Held, Promoted, Word},
};
use crate::{commands::others::Others, failure::usage, progress};

/// What is known of a training with a server.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Service {
    /// As its last server said.
    pub(super) held: Held,
    /// Over all servers: the largest delay, and how far a replica can have been away at most.
    pub(super) delay_max: u64,
    pub(super) apart_max: f64,
    /// Updates that workers were told to count, and updates that were dropped.
    pub(super) acknowledged: u64,
    pub(super) dropped: u64,
    /// Whether somebody was killed, as was asked for.
    pub(super) killed: bool,
    pub(super) promoted: Option<Promoted>,
    /// From the kill until a replica had taken over, and until it committed something new.
    pub(super) takeover_ms: Option<f64>,
    pub(super) promotion_ms: Option<f64>,
    /// How far the models of both were apart, measured.
    pub(super) divergence: Option<f64>,
}

/// Starts all ranks and follows them to their end. `run` has what is known, also if that is a bad one.
pub(super) fn lead(args: &TrainArgs, place: &Place, run: &mut Run) -> Result<()> {
    let name = run.carried.name();
    place.calm()?;
    let mut crew = Crew::start(args, &run.carried, place)?;
    let bar = progress::count(0, format!("{} over {name}: ranks meet", args.model));
    let mut follow = Follow {
        args,
        place,
        since: None,
        run,
        bar,
        service: Service::default(),
        victim: args.kill.and_then(|victim| Cast::new(args).last(victim.name())),
        steps: 0,
        done: 0,
        killed: None,
    };
    let ended = follow.listen(&mut crew);
    follow.bar.finish_and_clear();
    ended?;
    let Follow { mut service, killed, .. } = follow;
    if let (Some(models), Some(_)) = (crew.models(), killed) {
        service.divergence = divergence(models);
    }
    crew.end().with_context(|| format!("the training over {name} did not end well"))?;
    if Cast::new(args).ranks() > args.ranks() {
        // What the server said last came after the last test.
        if let Some(last) = run.tests.last_mut().filter(|_| service.held.updates > 0) {
            last.delivered = service.held.delivered;
        }
        if let (Some(victim), false) = (args.kill, service.killed) {
            eprintln!(
                "note: over {name} no {} was killed: there were {} updates before the end",
                victim.name(),
                service.held.updates
            );
        }
        run.service = Some(service);
    }
    Ok(())
}

struct Follow<'a> {
    args: &'a TrainArgs,
    place: &'a Place,
    /// What other traffic had when the training began.
    since: Option<Others>,
    run: &'a mut Run,
    bar: ProgressBar,
    service: Service,
    /// Who is to be killed.
    victim: Option<Rank>,
    steps: usize,
    /// Workers that have done all their work.
    done: usize,
    killed: Option<Instant>,
}

impl Follow<'_> {
    fn listen(&mut self, crew: &mut Crew) -> Result<()> {
        while let Some((rank, word)) = crew.next()? {
            self.hear(crew, rank, word)?;
        }
        Ok(())
    }

    fn hear(&mut self, crew: &mut Crew, rank: Rank, word: Word) -> Result<()> {
        let name = self.run.carried.name();
        match word {
            Word::Begin { steps, parameters, score } => {
                self.bar.set_length(steps as u64);
                self.steps = steps;
                self.run.parameters = parameters;
                self.run.began = score;
                self.since = self.place.begin()?;
                let (all, kill_at) = (self.updates(), self.args.kill_at.unwrap_or(0));
                if kill_at > all {
                    return Err(usage(format!(
                        "--kill-at {kill_at}: this training has {all} updates, so nobody would be killed"
                    )));
                }
            }
            Word::Step { step, loss } => {
                self.bar.set_position(step as u64);
                self.bar.set_message(format!("{} over {name}: loss {loss:.3}", self.args.model));
            }
            // Whoever speaks for the others may have left before they are done.
            Word::Tested(tested)
                if self.run.tests.last().is_some_and(|last| last.steps >= tested.steps) => {}
            Word::Tested(mut tested) => {
                if Cast::new(self.args).ranks() > self.args.ranks() {
                    tested.delivered = self.service.held.delivered;
                }
                self.run.tests.push(tested);
                // Not at the end: goodbyes are no training.
                self.run.lab = self.place.said(self.since)?;
                let line = results::line(&Word::Tested(tested));
                self.bar.println(format!("{name}: {line}"));
            }
            Word::End { hash } => self.run.hash = Some(hash),
            Word::Done(done) => {
                self.done += 1;
                self.service.acknowledged += done.acknowledged;
                self.service.dropped += done.dropped;
            }
            Word::Held(held) => self.held(crew, held)?,
            // Its server has left because there is nothing left to do: that is no death.
            Word::Promoted(_) if self.done + crew.dead_workers() >= self.args.ranks() as usize => {}
            Word::Promoted(promoted) => {
                self.service.promoted = Some(promoted);
                self.service.takeover_ms = self.since_kill();
                let line = results::line(&Word::Promoted(promoted));
                self.bar.println(format!("{name}: {rank}: {line}"));
            }
        }
        Ok(())
    }

    /// How many there will be, if none is dropped.
    fn updates(&self) -> u64 {
        (self.steps * self.args.ranks() as usize) as u64
    }

    fn since_kill(&self) -> Option<f64> {
        self.killed.map(|killed| killed.elapsed().as_secs_f64() * 1e3)
    }

    fn held(&mut self, crew: &mut Crew, held: Held) -> Result<()> {
        let service = &mut self.service;
        service.delay_max = service.delay_max.max(held.delay_max);
        service.apart_max = service.apart_max.max(held.apart_max);
        if held.epoch >= service.held.epoch {
            service.held = held;
        }
        if service.promotion_ms.is_none()
            && service
                .promoted
                .is_some_and(|promoted| held.epoch > 0 && held.commits > promoted.commits)
        {
            self.service.promotion_ms = self.since_kill();
        }
        let when = self.args.kill_at.unwrap_or_else(|| self.updates() / 2);
        // Not before it is known how many there will be.
        if self.steps > 0
            && held.updates >= when
            && let Some(victim) = self.victim.take()
        {
            let who = crew.kill(victim)?;
            self.killed = Some(Instant::now());
            self.service.killed = true;
            self.bar.println(format!("killed {who}, after {} updates", held.updates));
        }
        Ok(())
    }
}

/// The distance between the last model of a server and the one its replica took over with.
fn divergence(models: &Path) -> Option<f64> {
    let server = ["server-0", "server-1"].into_iter().filter_map(|name| read(&models.join(name)));
    let (_, replica) = read(&models.join("replica"))?;
    let (_, server) = server.max_by_key(|(commits, _)| *commits)?;
    let square = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
    Some(server.iter().zip(&replica).map(square).sum::<f64>().sqrt())
}

/// A model that was left whole.
fn read(path: &Path) -> Option<(u64, Vec<f32>)> {
    let bytes = fs::read(path).ok()?;
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    let (numbers, last) = rest.split_last_chunk::<8>()?;
    let number = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    let whole = first == last && numbers.len().is_multiple_of(4);
    whole.then(|| (u64::from_le_bytes(*first), numbers.chunks_exact(4).map(number).collect()))
}
