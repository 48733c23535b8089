//! Updates and models on their way: f32 elements of which some may be missing.

use std::ops::Range;

use bytes::Bytes;

/// Elements as they travel, and which of them did not arrive. Cloning is cheap.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tensor {
    bytes: Bytes,
    missing: Vec<Range<usize>>,
}

/// What a lost element of an update becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Gaps {
    /// Zero: the update says nothing there.
    #[default]
    Zero,
    /// What arrived is scaled up, so that the expected value stays: in a sum or a mean, element by
    /// element, by (updates / updates that arrived there); and where elements arrived of no update,
    /// the others by (all elements / those).
    Scale,
}

impl Tensor {
    /// Complete, of these values.
    pub fn new(values: &[f32]) -> Self {
        let mut bytes = Vec::with_capacity(values.len() * 4);
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        Self { bytes: bytes.into(), missing: Vec::new() }
    }

    /// As it came: `bytes` in whole elements, `missing` in elements, ascending.
    pub(crate) fn arrived(bytes: Bytes, missing: Vec<Range<usize>>) -> Self {
        Self { bytes, missing }
    }

    /// How many elements it has, missing ones included.
    pub fn elements(&self) -> usize {
        self.bytes.len() / 4
    }

    /// What did not arrive, in elements, ascending, not touching.
    pub fn missing(&self) -> &[Range<usize>] {
        &self.missing
    }

    /// How many elements did not arrive.
    pub fn lost(&self) -> usize {
        self.missing.iter().map(ExactSizeIterator::len).sum()
    }

    /// The values; missing ones are zero.
    pub fn values(&self) -> Vec<f32> {
        self.iter().collect()
    }

    /// The values of an update by itself, with gaps filled as `gaps` says.
    pub fn filled(&self, gaps: Gaps) -> Vec<f32> {
        let (all, lost) = (self.elements(), self.lost());
        match gaps {
            Gaps::Scale if 0 < lost && lost < all => {
                let factor = (all as f64 / (all - lost) as f64) as f32;
                self.iter().map(|value| value * factor).collect()
            }
            _ => self.values(),
        }
    }

    /// The values one after the other.
    pub(crate) fn iter(&self) -> impl Iterator<Item = f32> + '_ {
        let (chunks, _) = self.bytes.as_chunks::<4>();
        chunks.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }

    /// Some of its elements, by themselves.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        let missing = self.missing.iter().map(|gap| {
            let within = gap.start.max(range.start)..gap.end.min(range.end);
            within.start.saturating_sub(range.start)..within.end.saturating_sub(range.start)
        });
        let missing = missing.filter(|gap| !gap.is_empty()).collect();
        Self { bytes: self.bytes.slice(range.start * 4..range.end * 4), missing }
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// A running sum of updates that knows where contributions are missing.
#[derive(Clone, Debug)]
pub(crate) struct Adding {
    sum: Vec<f32>,
    count: u32,
    /// How many contributions lack each element; empty while none does.
    absent: Vec<u32>,
}

impl Adding {
    pub(crate) fn new(elements: usize) -> Self {
        Self { sum: vec![0.0; elements], count: 0, absent: Vec::new() }
    }

    pub(crate) fn elements(&self) -> usize {
        self.sum.len()
    }

    /// Adds a contribution of as many elements that stands for `updates` updates.
    pub(crate) fn add(&mut self, tensor: &Tensor, updates: u32) {
        for (sum, value) in self.sum.iter_mut().zip(tensor.iter()) {
            *sum += value;
        }
        self.count += updates;
        if !tensor.missing().is_empty() {
            self.absent.resize(self.sum.len(), 0);
            for range in tensor.missing() {
                let end = range.end.min(self.absent.len());
                self.absent[range.start.min(end)..end].iter_mut().for_each(|n| *n += updates);
            }
        }
    }

    /// The sum, or the mean, with gaps filled as `gaps` says.
    pub(crate) fn finish(mut self, gaps: Gaps, mean: bool) -> Vec<f32> {
        let count = self.count as f32;
        if gaps == Gaps::Scale {
            for (sum, absent) in self.sum.iter_mut().zip(&self.absent) {
                if 0 < *absent && *absent < self.count {
                    *sum *= count / (self.count - absent) as f32;
                }
            }
            let (all, nobody) = (self.sum.len(), self.absent.iter().filter(|n| **n >= self.count));
            let nobody = nobody.count();
            if 0 < nobody && nobody < all {
                let factor = (all as f64 / (all - nobody) as f64) as f32;
                self.sum.iter_mut().for_each(|sum| *sum *= factor);
            }
        }
        if mean && self.count > 1 {
            self.sum.iter_mut().for_each(|sum| *sum /= count);
        }
        self.sum
    }
}

/// The Euclidean norm.
pub fn norm(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_gap(values: &[f32], gap: Range<usize>) -> Tensor {
        let mut values = values.to_vec();
        values[gap.clone()].fill(0.0);
        Tensor::arrived(Tensor::new(&values).bytes, vec![gap])
    }

    #[test]
    fn gaps_are_zero_or_scaled() {
        let tensor = with_gap(&[1.0, 2.0, 3.0, 4.0], 1..2);
        assert_eq!(tensor.filled(Gaps::Zero), [1.0, 0.0, 3.0, 4.0]);
        assert_eq!(tensor.filled(Gaps::Scale), [1.0, 0.0, 3.0, 4.0].map(|v| v * 4.0 / 3.0));
        assert_eq!((tensor.lost(), tensor.elements()), (1, 4));
    }

    #[test]
    fn a_sum_is_scaled_where_a_contribution_is_missing() {
        let mut adding = Adding::new(3);
        adding.add(&Tensor::new(&[1.0, 1.0, 1.0]), 1);
        adding.add(&with_gap(&[1.0, 1.0, 1.0], 0..1), 1);
        assert_eq!(adding.clone().finish(Gaps::Scale, false), [2.0, 2.0, 2.0]);
        assert_eq!(adding.clone().finish(Gaps::Zero, false), [1.0, 2.0, 2.0]);
        assert_eq!(adding.finish(Gaps::Zero, true), [0.5, 1.0, 1.0]);
    }

    #[test]
    fn a_sum_of_one_is_what_the_update_is_by_itself() {
        let one = with_gap(&[1.0, 2.0, 3.0, 4.0], 1..2);
        for gaps in [Gaps::Zero, Gaps::Scale] {
            let mut adding = Adding::new(4);
            adding.add(&one, 1);
            assert_eq!(adding.finish(gaps, true), one.filled(gaps), "{gaps:?}");
        }
    }
}
