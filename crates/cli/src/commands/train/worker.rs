//! What a worker does: get the model, compute a gradient, push it to the server.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use laxity_fabric::{
    Rank,
    rendezvous::{Fabric, Settings, Transport},
    roles::{
        Node, Notice, Push, UpdateId, Version, Worker, WorkerOptions,
        drive::{Driver, Handle, spawn_with},
    },
};
use laxity_interface::{Fraction, Span};
use laxity_learn::{Job, clip, shuffled};

use super::{
    alike,
    args::{Method, TrainArgs},
    carried::Carried,
    cast::Cast,
    rank::{GOODBYE, SIGN, began, save, start},
    tally::{Step, Tally},
    word::{Done, Word},
};

/// How long a worker waits for a model or a decision. A replica takes over long before.
const LIMIT: Span = Span::from_secs(60);
/// Updates on their way at once, where nobody waits for a round.
const AHEAD: usize = 2;

/// The state of one worker.
struct Work<'a> {
    args: &'a TrainArgs,
    rank: Rank,
    handle: Handle,
    server: Rank,
    /// Numbers in the model, as this worker has it.
    elements: usize,
    /// Updates that are not decided, oldest first.
    pending: VecDeque<UpdateId>,
    done: Done,
    /// What is known of the model: versions only grow.
    newest: Version,
    /// Ranks that are gone, and why: the first worker that lives tells of the training.
    gone: BTreeMap<Rank, String>,
}

/// Takes part as this worker; the first that lives tells `tell` how it goes.
pub(super) fn run(args: &TrainArgs, settings: Settings, mut tell: impl FnMut(&Word)) -> Result<()> {
    let cast = Cast::new(args);
    let (rank, transport) = (settings.rank, settings.transport);
    let carried = Carried::of(args, &settings).name();
    let (Job { model, setup, .. }, parameters) = start(args)?;
    let score = began(rank, &*model, &parameters);
    let fabric = alike::join(args, settings)?;
    let options = WorkerOptions { scheduler: cast.scheduler(), ..WorkerOptions::default() };
    let node = Node::new(rank).with_worker(Worker::new(rank, options));
    let goodbye = |fabric: Fabric| {
        fabric.shutdown(GOODBYE);
    };
    let handle = spawn_with(Driver::new(fabric, node), goodbye).context("cannot start a thread")?;
    let min_delivery = match transport {
        Transport::Laxity => args.min_delivery,
        Transport::Tcp => Fraction::ONE,
    };
    let mut work = Work {
        args,
        rank,
        handle,
        server: cast.server(),
        elements: parameters.len(),
        pending: VecDeque::new(),
        done: Done::default(),
        newest: Version::default(),
        gone: BTreeMap::new(),
    };

    let epochs = args.epochs.unwrap_or(setup.epochs);
    let each = setup.batch * cast.workers as usize;
    let steps_per_epoch = (model.examples() / each).max(1);
    let steps = steps_per_epoch * epochs;
    if work.speaks() {
        tell(&Word::Begin { steps, parameters: parameters.len(), score });
    }
    let (mut trained, mut sign) = (Duration::ZERO, Instant::now());
    for epoch in 0..epochs {
        let order = shuffled(model.examples(), args.seed, epoch);
        let mut tally = Tally::default();
        for in_epoch in 0..steps_per_epoch {
            let begun = Instant::now();
            let step = epoch * steps_per_epoch + in_epoch;
            let (version, parameters) = work.model(step, steps)?;
            let got = begun.elapsed();
            let from = in_epoch * each + rank.index() * setup.batch;
            let batch: Vec<_> =
                order.iter().cycle().skip(from).take(setup.batch).copied().collect();
            let (loss, mut gradient) = model.gradient(&parameters, &batch);
            if let Some(limit) = setup.clip {
                clip(&mut gradient, limit);
            }
            for (down, at) in gradient.iter_mut().zip(&parameters) {
                *down += setup.decay * at;
            }
            let computed = Instant::now();
            work.push(Push { min_delivery, ..Push::new(&gradient, version) })?;
            let network = got + computed.elapsed();
            let took = begun.elapsed();
            trained += took;
            // The server knows what arrived; whoever follows both fills it in.
            tally.add(Step { loss, delivered: 1.0, took, network });
            if sign.elapsed() > SIGN && work.speaks() {
                sign = Instant::now();
                tell(&Word::Step { step: step + 1, loss });
            }
        }
        let made = steps_per_epoch * (epoch + 1);
        if work.speaks() {
            if made == steps {
                work.settle(0)?;
            }
            // The last step began with a model that lacks its own update, and those of others that came since.
            let (_, after) = work.model(made, steps)?;
            let found = model.evaluate(&after);
            tell(&Word::Tested(tally.tested((epoch + 1, made), trained, &found)));
            if let Some(path) = &args.checkpoint {
                save(path, &carried, &after)?;
            }
        }
    }
    work.settle(0)?;
    let server = work.server;
    work.handle.with(move |node, _| node.worker().map(|worker| worker.finish(server)))?;
    tell(&Word::Done(work.done));
    Ok(())
}

