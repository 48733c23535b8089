//! Group normalisation of one picture.

use super::Volume;

/// Normalises groups of neighbouring channels over a whole picture, then scales and shifts each
/// channel (Wu and He, "Group Normalization", 2018). Unlike batch normalisation it keeps no
/// statistics between steps, so workers have nothing to agree on but parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupNorm {
    pub(crate) shape: Volume,
    pub(crate) groups: usize,
}

/// What the way back needs of the way forth.
pub(crate) struct Normed {
    /// The result.
    pub(crate) output: Vec<f32>,
    /// Before scaling and shifting.
    plain: Vec<f32>,
    /// One over the standard deviation of each group.
    scales: Vec<f32>,
}

impl GroupNorm {
    const EPSILON: f32 = 1e-5;

    /// The normalised picture.
    pub(crate) fn forward(self, input: &[f32], gain: &[f32], shift: &[f32]) -> Normed {
        let count = (self.shape.size() / self.groups) as f32;
        let (mut sums, mut squares) = (vec![0.0; self.groups], vec![0.0; self.groups]);
        self.each(input, |group, value| sums[group] += value);
        let means: Vec<f32> = sums.iter().map(|sum| sum / count).collect();
        self.each(input, |group, value| {
            squares[group] += (value - means[group]) * (value - means[group]);
        });
        let scales: Vec<f32> =
            squares.iter().map(|sum| 1.0 / (sum / count + Self::EPSILON).sqrt()).collect();
        let mut plain = Vec::with_capacity(input.len());
        self.each(input, |group, value| plain.push((value - means[group]) * scales[group]));
        let depth = self.shape.channels;
        let mut output = plain.clone();
        for pixel in output.chunks_exact_mut(depth) {
            for ((value, gain), shift) in pixel.iter_mut().zip(gain).zip(shift) {
                *value = *value * gain + shift;
            }
        }
        Normed { output, plain, scales }
    }

    /// The derivative by the input; adds those by gain and shift.
    pub(crate) fn backward(
        self,
        normed: &Normed,
        gain: &[f32],
        above: &[f32],
        gain_slope: &mut [f32],
        shift_slope: &mut [f32],
    ) -> Vec<f32> {
        let depth = self.shape.channels;
        let mut slope = above.to_vec();
        for (above, plain) in slope.chunks_exact_mut(depth).zip(normed.plain.chunks_exact(depth)) {
            for (channel, above) in above.iter_mut().enumerate() {
                gain_slope[channel] += *above * plain[channel];
                shift_slope[channel] += *above;
                *above *= gain[channel];
            }
        }
        // With x̂ the plain values and s the scale: dx = s (d − mean(d) − x̂ mean(d x̂)).
        let count = (self.shape.size() / self.groups) as f32;
        let (mut means, mut products) = (vec![0.0; self.groups], vec![0.0; self.groups]);
        let mut at = 0;
        self.each(&slope, |group, value| {
            means[group] += value / count;
            products[group] += value * normed.plain[at] / count;
            at += 1;
        });
        let mut back = Vec::with_capacity(slope.len());
        self.each(&slope, |group, value| {
            let plain = normed.plain[back.len()];
            back.push(normed.scales[group] * (value - means[group] - plain * products[group]));
        });
        back
    }

    /// Visits all values in order, with the group of each.
    fn each(self, values: &[f32], mut visit: impl FnMut(usize, f32)) {
        let members = self.shape.channels / self.groups;
        for pixel in values.chunks_exact(self.shape.channels) {
            for (group, channels) in pixel.chunks_exact(members).enumerate() {
                channels.iter().for_each(|value| visit(group, *value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_has_mean_0_and_variance_1() {
        let shape = Volume { height: 2, width: 2, channels: 4 };
        let input: Vec<f32> = (0..16).map(|x| (x * x % 13) as f32).collect();
        let normed = GroupNorm { shape, groups: 2 }.forward(&input, &[1.0; 4], &[0.0; 4]);
        for group in 0..2 {
            let members: Vec<f32> = normed
                .output
                .chunks(4)
                .flat_map(|p| p[2 * group..2 * group + 2].to_vec())
                .collect();
            let mean = members.iter().sum::<f32>() / 8.0;
            let variance = members.iter().map(|x| x * x).sum::<f32>() / 8.0;
            assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-4, "{mean} {variance}");
        }
    }
}
