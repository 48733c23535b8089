//! Convolution of one picture with kernels of 3 × 3, channels last.
//!
//! As in products of matrices, `ROWS` pixels, or places of a kernel, are computed at once.

use super::product::ROWS;

/// Rows and columns of a kernel.
const SIDE: usize = 3;

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
        SIDE * SIDE * self.input.channels * self.channels
    }

    /// The convolution of a picture.
    pub(crate) fn forward(self, input: &[f32], kernel: &[f32]) -> Vec<f32> {
        let picture = Framed::new(self.input, input, 1, self.input);
        convolved(&picture, &picture.places(self.output(), self.stride), kernel, self.channels)
    }

    /// Adds the derivative by the kernel to `slope`.
    pub(crate) fn backward_kernel(self, input: &[f32], above: &[f32], slope: &mut [f32]) {
        let picture = Framed::new(self.input, input, 1, self.input);
        let places = picture.places(self.output(), self.stride);
        let seen = SIDE * self.input.channels;
        for (line, slope) in slope.chunks_exact_mut(seen * self.channels).enumerate() {
            let line = line * picture.line;
            let whole = seen / ROWS * ROWS;
            let (blocks, rest) = slope.split_at_mut(whole * self.channels);
            for (block, slope) in blocks.chunks_exact_mut(ROWS * self.channels).enumerate() {
                let first = line + block * ROWS;
                correlate::<ROWS>(&picture.data[first..], &places, above, self.channels, slope);
            }
            for (at, slope) in rest.chunks_exact_mut(self.channels).enumerate() {
                let first = line + whole + at;
                correlate::<1>(&picture.data[first..], &places, above, self.channels, slope);
            }
        }
    }

    /// The kernel as [`Conv::backward_input`] needs it: turned around, channels in running fastest.
    pub(crate) fn turned(self, kernel: &[f32]) -> Vec<f32> {
        let (depth, channels) = (self.input.channels, self.channels);
        let mut turned = vec![0.0; kernel.len()];
        let taps = kernel.chunks_exact(depth * channels).rev();
        for (to, from) in turned.chunks_exact_mut(depth * channels).zip(taps) {
            for (channel, from) in from.chunks_exact(channels).enumerate() {
                from.iter().enumerate().for_each(|(at, x)| to[at * depth + channel] = *x);
            }
        }
        turned
    }

    /// The derivative by the input, with the kernel turned.
    pub(crate) fn backward_input(self, turned: &[f32], above: &[f32]) -> Vec<f32> {
        // The pixels that a stride left out had no part in the result: zeros stand for them.
        let whole = Volume { channels: self.channels, ..self.input };
        let picture = Framed::new(self.output(), above, self.stride, whole);
        convolved(&picture, &picture.places(whole, 1), turned, self.input.channels)
    }
}

/// A picture with a frame of zeros, so that every kernel lies within it.
struct Framed {
    data: Vec<f32>,
    /// Numbers in a line.
    line: usize,
    depth: usize,
}

impl Framed {
    /// Pixels of a picture `apart` from each other in a frame for one of the shape `whole`.
    fn new(shape: Volume, pixels: &[f32], apart: usize, whole: Volume) -> Self {
        let depth = shape.channels;
        let line = (whole.width + SIDE - 1) * depth;
        let mut data = vec![0.0; (whole.height + SIDE - 1) * line];
        for (row, from) in pixels.chunks_exact(shape.width * depth).enumerate() {
            let first = (row * apart + 1) * line + depth;
            if apart == 1 {
                data[first..first + from.len()].copy_from_slice(from);
            } else {
                for (column, from) in from.chunks_exact(depth).enumerate() {
                    let first = first + column * apart * depth;
                    data[first..first + depth].copy_from_slice(from);
                }
            }
        }
        Self { data, line, depth }
    }

    /// Where the kernel of each pixel of the output begins.
    fn places(&self, output: Volume, stride: usize) -> Vec<usize> {
        let columns = 0..output.width;
        (0..output.height)
            .flat_map(|row| columns.clone().map(move |column| (row, column)))
            .map(|(row, column)| stride * (row * self.line + column * self.depth))
            .collect()
    }
}

/// What kernels at these places see, times their numbers, summed up in the order of the kernel.
fn convolved(picture: &Framed, places: &[usize], kernel: &[f32], channels: usize) -> Vec<f32> {
    let mut output = vec![0.0; places.len() * channels];
    for (places, output) in places.chunks(ROWS).zip(output.chunks_mut(ROWS * channels)) {
        // The last block may have too few: it computes its last pixel several times.
        let starts = std::array::from_fn(|at| places[at.min(places.len() - 1)]);
        let mut first = 0;
        while first < channels {
            let (kernel, output) = (&kernel[first..], &mut output[first..]);
            // Two registers of four floats, or one of eight with AVX.
            first += match channels - first {
                8.. => seen::<8>(picture, starts, kernel, channels, output),
                4.. => seen::<4>(picture, starts, kernel, channels, output),
                _ => seen::<1>(picture, starts, kernel, channels, output),
            };
        }
    }
    output
}

