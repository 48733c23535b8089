//! Group normalisation of one picture.

use super::Volume;

/// Channels that are summed up at once.
const LANES: usize = 4;

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
    /// One over the standard deviation of each channel's group.
    scales: Vec<f32>,
}

impl GroupNorm {
    const EPSILON: f32 = 1e-5;

    /// The normalised picture.
    pub(crate) fn forward(self, input: &[f32], gain: &[f32], shift: &[f32]) -> Normed {
        let depth = self.shape.channels;
        let means = self.means(sums(depth, [input], |[x], _| x));
        let variances =
            self.means(sums(depth, [input], |[x], at| (x - means[at]) * (x - means[at])));
        let scales: Vec<f32> =
            variances.iter().map(|variance| 1.0 / (variance + Self::EPSILON).sqrt()).collect();
        let (mut plain, mut output) = (vec![0.0; input.len()], vec![0.0; input.len()]);
        let pixels = plain.chunks_exact_mut(depth).zip(output.chunks_exact_mut(depth));
        for (input, (plain, output)) in input.chunks_exact(depth).zip(pixels) {
            for at in 0..depth {
                plain[at] = (input[at] - means[at]) * scales[at];
                output[at] = plain[at] * gain[at] + shift[at];
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
        let shifts = sums(depth, [above, &normed.plain], |[x, _], _| x);
        let gains = sums(depth, [above, &normed.plain], |[x, plain], _| x * plain);
        gain_slope.iter_mut().zip(&gains).for_each(|(to, sum)| *to += sum);
        shift_slope.iter_mut().zip(&shifts).for_each(|(to, sum)| *to += sum);
        // With x̂ the plain values, s the scale and d the derivative times the gain:
        // dx = s (d − mean(d) − x̂ mean(d x̂)).
        let scaled =
            |sums: Vec<f32>| self.means(sums.iter().zip(gain).map(|(x, gain)| x * gain).collect());
        let (means, products) = (scaled(shifts), scaled(gains));
        let mut back = vec![0.0; above.len()];
        let pixels = above.chunks_exact(depth).zip(normed.plain.chunks_exact(depth));
        for (back, (above, plain)) in back.chunks_exact_mut(depth).zip(pixels) {
            for at in 0..depth {
                let centered = above[at] * gain[at] - means[at] - plain[at] * products[at];
                back[at] = normed.scales[at] * centered;
            }
        }
        back
    }

    /// For each channel the mean over its group, of sums by channel.
    fn means(self, mut sums: Vec<f32>) -> Vec<f32> {
        let count = (self.shape.size() / self.groups) as f32;
        for group in sums.chunks_exact_mut(self.shape.channels / self.groups) {
            let mean = group.iter().sum::<f32>() / count;
            group.fill(mean);
        }
        sums
    }
}

/// Sums of a function of numbers at the same place, by channel; it is also told the channel.
///
/// Each channel has its own sum, so that compilers make vector instructions of it.
fn sums<const N: usize>(
    depth: usize,
    values: [&[f32]; N],
    function: impl Fn([f32; N], usize) -> f32,
) -> Vec<f32> {
    let mut sums = vec![0.0; depth];
    let (blocks, rest) = sums.as_chunks_mut::<LANES>();
    let pixels = values[0].len() / depth;
    let whole = blocks.len() * LANES;
    for (block, to) in blocks.iter_mut().enumerate() {
        let mut sum = [0.0; LANES];
        for pixel in 0..pixels {
            let first = pixel * depth + block * LANES;
            let values = values.map(|values| &values[first..first + LANES]);
            for lane in 0..LANES {
                sum[lane] += function(values.map(|values| values[lane]), block * LANES + lane);
            }
        }
        *to = sum;
    }
    for (at, to) in rest.iter_mut().enumerate() {
        let places = (whole + at..values[0].len()).step_by(depth);
        *to =
            places.fold(0.0, |sum, at| sum + function(values.map(|values| values[at]), at % depth));
    }
    sums
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
