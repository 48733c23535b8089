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

/// e to the power of ψ(x), the derivative of the logarithm of the gamma function, for positive `x`; within 1e-8 of its size.
///
/// Topics need nothing else of the two, and from 6 on a series gives it without logarithm and exponential:
/// e^ψ(y + 1/2) = y + 1/(24 y) − 37/(5760 y³) + 10313/(2903040 y⁵) − …
pub(crate) fn exp_digamma(x: f64) -> f64 {
    let from_6 = |x: f64| {
        let inverse = 1.0 / (x - 0.5);
        let square = inverse * inverse;
        let series = 37.0 / 5760.0 - square * (10_313.0 / 2_903_040.0);
        x - 0.5 + inverse * (1.0 / 24.0 - square * series)
    };
    if x >= 6.0 {
        return from_6(x);
    }
    // ψ(x) = ψ(x + 6) − Σ 1/(x + k); the six fractions become one, since divisions take longest.
    let (mut over, mut under) = (1.0, x);
    for k in 1..6 {
        let next = x + f64::from(k);
        over = over * next + under;
        under *= next;
    }
    from_6(x + 6.0) * libm::exp(-over / under)
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

    /// The derivative of the logarithm of the gamma function, for positive `x`.
    fn digamma(mut x: f64) -> f64 {
        let mut below = 0.0;
        while x < 6.0 {
            below -= 1.0 / x;
            x += 1.0;
        }
        let square = 1.0 / (x * x);
        let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0)));
        below + libm::log(x) - 0.5 / x - series
    }

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
    fn the_exponential_of_digamma_is_that() {
        for i in 1..4000 {
            let x = f64::from(i) / 100.0;
            let exact = digamma(x).exp();
            assert!((exp_digamma(x) / exact - 1.0).abs() < 2e-8, "{x}: {} {exact}", exp_digamma(x));
        }
        assert!((exp_digamma(1e6) - 999_999.5).abs() < 1e-4);
        assert_eq!(exp_digamma(1e-6), 0.0, "e^−1000000");
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
