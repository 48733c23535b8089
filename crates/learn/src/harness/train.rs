//! One training.

use std::collections::VecDeque;

use laxity_link::{stream, uniform};

use super::Loss;
use crate::model::Model;
use crate::optimise::{Schedule, Sgd, clip};
use crate::policy::{Chunks, Contribution, Moment, Policy, Receiver, Sender, loss_shares};

/// How a model is trained.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// Workers that compute gradients.
    pub workers: usize,
    /// Examples per worker and step.
    pub batch: usize,
    /// How often all examples are seen.
    pub epochs: usize,
    /// Floats per chunk.
    pub chunk: usize,
    /// The learning rate.
    pub schedule: Schedule,
    /// Of the momentum, wherever it is kept.
    pub momentum: f32,
    /// Weight decay.
    pub decay: f32,
    /// The largest norm of a worker's gradient; none: as it is.
    pub clip: Option<f32>,
    /// How old the parameters of a worker may be, in steps: each draws its delay anew.
    pub delay: usize,
    /// What becomes of lost chunks.
    pub policy: Policy,
    /// How chunks are lost.
    pub loss: Loss,
    /// Of everything that is drawn: start, order of examples, losses, delays.
    pub seed: u64,
}

/// What a model could do after an epoch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Epochs that were complete.
    pub epoch: usize,
    /// Mean loss on what it learned from, over this epoch.
    pub train_loss: f64,
    /// Loss on the test set.
    pub test_loss: f64,
    /// Points of 100 on the test set.
    pub score: f64,
}

/// How a training went.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// One per epoch. If the loss stopped being a number, training ends with that epoch.
    pub points: Vec<Point>,
    /// Which share of all numbers sent was lost.
    pub lost: f64,
}

impl Curve {
    /// Points of 100 at the end; 0 if there is no number.
    pub fn score(&self) -> f64 {
        let last = self.points.last().map_or(0.0, |point| point.score);
        if last.is_finite() { last } else { 0.0 }
    }
}

/// Trains a model with simulated workers. The same arguments give the same curve, bit for bit.
///
/// # Panics
/// If there are fewer examples than workers, or a count of the setup is 0.
pub fn train(model: &dyn Model, setup: &Setup) -> Curve {
    let each = setup.workers * setup.batch;
    let steps_per_epoch = (model.examples() / each).max(1);
    let steps = steps_per_epoch * setup.epochs;
    let mut parameters = model.start(setup.seed);
    let chunks = Chunks::new(parameters.len(), setup.chunk);
    let mut senders = vec![Sender::new(setup.policy, chunks, setup.momentum); setup.workers];
    let mut receiver = Receiver::new(setup.policy, chunks, setup.workers);
    let mut sgd = Sgd::new(setup.policy, parameters.len(), setup.momentum, setup.decay);
    let (mut losses, mut delays) = (stream(setup.seed, "loss", 0), stream(setup.seed, "delay", 0));
    // What workers with old parameters compute on: the present ones first.
    let mut history: VecDeque<Vec<f32>> = VecDeque::from([parameters.clone()]);
    let (mut points, mut sent_numbers, mut lost_numbers) = (Vec::new(), 0usize, 0usize);
    for epoch in 0..setup.epochs {
        let order = shuffled(model.examples(), setup.seed, epoch);
        let mut train_loss = 0.0;
        for in_epoch in 0..steps_per_epoch {
            let step = epoch * steps_per_epoch + in_epoch;
            let rate = setup.schedule.rate(step, steps, 0);
            let peak = setup.schedule.rate(0, steps, 0);
            let moment = Moment { seed: setup.seed ^ (step as u64) << 20, rate: rate / peak };
            let loss_rate =
                setup.policy.phase.rate(setup.loss.rate.get(), step as f64 / steps as f64);
            let mut sent = Vec::with_capacity(setup.workers);
            for (worker, sender) in senders.iter_mut().enumerate() {
                let from = in_epoch * each + worker * setup.batch;
                let batch: Vec<_> =
                    order.iter().cycle().skip(from).take(setup.batch).copied().collect();
                let delay = ((uniform(&mut delays) * (setup.delay + 1) as f64) as usize)
                    .min(history.len() - 1);
                let (loss, mut gradient) = model.gradient(&history[delay], &batch);
                train_loss += loss;
                if let Some(limit) = setup.clip {
                    clip(&mut gradient, limit);
                }
                let slower = (setup.schedule.rate(step, steps, delay) / rate.max(1e-300)) as f32;
                if slower != 1.0 {
                    gradient.iter_mut().for_each(|x| *x *= slower);
                }
                let values = sender.prepare(gradient, moment);
                let layout = model.layout();
                let shares =
                    loss_shares(setup.policy.importance, chunks, &values, layout, loss_rate);
                let arrived = setup.loss.arrivals(&shares, &mut losses);
                sender.settle(&values, &arrived, moment);
                let lost = chunks.ranges().zip(&arrived).filter(|(_, arrived)| !**arrived);
                lost_numbers += lost.map(|(range, _)| range.len()).sum::<usize>();
                sent_numbers += chunks.length();
                sent.push((values, arrived));
            }
            let contributions: Vec<_> =
                sent.iter().map(|(values, arrived)| Contribution { values, arrived }).collect();
            let update = receiver.combine(&contributions, moment.seed);
            sgd.apply(&mut parameters, &update, rate);
            history.push_front(parameters.clone());
            history.truncate(setup.delay + 1);
        }
        let found = model.evaluate(&parameters);
        let train_loss = train_loss / (steps_per_epoch * setup.workers) as f64;
        points.push(Point {
            epoch: epoch + 1,
            train_loss,
            test_loss: found.loss,
            score: found.score,
        });
        if !train_loss.is_finite() || !found.loss.is_finite() {
            break;
        }
    }
    Curve { points, lost: lost_numbers as f64 / sent_numbers.max(1) as f64 }
}

/// The numbers of all examples in the order of this epoch.
pub fn shuffled(count: usize, seed: u64, epoch: usize) -> Vec<usize> {
    let mut rng = stream(seed, "order", epoch as u64);
    let mut order: Vec<_> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, (uniform(&mut rng) * (at + 1) as f64) as usize);
    }
    order
}
