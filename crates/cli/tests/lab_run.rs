//! `laxity lab run`: programs, their output, their ends.

mod common;

use std::{fs, process::Stdio};

use common::{
    finish, json,
    lab::{Place, eventually, kill, processes_with},
    text,
};

const HOSTS: &str = "hosts = [{ name = 'h', count = 2 }]\n";

#[test]
fn output_is_collected_and_everything_ends() {
    let Some(place) = Place::new() else { return };
    let programs = "
        [[programs]]
        host = 'h2'
        name = 'server'
        command = ['sleep', '1000']
        server = true
        [[programs]]
        host = 'h1'
        command = 'echo from $(cat /proc/sys/kernel/hostname), $WORD; echo complaint >&2'
        env = { WORD = 'hello' }
        start = '100ms'
        [[programs]]
        host = 'h1'
        command = ['false']
        must-succeed = false
    ";
    let file = place.file("run.toml", &format!("{HOSTS}{programs}"));
    let output = place.run_well(&["lab", "run", &file]);
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    assert!(told.contains("[h1] from h1, hello\n") && told.contains("[h1] complaint\n"), "{told}");
    for word in ["served", "ok", "failed", "h1-2"] {
        assert!(table.contains(word), "{table}");
    }
    let result = json(&place.run_well(&["lab", "run", &file, "--json", "--out", "said"]));
    let rows = result["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["program"] == name).unwrap();
    assert_eq!(row("h1")["stdout"], "from h1, hello\n");
    assert_eq!(row("h1")["stderr"], "complaint\n");
    assert!(row("h1")["start_s"].as_f64().unwrap() >= 0.1);
    assert_eq!((&row("h1-2")["exit_code"], &row("h1-2")["ok"]), (&1.into(), &false.into()));
    assert_eq!(row("server")["outcome"], "served");
    let said = fs::read_to_string(place.path().join("said/h1.out")).unwrap();
    assert_eq!(said, "from h1, hello\n");
    assert_eq!(fs::read_dir(place.path().join("run")).unwrap().count(), 0);
}

#[test]
fn the_lossy_example_runs() {
    let Some(place) = Place::new() else { return };
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lab/lossy.toml");
    let result = json(&place.run_well(&["lab", "run", example, "--json"]));
    let rows = result["rows"].as_array().unwrap();
    let send = rows.iter().find(|row| row["program"] == "send").unwrap();
    assert_eq!((&send["host"], &send["exit_code"]), (&"sender".into(), &0.into()), "{send}");
    // 95 % of 25 MB at 200 Mbit/s, whatever the machine does besides.
    assert!(send["seconds"].as_f64().unwrap() > 0.95, "{send}");
    assert!(rows.iter().any(|row| row["row"] == "switch" && row["late_p99_us"].is_number()));
}

#[test]
fn a_program_that_fails_fails_the_run() {
    let Some(place) = Place::new() else { return };
    for (command, extra, word) in [
        ("'exit 3'", "", "failed"),
        ("'sleep 1000'", "time-limit = '200ms'", "time limit"),
        ("'kill -9 $$'", "", "failed"),
    ] {
        let content = format!("{HOSTS}[[programs]]\nhost = 'h1'\ncommand = {command}\n{extra}\n");
        let file = place.file("bad.toml", &content);
        let output = place.run(&["lab", "run", &file]);
        assert_eq!(output.status.code(), Some(1), "{command}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(word), "{}", text(&output.stdout));
    }
    let content = format!("{HOSTS}[[programs]]\nhost = 'h1'\ncommand = ['none-such']\n");
    let file = place.file("bad.toml", &content);
    let output = place.run(&["lab", "run", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot run `none-such` in h1"));
    assert_eq!(fs::read_dir(place.path().join("run")).unwrap().count(), 0);
}

#[test]
fn an_interrupted_run_ends_everything() {
    let Some(place) = Place::new() else { return };
    let word = format!("{}", 2_000_000 + std::process::id());
    let command = format!("setsid sleep {word} & sleep {word}");
    let content = format!("{HOSTS}[[programs]]\nhost = 'h1'\ncommand = '{command}'\n");
    let file = place.file("long.toml", &content);
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut run = place.laxity(&["lab", "run", &file]);
        // What runs away keeps stderr open, which a test that reads it would wait for.
        let run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let found = || processes_with(&format!("sleep {word}")).len();
        eventually("programs run", || found() >= 3);
        kill(run.id(), signal);
        let output = finish(run);
        assert_eq!(output.status.code(), code);
        eventually("programs are gone", || found() == 0);
        let folder = place.path().join("run");
        eventually("files are gone", || fs::read_dir(&folder).unwrap().count() == 0);
    }
}

#[test]
fn files_that_are_wrong_are_told_so() {
    let Some(place) = Place::new() else { return };
    let file = place.file("none.toml", HOSTS);
    let output = place.run(&["lab", "run", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("[[programs]]"), "{}", text(&output.stderr));
    let file = place.file("wrong.toml", "hosts = [{ name = 'h' }]\nlink = { rate = '5 apples' }");
    let output = place.run(&["lab", "up", &file]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in ["wrong.toml", "5 apples", "rate", "docs/lab.md"] {
        assert!(said.contains(word), "{said}");
    }
    let output = place.run(&["lab", "up", "nowhere.toml"]);
    assert!(text(&output.stderr).contains("examples/lab"), "{}", text(&output.stderr));
}
