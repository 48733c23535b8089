//! Where everything of a line chart goes.

use super::{LineChart, Series};
use crate::chart::axes;
use crate::chart::ends;
use crate::chart::legend::{Key, Legend, Swatch};
use crate::chart::place::Area;
use crate::chart::scale::{Scale, Tick, extent};
use crate::chart::style;
use crate::chart::text;

/// More points than this, and markers would hide the line.
const MOST_MARKERS: usize = 40;

/// Distance between the end of the plot and the names of the lines.
pub(super) const END_GAP: f64 = 14.0;

/// Distance between names at the ends of lines, baseline to baseline.
const END_LINE: f64 = 15.0;

/// A name further from its line than this would be taken for another's.
const FARTHEST: f64 = 24.0;

/// Everything that is known before drawing.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) plot: Area,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    /// Keys on top; empty where names stand at the lines.
    pub(super) keys: Vec<Key>,
    /// For each series with a name at its end: index, end of the line, middle of the name.
    pub(super) ends: Vec<(usize, (f64, f64), f64)>,
}

impl Layout {
    /// The layout the chart asks for; [`Legend::Auto`] tries names at the lines first.
    pub(super) fn of(chart: &LineChart) -> Self {
        match chart.legend {
            Legend::Top => Self::with_keys(chart, keys(chart)),
            Legend::Hidden => Self::with_keys(chart, Vec::new()),
            Legend::Direct => Self::with_ends(chart),
            Legend::Auto => {
                let direct = Self::with_ends(chart);
                if direct.ends_are_clear(chart) {
                    direct
                } else {
                    Self::with_keys(chart, keys(chart))
                }
            }
        }
    }

    fn with_keys(chart: &LineChart, keys: Vec<Key>) -> Self {
        Self::new(chart, keys, 0.0)
    }

    fn with_ends(chart: &LineChart) -> Self {
        let names = chart.series.iter().map(|s| text::bold_width(&s.name, style::LABEL_SIZE));
        let widest = names.fold(0.0, f64::max);
        let mut layout = Self::new(chart, Vec::new(), widest + END_GAP - 4.0);
        let found: Vec<(usize, (f64, f64))> = chart
            .series
            .iter()
            .enumerate()
            .filter_map(|(i, series)| Some((i, layout.end_of(series)?)))
            .collect();
        let wanted: Vec<f64> = found.iter().map(|(_, end)| end.1).collect();
        let placed = ends::spread(&wanted, END_LINE, (layout.plot.top, layout.plot.bottom));
        layout.ends = found.into_iter().zip(placed).map(|((i, end), y)| (i, end, y)).collect();
        layout
    }

    fn new(chart: &LineChart, keys: Vec<Key>, right: f64) -> Self {
        let body = chart.frame.body(&keys, &chart.remarks);
        let caption = if chart.x.caption().is_empty() { 0.0 } else { axes::X_CAPTION };
        let top = body.top + axes::Y_CAPTION;
        let bottom = (body.bottom - axes::X_TICKS - caption).max(top + 40.0);

        let intervals = axes::y_intervals(bottom - top);
        let y_domain = chart.y.rounded(extent(chart.y.kind, y_values(chart)), intervals);
        let y = Scale::new(chart.y.kind, y_domain, (bottom, top));
        let y_ticks = chart.y.ticks(&y, intervals + 1);

        let left = body.left + axes::y_labels_width(&y_ticks);
        let plot = Area { left, top, right: (body.right - right).max(left + 80.0), bottom };
        let x_domain = chart.x.fitted(extent(chart.x.kind, x_values(chart)));
        // A few pixels inside, so that no marker sits on the edge.
        let x = Scale::new(chart.x.kind, x_domain, (plot.left + 9.0, plot.right - 9.0));
        let x_ticks = chart.x.ticks(&x, axes::x_ticks(plot.width()));
        Self { plot, x, y, x_ticks, y_ticks, keys, ends: Vec::new() }
    }

    /// The pixel of a point, where it has one.
    pub(super) fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x.map(x)?, self.y.map(y)?))
    }

    /// The last point of a series that is inside the plot.
    fn end_of(&self, series: &Series) -> Option<(f64, f64)> {
        let inside =
            series.points.iter().filter(|(x, y)| self.x.contains(*x) && self.y.contains(*y));
        inside.filter_map(|p| self.at(*p)).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Whether names at the lines can be read: every line reaches the right edge, the names are
    /// short, and none had to move far.
    fn ends_are_clear(&self, chart: &LineChart) -> bool {
        let longest = 0.27 * chart.frame.width();
        let edge = self.plot.right - 0.06 * self.plot.width() - 9.0;
        let near =
            |(_, end, y): &(usize, (f64, f64), f64)| end.0 >= edge && (end.1 - y).abs() <= FARTHEST;
        self.ends.len() == chart.series.len()
            && chart.series.iter().all(|s| text::bold_width(&s.name, style::LABEL_SIZE) <= longest)
            && self.ends.iter().all(near)
    }
}

/// The palette slot of the `i`-th series.
pub(super) fn slot(series: &Series, i: usize) -> usize {
    series.slot.unwrap_or(i)
}

/// Whether a line is dashed: by choice, or because its colour is taken already.
pub(super) fn is_dashed(series: &Series, slot: usize) -> bool {
    series.dashed || style::is_second_round(slot)
}

/// Whether the points of a series are marked.
pub(super) fn has_markers(series: &Series) -> bool {
    series.markers && series.points.len() <= MOST_MARKERS
}

fn keys(chart: &LineChart) -> Vec<Key> {
    let key = |(i, series): (usize, &Series)| Key {
        name: series.name.clone(),
        slot: slot(series, i),
        swatch: Swatch::Line {
            dashed: is_dashed(series, slot(series, i)),
            marker: has_markers(series),
        },
    };
    chart.series.iter().enumerate().map(key).collect()
}

fn x_values(chart: &LineChart) -> impl Iterator<Item = f64> {
    chart.series.iter().flat_map(|s| {
        s.points
            .iter()
            .filter(|p| chart.y.kind.can_show(p.1))
            .map(|p| p.0)
            .chain(s.band.iter().map(|b| b.0))
    })
}

fn y_values(chart: &LineChart) -> impl Iterator<Item = f64> {
    let data = chart.series.iter().flat_map(|s| {
        let points = s.points.iter().filter(|p| chart.x.kind.can_show(p.0)).map(|p| p.1);
        points.chain(s.band.iter().flat_map(|b| [b.1, b.2]))
    });
    data.chain(chart.references.iter().map(|r| r.0))
}
