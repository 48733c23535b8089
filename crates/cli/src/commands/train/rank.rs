//! What one rank does: compute a gradient, reduce it with all others, step.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use laxity_fabric::{
    Communicator, Options, Rank, ReduceOp,
    rendezvous::{Fabric, Settings, Transport},
};
use laxity_interface::Span;
use laxity_learn::{Job, Model, Sgd, Size, clip, shuffled};

use super::{
    alike,
    args::{Steps, TrainArgs},
    carried::Carried,
    tally::{Step, Tally, due},
    word::Word,
};
use crate::{failure::Explain, output};

/// Time between two signs of life.
pub(super) const SIGN: Duration = Duration::from_millis(200);
/// How long a rank that is done waits for the others to hear it.
pub(super) const GOODBYE: Duration = Duration::from_secs(10);

/// How long a rank that cannot go on tries to tell the others.
const FAREWELL: Span = Span::from_secs(2);

/// Takes part as the rank that `settings` say. Rank 0 tells `tell` how it goes.
pub(super) fn run(args: &TrainArgs, settings: Settings, mut tell: impl FnMut(&Word)) -> Result<()> {
    let (rank, world, transport) = (settings.rank, settings.world, settings.transport);
    let carried = Carried::of(args, &settings).name();
    let (Job { model, setup, .. }, mut parameters) = start(args)?;
    let score = began(rank, &*model, &parameters);
    let fabric = alike::join(args, settings)?;
    let mut ranks = Communicator::new(fabric, world);

    let epochs = args.epochs.unwrap_or(setup.epochs);
    let each = setup.batch * world as usize;
    let steps_per_epoch = (model.examples() / each).max(1);
    let steps = steps_per_epoch * epochs;
    let options = match transport {
        Transport::Laxity => Options::at_least(args.min_delivery),
        Transport::Tcp => {
            Options { algorithm: args.tcp_algorithm.algorithm(), ..Options::default() }
        }
    };
    if transport == Transport::Tcp && args.tcp_algorithm == Steps::Auto {
        ranks.measure().with_context(|| format!("{rank} measured the network"))?;
    }
    let mut sgd = Sgd::new(setup.policy, parameters.len(), setup.momentum, setup.decay);
    let mut telling = |word: &Word| {
        if rank == Rank::new(0) {
            tell(word);
        }
    };
    telling(&Word::Begin { steps, parameters: parameters.len(), score });
    let (mut trained, mut sign) = (Duration::ZERO, Instant::now());
    let mut tally = Tally::default();
    for epoch in 0..epochs {
        let order = shuffled(model.examples(), args.seed, epoch);
        for in_epoch in 0..steps_per_epoch {
            let begun = Instant::now();
            let step = epoch * steps_per_epoch + in_epoch;
            let from = in_epoch * each + rank.index() * setup.batch;
            let batch: Vec<_> =
                order.iter().cycle().skip(from).take(setup.batch).copied().collect();
            let (loss, mut gradient) = model.gradient(&parameters, &batch);
            if let Some(limit) = setup.clip {
                clip(&mut gradient, limit);
            }
            let sent = Instant::now();
            let reduced = ranks.all_reduce(&mut gradient, ReduceOp::Mean, &options);
            if reduced.is_err() {
                // The others shall hear why before this process is gone.
                ranks.flush(FAREWELL);
            }
            let outcome =
                reduced.with_context(|| format!("{rank} stopped in step {step} of {steps}"))?;
            let network = sent.elapsed();
            sgd.apply(&mut parameters, &gradient, setup.schedule.rate(step, steps, 0));
            let took = begun.elapsed();
            trained += took;
            if rank == Rank::new(0) {
                tally.add(Step { loss, delivered: outcome.mean_delivered(), took, network });
            }
            if step == 0 {
                begin_alike(&mut ranks, args, steps, &parameters)?;
            }
            if sign.elapsed() > SIGN {
                sign = Instant::now();
                telling(&Word::Step { step: step + 1, loss });
            }
            if due(in_epoch, steps_per_epoch, args.tests as usize) {
                if rank == Rank::new(0) {
                    let found = model.evaluate(&parameters);
                    telling(&Word::Tested(tally.tested((epoch + 1, step + 1), trained, &found)));
                    if let (Some(path), true) = (&args.checkpoint, in_epoch + 1 == steps_per_epoch)
                    {
                        save(path, &carried, &parameters)?;
                    }
                }
                // Neither tests of the model nor files are training: nobody's next step waits for rank 0's.
                ranks
                    .barrier(&Options::default())
                    .with_context(|| format!("{rank} waited for all"))?;
            }
        }
    }
    let hash = same_everywhere(&mut ranks, &parameters)?;
    telling(&Word::End { hash });
    ranks.into_carrier().shutdown(GOODBYE);
    Ok(())
}

