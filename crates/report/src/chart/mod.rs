//! Charts as SVG text, drawn without a plotting library.
//!
//! Every chart is built from plain numbers, keeps to one style, and ends in `to_svg()`: a complete
//! document that scales with its page, names itself for screen readers, and is the same text for the
//! same data on every machine. Values that cannot be drawn (NaN, infinite, not positive on a log
//! axis) are left out, and where that hides data the chart says so in a note.
//!
//! How the files fit together: [`scale`] turns values into pixels and picks ticks, [`style`] has the
//! colours, `frame` draws the card with title and notes, `axes` the grid and tick labels, `legend` and
//! `ends` name the series. A new kind of chart composes these and adds only its own marks.

mod axes;
mod axis;
mod bars;
mod cdf;
mod ends;
mod frame;
mod gantt;
mod legend;
mod lines;
mod place;
pub mod scale;
pub mod style;
mod svg;
mod text;
mod ticks;

pub use axis::Axis;
pub use bars::{BarChart, BarSeries};
pub use cdf::CdfChart;
pub use gantt::{GanttBar, GanttChart};
pub use legend::Legend;
pub use lines::{LineChart, Series};
