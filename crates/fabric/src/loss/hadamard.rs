//! A random rotation that spreads what is lost over a block.
//!
//! Signs are flipped at random and a Walsh-Hadamard transform is applied, so that each number that
//! travels holds a little of every number of its block: a lost packet blurs a block instead of
//! punching a hole (OptiReduce, NSDI '25, §3.3). The rotation is its own inverse up to the signs,
//! and linear, so contributions can be folded while rotated.

use bytes::Bytes;
use laxity_protocol::ElementType;

use crate::{
    chance::Chance,
    element::{Accumulator, accumulator::Floats},
    options::ReduceOp,
};

/// Numbers of a block; what is left at the end is cut into smaller powers of two.
const BLOCK: usize = 1024;

/// Arithmetic that the rotation needs.
trait Float: Copy + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> {
    fn times(self, factor: f64) -> Self;
}

impl Float for f32 {
    fn times(self, factor: f64) -> Self {
        self * factor as Self
    }
}

impl Float for f64 {
    fn times(self, factor: f64) -> Self {
        self * factor
    }
}

/// These numbers, rotated. `seed` must be the same on all ranks and new for each operation.
pub(crate) fn rotate(numbers: &[u8], element: ElementType, seed: u64) -> Bytes {
    let kind = if element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
    let mut floats = Accumulator::identity(kind, ReduceOp::Sum, numbers.len() / element.size());
    floats.fold(0, numbers, element, ReduceOp::Sum);
    match floats.as_floats() {
        Some(Floats::F32(floats)) => blocks(floats, seed, Direction::There),
        Some(Floats::F64(floats)) => blocks(floats, seed, Direction::There),
        None => unreachable!("f32 and f64 are floating point"),
    }
    floats.into_bytes(element)
}

/// Turns rotated numbers back.
pub(crate) fn unrotate(floats: Floats<'_>, seed: u64) {
    match floats {
        Floats::F32(floats) => blocks(floats, seed, Direction::Back),
        Floats::F64(floats) => blocks(floats, seed, Direction::Back),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    There,
    Back,
}

fn blocks<T: Float>(mut numbers: &mut [T], seed: u64, direction: Direction) {
    let mut chance = Chance::new(&[seed]);
    while !numbers.is_empty() {
        let length = BLOCK.min(1 << numbers.len().ilog2());
        let (block, rest) = numbers.split_at_mut(length);
        let signs: Vec<u64> = (0..length.div_ceil(64)).map(|_| chance.bits()).collect();
        if direction == Direction::There {
            flip(block, &signs);
            transform(block);
        } else {
            transform(block);
            flip(block, &signs);
        }
        numbers = rest;
    }
}

fn flip<T: Float>(block: &mut [T], signs: &[u64]) {
    for (i, number) in block.iter_mut().enumerate() {
        if signs[i / 64] >> (i % 64) & 1 == 1 {
            *number = number.times(-1.0);
        }
    }
}

/// The orthonormal Walsh-Hadamard transform of a power of two of numbers.
fn transform<T: Float>(block: &mut [T]) {
    let mut half = 1;
    while half < block.len() {
        for pair in block.chunks_exact_mut(half * 2) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let factor = 1.0 / (block.len() as f64).sqrt();
    block.iter_mut().for_each(|number| *number = number.times(factor));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::into_bytes;

    fn there_and_back(numbers: &[f32], lose: std::ops::Range<usize>) -> Vec<f32> {
        let rotated = rotate(&into_bytes(numbers.to_vec()), ElementType::F32, 9);
        let mut floats: Vec<f32> = bytemuck::pod_collect_to_vec(&rotated);
        floats[lose].fill(0.0);
        unrotate(Floats::F32(&mut floats), 9);
        floats
    }

    #[test]
    fn what_was_rotated_comes_back_at_every_length() {
        for count in [0, 1, 2, 3, 1023, 1024, 1025, 3000] {
            let numbers: Vec<f32> = (0..count).map(|i| (i as f32 * 0.37).sin()).collect();
            let back = there_and_back(&numbers, 0..0);
            let worst = numbers.iter().zip(&back).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-5, "{count} numbers came back {worst} off");
        }
    }

    #[test]
    fn a_loss_is_spread_over_its_block() {
        let numbers = [1.0f32; 1024];
        let back = there_and_back(&numbers, 100..200);
        let worst = numbers.iter().zip(&back).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 0.99, "the worst number lost {worst} of itself, where a hole loses all");
    }
}
