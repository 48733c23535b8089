//! What a report looks like as JSON, CSV and text table.

use laxity_report::{Meta, Report, Row};

mod gallery;

#[test]
fn json() {
    insta::assert_snapshot!(gallery::report().to_json_string());
}

#[test]
fn json_value_has_the_house_shape() {
    let json = gallery::report().to_json();
    assert_eq!(json["meta"]["seed"], 7);
    assert_eq!(json["rows"][1]["scheme"], "laxity");
    assert!(json["rows"][2]["mean_ms"].is_null(), "NaN must become null");
    assert_eq!(json["claims"][1]["holds"], false);
    let reread: serde_json::Value =
        serde_json::from_str(&gallery::report().to_json_string()).unwrap();
    assert_eq!(reread, json);
}

#[test]
fn claims_are_absent_unless_there_are_some() {
    let report = Report::new(Meta::new("laxity sim bench", "0.1.0"));
    let json = report.to_json();
    assert_eq!(json["rows"], serde_json::json!([]));
    assert!(json.get("claims").is_none());
    assert!(report.all_claims_hold());
    assert!(!gallery::report().all_claims_hold());
}

#[test]
fn csv() {
    insta::assert_snapshot!(gallery::report().to_csv());
}

#[test]
fn table() {
    insta::assert_snapshot!(gallery::report().to_table());
}

#[test]
fn table_with_chosen_columns() {
    let report = gallery::report();
    let columns = ["scheme", "mean_ms", "not_there"];
    insta::assert_snapshot!(report.table().columns(columns).max_width(60));
}

/// In a terminal of 80 characters `0.03057` was `0.03` with `057` below.
#[test]
fn a_narrow_table_breaks_no_number_and_names_what_it_leaves_out() {
    let row =
        Row::new().with("transport", "laxity").with("steps", 156u64).with("seconds_s", 0.03057);
    let row =
        row.with("test_loss", 1.7141).with("found", "a text of some words that may be wrapped");
    let row = row.with("step_p99_ms", 16.104).with("reduce_ms", 1234.5);
    let report = Report::new(Meta::new("x", "0")).row(row);
    let columns = report.columns();
    let of = |width| report.table().columns(columns.clone()).max_width(width).to_string();
    for width in 12..140 {
        let table = of(width);
        let below = table.lines().find(|line| line.starts_with("no room for: ")).unwrap_or("");
        for line in table.lines().filter(|line| *line != below) {
            assert!(line.chars().count() <= usize::from(width), "{width}: {table}");
        }
        for (heading, number) in [
            ("steps", "156"),
            ("seconds", "0.03057"),
            ("test loss", "1.714"),
            ("step p99 ms", "16.1"),
            ("reduce ms", "1,234"),
        ] {
            let whole = table.split_whitespace().any(|word| word.starts_with(number));
            assert!(whole != below.contains(heading), "{width}: {heading}\n{table}");
        }
    }
    insta::assert_snapshot!(of(60));
    assert!(!of(140).contains("no room"), "{}", of(140));
}

#[test]
fn in_a_narrow_table_words_are_broken_before_texts_are_left_out() {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let row = Row::new().with("check", "clock").with("found", "slow").with("remedy", path);
    let report = Report::new(Meta::new("x", "0")).row(row);
    let of =
        |width| report.table().columns(["check", "found", "remedy"]).max_width(width).to_string();
    for width in 26..100 {
        assert!(!of(width).contains("no room"), "{width}: {}", of(width));
    }
    assert!(of(22).ends_with("no room for: remedy\n"), "{}", of(22));
}

#[test]
fn a_report_without_rows_says_so() {
    let report = Report::new(Meta::new("x", "0"));
    assert_eq!(report.to_table(), "(no rows)\n");
    let nameless = report.row(Row::new());
    assert_eq!(nameless.to_table(), "(no rows)\n");
}

#[test]
fn a_hostile_cell_stays_in_its_table() {
    let report = Report::new(Meta::new("x", "0"))
        .row(Row::new().with("name", "two\nlines").with("mean_ms", f64::INFINITY));
    assert!(!report.to_table().contains("inf"));
    assert!(report.to_json()["rows"][0]["mean_ms"].is_null());
}
