//! Training with a parameter server in processes of its own, some of which are killed (SIGKILL).
//!
//! Nothing here depends on how fast the machine is; what a death costs in time is printed.

mod common;

use std::time::{Duration, Instant};

use common::{json, laxity, text};
use serde_json::Value;

/// Longer than anything takes on a machine that is only busy.
const PATIENCE: Duration = Duration::from_secs(240);

/// Runs a training over both transports; returns what is known of each at its end.
fn train(words: &[&str]) -> Vec<Value> {
    let mut command = laxity(&["train", "--quick", "--json"]);
    let child = command.args(words);
    let child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    // What is printed fits the pipe.
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it hangs: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    let rows = json(&output)["rows"].as_array().expect("rows").clone();
    let ends: Vec<_> = rows.into_iter().filter(|row| row["commits"].is_u64()).collect();
    assert!(!ends.is_empty(), "{}", text(&output.stderr));
    ends
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"))
}

/// Of one process per update each, so that every acknowledged update is a commit.
fn nothing_acknowledged_is_lost(row: &Value) {
    assert!(number(row, "acknowledged") > 0.0, "{row}");
    assert!(number(row, "acknowledged") <= number(row, "commits"), "{row}");
}

#[test]
fn every_mode_trains_over_both_transports() {
    for mode in ["sync", "async", "ssp"] {
        let rows = train(&["--mode", mode, "--ranks", "2", "--min-delivery", "0.9"]);
        assert_eq!(rows.len(), 2, "{rows:?}");
        for row in rows {
            assert_eq!(row["mode"], mode);
            assert!(number(&row, "delivered") >= 0.9, "{row}");
            assert!(number(&row, "test_loss").is_finite(), "{row}");
            match mode {
                // A round of two updates is one commit, and none is late.
                "sync" => assert_eq!(number(&row, "acknowledged"), 2.0 * number(&row, "commits")),
                _ => nothing_acknowledged_is_lost(&row),
            }
        }
    }
}

#[test]
fn a_server_that_is_killed_is_replaced_and_nothing_acknowledged_is_lost() {
    let words = ["--mode", "async", "--ranks", "2", "--replica", "--kill", "server"];
    for row in train(&[&words[..], &["--epochs", "3", "--apart", "0.5"]].concat()) {
        println!(
            "{}: took over {:.0} ms after the kill, first commit after {:.0} ms, {:.3e} apart",
            row["transport"],
            number(&row, "takeover_ms"),
            number(&row, "promotion_ms"),
            number(&row, "divergence")
        );
        assert_eq!(row["promotions"], 1, "{row}");
        nothing_acknowledged_is_lost(&row);
        assert!(number(&row, "commits") > number(&row, "promoted_at"), "it went on: {row}");
        // What the server said it could be, by norms; which the bound held down.
        let apart = number(&row, "apart_max");
        assert!(number(&row, "divergence") <= apart * 1.001 + 1e-6, "{row}");
    }
}

#[test]
fn a_round_that_loses_its_server_is_done_again() {
    let words = ["--mode", "sync", "--ranks", "2", "--replica", "--kill", "server"];
    for row in train(&[&words[..], &["--epochs", "3"]].concat()) {
        assert_eq!(row["promotions"], 1, "{row}");
        assert!(number(&row, "acknowledged") <= 2.0 * number(&row, "commits"), "{row}");
    }
}

#[test]
fn the_job_goes_on_without_a_worker_an_aggregator_a_scheduler_or_a_replica() {
    let cast = ["--ranks", "3", "--replica", "--aggregators", "1", "--epochs", "2"];
    for (mode, victim) in [
        ("async", "worker"),
        ("sync", "worker"),
        ("async", "aggregator"),
        ("async", "scheduler"),
        ("ssp", "replica"),
    ] {
        for row in train(&[&cast[..], &["--mode", mode, "--kill", victim]].concat()) {
            assert_eq!((&row["killed"], &row["promotions"]), (&victim.into(), &0.into()), "{row}");
            if mode != "sync" {
                nothing_acknowledged_is_lost(&row);
            }
        }
    }
}
