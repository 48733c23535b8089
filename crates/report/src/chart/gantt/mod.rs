//! Timelines: what happened where, from when to when.

mod draw;

use super::axis::Axis;
use super::frame::Frame;

/// Something that lasted.
#[derive(Clone, Debug)]
pub struct GanttBar {
    from: f64,
    to: f64,
    label: String,
    kind: usize,
    level: f64,
}

impl GanttBar {
    /// From when to when; the label is drawn where it fits.
    #[must_use]
    pub fn new(from: f64, to: f64, label: impl Into<String>) -> Self {
        Self { from, to, label: label.into(), kind: 0, level: 1.0 }
    }

    /// Which kind of the chart it is, counted from 0 in the order in which they were added.
    #[must_use]
    pub fn kind(mut self, kind: usize) -> Self {
        self.kind = kind;
        self
    }

    /// The part of the row's height that it fills, such as a rate over the capacity.
    #[must_use]
    pub fn level(mut self, level: f64) -> Self {
        self.level = if level.is_finite() { level.clamp(0.0, 1.0) } else { 1.0 };
        self
    }
}

/// A chart of rows with bars over time.
///
/// ```
/// use laxity_report::chart::{Axis, GanttBar, GanttChart};
/// let svg = GanttChart::new("Two flows, two operations")
///     .x(Axis::linear("time").unit("s"))
///     .kinds(["computes", "sends"])
///     .row("host c", [GanttBar::new(0.5, 1.0, "c1"), GanttBar::new(1.0, 1.5, "c2")])
///     .row("flow 1", [GanttBar::new(0.0, 0.5, "").kind(1)])
///     .to_svg();
/// assert!(svg.contains("host c"));
/// ```
#[derive(Clone, Debug)]
pub struct GanttChart {
    frame: Frame,
    x: Axis,
    kinds: Vec<String>,
    rows: Vec<(String, Vec<GanttBar>)>,
    marks: Vec<(f64, String)>,
    width: u32,
}

impl GanttChart {
    /// A chart with this title and no rows yet.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            frame: Frame::new(title),
            x: Axis::default(),
            kinds: Vec::new(),
            rows: Vec::new(),
            marks: Vec::new(),
            width: 720,
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

    /// Width in pixels at full size; 720 unless set. The height follows from the rows.
    #[must_use]
    pub fn width(mut self, width: u32) -> Self {
        self.width = width;
        self
    }

    /// The axis of time.
    #[must_use]
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// What colours mean, in a legend.
    #[must_use]
    pub fn kinds<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.kinds = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a row under the others.
    #[must_use]
    pub fn row(
        mut self,
        name: impl Into<String>,
        bars: impl IntoIterator<Item = GanttBar>,
    ) -> Self {
        self.rows.push((name.into(), bars.into_iter().collect()));
        self
    }

    /// Adds a dashed vertical line, named at its top.
    #[must_use]
    pub fn mark(mut self, at: f64, label: impl Into<String>) -> Self {
        self.marks.push((at, label.into()));
        self
    }

    /// The chart as SVG text.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::render(self)
    }
}
