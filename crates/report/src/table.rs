//! Reports for terminals.

use crate::grid::Grid;
use crate::report::Report;
use comfy_table::{
    CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};
use std::fmt;

/// Headings over one rule, nothing else: lines between cells compete with the numbers.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none());

/// A text table of a report; choose columns and width, then print it or call `to_string`.
///
/// ```
/// # use laxity_report::{Meta, Report, Row};
/// # let report = Report::new(Meta::new("x", "0")).row(Row::new().with("scheme", "tcp").with("mean_ms", 1.5));
/// println!("{}", report.table().columns(["scheme", "mean_ms"]).max_width(80));
/// ```
#[derive(Clone, Debug)]
pub struct TableView<'a> {
    report: &'a Report,
    columns: Option<Vec<String>>,
    max_width: Option<u16>,
}

impl<'a> TableView<'a> {
    pub(crate) fn new(report: &'a Report) -> Self {
        Self { report, columns: None, max_width: None }
    }

    /// Shows only these fields, in this order. A field that no row has shows as an empty column.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Wraps long texts so that the table is at most this many characters wide where possible.
    #[must_use]
    pub fn max_width(mut self, characters: u16) -> Self {
        self.max_width = Some(characters);
        self
    }

    fn render(&self, grid: Grid) -> String {
        let mut table = Table::new();
        table.load_style(STYLE).set_header(grid.headings);
        if let Some(width) = self.max_width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        table.add_rows(grid.rows);
        for (column, right) in table.column_iter_mut().zip(grid.right) {
            column.set_padding((0, 2));
            if right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.trim_fmt()
    }
}

impl fmt::Display for TableView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = match &self.columns {
            Some(chosen) => chosen.iter().map(String::as_str).collect(),
            None => self.report.columns(),
        };
        if self.report.rows.is_empty() || columns.is_empty() {
            writeln!(f, "(no rows)")?;
        } else {
            writeln!(f, "{}", self.render(Grid::of_rows(self.report, &columns)))?;
        }
        if !self.report.claims.is_empty() {
            writeln!(f, "\n{}", self.render(Grid::of_claims(self.report)))?;
        }
        Ok(())
    }
}
