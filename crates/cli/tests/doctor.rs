//! `laxity doctor`.

mod common;

use std::{fs, os::unix::fs::PermissionsExt};

use common::{Receiver, json, key, run, text};

fn status<'a>(report: &'a serde_json::Value, check: &str) -> &'a serde_json::Value {
    let rows = report["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["check"] == check);
    row.unwrap_or_else(|| panic!("{check} in {report}"))
}

fn every_trouble_has_a_remedy(report: &serde_json::Value) {
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.len() > 10, "{report}");
    for row in rows {
        let found = row["found"].as_str().unwrap();
        assert!(!found.is_empty(), "{row}");
        match row["status"].as_str().unwrap() {
            "ok" => assert!(row["remedy"].is_null(), "{row}"),
            "warn" | "fail" => assert!(!row["remedy"].as_str().unwrap().is_empty(), "{row}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_machine_alone() {
    let output = run(&["doctor", "--json"]);
    let report = json(&output);
    every_trouble_has_a_remedy(&report);
    let rows = report["rows"].as_array().unwrap();
    let failed = rows.iter().any(|row| row["status"] == "fail");
    assert_eq!(output.status.code(), Some(i32::from(failed)));
}

#[test]
fn a_peer_that_answers_and_one_that_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "k");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--key-file", &key]);
    let output = run(&["doctor", "--to", &receiver.address, "--key-file", &key, "--json"]);
    let report = json(&output);
    every_trouble_has_a_remedy(&report);
    let peer = status(&report, "peer");
    assert_eq!(peer["status"], "ok", "{peer}");
    assert!(peer["found"].as_str().unwrap().contains("round trip"), "{peer}");
    assert_eq!(status(&report, "key")["status"], "warn", "others can read it");

    let output = run(&["doctor", "--to", &receiver.address, "--insecure", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = json(&output);
    every_trouble_has_a_remedy(&report);
    let peer = status(&report, "peer");
    assert_eq!(peer["status"], "fail", "{peer}");
    assert!(peer["found"].as_str().unwrap().contains(&receiver.address), "{peer}");
}

#[test]
fn who_asked_the_doctor_is_not_sent_to_the_doctor() {
    // Kept, so that nobody else has the port.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let words = ["doctor", "--to", &to, "--insecure", "--connect-timeout", "100ms", "--json"];
    let report = json(&run(&words));
    let peer = status(&report, "peer");
    assert_eq!(peer["status"], "fail", "{peer}");
    let remedy = peer["remedy"].as_str().unwrap();
    assert!(remedy.contains("laxity recv") && !remedy.contains("doctor"), "{remedy}");
}
