//! A recurrent network that guesses the next character.

use std::ops::Range;
use std::sync::Arc;

use laxity_link::stream;

use super::{Evaluation, Layout, Model};
use crate::data::{Split, Text};
use crate::math::{Matrix, add_product, cross_entropy, normal, sigmoid, tanh, transpose};

/// One layer of long short-term memory (Hochreiter and Schmidhuber, 1997) between a table of
/// characters and a softmax. An example is a window of the text, read from an empty memory.
/// Points: characters guessed right, in %.
#[derive(Debug)]
pub struct Lstm {
    data: Arc<Split<Text>>,
    layout: Layout,
    hidden: usize,
    window: usize,
    table: Range<usize>,
    recurrent: Range<usize>,
    bias: Range<usize>,
    out: Range<usize>,
    out_bias: Range<usize>,
}

/// What happened at one step in time, for all examples of a batch.
struct Step {
    /// Character that was read, one per example.
    read: Vec<usize>,
    /// The memory's output before this step.
    before: Vec<f32>,
    /// The memory's cells before this step.
    cells_before: Vec<f32>,
    /// Gates after their functions, one example after the other: input, forget, candidate, output.
    gates: Vec<f32>,
    /// The hyperbolic tangent of the cells after this step.
    squashed: Vec<f32>,
}

impl Lstm {
    /// A memory of `hidden` cells that is trained on windows of `window` characters.
    ///
    /// # Panics
    /// If a text is not longer than a window.
    pub fn new(data: Arc<Split<Text>>, hidden: usize, window: usize) -> Self {
        let shortest = data.train.codes.len().min(data.test.codes.len());
        assert!(shortest > window, "a text of {shortest} characters has no window of {window}");
        let symbols = data.train.symbols();
        let mut layout = Layout::default();
        Self {
            hidden,
            window,
            table: layout.add("table", symbols * 4 * hidden),
            recurrent: layout.add("recurrent", hidden * 4 * hidden),
            bias: layout.add("bias", 4 * hidden),
            out: layout.add("out", hidden * symbols),
            out_bias: layout.add("out.bias", symbols),
            data,
            layout,
        }
    }

    /// Reads windows side by side; gives the steps and the memory's output after each.
    fn forward(&self, parameters: &[f32], windows: &[&[u8]]) -> (Vec<Step>, Vec<f32>) {
        let (hidden, four) = (self.hidden, 4 * self.hidden);
        let recurrent = &parameters[self.recurrent.clone()];
        let bias = &parameters[self.bias.clone()];
        let mut output = vec![0.0; windows.len() * hidden];
        let mut cells = output.clone();
        let (mut steps, mut outputs) = (Vec::new(), Vec::new());
        for time in 0..self.window {
            let read: Vec<_> = windows.iter().map(|window| usize::from(window[time])).collect();
            let mut gates = Vec::with_capacity(windows.len() * four);
            for code in &read {
                let row = &parameters[self.table.start + code * four..][..four];
                gates.extend(row.iter().zip(bias).map(|(x, bias)| x + bias));
            }
            add_product(&mut gates, Matrix::new(&output, hidden), recurrent, four);
            let (before, cells_before) = (output.clone(), cells.clone());
            for (example, gates) in gates.chunks_exact_mut(four).enumerate() {
                let (gated, rest) = gates.split_at_mut(2 * hidden);
                gated.iter_mut().for_each(|x| *x = sigmoid(*x));
                rest[..hidden].iter_mut().for_each(|x| *x = tanh(*x));
                rest[hidden..].iter_mut().for_each(|x| *x = sigmoid(*x));
                let cells = &mut cells[example * hidden..(example + 1) * hidden];
                for (at, cell) in cells.iter_mut().enumerate() {
                    *cell = gated[hidden + at] * *cell + gated[at] * rest[at];
                }
            }
            let squashed: Vec<f32> = cells.iter().map(|cell| tanh(*cell)).collect();
            for (example, gates) in gates.chunks_exact(four).enumerate() {
                for at in 0..hidden {
                    let place = example * hidden + at;
                    output[place] = gates[3 * hidden + at] * squashed[place];
                }
            }
            outputs.extend_from_slice(&output);
            steps.push(Step { read, before, cells_before, gates, squashed });
        }
        (steps, outputs)
    }

    /// Scores of the next character, for each output of the memory.
    fn scores(&self, parameters: &[f32], outputs: &[f32]) -> Vec<f32> {
        let symbols = self.data.train.symbols();
        let mut scores = parameters[self.out_bias.clone()].repeat(outputs.len() / self.hidden);
        let out = &parameters[self.out.clone()];
        add_product(&mut scores, Matrix::new(outputs, self.hidden), out, symbols);
        scores
    }

    /// Scores become derivatives; gives the summed loss and the number of right guesses.
    fn judge(&self, scores: &mut [f32], windows: &[&[u8]]) -> (f64, usize) {
        let (mut loss, mut hits) = (0.0, 0);
        let symbols = self.data.train.symbols();
        for (place, scores) in scores.chunks_exact_mut(symbols).enumerate() {
            let (time, example) = (place / windows.len(), place % windows.len());
            let (cost, hit) = cross_entropy(scores, usize::from(windows[example][time + 1]));
            loss += cost;
            hits += usize::from(hit);
        }
        (loss, hits)
    }

