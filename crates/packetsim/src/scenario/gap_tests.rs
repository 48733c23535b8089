//! Messages that become ready one by one, as files say it.

use laxity_interface::Span;

use super::{FileError, Ran, Scenario, Task, run_all};
use crate::{
    flow::Ready,
    workload::{GapShape, Gaps},
};

const HEAD: &str = "topology = { kind = 'star', hosts = 6, rate = '8Gbps', delay = '1us' }\n";

fn read(work: &str) -> Result<Scenario, FileError> {
    let work = format!("[[workloads]]\nscheme = 'dctcp-es'\nmessages = 40\n{work}\n");
    Scenario::from_toml(&format!("{HEAD}{work}"))
}

fn gaps(work: &str) -> Gaps {
    read(work).unwrap().point(0).workloads[0].gaps()
}

#[test]
fn gaps_are_what_the_file_says() {
    let random = "kind = 'random'\nsize = '1KB'\n";
    let with = |rest: &str| gaps(&format!("{random}{rest}"));
    let one_by_one = |shape, mean| Gaps::OneByOne { shape, mean };
    assert_eq!(gaps(random), Gaps::AtOnce);
    assert_eq!(with("arrivals = 'at-once'"), Gaps::AtOnce);
    let us = Span::from_us;
    assert_eq!(with("arrivals = '20us'"), one_by_one(GapShape::Even, us(20)));
    // 1000 bytes at half of 8 Gbit/s, and at more than the line has.
    let half = "arrivals = 'exponential'\narrival-load = 0.5";
    assert_eq!(with(half), one_by_one(GapShape::Exponential, us(2)));
    let twice = "arrivals = 'even'\narrival-load = 2";
    assert_eq!(with(twice), one_by_one(GapShape::Even, Span::from_ns(500)));
    // The study's own gap, whatever the line.
    let mean = GapShape::KeyValue.published().unwrap();
    assert_eq!(with("arrivals = 'fbkv'"), one_by_one(GapShape::KeyValue, mean));
    let poisson = "kind = 'poisson'\nsize = '1KB'\nload = 0.3\ncount = 9\n";
    assert_eq!(gaps(&format!("{poisson}{half}")), one_by_one(GapShape::Exponential, us(2)));
    assert!(one_by_one(GapShape::Even, us(2)).in_words().unwrap().contains("2us apart"));
}

#[test]
fn what_is_wrong_with_gaps_is_said_with_a_remedy() {
    let random = "kind = 'random'\nsize = '1KB'\n";
    for (rest, line, field, words) in [
        ("arrivals = 'soon'", None, "", "20us"),
        ("arrivals = 'even'", Some(7), "arrivals", "`arrival-load`"),
        ("arrival-load = 0.5", Some(7), "arrival-load", "`arrivals"),
        ("arrivals = '20us'\narrival-load = 0.5", Some(8), "arrival-load", "one of them"),
        ("arrivals = 'fbkv'\narrival-load = 0", Some(8), "arrival-load", "above 0"),
    ] {
        let error = read(&format!("{random}{rest}")).map(|_| ()).expect_err(rest);
        let said = error.to_string();
        assert!(said.contains(words) && said.contains("line"), "{rest}: {said}");
        let path = error.path().unwrap_or_default().trim_start_matches("workloads[0].");
        assert_eq!((error.line(), path), (line, field), "{said}");
    }
    // Workloads without messages of their own have none.
    let ring = read("kind = 'ring-all-reduce'\nbytes = '1MB'\narrivals = '1us'").unwrap_err();
    assert!(ring.to_string().contains("no such field"), "{ring}");
}

#[test]
fn loads_can_be_swept_and_two_threads_find_what_one_finds() {
    let scenario = read(
        "kind = 'incast'\nsize = 'fbkv'\nmin-delivery = 0.7\narrivals = ['at-once', 'fbkv']\n\
         arrival-load = [0.2, 1.0]",
    );
    let tasks = scenario.unwrap().tasks();
    assert_eq!(tasks.len(), 4);
    let run = |threads| {
        let keep = |_: &Task, ran: Ran| {
            let last = |started: &crate::workload::Started| match &started.flow.ready {
                Ready::AtOnce => Span::ZERO,
                Ready::Each(times) => times[times.len() - 1],
            };
            let ready = ran.started.iter().map(last).max().unwrap();
            (ran.outcome.trace_hash, ready, ran.outcome.end)
        };
        run_all(&tasks, threads, keep).unwrap()
    };
    let one = run(1);
    assert_eq!(one, run(2));
    let [(a, ..), slow, (b, ..), fast] = one[..] else { panic!("four points") };
    assert_eq!(a, b, "a load means nothing where all is there");
    assert!(slow.1 > fast.1 * 4, "{slow:?} {fast:?}");
}
