//! How Laxity shows results: one [`Report`] becomes JSON, CSV, a text table, SVG charts or an HTML page.
//!
//! **What it is.** Every command of the `laxity` binary, the lab, the simulators and the
//! reproductions put what they found into the same shape: [`Meta`] (what was run), a list of flat
//! [`Row`]s with units in the field names, and, where a paper is checked, [`Claim`]s. From there the
//! output is text: deterministic, self-contained, readable.
//!
//! **What it is not.** It measures nothing, reads no clock, opens no file and prints nothing. Every
//! function returns a string or a value; the caller decides where it goes.
//!
//! ```
//! use laxity_report::chart::{Axis, LineChart, Series};
//! use laxity_report::{Meta, Report, Row};
//!
//! let meta = Meta::new("laxity bench compare loss", "0.1.0").seed(7).cores(2).seconds(12.5);
//! let mut report = Report::new(meta);
//! for (scheme, loss_pct, mean_ms) in [("cubic", 1.0, 48.2), ("laxity", 1.0, 9.31)] {
//!     report.push(Row::new().with("scheme", scheme).with("loss_pct", loss_pct).with("mean_ms", mean_ms));
//! }
//! assert_eq!(report.to_json()["rows"][1]["scheme"], "laxity");
//! assert!(report.to_table().contains("mean ms"));
//!
//! let svg = LineChart::new("Completion time under loss")
//!     .x(Axis::linear("random loss").unit("%"))
//!     .y(Axis::linear("completion time").unit("ms"))
//!     .series(Series::new("laxity", [(0.0, 8.9), (1.0, 9.31)]))
//!     .to_svg();
//! assert!(svg.starts_with("<svg"));
//! ```

#![forbid(unsafe_code)]

pub mod chart;
mod claim;
mod csv;
mod escape;
mod grid;
pub mod html;
mod json;
mod meta;
mod name;
pub mod number;
mod report;
mod row;
pub mod stats;
mod table;
mod value;

pub use claim::Claim;
pub use escape::escape;
pub use meta::Meta;
pub use name::{FieldNameError, heading, is_snake_case};
pub use report::Report;
pub use row::Row;
pub use table::TableView;
pub use value::Value;
