//! How many epochs a model needs where chunks of gradients get lost (§2.2).

use std::sync::Arc;

use laxity_interface::Fraction;
use laxity_learn::{
    Case, Curve, Job, Loss, Model, Schedule, Setup,
    data::made,
    model::{Cnn, Factorisation, Lstm, Mlp},
    policy::Policy,
    run_all,
};

use crate::{error::ReproduceError, findings::Findings, options::Options};

/// What share of the lossless score counts as converged.
const CONVERGED: f64 = 0.95;
/// Up to so much more, epochs are the same.
pub(super) const SAME: f64 = 1.1;
/// A training that needs more than so many times the lossless epochs does not converge.
pub(super) const PATIENCE: f64 = 3.0;

/// A model of table 2, with its data, small enough to be trained many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rnn,
    Mlp,
    Mf,
    Cnn,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rnn => "RNN",
            Self::Mlp => "MLP",
            Self::Mf => "MF",
            Self::Cnn => "CNN",
        }
    }

    /// The model on a set that is made from this seed, and how it is trained without loss.
    pub(super) fn job(self, quick: bool, data: u64) -> Job {
        let base = Setup {
            workers: 4,
            batch: 8,
            epochs: if quick { 12 } else { 16 },
            chunk: 350,
            schedule: Schedule::Constant(0.02),
            momentum: 0.9,
            decay: 0.0,
            clip: None,
            delay: 0,
            policy: Policy::default(),
            loss: Loss::independent(Fraction::ZERO),
            seed: 1,
        };
        let some = |full: usize| if quick { full / 8 } else { full };
        let constant = |rate: f64| Schedule::Constant(rate);
        let (model, setup): (Box<dyn Model>, Setup) = match self {
            Self::Mlp => {
                let hidden: &[usize] = if quick { &[32] } else { &[128, 64] };
                let images = made::strokes(data, some(5000), some(3000));
                (Box::new(Mlp::new(Arc::new(images), hidden)), base)
            }
            Self::Cnn => {
                let width = if quick { 4 } else { 8 };
                let images = made::strokes(data, some(4000), some(2000));
                (Box::new(Cnn::new(Arc::new(images), width, 1)), Setup { batch: 4, ..base })
            }
            Self::Rnn => {
                let (cells, window) = if quick { (24, 16) } else { (64, 32) };
                let text = made::text(data, some(100_000));
                let setup = Setup { batch: 4, schedule: constant(0.7), clip: Some(1.0), ..base };
                (Box::new(Lstm::new(Arc::new(text), cells, window)), setup)
            }
            Self::Mf => {
                let ratings = made::ratings(data, 600, 800, some(120_000).max(30_000));
                let setup = Setup { batch: 128, schedule: constant(8.0), ..base };
                (Box::new(Factorisation::new(Arc::new(ratings), 8, 0.05)), setup)
            }
        };
        Job { name: self.name().to_owned(), model, setup }
    }
}

/// How long trainings took at one rate of loss.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) rate: f64,
    /// Epochs of each seed; nothing for one that did not converge.
    pub(super) epochs: Vec<Option<f64>>,
}

impl Found {
    /// The mean, if all converged.
    pub(super) fn mean(&self) -> Option<f64> {
        let all: Option<Vec<f64>> = self.epochs.iter().copied().collect();
        all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// The fewest and the most.
    pub(super) fn spread(&self) -> Option<(f64, f64)> {
        let all = || self.epochs.iter().flatten().copied();
        let most = all().max_by(f64::total_cmp)?;
        all().min_by(f64::total_cmp).map(|least| (least, most))
    }
}

/// What loss does to one model.
#[derive(Debug, Clone)]
pub(super) struct Tolerance {
    /// The score that counts as converged.
    pub(super) target: f64,
    /// By rising rate, without loss first.
    pub(super) rates: Vec<Found>,
}

impl Tolerance {
    fn lossless(&self) -> f64 {
        self.rates.first().and_then(Found::mean).unwrap_or(f64::INFINITY)
    }

    /// The largest rate up to which `good` holds for every rate.
    fn last(&self, good: impl Fn(&Found) -> bool) -> f64 {
        let good = self.rates.iter().take_while(|found| good(found));
        good.last().map_or(0.0, |found| found.rate)
    }

