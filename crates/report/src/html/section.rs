//! One part of a page.

use super::tables;
use crate::escape::escape;
use crate::report::Report;

/// A heading with text, charts and tables under it, in the order they were added.
#[derive(Clone, Debug)]
pub struct Section {
    heading: String,
    body: String,
}

impl Section {
    /// An empty section with this heading.
    #[must_use]
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), body: String::new() }
    }

    /// Adds plain text; an empty line starts a new paragraph.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        write_paragraphs(&mut self.body, text, "");
        self
    }

    /// Adds a chart.
    ///
    /// PRECONDITION: `svg` comes from a chart of this crate. It is markup and is not escaped.
    #[must_use]
    pub fn svg(mut self, svg: &str) -> Self {
        self.body.push_str("<figure>\n");
        self.body.push_str(svg.trim_end());
        self.body.push_str("\n</figure>\n");
        self
    }

    /// Adds the rows of a report with all columns.
    #[must_use]
    pub fn table(self, report: &Report) -> Self {
        let columns: Vec<&str> = report.columns();
        self.table_of(report, &columns)
    }

    /// Adds the rows of a report with these columns, in this order.
    #[must_use]
    pub fn table_of(mut self, report: &Report, columns: &[&str]) -> Self {
        tables::write_rows(&mut self.body, report, columns);
        self
    }

    /// Adds the claims of a report with their verdicts; nothing if it has none.
    #[must_use]
    pub fn claims(mut self, report: &Report) -> Self {
        tables::write_claims(&mut self.body, report);
        self
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push_str("<section>\n<h2>");
        out.push_str(&escape(&self.heading));
        out.push_str("</h2>\n");
        out.push_str(&self.body);
        out.push_str("</section>\n");
    }
}

/// Writes each paragraph of `text` with the given attributes on its tag.
pub(super) fn write_paragraphs(out: &mut String, text: &str, attributes: &str) {
    let unified = text.replace("\r\n", "\n");
    for paragraph in unified.split("\n\n").map(str::trim).filter(|p| !p.is_empty()) {
        out.push_str(&format!("<p{attributes}>{}</p>\n", escape(paragraph)));
    }
}
