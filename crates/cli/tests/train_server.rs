//! Training with a parameter server in processes of its own, some of which are killed (SIGKILL).
//!
//! Nothing here depends on how fast the machine is; what a death costs in time is printed.

mod common;

use common::train::{nothing_acknowledged_is_lost, number, train};

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
fn a_server_that_leaves_at_the_end_is_not_replaced() {
    for _ in 0..3 {
        for row in train(&["--mode", "async", "--ranks", "2", "--replica", "--epochs", "1"]) {
            let none = serde_json::Value::Null;
            assert_eq!((&row["promotions"], &row["promoted_at"]), (&0.into(), &none), "{row}");
            assert_eq!(row["killed"], none, "{row}");
        }
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
