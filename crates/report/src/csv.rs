//! Reports for spreadsheets.

use crate::report::Report;
use crate::value::Value;

pub(crate) fn write(report: &Report) -> String {
    let columns = report.columns();
    let mut out = String::new();
    line(&mut out, columns.iter().map(|name| (*name).to_owned()));
    for row in &report.rows {
        line(&mut out, columns.iter().map(|name| row.get(name).map_or_else(String::new, cell)));
    }
    out
}

fn line(out: &mut String, cells: impl Iterator<Item = String>) {
    let start = out.len();
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&cell);
    }
    // A report without columns is an empty file, not a file with one empty line.
    if out.len() > start {
        out.push('\n');
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        // Debug writes the shortest text that reads back to the same number, 1e-300 included.
        Value::Number(x) if x.is_finite() => format!("{x:?}"),
        Value::Number(_) => String::new(),
        Value::Text(text) => quote(text),
    }
}

fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Meta, Report, Row};

    #[test]
    fn quoting_and_missing_cells() {
        let report = Report::new(Meta::new("x", "0"))
            .row(Row::new().with("name", "a,\"b\"\nc").with("mean_ms", 1.0))
            .row(Row::new().with("mean_ms", f64::NAN).with("ok", true))
            .row(Row::new().with("name", "plain").with("mean_ms", 1e-300));
        assert_eq!(
            report.to_csv(),
            "name,mean_ms,ok\n\"a,\"\"b\"\"\nc\",1.0,\n,,true\nplain,1e-300,\n"
        );
    }

    #[test]
    fn an_empty_report_is_an_empty_file() {
        assert_eq!(Report::new(Meta::new("x", "0")).to_csv(), "");
    }
}