impl Work<'_> {
    /// Whether all workers before this one are gone.
    fn speaks(&mut self) -> bool {
        self.take_news();
        (0..self.rank.get()).all(|before| self.gone.contains_key(&Rank::new(before)))
    }

    fn take_news(&mut self) {
        // What was decided and which models came stays for those who wait for it.
        let news = |notice| match notice {
            Notice::Committed { .. }
            | Notice::Dropped { .. }
            | Notice::Model { .. }
            | Notice::NoModel { .. } => Err(notice),
            other => Ok(other),
        };
        while let Ok(Some(notice)) = self.handle.wait(Span::ZERO, news) {
            self.note(notice);
        }
    }

    /// What is known of the server's end, for errors that come of it.
    fn lost_server(&mut self) -> String {
        self.take_news();
        match self.gone.get(&self.server) {
            Some(why) => format!(" (how {} was lost: {why})", self.server),
            None => String::new(),
        }
    }

    fn note(&mut self, notice: Notice) {
        match notice {
            Notice::Lost { peer, reason, .. } => drop(self.gone.entry(peer).or_insert(reason)),
            Notice::Refusal { what, .. } => eprintln!("note: {}: {what}", self.rank),
            _ => {}
        }
    }

    fn model(&mut self, step: usize, steps: usize) -> Result<(Version, Vec<f32>)> {
        let (version, values) =
            self.handle.get(self.server, self.newest, LIMIT).with_context(|| {
                let lost = self.lost_server();
                format!("{} stopped in step {step} of {steps}{lost}", self.rank)
            })?;
        self.newest = self.newest.max(version);
        if values.len() != self.elements {
            let (rank, server, held) = (self.rank, self.server, values.len());
            let own = self.elements;
            bail!(
                "{rank} trains a model of {own} elements, {server} holds one of {held} elements; start \
                 both with the same --model"
            );
        }
        Ok((version, values))
    }

    /// Pushes an update, and waits for decisions as the mode wants.
    fn push(&mut self, push: Push) -> Result<()> {
        let update = self.handle.push(self.server, push)?;
        self.pending.push_back(update);
        self.settle(if self.args.mode == Method::Sync { 0 } else { AHEAD - 1 })
    }

    /// Waits until at most so many updates are not decided.
    fn settle(&mut self, most: usize) -> Result<()> {
        use laxity_fabric::roles::Reason;
        while self.pending.len() > most {
            let Some(update) = self.pending.pop_front() else { break };
            match self.handle.decided(update, LIMIT)? {
                Some(Ok(version)) => {
                    self.done.acknowledged += 1;
                    // In a synchronous training the next model is the one with this update in it.
                    if self.args.mode == Method::Sync {
                        self.newest = self.newest.max(version);
                    }
                }
                Some(Err(
                    Reason::TooStale { .. }
                    | Reason::HoldsUp { .. }
                    | Reason::RoundOver { .. }
                    | Reason::Decided,
                )) => self.done.dropped += 1,
                Some(Err(reason @ Reason::ServerGone { .. })) => {
                    bail!("{update} was not decided: {reason}{}", self.lost_server())
                }
                Some(Err(reason)) => bail!("{update} {reason}"),
                None => bail!("nobody decided {update} within {LIMIT}; is the server overloaded?"),
            }
        }
        Ok(())
    }
}
