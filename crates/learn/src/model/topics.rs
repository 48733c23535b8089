//! Latent Dirichlet allocation: topics of documents.

use std::sync::Arc;

use laxity_link::{stream, uniform};

use super::{Evaluation, Layout, Model};
use crate::data::{Documents, Split};
use crate::math::exp_digamma;

/// Prior weight of a topic in a document, and of a word in a topic.
const PRIOR: (f64, f64) = (0.1, 0.01);
/// Rounds in which a document finds its mixture of topics, at most.
const ROUNDS: usize = 20;
/// It has found it when a round moves fewer words than this from topic to topic, per topic in the mean (the bound of the
/// paper's own program).
const STILL: f64 = 0.001;

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
            let all = 1.0 / exp_digamma(sum);
            for (word, count) in counts.iter().enumerate() {
                weights[word * self.topics + topic] = exp_digamma(positive(*count)) * all;
            }
        }
        weights
    }

    /// The mixture of topics of a document: exp E[ln θ] but for a factor that all topics share.
    fn mixture<'a>(
        &self,
        weights: &[f64],
        document: impl Iterator<Item = &'a (u32, u32)>,
    ) -> Vec<f64> {
        // Rows of the words that occur, side by side: every round goes through them.
        let (mut rows, mut counts) = (Vec::new(), Vec::new());
        for (word, count) in document {
            rows.extend_from_slice(&weights[*word as usize * self.topics..][..self.topics]);
            counts.push(f64::from(*count));
        }
        let length: f64 = counts.iter().sum();
        let mut gamma = vec![PRIOR.0 + length / self.topics as f64; self.topics];
        let mut theta: Vec<f64> = gamma.iter().map(|gamma| exp_digamma(*gamma)).collect();
        let mut next = vec![0.0; self.topics];
        for _ in 0..ROUNDS {
            next.fill(0.0);
            for (row, count) in rows.chunks_exact(self.topics).zip(&counts) {
                let share = count / product(&theta, row);
                next.iter_mut().zip(row).for_each(|(to, weight)| *to += share * weight);
            }
            let mut moved = 0.0;
            for ((gamma, theta), next) in gamma.iter_mut().zip(&mut theta).zip(&next) {
                let found = PRIOR.0 + *theta * next;
                moved += (found - *gamma).abs();
                *gamma = found;
                *theta = exp_digamma(found);
            }
            if moved < STILL * self.topics as f64 {
                break;
            }
        }
        theta
    }
}

/// A count that cannot be: an update that came twice may take away more than was there.
fn positive(count: f32) -> f64 {
    f64::from(count).max(1e-6)
}

/// Their product, never 0. Four sums, so that additions need not wait for each other.
fn product(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        (0..4).for_each(|at| sums[at] += a[at] * b[at]);
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest + 1e-100
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
            let theta = self.mixture(&weights, document.iter());
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
            let theta = self.mixture(&weights, document.iter().step_by(2));
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
