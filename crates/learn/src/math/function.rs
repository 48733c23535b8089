//! Elementary functions with the same result on every machine.

use laxity_link::{Pcg64, uniform};

/// e to the power of `x`, within 3 units in the last place; 0 and infinity beyond what fits.
///
/// Without branches or tables, so that compilers make vector instructions of it.
pub(crate) fn exp(x: f32) -> f32 {
    // x = n ln 2 + r with |r| ≤ ln 2 / 2; ln 2 in two parts, so that n ln 2 is exact (Cody, Waite).
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = series * r + 1.0;
    let series = series * r + 1.0;
    series * f32::from_bits(((n as i32 + 127) as u32) << 23)
}

/// 1 / (1 + e⁻ˣ).
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The hyperbolic tangent.
pub(crate) fn tanh(x: f32) -> f32 {
    2.0 * sigmoid(2.0 * x) - 1.0
}

/// The derivative of the logarithm of the gamma function, for positive `x`.
pub(crate) fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 6.0 {
        below -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0)));
    below + libm::log(x) - 0.5 / x - series
}

/// A number of the standard normal distribution (Box and Muller).
pub(crate) fn normal(rng: &mut Pcg64) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(rng)));
    radius * libm::cos(std::f64::consts::TAU * uniform(rng))
}

#[cfg(test)]
mod tests {
    use laxity_link::stream;

    use super::*;

    #[test]
    fn close_to_the_exact_values() {
        for i in -8600..8700 {
            let x = i as f32 / 100.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 4e-7, "e^{x}");
            assert!((f64::from(tanh(x)) - f64::from(x).tanh()).abs() < 3e-7, "tanh {x}");
        }
        assert!(exp(-1000.0) < 1e-37 && exp(1000.0) > 1e38);
        // ψ(1) = −γ, ψ(1/2) = −γ − 2 ln 2, ψ(x + 1) = ψ(x) + 1/x.
        let gamma = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + gamma).abs() < 1e-8);
        assert!((digamma(0.5) + gamma + 2.0 * 2f64.ln()).abs() < 1e-8);
        assert!((digamma(8.25) - digamma(7.25) - 1.0 / 7.25).abs() < 1e-8);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut rng = stream(1, "normal", 0);
        let drawn: Vec<_> = (0..20_000).map(|_| normal(&mut rng)).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
