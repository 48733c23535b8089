//! Ratings that a few hidden tastes explain.

use laxity_link::stream;

use super::{below, pick, zipf};
use crate::data::{Rating, Ratings, Split, tenth_for_testing};
use crate::math::normal;

/// Hidden tastes of users and items.
const TASTES: usize = 6;

/// Ratings from 1 to 5 of items that are popular by Zipf's law: a mean, habits of the user, merits
/// of the item, tastes, and noise. Every tenth is for testing.
pub fn ratings(seed: u64, users: usize, items: usize, count: usize) -> Split<Ratings> {
    let mut rng = stream(seed, "ratings", 0);
    let mut hidden = |count: usize| -> Vec<[f64; TASTES + 1]> {
        (0..count).map(|_| std::array::from_fn(|_| normal(&mut rng))).collect()
    };
    let (of_users, of_items) = (hidden(users), hidden(items));
    let popular = zipf(items);
    let known = (0..count).map(|_| {
        let (user, item) = (below(&mut rng, users), pick(&mut rng, &popular));
        let (u, i) = (&of_users[user], &of_items[item]);
        let taste: f64 = u[1..].iter().zip(&i[1..]).map(|(a, b)| a * b).sum();
        let spread = 0.8 / (TASTES as f64).sqrt();
        let value = 3.5 + 0.4 * u[0] + 0.4 * i[0] + spread * taste + 0.6 * normal(&mut rng);
        Rating { user: user as u32, item: item as u32, value: value.round().clamp(1.0, 5.0) as f32 }
    });
    let (train, test) = tenth_for_testing(known.collect());
    let part = |known| Ratings { users, items, known };
    Split { train: part(train), test: part(test) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ratings_are_in_range_and_a_tenth_is_for_testing() {
        let split = ratings(3, 50, 40, 1000);
        assert_eq!((split.train.known.len(), split.test.known.len()), (900, 100));
        for rating in split.train.known.iter().chain(&split.test.known) {
            assert!(rating.user < 50 && rating.item < 40 && (1.0..=5.0).contains(&rating.value));
        }
    }
}
