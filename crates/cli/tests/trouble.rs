//! What goes wrong, and what is said about it.

mod common;

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use common::{Receiver, key, laxity, run, sample, text};

#[test]
fn a_wrong_key_is_told_soon_and_clearly() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (key(folder.path(), "ours"), key(folder.path(), "theirs"));
    let (from, _) = sample(folder.path(), "a", 1000);
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--key-file", &theirs]);
    let started = Instant::now();
    for protection in [&["--key-file", &ours][..], &["--insecure"]] {
        let words = ["send", from.to_str().unwrap(), "--to", &receiver.address];
        let sent = run(&[&words[..], protection].concat());
        let said = text(&sent.stderr);
        assert_eq!(sent.status.code(), Some(1), "{said}");
        assert!(said.contains(&receiver.address) && said.contains("key"), "{said}");
        assert!(said.contains("same key file"), "{said}");
    }
    assert!(started.elapsed() < Duration::from_secs(6), "3 s each");
    assert!(!to.exists());
}

#[test]
fn nobody_there_is_said_with_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = sample(folder.path(), "a", 1000);
    // Bound, so that nobody else takes it, and silent.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let words = ["send", from.to_str().unwrap(), "--to", &address, "--insecure"];
    let sent = run(&[&words[..], &["--connect-timeout", "300ms"]].concat());
    let said = text(&sent.stderr);
    assert_eq!(sent.status.code(), Some(1), "{said}");
    assert!(said.contains(&address) && said.contains("laxity recv"), "{said}");
    assert!(said.contains("laxity doctor"), "{said}");
}

#[test]
fn names_that_leave_the_folder_are_refused_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = sample(folder.path(), "a", 1000);
    let inbox = folder.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    let before = fs::read_dir(folder.path()).unwrap().count();
    let receiver = Receiver::start(&[inbox.to_str().unwrap(), "--insecure", "--count", "4"]);
    let absolute = folder.path().join("evil").display().to_string();
    for label in ["../evil", &absolute, "sub/evil", ".evil"] {
        let words = ["send", from.to_str().unwrap(), "--to", &receiver.address, "--insecure"];
        let sent = run(&[&words[..], &["--label", label]].concat());
        let said = text(&sent.stderr);
        assert_eq!(sent.status.code(), Some(1), "{label}: {said}");
        assert!(said.contains("--label"), "{said}");
    }
    let received = receiver.finish();
    assert_eq!(received.status.code(), Some(1));
    assert!(text(&received.stderr).contains("was refused"), "{}", text(&received.stderr));
    assert_eq!(fs::read_dir(&inbox).unwrap().count(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
}

#[test]
fn what_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = sample(folder.path(), "a", 100_000);
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--insecure", "--max-bytes", "10KiB"]);
    let sent = run(&["send", from.to_str().unwrap(), "--to", &receiver.address, "--insecure"]);
    assert_eq!(sent.status.code(), Some(1));
    assert!(text(&sent.stderr).contains("larger"), "{}", text(&sent.stderr));
    let received = receiver.finish();
    assert_eq!(received.status.code(), Some(1));
    assert!(text(&received.stderr).contains("--max-bytes"), "{}", text(&received.stderr));
    assert!(!to.exists());
}

#[test]
fn what_was_sent_before_a_failure_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (small, bytes) = sample(folder.path(), "small", 1000);
    let (large, _) = sample(folder.path(), "large", 100_000);
    let inbox = folder.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    let limits = ["--max-bytes", "10KiB", "--count", "2"];
    let words = [&[inbox.to_str().unwrap(), "--insecure"], &limits[..]].concat();
    let receiver = Receiver::start(&words);
    let files = [small.to_str().unwrap(), large.to_str().unwrap()];
    let to = ["--to", &receiver.address, "--insecure", "--json"];
    let sent = run(&[&["send"], &files[..], &to[..]].concat());
    let said = text(&sent.stderr);
    assert_eq!(sent.status.code(), Some(1), "{said}");
    assert!(said.contains("large`") && said.contains("larger"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(report["meta"]["stopped_early"], true, "{report}");
    let rows = report["rows"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["label"] == "small"), "{report}");
    receiver.finish();
    assert!(fs::read(inbox.join("small")).unwrap() == bytes);
}

