//! `laxity bench transfer` and `laxity demo`: they run, keep to the shape of their JSON, and what the
//! demo promises is checked by the demo itself. Speed is not judged here: tests share the machine.

mod common;

use common::{run, text};
use serde_json::Value;

fn report(words: &[&str]) -> Value {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn bench_transfer_compares_all_schemes_at_all_sizes() {
    let sizes = "4KiB,1MiB";
    let report = report(&["bench", "transfer", "--json", "--seconds", "0.1", "--sizes", sizes]);
    assert_eq!(report["meta"]["tcp_control"], "cubic");
    let rows = report["rows"].as_array().unwrap();
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (row["bytes"].as_u64().unwrap(), row["scheme"].as_str().unwrap()))
        .collect();
    let schemes = ["tcp", "laxity", "laxity-insecure"];
    let expect: Vec<_> =
        [4096, 1 << 20].into_iter().flat_map(|bytes| schemes.map(|s| (bytes, s))).collect();
    assert_eq!(seen, expect);
    for row in rows {
        for field in ["goodput_gbps", "p50_us", "p99_us", "cpu_s_per_gb"] {
            assert!(row[field].as_f64().unwrap() > 0.0, "{field} of {row}");
        }
        assert!(row["p99_us"].as_f64() >= row["p50_us"].as_f64());
    }
}

#[test]
fn bench_transfer_to_nowhere_says_so() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = run(&["bench", "transfer", "--to", &free.to_string(), "--sizes", "4KiB"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(&free.to_string()));
}

#[test]
fn demo_delivers_what_it_promises_and_draws_it() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let report = report(&[
        "demo",
        "--embedded",
        "--json",
        "--out",
        folder,
        "--size",
        "200KB",
        "--runs",
        "2",
        "--rate",
        "100Mbps",
        "--loss",
        "0%,5%",
        "--min-delivery",
        "1,0.9",
    ]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert!(row["delivered_min"].as_f64() >= row["min_delivery"].as_f64(), "{row}");
        assert!(row["over_size_by_rate"].as_f64().unwrap() >= 0.9, "faster than the link: {row}");
    }
    let picture = std::fs::read_to_string(out.path().join("demo.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("at least 90 %"));
    assert!(std::fs::read_to_string(out.path().join("demo.html")).unwrap().contains("</html>"));
}
