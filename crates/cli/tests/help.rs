//! What the command says about itself.

mod common;

use common::{run, text};

fn help(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success());
    text(&output.stdout)
}

#[test]
fn help_texts() {
    insta::assert_snapshot!("help", help(&["--help"]));
    insta::assert_snapshot!("help_keygen", help(&["keygen", "--help"]));
    insta::assert_snapshot!("help_send", help(&["send", "--help"]));
    insta::assert_snapshot!("help_recv", help(&["recv", "--help"]));
    insta::assert_snapshot!("help_switch_config", help(&["switch-config", "--help"]));
    insta::assert_snapshot!("help_doctor", help(&["doctor", "--help"]));
    insta::assert_snapshot!("help_lab", help(&["lab", "--help"]));
    insta::assert_snapshot!("help_lab_run", help(&["lab", "run", "--help"]));
    insta::assert_snapshot!("help_lab_exec", help(&["lab", "exec", "--help"]));
    insta::assert_snapshot!("help_plan", help(&["plan", "--help"]));
    insta::assert_snapshot!("help_sim", help(&["sim", "--help"]));
    insta::assert_snapshot!("help_sim_run", help(&["sim", "run", "--help"]));
    insta::assert_snapshot!("help_sim_sweep", help(&["sim", "sweep", "--help"]));
    insta::assert_snapshot!("help_reproduce", help(&["reproduce", "--help"]));
    insta::assert_snapshot!("help_bench_allreduce", help(&["bench", "allreduce", "--help"]));
    insta::assert_snapshot!("help_train", help(&["train", "--help"]));
    insta::assert_snapshot!("help_controller", help(&["controller", "--help"]));
    insta::assert_snapshot!("help_controller_status", help(&["controller", "status", "--help"]));
    insta::assert_snapshot!("help_why", help(&["why", "--help"]));
}

#[test]
fn version() {
    assert_eq!(help(&["--version"]), format!("laxity {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = help(&["completions", shell]);
        assert!(script.contains("keygen") && script.contains("min-delivery"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man1");
    assert!(run(&["man", "--out", out.to_str().unwrap()]).status.success());
    for page in
        ["laxity", "laxity-send", "laxity-recv", "laxity-keygen", "laxity-doctor", "laxity-lab"]
    {
        let page = std::fs::read_to_string(out.join(format!("{page}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS"), "{page}");
    }
    assert!(help(&["man"]).contains(".TH laxity 1"));
}

#[test]
fn the_schema_of_lab_files_is_json() {
    let schema: serde_json::Value = serde_json::from_str(&help(&["lab", "schema"])).unwrap();
    assert!(schema["properties"]["hosts"].is_object(), "{schema}");
}
