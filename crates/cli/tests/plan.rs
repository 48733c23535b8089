//! `laxity plan`: plans, pictures, models, traces.

mod common;

use common::{run, text};
use serde_json::Value;

fn example(name: &str) -> String {
    format!("{}/../../examples/plan/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn json(words: &[&str]) -> Value {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows(value: &Value) -> &Vec<Value> {
    value["rows"].as_array().unwrap()
}

#[test]
fn figure_one_ends_as_the_paper_says() {
    let file = example("figure1.toml");
    let all = json(&["plan", &file, "--compare", "--json"]);
    let end = |scheme: &str| {
        let row = rows(&all).iter().find(|row| row["scheme"] == scheme).unwrap();
        row["end_ms"].as_f64().unwrap()
    };
    assert_eq!((end("madd"), end("priority"), end("combined")), (2500.0, 2000.0, 2000.0));
}

#[test]
fn a_plan_has_reasons_and_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("plan.svg");
    let (file, out) = (example("figure1.toml"), svg.to_str().unwrap());
    let plan = json(&["plan", &file, "--scheme", "priority", "--explain", "--svg", out, "--json"]);
    let kind = |what: &str| rows(&plan).iter().filter(|row| row["what"] == what).count();
    assert_eq!((kind("operation"), kind("flow")), (3, 2));
    let waits = rows(&plan).iter().find(|row| row["name"] == "f2" && row["what"] == "decision");
    let reason = waits.unwrap()["reason"].as_str().unwrap();
    assert!(reason.contains("waits") && reason.contains("switch->h2"), "{reason}");
    let picture = std::fs::read_to_string(svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("c3"));

    let output = run(&["plan", &file, "--explain"]);
    assert!(text(&output.stdout).contains("reason"), "{}", text(&output.stdout));
}

#[test]
fn other_examples_run() {
    let plan = json(&["plan", &example("two-jobs.toml"), "--compare", "--json"]);
    assert_eq!(rows(&plan).len(), 11);
    let (job, net) = (example("job.toml"), example("network.toml"));
    let plan = json(&["plan", &job, "--network", &net, "--scheme", "deadline", "--json"]);
    assert_eq!(rows(&plan).len(), 2);
    assert!(rows(&plan).iter().all(|row| row["late_ms"].as_f64().unwrap() <= 0.0), "{plan}");
    let trace = json(&["plan", "trace", &example("coflows.txt"), "--json"]);
    assert_eq!(rows(&trace).len(), 4);
    assert!(rows(&trace).iter().all(|row| row["mean_s"].as_f64().unwrap() > 0.0));
}

#[test]
fn models_are_shown() {
    let list = json(&["plan", "profile", "list", "--json"]);
    assert_eq!(rows(&list).len(), 22);
    assert_eq!(rows(&list).iter().filter(|row| row["paper"] == true).count(), 11);
    let steps = json(&["plan", "profile", "cifarnet", "--json"]);
    assert_eq!(rows(&steps).len(), 10);
    let training = json(&["plan", "profile", "cifarnet", "--training", "--json"]);
    assert_eq!(rows(&training).len(), 8);
}

#[test]
fn what_cannot_be_planned_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let good = std::fs::read_to_string(example("figure1.toml")).unwrap();
    for (from, to, words) in [
        ("needs = [\"f2\"]", "needs = [\"f9\"]", "there is no flow `f9`"),
        ("from = \"h0\"", "from = \"h9\"", "jobs[0].flows[0].from"),
        ("size = \"62.5MB\", priority = 0", "size = -5, priority = 0", "-5"),
        (
            "takes = \"500ms\", needs = [\"f1\"]",
            "takes = \"500ms\", after = [\"c3\"]",
            "waits for itself",
        ),
        ("priority = 0", "release = \"2s\", deadline = \"1s\"", "before its release"),
        ("priority = 0", "route = [\"h0\", \"h2\"]", "there is no link from `h0` to `h2`"),
        ("[network]", "[netwrk]", "unknown field `netwrk`"),
    ] {
        assert!(good.contains(from), "{from}");
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let output = run(&["plan", path.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "{words}: {said}");
    }
}
