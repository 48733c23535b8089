//! `laxity reproduce`: the list, one experiment, files, and names that do not exist.

mod common;

use common::{run, text};
use serde_json::Value;

fn json(words: &[&str]) -> Value {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_list_has_every_paper_and_says_what_runs() {
    let list = json(&["reproduce", "list", "--json"]);
    let rows = list["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 30);
    for row in rows {
        assert!(matches!(row["status"].as_str().unwrap(), "runs" | "not yet"), "{row}");
        assert!(row["seed"].as_str().unwrap().starts_with("00"), "{row}");
    }
    let runs = |name: &str| rows.iter().any(|row| row["name"] == name && row["status"] == "runs");
    assert!(runs("cadentflow-fig1") && runs("mlfabric-links"));
    let part = json(&["reproduce", "list", "--family", "mlfabric", "--json"]);
    assert_eq!(part["rows"].as_array().unwrap().len(), 7);
}

#[test]
fn one_experiment_has_rows_claims_and_reasons() {
    let found = json(&["reproduce", "cadentflow-fig1", "--quick", "--json"]);
    assert_eq!(found["meta"]["seed"], 1);
    let claims = found["claims"].as_array().unwrap();
    assert!(claims.len() >= 2);
    for claim in claims {
        for field in ["claim", "paper", "ours", "holds"] {
            assert!(!claim[field].is_null(), "{claim}");
        }
        assert_eq!(claim["holds"], true);
    }
    assert_eq!(found["rows"][1]["end_s"], 2.5);
    assert!(!found["experiments"][0]["chosen"].as_array().unwrap().is_empty());
    let said = text(&run(&["reproduce", "cadentflow-fig1"]).stdout);
    assert!(said.contains("holds: with f1 first it takes 2 s"), "{said}");
}

#[test]
fn several_experiments_leave_files_and_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("found");
    let names = ["cadentflow-fig1", "mlfabric-aggregation", "cadentflow-fig1"];
    let words = [&["reproduce", "--quick", "--json", "--out", out.to_str().unwrap()], &names[..]];
    let found = json(&words.concat());
    // Each once, and every row says whose it is.
    assert_eq!(found["experiments"].as_array().unwrap().len(), 2);
    assert!(found["rows"].as_array().unwrap().iter().all(|row| row["experiment"].is_string()));
    for name in ["cadentflow-fig1", "mlfabric-aggregation"] {
        assert!(std::fs::read_to_string(out.join(format!("{name}.csv"))).unwrap().contains(','));
        let one = std::fs::read_to_string(out.join(format!("{name}.json"))).unwrap();
        let one: Value = serde_json::from_str(&one).unwrap();
        assert_eq!(one["experiments"][0]["name"], name);
    }
    let svg = std::fs::read_to_string(out.join("cadentflow-fig1-ends.svg")).unwrap();
    assert!(svg.starts_with("<svg"));
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("mlfabric-aggregation") && page.contains("<svg"));
}

#[test]
fn wrong_names_come_with_near_ones() {
    let output = run(&["reproduce", "cadentflow-fig2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cadentflow-fig1"), "{}", text(&output.stderr));
    let output = run(&["reproduce", "cadentflow-fig1", "--family", "mlfabric"]);
    assert_eq!(output.status.code(), Some(2));
    let output = run(&["reproduce", "all", "--family", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
}