#[test]
fn an_interrupted_receiver_says_so_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--insecure"]);
    let id = receiver.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let received = receiver.finish();
    assert_eq!(received.status.code(), Some(130));
    assert!(text(&received.stderr).contains("interrupted"), "{}", text(&received.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_signal_that_is_sent_twice_at_once_is_one_request_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--insecure"]);
    let id = receiver.id().to_string();
    // As `timeout` does, which sends it to the process and to its group. It may be gone by then.
    for _ in 0..2 {
        let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status().unwrap();
    }
    let received = receiver.finish();
    let said = text(&received.stderr);
    assert_eq!(received.status.code(), Some(143), "{:?}: {said}", received.status);
    assert!(said.contains("told to stop"), "{said}");
}

#[test]
fn an_interrupted_stream_is_told_to_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--insecure"]);
    let words = ["send", "-", "--to", &receiver.address, "--insecure", "--segment", "64KiB"];
    let mut sender = laxity(&words);
    sender.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut sender = sender.spawn().unwrap();
    let mut stdin = sender.stdin.take().unwrap();
    stdin.write_all(&[7; 200_000]).unwrap();
    let draft = || fs::read_dir(folder.path()).unwrap().next().is_some();
    let started = Instant::now();
    while !draft() && started.elapsed() < common::PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = receiver.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let received = receiver.finish();
    assert_eq!(received.status.code(), Some(130), "{}", text(&received.stderr));
    assert!(text(&received.stderr).contains("`stdin`"), "{}", text(&received.stderr));
    assert!(!draft(), "nothing is left");
    drop(stdin);
    let sent = common::finish(sender);
    assert_eq!(sent.status.code(), Some(1), "{}", text(&sent.stderr));
    assert!(text(&sent.stderr).contains("127.0.0.1"), "{}", text(&sent.stderr));
}

#[test]
fn waiting_has_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("b");
    let words = ["recv", to.to_str().unwrap(), "--bind", "127.0.0.1:0", "--insecure"];
    let received = run(&[&words[..], &["--timeout", "200ms"]].concat());
    assert_eq!(received.status.code(), Some(1));
    assert!(text(&received.stderr).contains("200ms"), "{}", text(&received.stderr));
}

#[test]
fn wrong_usage_is_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = sample(folder.path(), "a", 10);
    let from = from.to_str().unwrap();
    let send = |words: &[&str]| run(&[&["send", from, "--to", "127.0.0.1:1"], words].concat());

    let keyless = send(&[]);
    assert_eq!(keyless.status.code(), Some(2));
    assert!(text(&keyless.stderr).contains("laxity keygen"), "{}", text(&keyless.stderr));
    for words in [
        &["--insecure", "--key-file", "k"][..],
        &["--insecure", "--min-delivery", "2"],
        &["--insecure", "--element", "f32"],
        &["--insecure", "--group", "0..4=1", "--group", "2..6=1"],
        &["--insecure", "--group", "0..1MiB=1"],
        &["--insecure", "--deadline", "5"],
    ] {
        let output = send(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn the_environment_names_the_key_and_flags_go_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = sample(folder.path(), "a", 10);
    let to = folder.path().join("b");
    let key = key(folder.path(), "k");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--key-file", &key]);
    let words = ["send", from.to_str().unwrap(), "--to", &receiver.address];
    let sent = laxity(&words).env("LAXITY_KEY_FILE", &key).output().unwrap();
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let mut wrong = laxity(&words);
    wrong.args(["--key-file", "/nowhere"]).env("LAXITY_KEY_FILE", &key);
    assert!(text(&wrong.output().unwrap().stderr).contains("/nowhere"));
}

#[test]
fn results_that_could_not_be_written_are_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("no/file").display().to_string();
    let nowhere = nowhere.as_str();
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    let under = plain.join("folder").display().to_string();
    for words in [
        &["recv", nowhere, "--bind", "127.0.0.1:0", "--insecure", "--timeout", "1s"][..],
        &["recv", "-", "--missing", nowhere, "--bind", "127.0.0.1:0", "--insecure"],
        &["train", "--quick", "--svg", nowhere],
        &["train", "--quick", "--checkpoint", nowhere],
        &["train", "--quick", "--resume", nowhere],
        &["bench", "compare", "--html", nowhere],
        &["bench", "compare", "--svg", &under],
        &["bench", "allreduce", "--svg", nowhere],
    ] {
        let output = run(words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.starts_with("error: cannot ") && said.contains("try:"), "{words:?}: {said}");
        assert_eq!(said.matches("error:").count(), 1, "once, and not by every rank: {said}");
    }
}

#[test]
fn values_that_mean_nothing_are_refused() {
    let config = |words: &[&str]| run(&[&["switch-config", "--for", "tc"], words].concat());
    for words in [&[][..], &["--rate", "0bps"], &["--rate", "1Gbps", "--mtu", "0B"]] {
        let output = config(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
    }
    assert_eq!(run(&["sim", "bench", "--runs", "0"]).status.code(), Some(2));
    let buffer = run(&["train", "--lab", "--buffer", "0B"]);
    assert_eq!(buffer.status.code(), Some(2));
    assert!(text(&buffer.stderr).contains("--buffer"), "{}", text(&buffer.stderr));
}

/// Such as on a terminal that has gone: it panicked, with exit code 101.
#[test]
fn an_error_that_nobody_can_read_is_still_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = laxity(&["keygen", "/nowhere/k"]);
    let status = command.stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
