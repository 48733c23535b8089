//! Documents that mix a few topics.

use laxity_link::{stream, uniform};

use super::{below, pick, running_sums, zipf};
use crate::data::{Documents, Split, tenth_for_testing};

/// Documents of 40 to 160 words: each mixes two of the topics, and each topic has its own order of
/// the words, common by Zipf's law. Every tenth is for testing.
pub fn documents(seed: u64, count: usize, words: usize, topics: usize) -> Split<Documents> {
    let mut rng = stream(seed, "documents", 0);
    let orders: Vec<Vec<u32>> = (0..topics)
        .map(|_| {
            let mut order: Vec<u32> = (0..words as u32).collect();
            for at in (1..words).rev() {
                order.swap(at, below(&mut rng, at + 1));
            }
            order
        })
        .collect();
    let common = zipf(words);
    let made = (0..count).map(|_| {
        let share = uniform(&mut rng);
        let mix = (below(&mut rng, topics), below(&mut rng, topics));
        let sides = running_sums([share, 1.0 - share]);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..40 + below(&mut rng, 121) {
            let topic = [mix.0, mix.1][pick(&mut rng, &sides)];
            *counts.entry(orders[topic][pick(&mut rng, &common)]).or_insert(0u32) += 1;
        }
        counts.into_iter().collect()
    });
    let (train, test) = tenth_for_testing(made.collect());
    Split {
        train: Documents { words, documents: train },
        test: Documents { words, documents: test },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_lengths_they_should() {
        let split = documents(1, 100, 300, 5);
        assert_eq!((split.train.documents.len(), split.test.documents.len()), (90, 10));
        for document in &split.train.documents {
            let length: u32 = document.iter().map(|(_, count)| count).sum();
            assert!((40..=160).contains(&length), "{length}");
            assert!(document.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
