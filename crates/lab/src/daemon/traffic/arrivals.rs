//! When flows begin, and how large they are: by chance, the same for the same seed.

use std::time::Duration;

use laxity_interface::{Bytes, Fraction, Rate};
use laxity_link::{stream, uniform};
use rand_pcg::Pcg64;

/// Flows that arrive independently of each other (a Poisson process), with sizes of a distribution.
#[derive(Debug)]
pub(super) struct Arrivals {
    random: Pcg64,
    /// Rising sizes, and the fraction of flows that are at most so large.
    points: Vec<(f64, f64)>,
    mean_gap: f64,
    next: f64,
}

impl Arrivals {
    /// Flows that make up this rate together.
    pub(super) fn new(points: &[(Bytes, Fraction)], rate: Rate, seed: u64, index: u64) -> Self {
        let points: Vec<_> =
            points.iter().map(|(size, part)| (size.get() as f64, part.get())).collect();
        let mean_gap = mean(&points) * 8.0 / rate.as_bps() as f64;
        let random = stream(seed, "background", index);
        let mut arrivals = Self { random, points, mean_gap, next: 0.0 };
        arrivals.next = arrivals.gap();
        arrivals
    }

    /// When the next one begins, counted from the first moment.
    pub(super) fn due(&self) -> Duration {
        Duration::from_secs_f64(self.next)
    }

    /// The next one: one of so many pairs of hosts, and its size.
    pub(super) fn take(&mut self, pairs: usize) -> (usize, u64) {
        self.next += self.gap();
        let pair = (uniform(&mut self.random) * pairs as f64) as usize;
        (pair.min(pairs - 1), self.size())
    }

    fn gap(&mut self) -> f64 {
        // 1 − u is never 0.
        -(1.0 - uniform(&mut self.random)).ln() * self.mean_gap
    }

    fn size(&mut self) -> u64 {
        let part = uniform(&mut self.random);
        let mut below = (self.points[0].0, 0.0);
        for point in &self.points {
            if part < point.1 {
                let along = (part - below.1) / (point.1 - below.1);
                return (below.0 + (point.0 - below.0) * along).round().max(1.0) as u64;
            }
            below = *point;
        }
        below.0 as u64
    }
}

/// The mean of a distribution whose points are joined by straight lines; what lies at or below the
/// first point has its size.
fn mean(points: &[(f64, f64)]) -> f64 {
    let first = points[0].0 * points[0].1;
    let rest = points.windows(2).map(|pair| {
        let [(low, from), (high, to)] = [pair[0], pair[1]];
        (to - from) * (low + high) / 2.0
    });
    first + rest.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_make_up_the_stated_rate() {
        let part = |part: f64| Fraction::new(part).unwrap();
        let points = [
            (Bytes::new(1000), part(0.5)),
            (Bytes::new(10_000), part(0.9)),
            (Bytes::new(1_000_000), part(1.0)),
        ];
        let rate = Rate::from_mbps(500);
        let mut arrivals = Arrivals::new(&points, rate, 7, 0);
        let (mut bytes, mut small, count) = (0, 0, 200_000);
        for _ in 0..count {
            let (pair, size) = arrivals.take(3);
            assert!(pair < 3 && (1000..=1_000_000).contains(&size));
            bytes += size;
            small += u32::from(size <= 1000);
        }
        let got = bytes as f64 * 8.0 / arrivals.due().as_secs_f64();
        assert!((got / 500e6 - 1.0).abs() < 0.02, "{got}");
        assert!((f64::from(small) / f64::from(count) - 0.5).abs() < 0.01, "{small}");
    }
}
