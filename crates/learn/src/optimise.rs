//! From an update to new parameters.

use crate::policy::Policy;

/// How the learning rate changes over time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Schedule {
    /// Always the same.
    Constant(f64),
    /// From this rate to 0 along half a cosine.
    Cosine(f64),
    /// AdaDelay (Sra et al., 2016): 1 / (`l` + `c` √(t + τ)) in step t, for an update that is τ
    /// steps late.
    AdaDelay {
        /// How rough the loss is; the rate begins below 1 / `l`.
        l: f64,
        /// How noisy gradients are.
        c: f64,
    },
}

impl Schedule {
    /// The rate in step `step` of `steps`, for an update that is `delay` steps late.
    ///
    /// ```
    /// use laxity_learn::Schedule;
    ///
    /// assert_eq!(Schedule::Constant(0.1).rate(5, 10, 0), 0.1);
    /// assert!((Schedule::Cosine(0.1).rate(5, 10, 0) - 0.05).abs() < 1e-12);
    /// assert_eq!(Schedule::AdaDelay { l: 8.0, c: 0.5 }.rate(7, 10, 9), 0.1);
    /// ```
    pub fn rate(self, step: usize, steps: usize, delay: usize) -> f64 {
        match self {
            Self::Constant(rate) => rate,
            Self::Cosine(peak) => {
                let done = step as f64 / steps.max(1) as f64;
                0.5 * peak * (1.0 + libm::cos(std::f64::consts::PI * done))
            }
            Self::AdaDelay { l, c } => 1.0 / (l + c * ((step + delay) as f64).sqrt()),
        }
    }
}

/// Stochastic gradient descent with momentum.
#[derive(Clone, Debug)]
pub struct Sgd {
    momentum: f32,
    decay: f32,
    /// Whether updates are velocities already.
    velocities: bool,
    velocity: Vec<f32>,
}

impl Sgd {
    /// v ← `momentum` v + update + `decay` w, then w ← w − rate v. With a policy that keeps the
    /// momentum at the workers, updates are velocities and only the decay gets its momentum here:
    /// without loss, the result is the same.
    pub fn new(policy: Policy, parameters: usize, momentum: f32, decay: f32) -> Self {
        let velocity = vec![0.0; parameters];
        Self { momentum, decay, velocities: policy.velocity, velocity }
    }

    /// One step.
    pub fn apply(&mut self, parameters: &mut [f32], update: &[f32], rate: f64) {
        let rate = rate as f32;
        for ((at, velocity), update) in parameters.iter_mut().zip(&mut self.velocity).zip(update) {
            *velocity = self.momentum * *velocity + self.decay * *at;
            if self.velocities {
                *at -= rate * (*velocity + update);
            } else {
                *velocity += update;
                *at -= rate * *velocity;
            }
        }
    }
}

/// Scales a gradient down so that its norm is at most `limit`.
pub fn clip(gradient: &mut [f32], limit: f32) {
    let norm = gradient.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt() as f32;
    if norm > limit {
        gradient.iter_mut().for_each(|x| *x *= limit / norm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momentum_adds_up_what_came_before() {
        let mut sgd = Sgd::new(Policy::default(), 1, 0.5, 0.0);
        let mut parameters = [0.0];
        (0..3).for_each(|_| sgd.apply(&mut parameters, &[1.0], 0.1));
        // Velocities 1, 1.5, 1.75.
        assert!((parameters[0] + 0.425).abs() < 1e-6, "{parameters:?}");
    }

    #[test]
    fn momentum_at_workers_is_the_same_thing() {
        let there = Policy { velocity: true, ..Policy::default() };
        let (mut here, mut there) =
            (Sgd::new(Policy::default(), 1, 0.9, 0.01), Sgd::new(there, 1, 0.9, 0.01));
        let (mut a, mut b, mut velocity) = ([1.0], [1.0], 0.0);
        for step in 0..20 {
            let gradient = (step as f32).sin();
            velocity = 0.9 * velocity + gradient;
            here.apply(&mut a, &[gradient], 0.05);
            there.apply(&mut b, &[velocity], 0.05);
        }
        assert!((a[0] - b[0]).abs() < 1e-5, "{a:?} {b:?}");
    }

    #[test]
    fn clipping_keeps_the_direction() {
        let mut gradient = [3.0, 4.0];
        clip(&mut gradient, 10.0);
        assert_eq!(gradient, [3.0, 4.0]);
        clip(&mut gradient, 1.0);
        assert!((gradient[0] - 0.6).abs() < 1e-6 && (gradient[1] - 0.8).abs() < 1e-6);
    }
}