    /// x1: up to here, as many epochs as without loss.
    pub(super) fn same(&self) -> f64 {
        let most = self.lossless() * SAME;
        self.last(|found| found.mean().is_some_and(|epochs| epochs <= most))
    }

    /// x2: up to here, it converges.
    pub(super) fn converges(&self) -> f64 {
        self.last(|found| found.mean().is_some())
    }
}

/// The epoch in which a score was reached, by a line between the epochs before and after.
fn reached(curve: &Curve, target: f64) -> Option<f64> {
    let mut before = (0.0, 0.0);
    for point in &curve.points {
        let now = (point.epoch as f64, point.score);
        if now.1 >= target {
            let part = (target - before.1) / (now.1 - before.1).max(1e-9);
            return Some(before.0 + part.clamp(0.0, 1.0) * (now.0 - before.0));
        }
        before = (now.0, now.1.max(0.0));
    }
    None
}

/// Trains a model at all rates with several seeds.
pub(super) fn measure(
    options: &Options,
    job: Job,
    rates: &[f64],
    seeds: u64,
) -> Result<Tolerance, ReproduceError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let name = job.name.clone();
    let setup = job.setup;
    let jobs = [job];
    let train = |cases: &[Case]| {
        let mut curves: Vec<Option<Curve>> = vec![None; cases.len()];
        let mut done = 0;
        run_all(&jobs, cases, threads, |at, curve| {
            curves[at] = Some(curve);
            done += 1;
            options.progress.tell(&format!("training {name}"), done, cases.len() as u64);
        });
        curves.into_iter().flatten().collect::<Vec<_>>()
    };
    let seeded = |setup: Setup| {
        let case = move |at| Case { job: 0, setup: Setup { seed: options.seed + at, ..setup } };
        (0..seeds).map(case)
    };
    let lossless = train(&seeded(setup).collect::<Vec<_>>());
    let best = |curve: &Curve| curve.points.iter().map(|point| point.score).fold(0.0, f64::max);
    let target = CONVERGED * lossless.iter().map(best).sum::<f64>() / seeds as f64;
    let first: Vec<_> = lossless.iter().map(|curve| reached(curve, target)).collect();
    let without = Found { rate: 0.0, epochs: first };
    // A seed whose best is below the target of all has no number; patience then follows the others.
    let usual = without.spread().map_or(setup.epochs as f64, |(_, most)| most);
    let epochs = (usual * PATIENCE).ceil() as usize;
    let mut cases = Vec::new();
    for rate in rates {
        let wrong = |error| ReproduceError::other("setting a rate of loss", error);
        let loss = Loss::independent(Fraction::new(*rate).map_err(wrong)?);
        cases.extend(seeded(Setup { loss, epochs, ..setup }));
    }
    let curves = train(&cases);
    let groups = curves.chunks(seeds as usize).zip(rates);
    let lossy = groups.map(|(curves, rate)| Found {
        rate: *rate,
        epochs: curves.iter().map(|curve| reached(curve, target)).collect(),
    });
    Ok(Tolerance { target, rates: [without].into_iter().chain(lossy).collect() })
}

/// Says what is the same in both experiments.
pub(super) fn open(findings: &mut Findings, options: &Options, seeds: u64) {
    findings.chose(format!(
        "4 workers as in the paper; chunks of 350 floats (a packet) are lost independently on their way to the \
         sum; a lost chunk counts as zeros; SGD with momentum 0.9 at a constant rate; {seeds} seeds"
    ));
    findings.chose(format!(
        "converged: {:.0} % of the best score without loss, between epochs by a line; same epochs: at most {:.0} % \
         more; no convergence: more than {PATIENCE} times the epochs without loss",
        CONVERGED * 100.0,
        (SAME - 1.0) * 100.0
    ));
    findings.differs(
        "the paper trains ResNet-20, an LSTM for translation and others on 4 GPUs; here are small models on sets that \
         are made from a seed, so the bounds are those of these models",
    );
    if options.quick {
        findings.chose("Quick: smaller models, an eighth of the examples, fewer rates and seeds");
    }
}
