//! Cumulative distributions of samples.

use super::axis::Axis;
use super::legend::Legend;
use super::lines::{LineChart, Series};
use super::scale::Kind;
use crate::stats;

/// Steps drawn per curve. More are finer than a pixel and only make the file larger.
const STEPS: usize = 300;

/// Cumulative distribution functions: which part of the samples is at most x.
///
/// ```
/// use laxity_report::chart::{Axis, CdfChart};
/// let svg = CdfChart::new("Flow completion times")
///     .x(Axis::log("completion time").unit("ms"))
///     .samples("laxity", [1.0, 1.2, 1.3, 9.0])
///     .guide(99.0)
///     .to_svg();
/// assert!(svg.contains("p99"));
/// ```
#[derive(Clone, Debug)]
pub struct CdfChart {
    chart: LineChart,
    x: Axis,
    of: String,
    curves: Vec<Curve>,
}

#[derive(Clone, Debug)]
struct Curve {
    name: String,
    samples: Vec<f64>,
    slot: Option<usize>,
}

impl CdfChart {
    /// A chart with this title and no curves yet.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        let chart = LineChart::new(title);
        Self { chart, x: Axis::default(), of: "samples".into(), curves: Vec::new() }
    }

    /// A second, quieter line under the title.
    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.chart = self.chart.subtitle(subtitle);
        self
    }

    /// Small print under the chart.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.chart = self.chart.note(note);
        self
    }

    /// Width and height in pixels at full size.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.chart = self.chart.size(width, height);
        self
    }

    /// The horizontal axis; [`Axis::log`] shows long tails.
    #[must_use]
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// What the samples are, for the vertical caption "fraction of ..."; "samples" unless set.
    #[must_use]
    pub fn of(mut self, things: impl Into<String>) -> Self {
        self.of = things.into();
        self
    }

    /// Adds the curve of these samples, in any order; NaN is ignored.
    #[must_use]
    pub fn samples(
        mut self,
        name: impl Into<String>,
        samples: impl IntoIterator<Item = f64>,
    ) -> Self {
        let samples: Vec<f64> = samples.into_iter().collect();
        let samples = stats::sorted(&samples);
        self.curves.push(Curve { name: name.into(), samples, slot: None });
        self
    }

    /// Gives the curve added last this palette slot.
    #[must_use]
    pub fn slot(mut self, slot: usize) -> Self {
        if let Some(curve) = self.curves.last_mut() {
            curve.slot = Some(slot);
        }
        self
    }

    /// Adds a horizontal line at the p-th percentile (0 to 100), labelled "p99".
    #[must_use]
    pub fn guide(mut self, p: f64) -> Self {
        self.chart = self.chart.reference(p / 100.0, format!("p{p}"));
        self
    }

    /// The chart as SVG text.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let y = Axis::linear(format!("fraction of {}", self.of)).range(0.0, 1.0);
        // All curves end at 1, so names at their ends would pile up.
        let mut chart = self.chart.clone().x(self.x.clone()).y(y).legend(Legend::Top);
        chart.kind_name = "Cumulative distribution";
        for (i, curve) in self.curves.iter().enumerate() {
            let line = Series::new(curve.name.as_str(), steps(&curve.samples, self.x.kind));
            chart = chart.series(line.without_markers().slot(curve.slot.unwrap_or(i)));
        }
        let hidden =
            self.curves.iter().flat_map(|c| &c.samples).filter(|s| !self.x.kind.can_show(**s));
        match hidden.count() {
            0 => {}
            n => chart.remarks.push(format!(
                "{n} of the samples have no place on this axis; they count, unseen."
            )),
        }
        chart.to_svg()
    }
}

/// Corners of the staircase. Samples that the axis cannot show still count in the height.
fn steps(sorted: &[f64], kind: Kind) -> Vec<(f64, f64)> {
    let n = sorted.len();
    let count = n.min(STEPS);
    let mut points = Vec::with_capacity(2 * count);
    let mut height = 0.0;
    for i in 1..=count {
        // Evenly spread ranks, the last one always included.
        let rank = (i * n).div_ceil(count);
        let value = sorted[rank - 1];
        let reached = rank as f64 / n as f64;
        if kind.can_show(value) {
            points.extend([(value, height), (value, reached)]);
        }
        height = reached;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_samples_make_four_steps() {
        let points = steps(&[1.0, 2.0, 3.0, 4.0], Kind::Linear);
        assert_eq!(points[..4], [(1.0, 0.0), (1.0, 0.25), (2.0, 0.25), (2.0, 0.5)]);
        assert_eq!(points[7], (4.0, 1.0));
    }

    #[test]
    fn many_samples_are_thinned_but_keep_the_last() {
        let samples: Vec<f64> = (1..=100_000).map(f64::from).collect();
        let points = steps(&samples, Kind::Linear);
        assert_eq!(points.len(), 2 * STEPS);
        assert_eq!(points.last(), Some(&(100_000.0, 1.0)));
    }

    #[test]
    fn samples_a_log_axis_cannot_show_still_count() {
        assert_eq!(steps(&[0.0, 5.0], Kind::Log), [(5.0, 0.5), (5.0, 1.0)]);
        assert!(steps(&[], Kind::Log).is_empty());
    }
}
