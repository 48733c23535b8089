//! What the caller says about an axis.

use super::scale::{Kind, Scale, Tick};
use super::ticks;

/// One axis of a chart: kind, label, unit, and where it starts and ends.
///
/// ```
/// use laxity_report::chart::Axis;
/// let axis = Axis::log("message size").unit("bytes").range(1e3, 1e9);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    pub(crate) kind: Kind,
    label: String,
    unit: Option<String>,
    range: Option<(f64, f64)>,
    tight: bool,
    at: Vec<f64>,
}

impl Axis {
    /// A linear axis. As y axis it starts at zero unless [`Axis::tight`] or [`Axis::range`] say otherwise.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self { kind: Kind::Linear, label: label.into(), ..Self::default() }
    }

    /// A logarithmic axis. Values that are not positive are left out, with a note under the chart.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self { kind: Kind::Log, label: label.into(), ..Self::default() }
    }

    /// The unit, shown in brackets behind the label.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Shows exactly this part; data outside is cut off.
    #[must_use]
    pub fn range(mut self, from: f64, to: f64) -> Self {
        self.range = Some((from, to));
        self
    }

    /// Fits a linear y axis to the data instead of starting it at zero.
    #[must_use]
    pub fn tight(mut self) -> Self {
        self.tight = true;
        self
    }

    /// Places ticks exactly here, for example at the sizes that were measured.
    #[must_use]
    pub fn ticks_at(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.at = values.into_iter().filter(|v| v.is_finite()).collect();
        self
    }

    /// Label and unit as one text; empty when neither was given.
    pub(crate) fn caption(&self) -> String {
        match &self.unit {
            Some(unit) if self.label.is_empty() => unit.clone(),
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }

    /// Whether the caller cut the axis, so that marks may lie outside.
    pub(crate) fn is_cut(&self) -> bool {
        self.range.is_some()
    }

    /// The values at both ends for a horizontal axis: the data, no more.
    pub(crate) fn fitted(&self, extent: Option<(f64, f64)>) -> (f64, f64) {
        self.range.or(extent).unwrap_or((f64::NAN, f64::NAN))
    }

    /// The values at both ends for a vertical axis: zero if it may, and full steps.
    pub(crate) fn rounded(&self, extent: Option<(f64, f64)>, intervals: usize) -> (f64, f64) {
        if let Some(range) = self.range {
            return range;
        }
        let Some((lo, hi)) = extent else { return (f64::NAN, f64::NAN) };
        let from_zero = self.kind == Kind::Linear && !self.tight;
        let (lo, hi) = if from_zero { (lo.min(0.0), hi.max(0.0)) } else { (lo, hi) };
        // Through Scale, so that a single value is widened before it is rounded.
        let domain = Scale::new(self.kind, (lo, hi), (0.0, 1.0)).domain();
        ticks::extend(self.kind, domain, intervals)
    }

    /// Ticks: those asked for that are visible, or nice ones.
    pub(crate) fn ticks(&self, scale: &Scale, most: usize) -> Vec<Tick> {
        if self.at.is_empty() {
            return scale.ticks(most);
        }
        let visible: Vec<f64> = self.at.iter().copied().filter(|v| scale.contains(*v)).collect();
        ticks::exact(&visible)
    }

    /// Whether unlabelled grid lines help: not between ticks that were placed by hand.
    pub(crate) fn wants_minor(&self) -> bool {
        self.at.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions() {
        assert_eq!(Axis::linear("goodput").unit("Gb/s").caption(), "goodput (Gb/s)");
        assert_eq!(Axis::linear("").unit("ms").caption(), "ms");
        assert_eq!(Axis::default().caption(), "");
    }

    #[test]
    fn vertical_axes_start_at_zero_unless_told() {
        let axis = Axis::linear("y");
        assert_eq!(axis.rounded(Some((3.0, 9.3)), 5), (0.0, 10.0));
        assert_eq!(axis.clone().tight().rounded(Some((3.0, 9.3)), 5), (2.0, 10.0));
        assert_eq!(axis.rounded(Some((-3.0, -1.0)), 5), (-3.0, 0.0));
        assert_eq!(Axis::log("y").rounded(Some((3.0, 9.3)), 5), (2.0, 10.0));
        assert_eq!(axis.range(1.0, 2.0).rounded(Some((3.0, 9.3)), 5), (1.0, 2.0));
    }
}
