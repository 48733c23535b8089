//! `laxity sim`: explaining, running, sweeping, repeating.

mod common;

use common::{run, text};
use serde_json::Value;

fn example(name: &str) -> String {
    format!("{}/../../examples/sim/{name}.toml", env!("CARGO_MANIFEST_DIR"))
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
fn a_list_is_explained_and_run() {
    let file = example("list");
    let output = run(&["sim", "explain", &file]);
    let said = text(&output.stdout);
    for words in
        ["3 hosts", "6 links", "bandwidth-delay product", "3 flows of 6 messages", "packet-hops"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let facts = json(&["sim", "explain", &file, "--json"]);
    assert_eq!((&facts["meta"]["hosts"], &rows(&facts)[0]["packets"]), (&3.into(), &1204.into()));

    let ran = json(&["sim", "run", &file, "--json"]);
    let row = &rows(&ran)[0];
    assert_eq!((&row["flows"], &row["unfinished_flows"]), (&3.into(), &0.into()));
    assert_eq!(row["stopped"], "done");
    // One megabyte at 10 Gbit/s takes 0.83 ms and was not alone.
    let slowest = row["max_flow_ms"].as_f64().unwrap();
    assert!((0.83..2.0).contains(&slowest), "{slowest}");
}

#[test]
fn messages_that_come_one_by_one_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.toml");
    let scenario = "topology = { kind = 'star', hosts = 3, rate = '8Gbps', delay = '1us' }\n[[workloads]]\n\
                    kind = 'random'\nscheme = 'dctcp'\nsize = '1KB'\nmessages = 11\narrivals = 'even'\n\
                    arrival-load = 0.5\n";
    std::fs::write(&file, scenario).unwrap();
    let output = run(&["sim", "explain", file.to_str().unwrap()]);
    let said = text(&output.stdout);
    assert!(said.contains("its messages become ready one by one, 2us apart"), "{said}");
    // Ten gaps, then 1058 bytes over two links of 1 us each.
    assert!(said.contains("a flow takes 24.116 us"), "{said}");
}

#[test]
fn a_sweep_is_the_same_on_one_thread_and_two_and_any_point_can_be_repeated() {
    let (file, folder) = (example("permutation"), tempfile::tempdir().unwrap());
    let out = folder.path().join("results");
    let words = ["sim", "sweep", &file, "--json", "--threads"];
    let sweep = |threads, more: &[&str]| json(&[&words[..], &[threads], more].concat());
    let (one, two) = (sweep("1", &[]), sweep("2", &["--out", out.to_str().unwrap()]));
    assert_eq!(rows(&one), rows(&two));
    assert_eq!(rows(&one).len(), 3);

    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let runs: Value = serde_json::from_str(&read("runs.json")).unwrap();
    let last = rows(&runs).last().unwrap();
    let (point, seed) = (last["point"].to_string(), last["seed"].to_string());
    let again = json(&["sim", "run", &file, "--point", &point, "--seed", &seed, "--json"]);
    assert_eq!(rows(&again)[0]["trace_hash"], last["trace_hash"]);
    let other = json(&["sim", "run", &file, "--point", &point, "--seed", "99", "--json"]);
    assert_ne!(rows(&other)[0]["trace_hash"], last["trace_hash"]);

    assert!(read("results.csv").lines().count() == 4 && read("runs.csv").lines().count() == 4);
    assert!(read("mean.svg").starts_with("<svg") && read("p99.svg").starts_with("<svg"));
    let page = read("report.html");
    assert!(page.contains("--point K --seed N"), "{page}");
    assert!(page.contains(last["trace_hash"].as_str().unwrap()));
}

#[test]
fn captures_and_traces_are_written() {
    let (file, folder) = (example("list"), tempfile::tempdir().unwrap());
    let (pcap, lines) = (folder.path().join("a.pcap"), folder.path().join("a.jsonl"));
    let (pcap_name, lines_name) = (pcap.to_str().unwrap(), lines.to_str().unwrap());
    let ran = json(&["sim", "run", &file, "--pcap", pcap_name, "--trace", lines_name, "--json"]);
    let plain = json(&["sim", "run", &file, "--json"]);
    assert_eq!(
        rows(&ran)[0]["trace_hash"],
        rows(&plain)[0]["trace_hash"],
        "watching changes nothing"
    );
    let capture = std::fs::read(&pcap).unwrap();
    assert_eq!(capture[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    let trace = std::fs::read_to_string(&lines).unwrap();
    let first: Value = serde_json::from_str(trace.lines().next().unwrap()).unwrap();
    assert!(first.is_object(), "{first}");
    let hops = rows(&ran)[0]["packet_hops"].as_u64().unwrap();
    assert!(trace.lines().count() as u64 > hops);
}

#[test]
fn the_bench_has_the_fields_that_were_agreed_on() {
    let bench = json(&["sim", "bench", "--quick", "--runs", "1", "--json"]);
    assert_eq!(rows(&bench).len(), 2);
    let row = &rows(&bench)[0];
    for field in ["packet_hops", "packet_hops_per_s", "ns_per_event", "peak_rss_mib"] {
        assert!(row[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {row}");
    }
    assert!(row["scenario"].is_string());
}

#[test]
fn what_cannot_be_simulated_is_named() {
    let (folder, good) = (tempfile::tempdir().unwrap(), std::fs::read_to_string(example("incast")));
    let (path, good) = (folder.path().join("scenario.toml"), good.unwrap());
    for (from, to, words) in [
        ("\"laxity\"", "\"laxty\"", "there is no scheme `laxty`: laxity, atp-base"),
        ("to = 32", "to = 64", "64 senders and a receiver among 64 hosts"),
        ("senders", "sender", "unknown field `sender`"),
        ("kind = \"leaf-spine\"", "kind = \"leaf-spin\"", "leaf-spine"),
        ("size = \"1460B\"", "size = \"fbvk\"", "fbkv, web-search"),
        ("min-delivery = 0.9", "min-delivery = 90", "90"),
    ] {
        assert!(good.contains(from), "{from}");
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let output = run(&["sim", "run", path.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(words) && said.contains("scenario.toml"), "{words}: {said}");
        assert!(said.contains("line "), "{said}");
    }
    let output = run(&["sim", "run", &example("incast"), "--point", "15"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("0 to 14"), "{}", text(&output.stderr));
}
