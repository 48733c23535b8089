//! `laxity bench compare` as a user runs it, in a real lab. Skipped, with the reason, where a lab is impossible.

mod common;

use std::{
    fs,
    process::{Child, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use common::{json, lab::Place, laxity, text};

/// Other tests share the machine.
const PATIENCE: Duration = Duration::from_secs(170);

fn finish(mut child: Child) -> Output {
    let until = Instant::now() + PATIENCE;
    // What is printed fits the pipe: a table or a page of JSON.
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("still running: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

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
    let output = finish(place.laxity(&words).spawn().unwrap());
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

/// Interrupts a comparison some time after its workers, so many, have come up; nothing may be left behind.
fn interrupted(place: &Place, words: &[&str], workers: usize, after: Duration) -> Output {
    let mut child = place.laxity(words).spawn().unwrap();
    let lab = format!("LAXITY_LAB=compare-{}-", child.id());
    let until = Instant::now() + PATIENCE;
    while inside(&lab).len() < workers {
        if child.try_wait().unwrap().is_some() {
            panic!("over already: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        assert!(Instant::now() < until, "no workers came up");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(after);
    let status =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    while !inside(&lab).is_empty() {
        assert!(Instant::now() < until, "left behind: {:?}", inside(&lab));
        thread::sleep(Duration::from_millis(20));
    }
    output
}

#[test]
fn an_interrupt_takes_everything_down() {
    let Some(place) = Place::new() else { return };
    let words = ["bench", "compare", "incast", "--schemes", "cubic", "--rate", "100Mbps"];
    // In the middle of a run, as likely as not.
    interrupted(&place, &words, 9, Duration::from_millis(300));
}

#[test]
fn an_interrupt_shows_what_was_measured() {
    let Some(place) = Place::new() else { return };
    let words = ["bench", "compare", "loss", "--quick", "--schemes", "cubic", "--runs", "10000"];
    let words = [&words[..], &["--accept-invalid", "--json"]].concat();
    // A run of it takes some hundredths of a second.
    let output = interrupted(&place, &words, 2, Duration::from_secs(5));
    let report = json(&output);
    assert_eq!(report["meta"]["stopped_early"], true, "{}", report["meta"]);
    let runs = report["rows"][0]["runs"].as_u64().unwrap();
    assert!((1..10_000).contains(&runs), "{runs}");
    assert!(text(&output.stderr).contains("until then is shown"), "{}", text(&output.stderr));
}

/// Processes that were started inside a lab.
fn inside(lab: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|process| {
            let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            let mut settings = environment.split(|byte| *byte == 0);
            settings.any(|setting| setting.starts_with(lab.as_bytes()))
        })
        .collect()
}

#[test]
fn wrong_wishes_are_refused_before_anything_is_brought_up() {
    for words in [&["--runs", "0"][..], &["--min-delivery", "0"], &["--background", "1"]] {
        let words = [&["bench", "compare"], words].concat();
        let child = laxity(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = finish(child);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words[2]), "{}", text(&output.stderr));
    }
}
