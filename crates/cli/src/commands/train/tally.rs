//! What happens between two tests of the model.

use std::time::Duration;

use laxity_learn::Evaluation;
use laxity_report::stats;

use super::word::Tested;

/// Steps since the last test.
#[derive(Default, Debug)]
pub(super) struct Tally {
    train_loss: f64,
    delivered: f64,
    step_ms: Vec<f64>,
    reduce_ms: Vec<f64>,
}

/// One step.
pub(super) struct Step {
    /// Loss on its batch.
    pub(super) loss: f64,
    /// The part of the gradients that arrived.
    pub(super) delivered: f64,
    /// How long it took, and the network's part of that.
    pub(super) took: Duration,
    pub(super) network: Duration,
}

impl Tally {
    pub(super) fn add(&mut self, step: Step) {
        let ms = |took: Duration| took.as_secs_f64() * 1e3;
        self.train_loss += step.loss;
        self.delivered += step.delivered;
        self.step_ms.push(ms(step.took));
        self.reduce_ms.push(ms(step.network));
    }

    /// Begins anew after a test, which was made after so many steps of an epoch.
    pub(super) fn tested(
        &mut self,
        (epoch, steps): (usize, usize),
        trained: Duration,
        found: &Evaluation,
    ) -> Tested {
        let Self { train_loss, delivered, step_ms, reduce_ms } = std::mem::take(self);
        let mean = |sum: f64| sum / step_ms.len().max(1) as f64;
        Tested {
            epoch,
            steps,
            seconds: trained.as_secs_f64(),
            train_loss: mean(train_loss),
            test_loss: found.loss,
            score: found.score,
            delivered: mean(delivered),
            step_ms: stats::mean(&step_ms).unwrap_or(0.0),
            step_p99_ms: stats::percentile(&step_ms, 99.0).unwrap_or(0.0),
            reduce_ms: stats::mean(&reduce_ms).unwrap_or(0.0),
        }
    }
}

/// Whether the model is tested after this step of an epoch (the first is 0): so many tests in each, at even
/// distances, the last of them after its last step.
pub(super) fn due(step: usize, steps: usize, tests: usize) -> bool {
    let tests = tests.min(steps);
    (step + 1) * tests / steps != step * tests / steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_as_many_as_asked_for_and_end_the_epoch() {
        for steps in 1..50 {
            for tests in 1..60 {
                let at: Vec<_> = (0..steps).filter(|&step| due(step, steps, tests)).collect();
                assert_eq!(at.len(), tests.min(steps));
                assert_eq!(at.last(), Some(&(steps - 1)));
            }
        }
    }

    #[test]
    fn a_test_speaks_of_the_steps_since_the_last() {
        let mut tally = Tally::default();
        let found = Evaluation { loss: 0.5, score: 90.0 };
        for round in 1..3u32 {
            for _ in 0..4 {
                let took = Duration::from_millis(u64::from(round) * 10);
                let delivered = 1.0 - f64::from(round) / 10.0;
                tally.add(Step { loss: f64::from(round), delivered, took, network: took / 2 });
            }
            let tested = tally.tested((1, 4), Duration::from_secs(1), &found);
            let (round, near) = (f64::from(round), |a: f64, b: f64| assert!((a - b).abs() < 1e-9));
            near(tested.train_loss, round);
            near(tested.delivered, 1.0 - round / 10.0);
            near(tested.step_ms, 10.0 * round);
            near(tested.reduce_ms, 5.0 * round);
        }
    }
}
