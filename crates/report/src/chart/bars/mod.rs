//! Grouped bars: categories side by side, one bar per series in each.

mod draw;
mod layout;

use super::axis::Axis;
use super::frame::Frame;

/// A named set of bars, one per category.
#[derive(Clone, Debug)]
pub struct BarSeries {
    name: String,
    values: Vec<Option<f64>>,
    whiskers: Vec<(f64, f64)>,
    slot: Option<usize>,
}

impl BarSeries {
    /// Bars in the order of the chart's categories; `None` or NaN leaves a place empty.
    #[must_use]
    pub fn new<V: Into<Option<f64>>>(
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(|v| v.into().filter(|v| v.is_finite())).collect();
        Self { name: name.into(), values, whiskers: Vec::new(), slot: None }
    }

    /// Error whiskers from low to high, one pair per category.
    #[must_use]
    pub fn whiskers(mut self, whiskers: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.whiskers = whiskers.into_iter().collect();
        self
    }

    /// Takes this palette slot, so that a scheme looks the same in every chart.
    #[must_use]
    pub fn slot(mut self, slot: usize) -> Self {
        self.slot = Some(slot);
        self
    }
}

/// A chart of grouped bars with their values written on them.
///
/// ```
/// use laxity_report::chart::{Axis, BarChart, BarSeries};
/// let svg = BarChart::new("Completion time by case")
///     .categories(["loss 1 %", "incast 32"])
///     .y(Axis::linear("mean completion").unit("ms"))
///     .series(BarSeries::new("cubic", [48.2, 210.0]).whiskers([(41.0, 60.0), (180.0, 260.0)]))
///     .series(BarSeries::new("laxity", [9.3, 12.1]))
///     .to_svg();
/// assert!(svg.contains("incast 32"));
/// ```
#[derive(Clone, Debug)]
pub struct BarChart {
    frame: Frame,
    categories: Vec<String>,
    x_caption: String,
    y: Axis,
    series: Vec<BarSeries>,
    references: Vec<(f64, String)>,
}

impl BarChart {
    /// A chart with this title and no bars yet.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            frame: Frame::new(title),
            categories: Vec::new(),
            x_caption: String::new(),
            y: Axis::default(),
            series: Vec::new(),
            references: Vec::new(),
        }
    }

    /// A second, quieter line under the title.
    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.frame.set_subtitle(subtitle.into());
        self
    }

    /// Small print under the chart.
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

    /// Names of the groups, left to right.
    #[must_use]
    pub fn categories<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.categories = names.into_iter().map(Into::into).collect();
        self
    }

    /// What the categories are, shown under them.
    #[must_use]
    pub fn x_caption(mut self, caption: impl Into<String>) -> Self {
        self.x_caption = caption.into();
        self
    }

    /// The vertical axis. A linear one always includes zero: the length of a bar is its meaning.
    #[must_use]
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds one bar per category.
    #[must_use]
    pub fn series(mut self, series: BarSeries) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a dashed horizontal line, named at its right end.
    #[must_use]
    pub fn reference(mut self, y: f64, label: impl Into<String>) -> Self {
        self.references.push((y, label.into()));
        self
    }

    /// The chart as SVG text.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::render(self)
    }
}
