//! Matrix factorisation of ratings.

use std::ops::Range;
use std::sync::Arc;

use laxity_link::stream;

use super::{Evaluation, Layout, Model};
use crate::data::{Ratings, Split};
use crate::math::normal;

/// A rating is guessed as mean + bias of user + bias of item + product of their factors (Koren,
/// Bell and Volinsky, 2009), with a penalty on large parameters. Points: share of the variance of
/// test ratings that is explained, in %.
#[derive(Debug)]
pub struct Factorisation {
    data: Arc<Split<Ratings>>,
    layout: Layout,
    rank: usize,
    penalty: f32,
    mean: f32,
    users: Range<usize>,
    items: Range<usize>,
}

impl Factorisation {
    /// Factors of this rank, and a penalty on the squares of the parameters that a rating touches.
    pub fn new(data: Arc<Split<Ratings>>, rank: usize, penalty: f32) -> Self {
        let mut layout = Layout::default();
        let users = layout.add("users", data.train.users * (rank + 1));
        let items = layout.add("items", data.train.items * (rank + 1));
        let train = &data.train.known;
        let sum: f64 = train.iter().map(|rating| f64::from(rating.value)).sum();
        let mean = (sum / train.len() as f64) as f32;
        Self { data, layout, rank, penalty, mean, users, items }
    }

    /// Where the bias and the factors of a user and an item are.
    fn places(&self, user: u32, item: u32) -> (usize, usize) {
        let step = self.rank + 1;
        (self.users.start + user as usize * step, self.items.start + item as usize * step)
    }

    fn guess(&self, parameters: &[f32], (user, item): (usize, usize)) -> f32 {
        let (user, item) =
            (&parameters[user..=user + self.rank], &parameters[item..=item + self.rank]);
        let product: f32 = user[1..].iter().zip(&item[1..]).map(|(a, b)| a * b).sum();
        self.mean + user[0] + item[0] + product
    }
}

impl Model for Factorisation {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn start(&self, seed: u64) -> Vec<f32> {
        let mut rng = stream(seed, "factorisation-start", 0);
        let mut parameters = vec![0.0; self.layout.len()];
        for row in parameters.chunks_exact_mut(self.rank + 1) {
            row[1..].fill_with(|| (normal(&mut rng) * 0.1) as f32);
        }
        parameters
    }

    fn examples(&self) -> usize {
        self.data.train.known.len()
    }

    fn gradient(&self, parameters: &[f32], batch: &[usize]) -> (f64, Vec<f32>) {
        let (mut loss, mut gradient) = (0.0, vec![0.0; self.layout.len()]);
        let share = 1.0 / batch.len() as f32;
        for at in batch {
            let rating = self.data.train.known[*at];
            let places = self.places(rating.user, rating.item);
            let miss = self.guess(parameters, places) - rating.value;
            let mut squares = 0.0;
            for at in 0..=self.rank {
                let (user, item) = (parameters[places.0 + at], parameters[places.1 + at]);
                // The factor of a bias is 1.
                let (by_user, by_item) = if at == 0 { (1.0, 1.0) } else { (item, user) };
                gradient[places.0 + at] += share * (miss * by_user + self.penalty * user);
                gradient[places.1 + at] += share * (miss * by_item + self.penalty * item);
                squares += user * user + item * item;
            }
            loss += 0.5 * f64::from(miss * miss + self.penalty * squares);
        }
        (loss / batch.len() as f64, gradient)
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let test = &self.data.test.known;
        let (mut sum, mut missed, mut spread) = (0.0, 0.0, 0.0);
        for rating in test {
            let guess = self.guess(parameters, self.places(rating.user, rating.item));
            missed += f64::from(guess - rating.value).powi(2);
            sum += f64::from(rating.value);
            spread += f64::from(rating.value).powi(2);
        }
        let count = test.len() as f64;
        let variance = spread / count - (sum / count).powi(2);
        let error = missed / count;
        Evaluation { loss: 0.5 * error, score: 100.0 * (1.0 - error / variance) }
    }
}