    /// Goes back through time; `above` is the derivative by each output of the memory.
    fn backward(&self, parameters: &[f32], steps: &[Step], above: &[f32], gradient: &mut [f32]) {
        let (hidden, four) = (self.hidden, 4 * self.hidden);
        let turned = transpose(&parameters[self.recurrent.clone()], four);
        let size = steps[0].before.len();
        let (mut from_later, mut cells) = (vec![0.0; size], vec![0.0; size]);
        for (time, step) in steps.iter().enumerate().rev() {
            let above = &above[time * size..(time + 1) * size];
            let mut slopes = vec![0.0; size * 4];
            for place in 0..size {
                let (example, at) = (place / hidden, place % hidden);
                let gate = |which: usize| step.gates[example * four + which * hidden + at];
                let (input, forget, candidate, output) = (gate(0), gate(1), gate(2), gate(3));
                let slope = above[place] + from_later[place];
                let squashed = step.squashed[place];
                let cell = cells[place] + slope * output * (1.0 - squashed * squashed);
                let mut put = |which: usize, value: f32| {
                    slopes[example * four + which * hidden + at] = value;
                };
                put(0, cell * candidate * input * (1.0 - input));
                put(1, cell * step.cells_before[place] * forget * (1.0 - forget));
                put(2, cell * input * (1.0 - candidate * candidate));
                put(3, slope * squashed * output * (1.0 - output));
                cells[place] = cell * forget;
            }
            let recurrent = &mut gradient[self.recurrent.clone()];
            add_product(recurrent, Matrix::transposed(&step.before, hidden), &slopes, four);
            for (slopes, code) in slopes.chunks_exact(four).zip(&step.read) {
                let row = self.table.start + code * four;
                for start in [row, self.bias.start] {
                    let to = &mut gradient[start..start + four];
                    to.iter_mut().zip(slopes).for_each(|(to, x)| *to += x);
                }
            }
            from_later.fill(0.0);
            add_product(&mut from_later, Matrix::new(&slopes, four), &turned, hidden);
        }
    }
}

impl Model for Lstm {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn start(&self, seed: u64) -> Vec<f32> {
        let mut parameters = vec![0.0; self.layout.len()];
        let mut rng = stream(seed, "lstm-start", 0);
        let spread = (1.0 / self.hidden as f64).sqrt();
        for range in [&self.table, &self.recurrent, &self.out] {
            parameters[range.clone()].fill_with(|| (normal(&mut rng) * spread) as f32);
        }
        // Open forget gates at the start let the memory remember (Gers et al., 2000).
        let forget = self.bias.start + self.hidden;
        parameters[forget..forget + self.hidden].fill(1.0);
        parameters
    }

    fn examples(&self) -> usize {
        (self.data.train.codes.len() - 1) / self.window
    }

    fn gradient(&self, parameters: &[f32], batch: &[usize]) -> (f64, Vec<f32>) {
        let codes = &self.data.train.codes;
        let windows: Vec<_> =
            batch.iter().map(|at| &codes[at * self.window..=(at + 1) * self.window]).collect();
        let (steps, outputs) = self.forward(parameters, &windows);
        let mut slopes = self.scores(parameters, &outputs);
        let guesses = (batch.len() * self.window) as f64;
        let (loss, _) = self.judge(&mut slopes, &windows);
        slopes.iter_mut().for_each(|x| *x /= guesses as f32);
        let (symbols, mut gradient) = (self.data.train.symbols(), vec![0.0; self.layout.len()]);
        let out = &mut gradient[self.out.clone()];
        add_product(out, Matrix::transposed(&outputs, self.hidden), &slopes, symbols);
        for row in slopes.chunks_exact(symbols) {
            gradient[self.out_bias.clone()].iter_mut().zip(row).for_each(|(to, x)| *to += x);
        }
        let turned = transpose(&parameters[self.out.clone()], symbols);
        let mut above = vec![0.0; outputs.len()];
        add_product(&mut above, Matrix::new(&slopes, symbols), &turned, self.hidden);
        self.backward(parameters, &steps, &above, &mut gradient);
        (loss / guesses, gradient)
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let codes = &self.data.test.codes;
        let count = (codes.len() - 1) / self.window;
        let windows: Vec<_> =
            (0..count).map(|at| &codes[at * self.window..=(at + 1) * self.window]).collect();
        let (mut loss, mut hits) = (0.0, 0);
        for windows in windows.chunks(16) {
            let (_, outputs) = self.forward(parameters, windows);
            let judged = self.judge(&mut self.scores(parameters, &outputs), windows);
            loss += judged.0;
            hits += judged.1;
        }
        let guesses = (count * self.window) as f64;
        Evaluation { loss: loss / guesses, score: 100.0 * hits as f64 / guesses }
    }
}
