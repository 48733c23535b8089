//! From values to pixels, linear or logarithmic.

use super::ticks;

/// How values spread along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Equal differences, equal distances.
    #[default]
    Linear,
    /// Equal ratios, equal distances; only positive values.
    Log,
}

impl Kind {
    /// Whether a value has a place on such an axis.
    ///
    /// Values beyond 1e300 count as broken: differences between them overflow.
    #[must_use]
    pub fn can_show(self, value: f64) -> bool {
        value.abs() <= 1e300 && (self == Self::Linear || value >= 1e-300)
    }
}

/// One mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where it is, in data units.
    pub value: f64,
    /// What it says.
    pub label: String,
}

/// A mapping from a range of values to a range of pixels.
///
/// ```
/// use laxity_report::chart::scale::{Kind, Scale};
/// let x = Scale::new(Kind::Log, (1.0, 1000.0), (0.0, 300.0));
/// assert_eq!(x.map(10.0).map(f64::round), Some(100.0));
/// assert_eq!(x.map(0.0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// Maps `domain` to `range`. A domain that is empty, reversed, a single value or not drawable is
    /// replaced by a usable one around it, so that no chart divides by zero.
    #[must_use]
    pub fn new(kind: Kind, domain: (f64, f64), range: (f64, f64)) -> Self {
        Self { kind, domain: usable(kind, domain), range }
    }

    /// The values at both ends.
    #[must_use]
    pub fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// The pixel of a value, also outside the domain; `None` for a value that cannot be shown.
    #[must_use]
    pub fn map(&self, value: f64) -> Option<f64> {
        if !self.kind.can_show(value) {
            return None;
        }
        let (lo, hi) = self.domain;
        let part = match self.kind {
            Kind::Linear => (value - lo) / (hi - lo),
            Kind::Log => (value.log10() - lo.log10()) / (hi.log10() - lo.log10()),
        };
        Some(self.range.0 + part * (self.range.1 - self.range.0))
    }

    /// Whether a value lies inside the domain, up to rounding.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        let (lo, hi) = (self.range.0.min(self.range.1), self.range.0.max(self.range.1));
        self.map(value).is_some_and(|px| (lo - 1e-6..=hi + 1e-6).contains(&px))
    }

    /// Labelled marks at 1-2-5 steps, at most about `most` of them.
    #[must_use]
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => ticks::linear(self.domain, most.max(2) - 1),
            Kind::Log => ticks::log(self.domain, most),
        }
    }

    /// Values of unlabelled lines between the ticks of a log axis; none on a linear one.
    #[must_use]
    pub fn minor_ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Linear => Vec::new(),
            Kind::Log => ticks::log_minor(self.domain),
        }
    }
}

fn usable(kind: Kind, (lo, hi): (f64, f64)) -> (f64, f64) {
    if !kind.can_show(lo) || !kind.can_show(hi) {
        return match kind {
            Kind::Linear => (0.0, 1.0),
            Kind::Log => (1.0, 10.0),
        };
    }
    let (lo, hi) = (lo.min(hi), lo.max(hi));
    let size = lo.abs().max(hi.abs());
    match kind {
        // Below a billionth of the values themselves the difference is rounding noise.
        Kind::Linear if hi - lo > size * 1e-9 => (lo, hi),
        Kind::Linear if size == 0.0 => (0.0, 1.0),
        Kind::Linear => (lo - size * 0.5, hi + size * 0.5),
        Kind::Log if hi / lo > 1.0 + 1e-9 => (lo, hi),
        Kind::Log => (lo / 2.0, hi * 2.0),
    }
}

/// Smallest and largest of the values that an axis of this kind can show.
pub(crate) fn extent(kind: Kind, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| kind.can_show(*v)).fold(None, |extent, v| match extent {
        None => Some((v, v)),
        Some((lo, hi)) => Some((lo.min(v), hi.max(v))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_maps_ends_and_middle() {
        let y = Scale::new(Kind::Linear, (0.0, 10.0), (200.0, 100.0));
        assert_eq!((y.map(0.0), y.map(5.0), y.map(10.0)), (Some(200.0), Some(150.0), Some(100.0)));
        assert_eq!(y.map(f64::NAN), None);
        assert!(y.contains(10.0) && !y.contains(10.1));
    }

    #[test]
    fn odd_domains_become_usable() {
        for (kind, domain) in [
            (Kind::Linear, (3.0, 3.0)),
            (Kind::Linear, (0.0, 0.0)),
            (Kind::Linear, (5.0, 1.0)),
            (Kind::Linear, (f64::NAN, 1.0)),
            (Kind::Linear, (-1e300, 1e300)),
            (Kind::Log, (0.0, 10.0)),
            (Kind::Log, (7.0, 7.0)),
            (Kind::Log, (1e-300, 1e300)),
        ] {
            let scale = Scale::new(kind, domain, (0.0, 100.0));
            let (lo, hi) = scale.domain();
            assert!(lo < hi, "{kind:?} {domain:?}");
            assert!(scale.map(hi).is_some_and(f64::is_finite), "{kind:?} {domain:?}");
            assert!(scale.ticks(6).iter().all(|t| !t.label.contains("NaN")));
        }
    }

    #[test]
    fn extent_skips_what_cannot_be_shown() {
        let values = [f64::NAN, -1.0, 0.0, 4.0, f64::INFINITY];
        assert_eq!(extent(Kind::Linear, values.into_iter()), Some((-1.0, 4.0)));
        assert_eq!(extent(Kind::Log, values.into_iter()), Some((4.0, 4.0)));
        assert_eq!(extent(Kind::Log, [0.0].into_iter()), None);
    }
}
