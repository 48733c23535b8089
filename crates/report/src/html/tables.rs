//! Reports as HTML tables.

use crate::escape::escape;
use crate::grid::Grid;
use crate::report::Report;

pub(super) fn write_rows(out: &mut String, report: &Report, columns: &[&str]) {
    if report.rows.is_empty() || columns.is_empty() {
        out.push_str("<p class=\"none\">No rows.</p>\n");
        return;
    }
    write(out, &Grid::of_rows(report, columns), |_, _| "");
}

pub(super) fn write_claims(out: &mut String, report: &Report) {
    if report.claims.is_empty() {
        return;
    }
    const HOLDS: usize = 3;
    write(out, &Grid::of_claims(report), |row, column| match column {
        HOLDS if report.claims[row].holds => "yes",
        HOLDS => "no",
        _ => "",
    });
}

/// Writes a table; `class` names an extra class for a body cell by row and column.
fn write(out: &mut String, grid: &Grid, class: impl Fn(usize, usize) -> &'static str) {
    let cell = |out: &mut String, tag: &str, text: &str, column: usize, extra: &str| {
        let right = if grid.right[column] { "n" } else { "" };
        let classes = [right, extra].join(" ");
        match classes.trim() {
            "" => out.push_str(&format!("<{tag}>{}</{tag}>", escape(text))),
            classes => {
                out.push_str(&format!("<{tag} class=\"{classes}\">{}</{tag}>", escape(text)))
            }
        }
    };
    // A wide table scrolls inside its box; the page itself never does.
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for (column, heading) in grid.headings.iter().enumerate() {
        cell(out, "th", heading, column, "");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (i, row) in grid.rows.iter().enumerate() {
        out.push_str("<tr>");
        for (column, text) in row.iter().enumerate() {
            cell(out, "td", text, column, class(i, column));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}