/// The training and its first parameters.
pub(super) fn start(args: &TrainArgs) -> Result<(Job, Vec<f32>)> {
    let size = if args.quick { Size::Quick } else { Size::Full };
    let job = Job::new(&args.model, args.data.as_deref(), size)
        .explain("cannot set up the training", "`laxity train --help` lists the models")?;
    let parameters = match &args.resume {
        Some(path) => load(path, job.model.layout().len())?,
        None => job.model.start(args.seed),
    };
    Ok((job, parameters))
}

/// Points before the first step, of the rank that tells of them. Before ranks meet, where all wait for the slowest
/// anyhow.
pub(super) fn began(rank: Rank, model: &dyn Model, parameters: &[f32]) -> Option<f64> {
    (rank == Rank::new(0)).then(|| model.evaluate(parameters).score)
}

/// An error if ranks were not told the same. After a step, because a reduction of tensors that do not
/// match says more of it.
fn begin_alike(
    ranks: &mut Communicator<Fabric>,
    args: &TrainArgs,
    steps: usize,
    parameters: &[f32],
) -> Result<()> {
    let (seed, tests) = (args.seed, u64::from(args.tests));
    let own = [hash(parameters), seed, steps as u64, tests].map(|number| number as i64);
    let mut all = vec![0; own.len() * ranks.group().size()];
    let rank = ranks.rank();
    let gathered = ranks.all_gather(&own, &mut all, &Options::default());
    gathered.with_context(|| format!("{rank} compared its first step with the others'"))?;
    let other = all.chunks_exact(own.len()).position(|theirs| theirs != own);
    if let Some(other) = other {
        let theirs = |at| all[own.len() * other + at] as u64;
        let (their_seed, their_steps, their_tests) = (theirs(1), theirs(2), theirs(3));
        let what = if their_seed != seed {
            format!("{rank} has --seed {seed}, rank {other} {their_seed}")
        } else if their_steps != steps as u64 {
            format!("{rank} is to make {steps} steps, rank {other} {their_steps}")
        } else if their_tests != tests {
            format!("{rank} has --tests {tests}, rank {other} {their_tests}")
        } else {
            format!("{rank} and rank {other} began with different parameters")
        };
        bail!(
            "{what}: give all ranks the same --model, --epochs, --tests, --quick, --seed, --data and --resume"
        );
    }
    Ok(())
}

fn hash(parameters: &[f32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parameters.iter().for_each(|number| number.to_bits().hash(&mut hasher));
    hasher.finish()
}

/// The hash of the parameters, which is an error if any rank has another one.
fn same_everywhere(ranks: &mut Communicator<Fabric>, parameters: &[f32]) -> Result<u64> {
    let own = hash(parameters);
    let mut hashes = vec![0; ranks.group().size()];
    ranks.all_gather(&[own as i64], &mut hashes, &Options::default())?;
    if let Some(other) = hashes.iter().position(|hash| *hash != own as i64) {
        let rank = ranks.rank();
        bail!("{rank} and rank {other} ended with different parameters: a bug of Laxity's");
    }
    Ok(own)
}

/// Where parameters are saved, and written before they take the place of older ones. Added to the name, not put for
/// an extension: `model-0.9` and `model-0.98` are two.
fn checkpoint(path: &Path, carried: &str) -> [PathBuf; 2] {
    [carried, "new"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        name.into()
    })
}

/// Refuses a --checkpoint that could not be written.
pub(super) fn check_checkpoint(args: &TrainArgs, carried: &Carried) -> Result<()> {
    let Some(path) = &args.checkpoint else { return Ok(()) };
    let [path, draft] = checkpoint(path, &carried.name());
    output::check_replaced(&path, &draft)
}

/// Writes parameters, whole or not at all.
pub(super) fn save(path: &Path, carried: &str, parameters: &[f32]) -> Result<()> {
    let bytes: Vec<u8> = parameters.iter().flat_map(|number| number.to_le_bytes()).collect();
    // Whoever reads it finds the old one or the new one, never half of it.
    let [path, draft] = checkpoint(path, carried);
    let outcome = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &path));
    if outcome.is_err() {
        // It is of no use; that it may not exist is no matter.
        let _ = fs::remove_file(&draft);
    }
    outcome.explain(
        format!("cannot write the checkpoint `{}`", path.display()),
        "check that the folder exists and can be written to",
    )
}

fn load(path: &Path, length: usize) -> Result<Vec<f32>> {
    let what = format!("cannot begin with `{}`", path.display());
    let bytes = fs::read(path).explain(what.clone(), "give a file that --checkpoint wrote")?;
    if bytes.len() != length * 4 {
        let (has, wants) = (bytes.len() / 4, length);
        bail!("{what}: it holds {has} numbers and the model has {wants}; is it another model's?");
    }
    Ok(bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect())
}
