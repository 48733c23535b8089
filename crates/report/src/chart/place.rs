//! Finding a free spot for a label among lines and other labels.

/// An axis-aligned box in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    fn touches(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_inside(&self, outer: &Self) -> bool {
        self.left >= outer.left
            && self.right <= outer.right
            && self.top >= outer.top
            && self.bottom <= outer.bottom
    }
}

/// The first candidate that covers the least: other labels weigh most, then leaving the plot, then data.
pub(crate) fn freest(
    candidates: &[Area],
    plot: &Area,
    taken: &[Area],
    ink: &[(f64, f64)],
) -> Option<Area> {
    let cost = |area: &Area| {
        let labels = taken.iter().filter(|t| area.touches(t)).count() * 10_000;
        let outside = usize::from(!area.is_inside(plot)) * 5_000;
        labels + outside + ink.iter().filter(|p| area.holds(**p)).count()
    };
    candidates.iter().copied().min_by_key(cost)
}

/// Points along a polyline every few pixels, so that a long segment counts where it passes.
pub(crate) fn trace(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const STEP: f64 = 4.0;
    let mut traced = Vec::new();
    for pair in points.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let steps = (dx.hypot(dy) / STEP).clamp(1.0, 500.0).floor();
        traced.extend((0..steps as usize).map(|i| {
            let t = i as f64 / steps;
            (pair[0].0 + dx * t, pair[0].1 + dy * t)
        }));
    }
    traced.extend(points.last());
    traced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(left: f64, top: f64) -> Area {
        Area { left, top, right: left + 40.0, bottom: top + 10.0 }
    }

    #[test]
    fn free_space_wins_over_data_and_data_over_labels() {
        let plot = Area { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 };
        let ink = trace(&[(0.0, 5.0), (60.0, 5.0)]);
        let (busy, free) = (area(10.0, 0.0), area(100.0, 0.0));
        assert_eq!(freest(&[busy, free], &plot, &[], &ink), Some(free));
        assert_eq!(freest(&[busy, free], &plot, &[free], &ink), Some(busy));
        assert_eq!(freest(&[area(10.0, -5.0), busy], &plot, &[], &ink), Some(busy));
        assert_eq!(freest(&[], &plot, &[], &ink), None);
    }

    #[test]
    fn tracing_fills_long_segments() {
        assert_eq!(trace(&[(0.0, 0.0), (40.0, 0.0)]).len(), 11);
        assert_eq!(trace(&[(1.0, 2.0)]), [(1.0, 2.0)]);
        assert!(trace(&[]).is_empty());
    }
}
