//! The cells of a table as people read them, shared by the text and the HTML table.

use crate::name::heading;
use crate::number;
use crate::report::Report;
use crate::value::Value;

/// Digits a column may be wide before one number of decimals for all of it stops being readable.
const WIDEST: usize = 7;

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
}

/// Headings, alignment and formatted cells.
#[derive(Debug)]
pub(crate) struct Grid {
    pub(crate) headings: Vec<String>,
    pub(crate) right: Vec<bool>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Cells of the named columns; a name that no row has gives an empty column, never an error.
    pub(crate) fn of_rows(report: &Report, columns: &[&str]) -> Self {
        let headings = columns.iter().map(|name| heading(name)).collect();
        let cells = |name: &&str| -> Vec<&Value> {
            report.rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect()
        };
        Self::new(headings, columns.iter().map(cells).collect())
    }

    /// Cells of the claims table.
    pub(crate) fn of_claims(report: &Report) -> Self {
        let texts: Vec<Value> =
            report.claims.iter().map(|c| Value::from(c.claim.as_str())).collect();
        let verdicts: Vec<Value> = report.claims.iter().map(|c| Value::from(c.holds)).collect();
        let columns = vec![
            texts.iter().collect(),
            report.claims.iter().map(|c| &c.paper).collect(),
            report.claims.iter().map(|c| &c.ours).collect(),
            verdicts.iter().collect(),
        ];
        let mut grid =
            Self::new(["claim", "paper", "ours", "holds"].map(String::from).into(), columns);
        // Claims measure different things, so their values share no unit and no decimals.
        for (row, claim) in grid.rows.iter_mut().zip(&report.claims) {
            row[1] = claim.paper.display();
            row[2] = claim.ours.display();
        }
        grid
    }

    /// How narrow each column may be: texts and headings go on in the next line, and so do words of texts
    /// that are longer than `long`; numbers do not.
    pub(crate) fn least_widths(&self, long: usize) -> Vec<usize> {
        let widest = |column: usize, right: bool| {
            let cells = self.rows.iter().map(|row| match right {
                true => row[column].chars().count(),
                false => longest_word(&row[column]).min(long),
            });
            cells.chain([longest_word(&self.headings[column])]).max().unwrap_or(0)
        };
        self.right.iter().enumerate().map(|(column, right)| widest(column, *right)).collect()
    }

    /// How wide each column is when nothing is wrapped.
    pub(crate) fn full_widths(&self) -> Vec<usize> {
        let lines = |text: &String| text.lines().map(|line| line.chars().count()).max();
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| lines(&row[column]));
            cells.chain(lines(&self.headings[column])).max().unwrap_or(0)
        };
        (0..self.headings.len()).map(widest).collect()
    }

    /// Leaves so many columns; returns the headings of the others.
    pub(crate) fn keep(&mut self, columns: usize) -> Vec<String> {
        self.right.truncate(columns);
        self.rows.iter_mut().for_each(|row| row.truncate(columns));
        self.headings.split_off(columns.min(self.headings.len()))
    }

    fn new(headings: Vec<String>, columns: Vec<Vec<&Value>>) -> Self {
        let right = columns.iter().map(|column| is_numeric(column)).collect();
        let formatted: Vec<Vec<String>> = columns.iter().map(|column| format(column)).collect();
        let height = formatted.first().map_or(0, Vec::len);
        let rows = (0..height)
            .map(|i| formatted.iter().map(|column| column[i].clone()).collect())
            .collect();
        Self { headings, right, rows }
    }
}

/// A column is numeric if it holds a number and nothing but numbers and gaps.
fn is_numeric(column: &[&Value]) -> bool {
    column.iter().any(|v| v.is_numeric())
        && column.iter().all(|v| v.is_numeric() || **v == Value::Null)
}

fn format(column: &[&Value]) -> Vec<String> {
    let decimals = common_decimals(column);
    column
        .iter()
        .map(|value| match (value, decimals) {
            (Value::Number(x), Some(decimals)) => number::fixed(*x, decimals),
            _ => value.display(),
        })
        .collect()
}

/// One number of decimals for the whole column, so that the points line up: four significant digits
/// for the largest, at least three for the smallest. None if the magnitudes lie too far apart.
fn common_decimals(column: &[&Value]) -> Option<usize> {
    let floats: Vec<f64> = column
        .iter()
        .filter_map(|v| match v {
            Value::Number(x) if x.is_finite() => Some(*x),
            _ => None,
        })
        .collect();
    let exponents = floats.iter().filter(|x| **x != 0.0).map(|x| number::scientific(*x, 4).1);
    let (lowest, highest) =
        exponents.fold((i32::MAX, i32::MIN), |(lo, hi), e| (lo.min(e), hi.max(e)));
    if lowest > highest {
        return Some(0);
    }
    let wanted = number::decimals_for(highest, 4).max(number::decimals_for(lowest, 3));
    let needed = floats.iter().map(|x| {
        let text = number::fixed(*x, wanted);
        number::trim_zeros(&text).split_once('.').map_or(0, |(_, fraction)| fraction.len())
    });
    let decimals = needed.max().unwrap_or(0);
    let whole = usize::try_from(highest.max(0)).unwrap_or(0) + 1;
    (decimals == 0 || whole + decimals <= WIDEST).then_some(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[f64]) -> Vec<String> {
        let values: Vec<Value> = values.iter().map(|x| Value::from(*x)).collect();
        format(&values.iter().collect::<Vec<_>>())
    }

    #[test]
    fn decimals_line_up() {
        assert_eq!(shown(&[1.25, 12.5, 3.0]), ["1.25", "12.50", "3.00"]);
        assert_eq!(shown(&[0.1, 0.01, 0.001]), ["0.100", "0.010", "0.001"]);
        assert_eq!(shown(&[48.2123, 9.31]), ["48.21", "9.31"]);
        assert_eq!(shown(&[1.0, 2.0, 0.0]), ["1", "2", "0"]);
        assert_eq!(shown(&[]), Vec::<String>::new());
    }

    #[test]
    fn far_apart_values_are_written_one_by_one() {
        assert_eq!(shown(&[0.000_123_4, 1234.5]), ["0.0001234", "1,234"]);
    }

    #[test]
    fn gaps_do_not_make_a_column_text() {
        assert!(is_numeric(&[&Value::from(1.0), &Value::Null]));
        assert!(!is_numeric(&[&Value::Null]));
        assert!(!is_numeric(&[&Value::from(1.0), &Value::from("x")]));
    }
}
