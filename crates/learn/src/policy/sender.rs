//! One worker's side.

use super::{Carry, Chunks, Policy, rotate};

/// What a worker keeps between steps, and what it makes of a gradient before it is sent.
#[derive(Clone, Debug)]
pub struct Sender {
    policy: Policy,
    chunks: Chunks,
    momentum: f32,
    velocity: Vec<f32>,
    carry: Option<Carry>,
    own: Vec<f32>,
}

/// What a step is called by those who take part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moment {
    /// Of the step; all workers have the same.
    pub seed: u64,
    /// The learning rate over its peak.
    pub rate: f64,
}

impl Sender {
    /// A worker at the start. `momentum` is used if the policy keeps it at workers.
    pub fn new(policy: Policy, chunks: Chunks, momentum: f32) -> Self {
        let velocity = if policy.velocity { vec![0.0; chunks.length()] } else { Vec::new() };
        let carry = policy.feedback.map(|rule| Carry::new(rule, chunks.length()));
        Self { policy, chunks, momentum, velocity, carry, own: Vec::new() }
    }

    /// A gradient becomes what is sent.
    pub fn prepare(&mut self, mut gradient: Vec<f32>, moment: Moment) -> Vec<f32> {
        if self.policy.velocity {
            for (velocity, gradient) in self.velocity.iter_mut().zip(&mut gradient) {
                *velocity = self.momentum * *velocity + *gradient;
                *gradient = *velocity;
            }
        }
        if let Some(carry) = &self.carry {
            self.own.clone_from(&gradient);
            carry.load(&mut gradient);
        }
        if self.policy.hadamard {
            rotate(&mut gradient, moment.seed);
        }
        gradient
    }

    /// Takes in which chunks of what was sent arrived.
    pub fn settle(&mut self, sent: &[f32], arrived: &[bool], moment: Moment) {
        let Some(carry) = &mut self.carry else { return };
        if self.policy.hadamard {
            // What is carried must be mixed with the same signs: it stays unmixed, as the lost
            // part of what was sent.
            let mut lost = sent.to_vec();
            for (range, arrived) in self.chunks.ranges().zip(arrived) {
                if *arrived {
                    lost[range].fill(0.0);
                }
            }
            super::rotate_back(&mut lost, moment.seed);
            let none = vec![false; arrived.len()];
            carry.settle(self.chunks, &lost, &lost, &none, moment.rate);
        } else {
            carry.settle(self.chunks, &self.own, sent, arrived, moment.rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment { seed: 5, rate: 1.0 };

    #[test]
    fn velocity_is_the_geometric_sum_of_gradients() {
        let policy = Policy { velocity: true, ..Policy::default() };
        let mut sender = Sender::new(policy, Chunks::new(1, 1), 0.5);
        let sent: Vec<f32> = (0..3).map(|_| sender.prepare(vec![1.0], NOW)[0]).collect();
        assert_eq!(sent, [1.0, 1.5, 1.75]);
    }

    #[test]
    fn what_is_carried_through_a_mix_is_what_was_lost() {
        let policy: Policy = "feedback+hadamard".parse().expect("a policy");
        let chunks = Chunks::new(8, 4);
        let mut sender = Sender::new(policy, chunks, 0.9);
        let gradient: Vec<f32> = (1..=8).map(|x| x as f32).collect();
        let sent = sender.prepare(gradient.clone(), NOW);
        sender.settle(&sent, &[true, false], NOW);
        // What arrived and what is owed add up to the gradient.
        let mut arrived = sent;
        arrived[4..].fill(0.0);
        super::super::rotate_back(&mut arrived, NOW.seed);
        let mut next = sender.prepare(vec![0.0; 8], NOW);
        super::super::rotate_back(&mut next, NOW.seed);
        for ((arrived, owed), whole) in arrived.iter().zip(&next).zip(&gradient) {
            assert!((arrived + owed - whole).abs() < 1e-5);
        }
    }
}
