//! Experiments that run in seconds: complete, repeatable, and with the verdicts that are published.

use laxity_reproduce::{Findings, Options, find};

fn run(name: &str) -> Findings {
    let experiment = find(name).unwrap().experiment.expect("it runs");
    experiment.run(&Options::quick()).unwrap()
}

/// Claims that hold and that do not, as docs/reproduce.md says.
const QUICK: [(&str, usize, usize); 10] = [
    ("cadentflow-fig1", 2, 0),
    ("cadentflow-flexibility", 3, 0),
    ("cadentflow-inference", 2, 1),
    ("mlfabric-ordering", 3, 0),
    ("mlfabric-aggregation", 3, 0),
    ("mlfabric-links", 3, 0),
    ("mlfabric-replica", 5, 0),
    ("mlfabric-sync", 2, 0),
    ("netapprox-incast", 2, 2),
    ("netapprox-timeline", 2, 1),
];

#[test]
fn verdicts_are_those_of_the_documentation() {
    for (name, hold, fail) in QUICK {
        let findings = run(name);
        let holds = findings.claims.iter().filter(|claim| claim.holds).count();
        let found = (holds, findings.claims.len() - holds);
        assert_eq!(found, (hold, fail), "{name}: {:#?}", findings.claims);
    }
}

#[test]
fn findings_are_complete() {
    for (name, ..) in QUICK {
        let findings = run(name);
        assert!(!findings.rows.is_empty() && !findings.charts.is_empty(), "{name}");
        assert!(!findings.chosen.is_empty(), "{name} says what it chose");
        assert!(findings.charts.iter().all(|chart| chart.svg.starts_with("<svg")), "{name}");
        for column in &findings.columns {
            assert!(findings.rows.iter().any(|row| row.get(column).is_some()), "{name}: {column}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_findings() {
    for name in ["mlfabric-links", "mlfabric-ordering", "netapprox-timeline"] {
        assert_eq!(run(name), run(name), "{name}");
    }
    let links = find("mlfabric-links").unwrap().experiment.unwrap();
    let other = links.run(&Options::quick().seed(2)).unwrap();
    assert_ne!(other.rows, run("mlfabric-links").rows, "contention is random");
}
