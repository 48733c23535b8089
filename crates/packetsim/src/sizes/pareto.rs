//! Two families of distributions with heavy tails, by their inverse.

use crate::chance::{Chance, exp, ln};

/// Generalized Pareto: x = θ + σ·((1−u)^−k − 1)/k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// Where it begins (θ).
    pub location: f64,
    /// How wide it is (σ).
    pub scale: f64,
    /// How heavy the tail is (k); above 0 and below 1, so that there is a mean.
    pub shape: f64,
}

/// Generalized extreme value: x = μ + σ·((−ln u)^−k − 1)/k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtremeValue {
    /// Where it lies (μ).
    pub location: f64,
    /// How wide it is (σ).
    pub scale: f64,
    /// How heavy the tail is (k); above 0 and below 1, so that there is a mean.
    pub shape: f64,
}

impl Pareto {
    /// The value that a part `u` of all (from 0, below 1) do not exceed.
    pub fn quantile(&self, u: f64) -> f64 {
        self.location + self.scale * (exp(-self.shape * ln(1.0 - u)) - 1.0) / self.shape
    }

    /// The mean: θ + σ/(1−k).
    pub fn mean(&self) -> f64 {
        self.location + self.scale / (1.0 - self.shape)
    }

    /// Draws one.
    pub fn sample(&self, chance: &mut Chance) -> f64 {
        self.quantile(chance.uniform())
    }
}

impl ExtremeValue {
    /// The value that a part `u` of all (above 0, below 1) do not exceed.
    pub fn quantile(&self, u: f64) -> f64 {
        let tail = exp(-self.shape * ln(-ln(u)));
        self.location + self.scale * (tail - 1.0) / self.shape
    }

    /// The mean: μ + σ·(Γ(1−k) − 1)/k.
    pub fn mean(&self) -> f64 {
        self.location + self.scale * (gamma(1.0 - self.shape) - 1.0) / self.shape
    }

    /// Draws one.
    pub fn sample(&self, chance: &mut Chance) -> f64 {
        // Neither 0 nor 1, whose quantiles are infinite.
        let u = chance.uniform().clamp(1e-16, 1.0 - 1e-16);
        self.quantile(u)
    }
}

/// The gamma function for arguments above 0: moved up by its recurrence, then Stirling's series.
fn gamma(x: f64) -> f64 {
    let (mut below, mut x) = (1.0, x);
    while x < 20.0 {
        below *= x;
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / x;
    let two_pi = 2.0 * std::f64::consts::PI;
    exp((x - 0.5) * ln(x) - x + 0.5 * ln(two_pi) + series) / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_of_whole_numbers_and_halves() {
        for (n, factorial) in [(1.0, 1.0), (2.0, 1.0), (5.0, 24.0), (10.0, 362_880.0)] {
            assert!((gamma(n) / factorial - 1.0).abs() < 1e-12, "{n}");
        }
        assert!((gamma(0.5) - std::f64::consts::PI.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn means_are_the_areas_under_the_quantiles() {
        let pareto = Pareto { location: 15.0, scale: 200.0, shape: 0.3 };
        let extreme = ExtremeValue { location: 30.0, scale: 8.0, shape: 0.08 };
        // Middle points; the tail beyond the last one is left out and small.
        let n = 2_000_000;
        let at = |i: u32| (f64::from(i) + 0.5) / f64::from(n);
        let area = (0..n).map(|i| pareto.quantile(at(i))).sum::<f64>() / f64::from(n);
        assert!((area / pareto.mean() - 1.0).abs() < 1e-3, "{area} {}", pareto.mean());
        let area = (0..n).map(|i| extreme.quantile(at(i))).sum::<f64>() / f64::from(n);
        assert!((area / extreme.mean() - 1.0).abs() < 1e-4, "{area} {}", extreme.mean());
    }

    #[test]
    fn quantiles_invert_the_distribution_functions() {
        let pareto = Pareto { location: 15.0, scale: 200.0, shape: 0.3 };
        for u in [0.0, 0.1, 0.5, 0.99, 0.99999] {
            let x = pareto.quantile(u);
            let back = 1.0 - (1.0 + 0.3 * (x - 15.0) / 200.0).powf(-1.0 / 0.3);
            assert!((back - u).abs() < 1e-12);
        }
    }
}
