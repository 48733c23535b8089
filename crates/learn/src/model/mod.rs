//! What is trained: models with their data, seen as functions of one flat vector of parameters.

mod cnn;
mod factorisation;
mod layout;
mod lstm;
mod mlp;
mod topics;

pub use cnn::Cnn;
pub use factorisation::Factorisation;
pub use layout::{Layer, Layout};
pub use lstm::Lstm;
pub use mlp::Mlp;
pub use topics::Topics;

/// A model together with what it learns from and what it is tested on.
///
/// It holds no parameters: whoever trains it keeps them, cuts them into chunks, loses some. All
/// methods are functions of their arguments, so workers may call them at the same time.
pub trait Model: Send + Sync {
    /// Where which part of the parameters is, without gaps.
    fn layout(&self) -> &Layout;

    /// Parameters to begin with.
    fn start(&self, seed: u64) -> Vec<f32>;

    /// How many examples there are to learn from.
    fn examples(&self) -> usize;

    /// The mean loss over some examples, by their numbers, and its derivative by each parameter.
    fn gradient(&self, parameters: &[f32], batch: &[usize]) -> (f64, Vec<f32>);

    /// How good the parameters are on data that was not trained on.
    fn evaluate(&self, parameters: &[f32]) -> Evaluation;
}

/// How good parameters are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Evaluation {
    /// What training makes small, on held-out data.
    pub loss: f64,
    /// How good that is in points of 100; each model says what its points are.
    pub score: f64,
}
