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
