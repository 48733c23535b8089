//! Lines over a continuous axis: several series, markers, bands, reference lines.

mod draw;
mod layout;

use super::axis::Axis;
use super::frame::Frame;
use super::legend::Legend;

/// A named line through points.
///
/// A point whose y is NaN leaves a gap: a scheme that did not finish there shows no invented line.
#[derive(Clone, Debug)]
pub struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    band: Vec<(f64, f64, f64)>,
    slot: Option<usize>,
    dashed: bool,
    markers: bool,
}

impl Series {
    /// A line through (x, y) points in the order given.
    #[must_use]
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            band: Vec::new(),
            slot: None,
            dashed: false,
            markers: true,
        }
    }

    /// Shades between a low and a high value: (x, low, high), for example minimum and maximum.
    #[must_use]
    pub fn band(mut self, band: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        self.band = band.into_iter().collect();
        self
    }

    /// Takes this palette slot, so that a scheme looks the same in every chart. Without it, slots
    /// follow the order of the series.
    #[must_use]
    pub fn slot(mut self, slot: usize) -> Self {
        self.slot = Some(slot);
        self
    }

    /// Draws the line dashed, for models and predictions next to measurements.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// Leaves out the markers at the points.
    #[must_use]
    pub fn without_markers(mut self) -> Self {
        self.markers = false;
        self
    }
}

/// A chart of lines.
///
/// ```
/// use laxity_report::chart::{Axis, LineChart, Series};
/// let svg = LineChart::new("Goodput under loss")
///     .subtitle("one flow, 10 Gb/s")
///     .x(Axis::log("loss rate").unit("%"))
///     .y(Axis::linear("goodput").unit("Gb/s"))
///     .series(Series::new("cubic", [(0.01, 6.1), (0.1, 2.0), (1.0, 0.4)]))
///     .reference(10.0, "line rate")
///     .to_svg();
/// assert!(svg.contains("line rate"));
/// ```
#[derive(Clone, Debug)]
pub struct LineChart {
    frame: Frame,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    references: Vec<(f64, String)>,
    legend: Legend,
    /// Notes the chart itself has to add, such as values that could not be drawn.
    pub(crate) remarks: Vec<String>,
    /// What kind of chart the description for screen readers names.
    pub(crate) kind_name: &'static str,
}

impl LineChart {
    /// A chart with this title and no lines yet.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            frame: Frame::new(title),
            x: Axis::default(),
            y: Axis::default(),
            series: Vec::new(),
            references: Vec::new(),
            legend: Legend::Auto,
            remarks: Vec::new(),
            kind_name: "Line chart",
        }
    }

    /// A second, quieter line under the title: the setting, the number of runs.
    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.frame.set_subtitle(subtitle.into());
        self
    }

    /// Small print under the chart: where the data comes from.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.frame.set_note(note.into());
        self
    }

    /// Width and height in pixels at full size; 720 by 430 unless set, at least 360 by 260.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.frame.set_size(width, height);
        self
    }

    /// The horizontal axis.
    #[must_use]
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// The vertical axis.
    #[must_use]
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds a line.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a dashed horizontal line with a label: an ideal, a limit, a paper's value.
    #[must_use]
    pub fn reference(mut self, y: f64, label: impl Into<String>) -> Self {
        self.references.push((y, label.into()));
        self
    }

    /// Where the names of the series go.
    #[must_use]
    pub fn legend(mut self, legend: Legend) -> Self {
        self.legend = legend;
        self
    }

    /// The chart as SVG text.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::render(self)
    }
}
