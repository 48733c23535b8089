//! Latent Dirichlet allocation: topics of documents.

use std::sync::Arc;

use laxity_link::{stream, uniform};

use super::{Evaluation, Layout, Model};
use crate::data::{Documents, Split};
use crate::math::digamma;

/// Prior weight of a topic in a document, and of a word in a topic.
const PRIOR: (f64, f64) = (0.1, 0.01);
/// Rounds in which a document finds its mixture of topics.
const ROUNDS: usize = 20;

/// Online variational inference (Hoffman, Blei and Bach, 2010). The parameters are how often each
/// topic is thought to have each word; the gradient is the natural one, present minus wanted
/// counts, so a step of rate ρ is the paper's update λ ← (1 − ρ) λ + ρ λ̂. Points: how much of the
/// nats per word that a model without topics needs is saved on test documents, in %. (Half of the
/// words of a test document tell its topics, the other half is guessed.)
#[derive(Debug)]
pub struct Topics {
    data: Arc<Split<Documents>>,
    layout: Layout,
    topics: usize,
    /// How often each word is met in training, for the model without topics.
    shares: Vec<f64>,
}

impl Topics {
    /// So many topics.
    pub fn new(data: Arc<Split<Documents>>, topics: usize) -> Self {
        let mut layout = Layout::default();
        (0..topics).for_each(|topic| {
            layout.add(format!("topic{topic}"), data.train.words);
        });
        let mut shares = vec![1.0; data.train.words];
        for (word, count) in data.train.documents.iter().flatten() {
            shares[*word as usize] += f64::from(*count);
        }
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        Self { data, layout, topics, shares }
    }

    /// exp E[ln β]: the weight of each word in each topic, word by word.
    fn weights(&self, parameters: &[f32]) -> Vec<f64> {
        let words = self.data.train.words;
        let mut weights = vec![0.0; words * self.topics];
        for (topic, counts) in parameters.chunks_exact(words).enumerate() {
            let sum: f64 = counts.iter().map(|count| positive(*count)).sum();
            let all = digamma(sum);
            for (word, count) in counts.iter().enumerate() {
                weights[word * self.topics + topic] = libm::exp(digamma(positive(*count)) - all);
            }
        }
        weights
    }

    /// The mixture of topics of a document: exp E[ln θ].
    fn mixture(&self, weights: &[f64], document: &[(u32, u32)]) -> Vec<f64> {
        let length: f64 = document.iter().map(|(_, count)| f64::from(*count)).sum();
        let mut gamma = vec![PRIOR.0 + length / self.topics as f64; self.topics];
        let mut theta = mixed(&gamma);
        for _ in 0..ROUNDS {
            let mut next = vec![0.0; self.topics];
            for (word, count) in document {
                let weights = &weights[*word as usize * self.topics..][..self.topics];
                let share = f64::from(*count) / product(&theta, weights);
                next.iter_mut().zip(weights).for_each(|(to, weight)| *to += share * weight);
            }
            for ((gamma, theta), next) in gamma.iter_mut().zip(&theta).zip(&next) {
                *gamma = PRIOR.0 + theta * next;
            }
            theta = mixed(&gamma);
        }
        theta
    }
}

/// A count that cannot be: an update that came twice may take away more than was there.
fn positive(count: f32) -> f64 {
    f64::from(count).max(1e-6)
}

fn mixed(gamma: &[f64]) -> Vec<f64> {
    let all = digamma(gamma.iter().sum());
    gamma.iter().map(|count| libm::exp(digamma(*count) - all)).collect()
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() + 1e-100
}

impl Model for Topics {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn start(&self, seed: u64) -> Vec<f32> {
        let mut rng = stream(seed, "topics-start", 0);
        let tokens: f64 = f64::from(self.data.train.tokens());
        let each = tokens / self.layout.len() as f64;
        (0..self.layout.len()).map(|_| (each * (0.5 + uniform(&mut rng))) as f32).collect()
    }

    fn examples(&self) -> usize {
        self.data.train.documents.len()
    }

    fn gradient(&self, parameters: &[f32], batch: &[usize]) -> (f64, Vec<f32>) {
        let words = self.data.train.words;
        let weights = self.weights(parameters);
        let scale = self.examples() as f64 / batch.len() as f64;
        let mut gradient: Vec<f32> = parameters.iter().map(|x| x - PRIOR.1 as f32).collect();
        let (mut nats, mut tokens) = (0.0, 0.0);
        for at in batch {
            let document = &self.data.train.documents[*at];
            let theta = self.mixture(&weights, document);
            let sum: f64 = theta.iter().sum();
            for (word, count) in document {
                let weights = &weights[*word as usize * self.topics..][..self.topics];
                let (count, likely) = (f64::from(*count), product(&theta, weights));
                for topic in 0..self.topics {
                    let taken = scale * count * theta[topic] * weights[topic] / likely;
                    gradient[topic * words + *word as usize] -= taken as f32;
                }
                nats -= count * libm::log(likely / sum);
                tokens += count;
            }
        }
        (nats / tokens, gradient)
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let words = self.data.train.words;
        let weights = self.weights(parameters);
        let sums: Vec<f64> = parameters
            .chunks_exact(words)
            .map(|counts| counts.iter().map(|count| positive(*count)).sum())
            .collect();
        let (mut nats, mut plain, mut tokens) = (0.0, 0.0, 0.0);
        for document in &self.data.test.documents {
            let seen: Vec<_> = document.iter().step_by(2).copied().collect();
            let theta = self.mixture(&weights, &seen);
            let all: f64 = theta.iter().sum();
            for (word, count) in document.iter().skip(1).step_by(2) {
                let (word, count) = (*word as usize, f64::from(*count));
                let likely: f64 = (0..self.topics)
                    .map(|topic| {
                        theta[topic] / all * positive(parameters[topic * words + word])
                            / sums[topic]
                    })
                    .sum();
                nats -= count * libm::log(likely);
                plain -= count * libm::log(self.shares[word]);
                tokens += count;
            }
        }
        Evaluation { loss: nats / tokens, score: 100.0 * (1.0 - nats / plain) }
    }
}
