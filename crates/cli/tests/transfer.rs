//! `laxity send` and `laxity recv` over loopback.

mod common;

use std::{fs, io::Write, process::Stdio};

use common::{Receiver, finish, json, key, laxity, run, sample, text};

#[test]
fn a_file_arrives_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "k");
    let (from, bytes) = sample(folder.path(), "weights.bin", 3_000_004);
    let to = folder.path().join("copy.bin");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--key-file", &key, "--json"]);
    let words = ["send", from.to_str().unwrap(), "--to", &receiver.address, "--key-file", &key];
    let extra = ["--element", "f32", "--min-delivery", "99%", "--group", "0..1MiB=1", "--json"];
    let sent = run(&[&words[..], &extra].concat());
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let received = receiver.finish();
    assert!(received.status.success(), "{}", text(&received.stderr));

    let (sent, received) = (json(&sent), json(&received));
    for report in [&sent, &received] {
        let meta = &report["meta"];
        assert!(meta["command"].as_str().unwrap().starts_with("laxity "), "{meta}");
        assert!(meta["version"].is_string() && meta["cores"].is_u64(), "{meta}");
        assert!(meta["seconds"].as_f64().unwrap() > 0.0, "{meta}");
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2, "one per group");
        for (row, group) in rows.iter().zip(0..) {
            assert_eq!((&row["group"], &row["label"]), (&group.into(), &"weights.bin".into()));
            assert_eq!(row["bytes"], bytes.len());
            let number =
                |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"));
            assert!(number("received") >= number("required"), "{row}");
            assert!(number("required") <= number("total"), "{row}");
            assert!((0.0..=1.0).contains(&number("fraction")), "{row}");
            assert!((0.0..=1.0).contains(&number("loss_rate")), "{row}");
            assert!(number("elapsed_ms") > 0.0 && number("goodput_gbps") > 0.0, "{row}");
            assert!(number("missing_ranges") <= number("missing_bytes"), "{row}");
            assert!(row["repeated"].is_u64() && row["ended"].is_string(), "{row}");
        }
        assert_eq!(rows[1]["fraction"], 1.0, "the first MiB was to arrive whole");
    }
    for (a, b) in sent["rows"].as_array().unwrap().iter().zip(received["rows"].as_array().unwrap())
    {
        assert_eq!(
            (&a["received"], &a["ended"]),
            (&b["received"], &b["ended"]),
            "both know the same"
        );
    }
    let copy = fs::read(&to).unwrap();
    assert_eq!(copy.len(), bytes.len());
    assert!(copy[..1 << 20] == bytes[..1 << 20]);
    if sent["rows"][0]["missing_bytes"] == 0 {
        assert!(copy == bytes);
    }
}

#[test]
fn everything_is_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let (from, bytes) = sample(folder.path(), "a", 2_000_001);
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--insecure"]);
    let sent = run(&["send", from.to_str().unwrap(), "--to", &receiver.address, "--insecure"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(text(&sent.stdout).contains("complete"), "{}", text(&sent.stdout));
    assert!(receiver.finish().status.success());
    assert!(fs::read(&to).unwrap() == bytes);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
}

#[test]
fn stdin_becomes_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bytes) = sample(folder.path(), "a", 1_000_003);
    let receiver = Receiver::start(&["-", "--insecure", "--json"]);
    // Sixteen jobs, the last one shorter.
    let words =
        ["send", "-", "--to", &receiver.address, "--insecure", "--segment", "64KiB", "--json"];
    let mut sender = laxity(&words);
    let mut sender =
        sender.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = sender.stdin.take().unwrap();
    stdin.write_all(&bytes).unwrap();
    drop(stdin);
    let sent = finish(sender);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert_eq!(json(&sent)["rows"][0]["jobs"], 16);
    let received = receiver.finish();
    assert!(received.status.success(), "{}", text(&received.stderr));
    assert!(received.stdout == bytes, "{} bytes", received.stdout.len());
    assert!(text(&received.stderr).contains("\"jobs\": 16"), "the report is on stderr");
}

#[test]
fn a_stream_becomes_a_file_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (from, bytes) = sample(folder.path(), "a", 300_000);
    let inbox = folder.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    let receiver = Receiver::start(&[inbox.to_str().unwrap(), "--insecure", "--count", "2"]);
    let to = ["--to", &receiver.address, "--insecure"];
    let mut sender = laxity(&[&["send", "--segment", "128KiB", "--label", "s"], &to[..]].concat());
    sender.stdin(fs::File::open(&from).unwrap()).stdout(Stdio::null()).stderr(Stdio::piped());
    let sent = finish(sender.spawn().unwrap());
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(run(&[&["send", from.to_str().unwrap()], &to[..]].concat()).status.success());
    assert!(receiver.finish().status.success());
    assert!(fs::read(inbox.join("s")).unwrap() == bytes);
    assert!(fs::read(inbox.join("a")).unwrap() == bytes);
}

#[test]
fn nothing_is_something_too() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = sample(folder.path(), "empty", 0);
    let to = folder.path().join("b");
    let receiver = Receiver::start(&[to.to_str().unwrap(), "--insecure"]);
    let sent = run(&["send", from.to_str().unwrap(), "--to", &receiver.address, "--insecure"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(receiver.finish().status.success());
    assert_eq!(fs::read(&to).unwrap(), b"");
}