/// Puts `N` channels of `ROWS` pixels into the output; says how many channels that were.
fn seen<const N: usize>(
    picture: &Framed,
    starts: [usize; ROWS],
    kernel: &[f32],
    channels: usize,
    output: &mut [f32],
) -> usize {
    let mut sums = [[0.0; N]; ROWS];
    let wide = SIDE * picture.depth;
    for (line, kernel) in kernel.chunks(wide * channels).enumerate() {
        let pixels = starts.map(|start| {
            let first = start + line * picture.line;
            &picture.data[first..first + wide]
        });
        add_line(&mut sums, pixels, kernel, channels);
    }
    for (output, sums) in output.chunks_mut(channels).zip(sums) {
        output[..N].copy_from_slice(&sums);
    }
    N
}

/// Adds what one line of the kernel sees, with sums in registers meanwhile.
#[inline(never)] // Merged into its caller, it runs out of registers.
fn add_line<const N: usize>(
    sums: &mut [[f32; N]; ROWS],
    pixels: [&[f32]; ROWS],
    kernel: &[f32],
    channels: usize,
) {
    let wide = pixels[0].len();
    let pixels = pixels.map(|pixels| &pixels[..wide]);
    let mut own = *sums;
    for (at, weights) in (0..wide).zip(kernel.chunks(channels)) {
        let Some(weights) = weights.first_chunk::<N>() else { break };
        for row in 0..ROWS {
            for column in 0..N {
                own[row][column] += pixels[row][at] * weights[column];
            }
        }
    }
    *sums = own;
}

/// Adds to `slope`, for `R` neighbouring numbers of a kernel, what they saw times what is above.
fn correlate<const R: usize>(
    picture: &[f32],
    places: &[usize],
    above: &[f32],
    channels: usize,
    slope: &mut [f32],
) {
    let mut first = 0;
    while first < channels {
        let (above, slope) = (&above[first..], &mut slope[first..]);
        first += match channels - first {
            8.. => correlation::<R, 8>(picture, places, above, channels, slope),
            4.. => correlation::<R, 4>(picture, places, above, channels, slope),
            _ => correlation::<R, 1>(picture, places, above, channels, slope),
        };
    }
}

/// The same for `N` channels; says how many channels that were.
#[inline(never)] // As above.
fn correlation<const R: usize, const N: usize>(
    picture: &[f32],
    places: &[usize],
    above: &[f32],
    channels: usize,
    slope: &mut [f32],
) -> usize {
    let mut sums = [[0.0f32; N]; R];
    for (place, above) in places.iter().zip(above.chunks(channels)) {
        let pixels: &[f32; R] = picture[*place..].first_chunk().expect("within the frame");
        let above: &[f32; N] = above.first_chunk().expect("a whole tile");
        for row in 0..R {
            for column in 0..N {
                sums[row][column] += pixels[row] * above[column];
            }
        }
    }
    for (slope, sums) in slope.chunks_mut(channels).zip(sums) {
        slope[..N].iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
    }
    N
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

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        // Eighths: their products and sums are exact, in any order.
        (0..count).map(|at| ((at * 37 + seed * 11) % 23) as f32 / 8.0 - 1.5).collect()
    }

    /// Visits (place in the output, in the input, in the kernel) of everything that is multiplied.
    fn each(conv: Conv, mut visit: impl FnMut(usize, usize, usize)) {
        let (input, output) = (conv.input, conv.output());
        for at in 0..output.pixels() * SIDE * SIDE * input.channels * conv.channels {
            let (at, to) = (at / conv.channels, at % conv.channels);
            let (at, from) = (at / input.channels, at % input.channels);
            let (pixel, tap) = (at / (SIDE * SIDE), at % (SIDE * SIDE));
            let y = pixel / output.width * conv.stride + tap / SIDE;
            let x = pixel % output.width * conv.stride + tap % SIDE;
            if (1..=input.height).contains(&y) && (1..=input.width).contains(&x) {
                let source = ((y - 1) * input.width + x - 1) * input.channels + from;
                let weight = (tap * input.channels + from) * conv.channels + to;
                visit(pixel * conv.channels + to, source, weight);
            }
        }
    }

    #[test]
    fn equals_the_sums_written_out() {
        for (height, width, depth, channels, stride) in
            [(5, 7, 1, 8, 1), (4, 4, 3, 13, 1), (5, 6, 4, 4, 2), (7, 3, 9, 5, 2)]
        {
            let input = Volume { height, width, channels: depth };
            let conv = Conv { input, channels, stride };
            let (picture, kernel) = (numbers(input.size(), 1), numbers(conv.parameters(), 2));
            let above = numbers(conv.output().size(), 3);
            let mut output = vec![0.0; above.len()];
            let (mut by_kernel, mut by_input) = (kernel.clone(), vec![0.0; picture.len()]);
            each(conv, |to, from, weight| {
                output[to] += picture[from] * kernel[weight];
                by_kernel[weight] += picture[from] * above[to];
                by_input[from] += kernel[weight] * above[to];
            });
            assert_eq!(conv.forward(&picture, &kernel), output, "{conv:?}");
            let mut slope = kernel.clone();
            conv.backward_kernel(&picture, &above, &mut slope);
            assert_eq!(slope, by_kernel, "{conv:?}");
            let turned = conv.turned(&kernel);
            assert_eq!(conv.backward_input(&turned, &above), by_input, "{conv:?}");
        }
    }
}
