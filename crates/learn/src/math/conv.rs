//! Convolution of one picture with kernels of 3 × 3, channels last.

use super::{Matrix, add_product, transpose};

/// Taps of a kernel.
const TAPS: usize = 9;

/// The shape of a picture: rows, columns, channels, the last of which runs fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Volume {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
}

impl Volume {
    /// Pixels of all channels.
    pub(crate) fn pixels(self) -> usize {
        self.height * self.width
    }

    /// All numbers.
    pub(crate) fn size(self) -> usize {
        self.pixels() * self.channels
    }
}

/// A convolution with zeros around the picture, without bias.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv {
    pub(crate) input: Volume,
    pub(crate) channels: usize,
    pub(crate) stride: usize,
}

impl Conv {
    /// The shape of what comes out.
    pub(crate) fn output(self) -> Volume {
        let shrunk = |side: usize| side.div_ceil(self.stride);
        Volume {
            height: shrunk(self.input.height),
            width: shrunk(self.input.width),
            channels: self.channels,
        }
    }

    /// Numbers in its kernel: tap by tap, channel in by channel in, channels out running fastest.
    pub(crate) fn parameters(self) -> usize {
        self.inner() * self.channels
    }

    fn inner(self) -> usize {
        TAPS * self.input.channels
    }

    /// The convolution of a picture.
    pub(crate) fn forward(self, input: &[f32], kernel: &[f32]) -> Vec<f32> {
        let mut output = vec![0.0; self.output().size()];
        let patches = self.patches(input);
        add_product(&mut output, Matrix::new(&patches, self.inner()), kernel, self.channels);
        output
    }

    /// Adds the derivative by the kernel to `slope`.
    pub(crate) fn backward_kernel(self, input: &[f32], above: &[f32], slope: &mut [f32]) {
        let patches = self.patches(input);
        add_product(slope, Matrix::transposed(&patches, self.inner()), above, self.channels);
    }

    /// The derivative by the input.
    pub(crate) fn backward_input(self, kernel: &[f32], above: &[f32]) -> Vec<f32> {
        let mut patches = vec![0.0; self.output().pixels() * self.inner()];
        let turned = transpose(kernel, self.channels);
        add_product(&mut patches, Matrix::new(above, self.channels), &turned, self.inner());
        let mut slope = vec![0.0; self.input.size()];
        let depth = self.input.channels;
        self.each_tap(|patch, pixel| {
            let from = &patches[patch * depth..(patch + 1) * depth];
            let to = &mut slope[pixel * depth..(pixel + 1) * depth];
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        });
        slope
    }

    /// One row per pixel that comes out: what its kernel sees.
    fn patches(self, input: &[f32]) -> Vec<f32> {
        let mut patches = vec![0.0; self.output().pixels() * self.inner()];
        let depth = self.input.channels;
        self.each_tap(|patch, pixel| {
            let to = &mut patches[patch * depth..(patch + 1) * depth];
            to.copy_from_slice(&input[pixel * depth..(pixel + 1) * depth]);
        });
        patches
    }

    /// Calls `visit` with (place among the patches, pixel of the input) for every tap that lies
    /// within the picture.
    fn each_tap(self, mut visit: impl FnMut(usize, usize)) {
        let (input, output) = (self.input, self.output());
        let mut patch = 0;
        for row in 0..output.height {
            for column in 0..output.width {
                for (dy, dx) in (0..TAPS).map(|tap| (tap / 3, tap % 3)) {
                    let (y, x) = (row * self.stride + dy, column * self.stride + dx);
                    let inside = (1..=input.height).contains(&y) && (1..=input.width).contains(&x);
                    if inside {
                        visit(patch, (y - 1) * input.width + x - 1);
                    }
                    patch += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_with_one_tap_moves_the_picture() {
        let input = Volume { height: 3, width: 3, channels: 1 };
        let conv = Conv { input, channels: 1, stride: 1 };
        let picture: Vec<f32> = (1..=9).map(|x| x as f32).collect();
        let mut kernel = [0.0; 9];
        kernel[4] = 1.0;
        assert_eq!(conv.forward(&picture, &kernel), picture);
        kernel = [0.0; 9];
        kernel[5] = 2.0;
        assert_eq!(conv.forward(&picture, &kernel), [4., 6., 0., 10., 12., 0., 16., 18., 0.]);
        let halved = Conv { stride: 2, ..conv };
        kernel = [0.0; 9];
        kernel[4] = 1.0;
        assert_eq!(halved.forward(&picture, &kernel), [1., 3., 7., 9.]);
        assert_eq!(halved.output(), Volume { height: 2, width: 2, channels: 1 });
    }
}
