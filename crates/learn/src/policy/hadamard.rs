//! Mixing a vector so that each chunk holds a little of everything.

use laxity_link::{Pcg64, stream, uniform};

/// Numbers that are mixed with each other.
const BLOCK: usize = 4096;

/// A randomised Hadamard transform: random signs, then sums and differences within blocks of a
/// power of two, at most 4096. Keeps the norm and the length.
///
/// All workers of a step use the same seed, so that the sum of mixed vectors is the mixed sum. A
/// lost chunk of the result is a small error everywhere instead of a hole.
pub fn rotate(values: &mut [f32], seed: u64) {
    flip(values, seed);
    transform(values);
}

/// Undoes [`rotate`] with the same seed.
pub fn rotate_back(values: &mut [f32], seed: u64) {
    transform(values);
    flip(values, seed);
}

fn flip(values: &mut [f32], seed: u64) {
    let mut rng: Pcg64 = stream(seed, "hadamard", 0);
    for value in values {
        if uniform(&mut rng) < 0.5 {
            *value = -*value;
        }
    }
}

/// The fast transform of each block; what is left over is cut into smaller powers of two.
fn transform(mut values: &mut [f32]) {
    while !values.is_empty() {
        let size = BLOCK.min(1 << values.len().ilog2());
        let (block, rest) = values.split_at_mut(size);
        let mut half = 1;
        while half < size {
            for pair in block.chunks_exact_mut(2 * half) {
                let (low, high) = pair.split_at_mut(half);
                for (low, high) in low.iter_mut().zip(high) {
                    (*low, *high) = (*low + *high, *low - *high);
                }
            }
            half *= 2;
        }
        let scale = 1.0 / (size as f32).sqrt();
        block.iter_mut().for_each(|value| *value *= scale);
        values = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_and_keeps_the_norm() {
        let before: Vec<f32> = (0..5003).map(|x| ((x * 7919) % 101) as f32 - 50.0).collect();
        let mut after = before.clone();
        rotate(&mut after, 3);
        let norm = |values: &[f32]| values.iter().map(|x| f64::from(x * x)).sum::<f64>();
        assert!((norm(&after) / norm(&before) - 1.0).abs() < 1e-5);
        assert_ne!(after[..10], before[..10]);
        rotate_back(&mut after, 3);
        for (after, before) in after.iter().zip(&before) {
            assert!((after - before).abs() < 1e-3);
        }
    }

    #[test]
    fn a_single_spike_spreads_over_its_block() {
        let mut values = vec![0.0; 1024];
        values[17] = 32.0;
        rotate(&mut values, 1);
        assert!(values.iter().all(|x| x.abs() == 1.0));
    }
}
