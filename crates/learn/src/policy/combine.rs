//! Contributions of workers become one vector.

use super::Chunks;

/// What one worker sent, and which of its chunks arrived.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    /// All that it sent. Chunks that did not arrive are not looked at.
    pub values: &'a [f32],
    /// For each chunk, whether it arrived.
    pub arrived: &'a [bool],
}

/// What a lost chunk is taken to be.
#[derive(Clone, Copy, Debug)]
pub enum Missing<'a> {
    /// Zeros.
    Zero,
    /// The mean of those that arrived; zeros if none did.
    Mean,
    /// For each worker, these values of its own.
    Own(&'a [Vec<f32>]),
    /// These values, whoever the worker.
    Shared(&'a [f32]),
}

/// The mean over all workers, chunk by chunk.
///
/// ```
/// use laxity_learn::policy::{Chunks, Contribution, Missing, combine};
///
/// let chunks = Chunks::new(4, 2);
/// let sent = [
///     Contribution { values: &[1.0, 2.0, 3.0, 4.0], arrived: &[true, true] },
///     Contribution { values: &[5.0, 6.0, 7.0, 8.0], arrived: &[true, false] },
/// ];
/// assert_eq!(combine(chunks, &sent, Missing::Zero), [3.0, 4.0, 1.5, 2.0]);
/// assert_eq!(combine(chunks, &sent, Missing::Mean), [3.0, 4.0, 3.0, 4.0]);
/// ```
///
/// # Panics
/// If a contribution does not fit the chunks.
pub fn combine(
    chunks: Chunks,
    contributions: &[Contribution<'_>],
    missing: Missing<'_>,
) -> Vec<f32> {
    let mut sum = vec![0.0f32; chunks.length()];
    for (chunk, range) in chunks.ranges().enumerate() {
        let sum = &mut sum[range.clone()];
        let add = |sum: &mut [f32], values: &[f32]| {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        let mut arrived = 0;
        for (worker, contribution) in contributions.iter().enumerate() {
            if contribution.arrived[chunk] {
                add(sum, &contribution.values[range.clone()]);
                arrived += 1;
            } else if let Missing::Own(values) = missing {
                add(sum, &values[worker][range.clone()]);
            } else if let Missing::Shared(values) = missing {
                add(sum, &values[range.clone()]);
            }
        }
        let parts = match missing {
            Missing::Mean => arrived.max(1),
            _ => contributions.len(),
        };
        sum.iter_mut().for_each(|sum| *sum /= parts as f32);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_gives_its_closed_form() {
        let chunks = Chunks::new(3, 1);
        // Chunk 0: both arrive. Chunk 1: only the first. Chunk 2: none.
        let sent = [
            Contribution { values: &[2.0, 4.0, 8.0], arrived: &[true, true, false] },
            Contribution { values: &[6.0, 8.0, 4.0], arrived: &[true, false, false] },
        ];
        assert_eq!(combine(chunks, &sent, Missing::Zero), [4.0, 2.0, 0.0]);
        assert_eq!(combine(chunks, &sent, Missing::Mean), [4.0, 4.0, 0.0]);
        let own = [vec![0.0, 0.0, 1.0], vec![0.0, 10.0, 3.0]];
        assert_eq!(combine(chunks, &sent, Missing::Own(&own)), [4.0, 7.0, 2.0]);
        assert_eq!(combine(chunks, &sent, Missing::Shared(&[9.0, 6.0, 5.0])), [4.0, 5.0, 5.0]);
    }

    #[test]
    fn without_loss_all_rules_agree() {
        let chunks = Chunks::new(5, 2);
        let arrived = [true; 3];
        let sent = [[1.0, 2.0, 3.0, 4.0, 5.0], [3.0, 0.0, 1.0, 2.0, 9.0]];
        let sent = sent.each_ref().map(|values| Contribution { values, arrived: &arrived });
        let expected = combine(chunks, &sent, Missing::Zero);
        let own = vec![vec![7.0; 5]; 2];
        for missing in [Missing::Mean, Missing::Own(&own), Missing::Shared(&[7.0; 5])] {
            assert_eq!(combine(chunks, &sent, missing), expected);
        }
    }
}
