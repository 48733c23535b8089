//! Gradients are derivatives: they agree with differences of the loss.

use std::sync::Arc;

use laxity_learn::{
    Model,
    data::made,
    model::{Cnn, Factorisation, Lstm, Mlp, Topics},
};
use laxity_link::{stream, uniform};

/// Moves each layer on its own along a random direction and compares the change of the loss with
/// what the gradient says.
fn check(model: &dyn Model, step: f32, tolerance: f64) {
    let parameters = model.start(3);
    let batch: Vec<_> = (0..6).collect();
    let (_, gradient) = model.gradient(&parameters, &batch);
    for (number, layer) in model.layout().layers().iter().enumerate() {
        let range = layer.offset..layer.offset + layer.length;
        let mut rng = stream(9, "direction", number as u64);
        let direction: Vec<f32> = range.clone().map(|_| uniform(&mut rng) as f32 - 0.5).collect();
        let norm = direction.iter().map(|x| x * x).sum::<f32>().sqrt();
        let moved = |sign: f32| {
            let mut parameters = parameters.clone();
            for (at, direction) in range.clone().zip(&direction) {
                parameters[at] += sign * step * direction / norm;
            }
            model.gradient(&parameters, &batch).0
        };
        let measured = (moved(1.0) - moved(-1.0)) / f64::from(2.0 * step);
        let products = gradient[range.clone()].iter().zip(&direction);
        let said = products.map(|(g, d)| f64::from(g * d / norm)).sum::<f64>();
        let size = gradient[range].iter().map(|g| f64::from(g * g)).sum::<f64>().sqrt();
        assert!(
            (measured - said).abs() < tolerance * size,
            "{}: the loss changes by {measured}, the gradient says {said}, its norm is {size}",
            layer.name
        );
    }
}

#[test]
fn of_the_perceptron() {
    let data = Arc::new(made::strokes(1, 20, 10));
    check(&Mlp::new(data, &[12, 7]), 1e-3, 0.005);
}

#[test]
fn of_the_residual_network() {
    let data = Arc::new(made::strokes(1, 20, 10));
    // Rectifiers bend the loss in many places, hence a small step.
    check(&Cnn::new(data, 4, 2), 3e-4, 0.02);
}

#[test]
fn of_the_recurrent_network() {
    let data = Arc::new(made::text(1, 3000));
    check(&Lstm::new(data, 9, 12), 1e-2, 0.01);
}

#[test]
fn of_the_factorisation() {
    let data = Arc::new(made::ratings(1, 6, 5, 40));
    check(&Factorisation::new(data, 4, 0.1), 1e-2, 0.01);
}

/// The natural gradient of topics is no derivative; a step along it is Hoffman's update instead.
#[test]
fn a_step_of_rate_1_replaces_the_counts_of_topics_by_those_of_the_batch() {
    let data = Arc::new(made::documents(1, 50, 60, 3));
    let tokens = f64::from(data.train.tokens());
    let model = Topics::new(data, 3);
    let parameters = model.start(1);
    let everything: Vec<_> = (0..model.examples()).collect();
    let (_, gradient) = model.gradient(&parameters, &everything);
    let counts: f64 = parameters.iter().zip(&gradient).map(|(x, g)| f64::from(x - g)).sum();
    // All words that there are, and the prior of 0.01 for each of 60 words in 3 topics.
    assert!((counts - tokens - 1.8).abs() < 0.01 * tokens, "{counts} of {tokens}");
}
