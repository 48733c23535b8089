//! `laxity bench compare` as a user runs it, in a real lab. Skipped, with the reason, where a lab is impossible.

mod common;

use std::{fs, process::Stdio, time::Duration};

use common::{
    finish_within, json,
    lab::{LONG, Place},
    laxity, text,
};

#[test]
fn schemes_are_compared_on_equal_terms() {
    let Some(place) = Place::new() else { return };
    let (svg, html) = (place.path().join("svg"), place.path().join("page.html"));
    let words = [
        "bench",
        "compare",
        "loss",
        "fairness",
        "--quick",
        "--json",
        // The machine is busy with other tests: what is checked here holds however late the lab is.
        "--accept-invalid",
        "--rate",
        "100Mbps",
        "--schemes",
        "cubic,laxity",
        "--svg",
        svg.to_str().unwrap(),
        "--html",
        html.to_str().unwrap(),
    ];
    let output = finish_within(place.laxity(&words).spawn().unwrap(), LONG);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = json(&output);
    let rows = report["rows"].as_array().unwrap();
    let of = |case: &str| rows.iter().filter(|row| row["case"] == case).collect::<Vec<_>>();
    let seen: Vec<_> = of("loss")
        .iter()
        .map(|row| (row["loss"].as_f64().unwrap(), row["scheme"].as_str().unwrap().to_owned()))
        .collect();
    let expect =
        [(0.0, "cubic"), (0.0, "laxity"), (0.0, "laxity"), (0.01, "cubic"), (0.01, "laxity")];
    assert_eq!(seen, expect.map(|(loss, scheme)| (loss, scheme.to_owned())));
    for row in of("loss") {
        assert!(row["runs"].as_u64().unwrap() >= 2, "{row}");
        // Headers take link time too, so nobody can be faster than the ideal.
        assert!(row["over_ideal"].as_f64().unwrap() > 1.0, "faster than the link: {row}");
        assert!(row["delivered_min"].as_f64() >= row["min_delivery"].as_f64(), "{row}");
        assert!(row["p99_ms"].as_f64() >= row["p50_ms"].as_f64(), "{row}");
        // 700 packets lose 7 in the mean; TCP sends all of them again.
        if row["loss"] == 0.01 && row["scheme"] == "cubic" {
            assert!(row["repeated_mean"].as_f64().unwrap() >= 1.0, "nothing was lost: {row}");
        }
    }
    let fairness = of("fairness");
    let queues: Vec<_> = fairness.iter().map(|row| row["queues"].as_str().unwrap()).collect();
    assert_eq!(queues, ["single", "shared", "slack"]);
    for row in fairness {
        let both = row["laxity_mbps"].as_f64().unwrap() + row["tcp_mbps"].as_f64().unwrap();
        // The window's edges are a little off on a busy machine, the link's rate is not.
        assert!(both > 1.0 && both < 130.0, "two flows share 100 Mbit/s: {row}");
        assert!((0.5..=1.0).contains(&row["jain"].as_f64().unwrap()), "{row}");
    }
    assert_eq!(fs::read_dir(&svg).unwrap().count(), 2);
    assert!(fs::read_to_string(&html).unwrap().contains("</html>"));
}

#[test]
fn an_interrupt_takes_everything_down() {
    let Some(place) = Place::new() else { return };
    let words = ["bench", "compare", "incast", "--schemes", "cubic", "--rate", "100Mbps"];
    // In the middle of a run, as likely as not.
    place.interrupted(&words, "compare", 9, Duration::from_millis(300));
}

#[test]
fn an_interrupt_shows_what_was_measured() {
    let Some(place) = Place::new() else { return };
    let words = ["bench", "compare", "loss", "--quick", "--schemes", "cubic", "--runs", "10000"];
    let words = [&words[..], &["--accept-invalid", "--json"]].concat();
    // A run of it takes some hundredths of a second.
    let output = place.interrupted(&words, "compare", 2, Duration::from_secs(5));
    let report = json(&output);
    assert_eq!(report["meta"]["stopped_early"], true, "{}", report["meta"]);
    let runs = report["rows"][0]["runs"].as_u64().unwrap();
    assert!((1..10_000).contains(&runs), "{runs}");
    assert!(text(&output.stderr).contains("until then is shown"), "{}", text(&output.stderr));
}

#[test]
fn an_interrupted_all_reduce_shows_what_was_measured() {
    let Some(place) = Place::new() else { return };
    let words = ["bench", "allreduce", "--ranks", "2", "--size", "100KB", "--schemes", "cubic"];
    let words = [&words[..], &["--runs", "10000", "--accept-invalid", "--json"]].concat();
    // A run of it takes some hundredths of a second.
    let output = place.interrupted(&words, "allreduce", 2, Duration::from_secs(5));
    let report = json(&output);
    assert_eq!(report["meta"]["stopped_early"], true, "{}", report["meta"]);
    let runs = report["rows"][0]["runs"].as_u64().unwrap();
    assert!((1..10_000).contains(&runs), "{runs}");
    assert!(text(&output.stderr).contains("until then is shown"), "{}", text(&output.stderr));

    let words = [&words[..8], &["--runs", "1", "--accept-invalid", "--json"]].concat();
    let report = json(&place.run_well(&words));
    assert_eq!(report["meta"]["stopped_early"], false, "{}", report["meta"]);
}

#[test]
fn wrong_wishes_are_refused_before_anything_is_brought_up() {
    for words in [&["--runs", "0"][..], &["--min-delivery", "0"], &["--background", "1"]] {
        let words = [&["bench", "compare"], words].concat();
        let child = laxity(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = finish_within(child, LONG);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words[2]), "{}", text(&output.stderr));
    }
}
