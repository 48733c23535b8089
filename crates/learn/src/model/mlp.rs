//! A multi-layer perceptron that sorts pictures.

use std::ops::Range;
use std::sync::Arc;

use laxity_link::stream;

use super::{Evaluation, Layout, Model};
use crate::data::{Images, Split};
use crate::math::{Matrix, add_product, cross_entropy, normal, transpose};

/// Fully connected layers with rectifiers between them. Points: test pictures sorted right, in %.
#[derive(Debug)]
pub struct Mlp {
    data: Arc<Split<Images>>,
    layout: Layout,
    dense: Vec<Dense>,
}

/// One fully connected layer.
#[derive(Debug)]
struct Dense {
    inputs: usize,
    outputs: usize,
    weights: Range<usize>,
    bias: Range<usize>,
}

impl Mlp {
    /// A perceptron with hidden layers of these sizes.
    pub fn new(data: Arc<Split<Images>>, hidden: &[usize]) -> Self {
        let (mut layout, mut dense) = (Layout::default(), Vec::new());
        let mut inputs = data.train.size();
        for (at, outputs) in hidden.iter().copied().chain([data.train.classes]).enumerate() {
            let weights = layout.add(format!("dense{at}"), inputs * outputs);
            let bias = layout.add(format!("bias{at}"), outputs);
            dense.push(Dense { inputs, outputs, weights, bias });
            inputs = outputs;
        }
        Self { data, layout, dense }
    }

    /// What every layer makes of a batch, the input first.
    fn forward(&self, parameters: &[f32], batch: Vec<f32>) -> Vec<Vec<f32>> {
        let mut values = vec![batch];
        for (at, dense) in self.dense.iter().enumerate() {
            let input = &values[at];
            let examples = input.len() / dense.inputs;
            let mut output = parameters[dense.bias.clone()].repeat(examples);
            let weights = &parameters[dense.weights.clone()];
            add_product(&mut output, Matrix::new(input, dense.inputs), weights, dense.outputs);
            if at + 1 < self.dense.len() {
                output.iter_mut().for_each(|x| *x = x.max(0.0));
            }
            values.push(output);
        }
        values
    }
}

impl Model for Mlp {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn start(&self, seed: u64) -> Vec<f32> {
        let mut parameters = vec![0.0; self.layout.len()];
        let mut rng = stream(seed, "mlp-start", 0);
        for dense in &self.dense {
            let spread = (2.0 / dense.inputs as f64).sqrt();
            let weights = &mut parameters[dense.weights.clone()];
            weights.fill_with(|| (normal(&mut rng) * spread) as f32);
        }
        parameters
    }

    fn examples(&self) -> usize {
        self.data.train.len()
    }

    fn gradient(&self, parameters: &[f32], batch: &[usize]) -> (f64, Vec<f32>) {
        let train = &self.data.train;
        let input = batch.iter().flat_map(|at| train.picture(*at)).copied().collect();
        let mut values = self.forward(parameters, input);
        let mut above = values.pop().expect("the scores");
        let (mut loss, share) = (0.0, 1.0 / batch.len() as f32);
        for (scores, at) in above.chunks_exact_mut(train.classes).zip(batch) {
            loss += cross_entropy(scores, train.label(*at)).0;
            scores.iter_mut().for_each(|x| *x *= share);
        }
        let mut gradient = vec![0.0; self.layout.len()];
        for (at, dense) in self.dense.iter().enumerate().rev() {
            let input = &values[at];
            let slope = &mut gradient[dense.weights.clone()];
            add_product(slope, Matrix::transposed(input, dense.inputs), &above, dense.outputs);
            for row in above.chunks_exact(dense.outputs) {
                gradient[dense.bias.clone()].iter_mut().zip(row).for_each(|(to, x)| *to += x);
            }
            if at > 0 {
                let weights = transpose(&parameters[dense.weights.clone()], dense.outputs);
                let mut below = vec![0.0; input.len()];
                add_product(&mut below, Matrix::new(&above, dense.outputs), &weights, dense.inputs);
                below
                    .iter_mut()
                    .zip(input)
                    .filter(|(_, x)| **x <= 0.0)
                    .for_each(|(to, _)| *to = 0.0);
                above = below;
            }
        }
        (loss / batch.len() as f64, gradient)
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let test = &self.data.test;
        let (mut loss, mut hits) = (0.0, 0);
        let numbers: Vec<_> = (0..test.len()).collect();
        for batch in numbers.chunks(64) {
            let input = batch.iter().flat_map(|at| test.picture(*at)).copied().collect();
            let mut scores = self.forward(parameters, input).pop().expect("the scores");
            for (scores, at) in scores.chunks_exact_mut(test.classes).zip(batch) {
                let (cost, hit) = cross_entropy(scores, test.label(*at));
                loss += cost;
                hits += usize::from(hit);
            }
        }
        let count = test.len() as f64;
        Evaluation { loss: loss / count, score: 100.0 * hits as f64 / count }
    }
}
