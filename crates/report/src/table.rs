//! Reports for terminals.

use crate::grid::Grid;
use crate::report::Report;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, Table,
    TableStyle, Width,
};
use std::fmt;

/// Headings over one rule, nothing else: lines between cells compete with the numbers.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none());

/// Behind every column.
const PADDING: u16 = 2;
/// From a column's last character to the next one's first, less one.
const GAP: usize = PADDING as usize + 1;

/// Words of texts that are longer, such as paths, may be broken: a word in two is better than a text that is left
/// out.
const LONG_WORDS: [usize; 3] = [24, 14, 8];

/// How many of these columns, from the first, have room beside each other; one always does.
fn how_many_fit(needs: &[usize], width: usize) -> usize {
    let ends = needs.iter().scan(0, |end, need| {
        *end += need + GAP;
        Some(*end - 1)
    });
    ends.take_while(|end| *end <= width).count().max(1)
}

/// Widths of columns: what they need, and of the rest as much each until they are full.
fn share(mut widths: Vec<usize>, full: &[usize], width: usize) -> Vec<usize> {
    let taken: usize = widths.iter().map(|width| width + GAP).sum();
    let mut left = (width + 1).saturating_sub(taken);
    while left > 0 {
        let narrowest =
            (0..widths.len()).filter(|&at| widths[at] < full[at]).min_by_key(|&at| widths[at]);
        let Some(narrowest) = narrowest else { break };
        widths[narrowest] += 1;
        left -= 1;
    }
    widths
}

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

    /// Makes the table at most this many characters wide where possible: wraps long texts, but no numbers. What
    /// then has no room are its last columns, and a line below names them.
    #[must_use]
    pub fn max_width(mut self, characters: u16) -> Self {
        self.max_width = Some(characters);
        self
    }

    fn render(&self, mut grid: Grid) -> String {
        let mut table = Table::new();
        table.load_style(STYLE);
        let mut hidden = Vec::new();
        if let Some(width) = self.max_width.map(usize::from) {
            let tries = LONG_WORDS.map(|long| grid.least_widths(long));
            let fits = |needs: &&Vec<usize>| how_many_fit(needs, width) == needs.len();
            let mut needs = tries.iter().find(fits).unwrap_or(&tries[LONG_WORDS.len() - 1]).clone();
            let fit = how_many_fit(&needs, width);
            hidden = grid.keep(fit);
            needs.truncate(fit);
            let widths = share(needs, &grid.full_widths(), width);
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_header(grid.headings).add_rows(grid.rows);
            for (column, width) in table.column_iter_mut().zip(widths) {
                let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(PADDING);
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
            }
        } else {
            table.set_header(grid.headings).add_rows(grid.rows);
        }
        for (column, right) in table.column_iter_mut().zip(grid.right) {
            column.set_padding((0, PADDING));
            if right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        match hidden.is_empty() {
            true => table.trim_fmt(),
            false => format!("{}\nno room for: {}", table.trim_fmt(), hidden.join(", ")),
        }
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
