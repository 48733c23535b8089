//! Training with a parameter server in a lab: workers, the server and its helpers each in a host of
//! their own, some of them killed. Skipped, with the reason, where a lab is impossible.

mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::{Child, Output},
    time::{Duration, Instant},
};

use common::{
    finish_within, json,
    lab::{LONG, Place, environment, inside, kill},
    text,
    train::{QUICK, ends, nothing_acknowledged_is_lost, number},
};

/// A slow network that loses packets, with little to do for the machine.
const NETWORK: [&str; 5] = ["--lab", "--rate", "100Mbps", "--loss", "1%"];

#[test]
fn every_mode_trains_in_a_lab_over_both_transports() {
    let Some(place) = Place::new() else { return };
    for mode in ["sync", "async", "ssp"] {
        let words = ["--mode", mode, "--ranks", "2", "--min-delivery", "0.9"];
        let rows = ends(&mut place.laxity(&[QUICK, &NETWORK, &words].concat()));
        assert_eq!(rows.len(), 2, "{rows:?}");
        for row in rows {
            assert_eq!(row["mode"], mode);
            assert!(row["lab_valid"].is_boolean(), "{row}");
            assert!(number(&row, "delivered") >= 0.9, "{row}");
            assert!(number(&row, "test_loss").is_finite(), "{row}");
            match mode {
                "sync" => assert_eq!(number(&row, "acknowledged"), 2.0 * number(&row, "commits")),
                _ => nothing_acknowledged_is_lost(&row),
            }
        }
    }
}

/// A training that goes on for long.
struct Long<'a> {
    place: &'a Place,
    child: Child,
    lab: String,
    /// Its checkpoints.
    files: [PathBuf; 2],
}

impl<'a> Long<'a> {
    /// Starts it, and waits until its first transport has finished an epoch.
    fn start(place: &'a Place, words: &[&str]) -> Self {
        let saved = place.path().join("saved");
        let checkpoint = ["--checkpoint", saved.to_str().unwrap(), "--epochs", "100000"];
        let words = [QUICK, &NETWORK, words, &checkpoint].concat();
        let files = ["tcp", "laxity"].map(|transport| saved.with_extension(transport));
        // What a killed training cannot take away, its key, goes with the test's folder.
        let child = place.laxity(&words).env("TMPDIR", place.path()).spawn().unwrap();
        let lab = format!("train-{}", child.id());
        let mut training = Self { place, child, lab, files };
        training.next_epoch();
        training
    }

    /// Waits until an epoch has ended.
    fn next_epoch(&mut self) {
        self.files.iter().for_each(|file| drop(fs::remove_file(file)));
        let until = Instant::now() + LONG;
        while !self.files.iter().any(|file| file.exists()) {
            let over = self.child.try_wait().unwrap();
            assert!(over.is_none(), "over already: {over:?}");
            assert!(Instant::now() < until, "no epoch ended");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process of a rank.
    fn rank(&self, rank: u32) -> u32 {
        let is = |process: &u32| environment(*process, "RANK") == Some(rank.to_string());
        inside(&self.lab).into_iter().find(is).expect("it lives")
    }

    /// Waits for its end, after which nothing may be left of it.
    fn end(self) -> Output {
        let output = finish_within(self.child, LONG);
        self.place.nothing_left(&self.lab);
        output
    }
}

#[test]
fn every_process_has_a_host_of_its_own_and_a_killed_leader_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    let words = ["--mode", "async", "--ranks", "2", "--replica", "--aggregators", "1"];
    let training = Long::start(&place, &words);
    let hosts =
        inside(&training.lab).into_iter().filter_map(|one| environment(one, "LAXITY_LAB_HOST"));
    let hosts: BTreeSet<_> = hosts.collect();
    // Two workers, server, replica, aggregator and scheduler.
    let expect = ["h1", "h2", "h3", "h4", "h5", "h6"].map(str::to_owned);
    assert_eq!(hosts, BTreeSet::from(expect));
    kill(training.child.id(), "-KILL");
    assert_eq!(training.end().status.code(), None);
}

#[test]
fn files_are_written_beside_other_traffic_and_nothing_is_left() {
    let Some(place) = Place::new() else { return };
    let words = ["--mode", "ssp", "--ranks", "2", "--replica", "--aggregators", "1"];
    let more = ["--background", "0.2", "--checkpoint", "saved", "--svg", "points.svg"];
    for row in ends(&mut place.laxity(&[QUICK, &NETWORK, &words, &more].concat())) {
        nothing_acknowledged_is_lost(&row);
    }
    let model = |transport: &str| fs::read(place.path().join("saved").with_extension(transport));
    assert_eq!(model("tcp").unwrap().len(), model("laxity").unwrap().len());
    assert!(fs::read_to_string(place.path().join("points.svg")).unwrap().contains("</svg>"));
    assert_eq!(fs::read_dir(place.path().join("run")).unwrap().count(), 0);
}

#[test]
fn the_job_goes_on_without_a_killed_worker_or_server() {
    let Some(place) = Place::new() else { return };
    let words = ["--ranks", "3", "--replica", "--epochs", "2"];
    for (mode, victim, promotions) in
        [("async", "worker", 0), ("sync", "worker", 0), ("async", "server", 1)]
    {
        let kill = ["--mode", mode, "--kill", victim];
        for row in ends(&mut place.laxity(&[QUICK, &NETWORK, &words, &kill].concat())) {
            assert_eq!(
                (&row["killed"], &row["promotions"]),
                (&victim.into(), &promotions.into()),
                "{row}"
            );
            if mode == "async" {
                nothing_acknowledged_is_lost(&row);
            }
        }
    }
}

#[test]
fn the_first_worker_may_be_killed_although_all_have_met_at_it() {
    let Some(place) = Place::new() else { return };
    for transport in ["tcp", "laxity"] {
        let words = ["--mode", "async", "--ranks", "2", "--transport", transport];
        let mut training = Long::start(&place, &words);
        kill(training.rank(0), "-KILL");
        // One that it may have written before, and one of the other's.
        training.next_epoch();
        training.next_epoch();
        kill(training.child.id(), "-INT");
        let output = training.end();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("note: rank 0, a worker in host h1, ended with signal: 9"), "{said}");
    }
}

#[test]
fn a_server_that_is_lost_with_nobody_to_follow_ends_the_job_with_its_name() {
    let Some(place) = Place::new() else { return };
    for transport in ["tcp", "laxity"] {
        let words = ["--mode", "async", "--ranks", "2", "--transport", transport];
        let training = Long::start(&place, &words);
        kill(training.rank(2), "-KILL");
        let output = training.end();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("rank 2, a server in host h3, ended with signal: 9"), "{said}");
        assert!(said.contains("With --replica"), "{said}");
    }
}

#[test]
fn an_interrupt_shows_what_was_trained_and_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    let training = Long::start(&place, &["--mode", "async", "--ranks", "2", "--replica"]);
    kill(training.child.id(), "-INT");
    let output = training.end();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let report = json(&output);
    assert_eq!(report["meta"]["stopped_early"], true, "{}", report["meta"]);
    assert!(report["rows"][0]["score"].is_number(), "{}", report["rows"][0]);
    assert!(said.contains("until then is shown"), "{said}");
}
