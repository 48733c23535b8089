//! `laxity controller` and `laxity why` as people run them, with hosts that are the library's.

mod common;

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::mpsc,
    thread,
    time::Instant,
};

use common::{PATIENCE, finish, json, laxity, run, text};
use laxity_controller::{Access, Agent, AgentOptions, FlowName, Link};
use laxity_fabric::rendezvous::Secret;
use laxity_interface::{Bytes, Flow, FlowId, Job, Rate, Span};

/// A folder with a key and a certificate.
struct Desk {
    folder: tempfile::TempDir,
}

/// A controller that runs, killed when dropped.
struct Running {
    child: Option<Child>,
    address: String,
    stderr: Option<thread::JoinHandle<String>>,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        assert!(run(&["keygen", &desk.path("job.key")]).status.success());
        let made = run(&["controller", "certificate", &desk.path("ctl")]);
        assert!(made.status.success(), "{}", text(&made.stderr));
        desk
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn start(&self, listen: &str, more: &[&str]) -> Running {
        let (certificate, key, state) =
            (self.path("ctl"), self.path("job.key"), self.path("state"));
        let mut words = vec!["controller", "--listen", listen, "--certificate", &certificate];
        words.extend(["--key-file", &key, "--state", &state]);
        words.extend(more);
        let mut child =
            laxity(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let err = child.stderr.take().unwrap();
        let (tell, told) = mpsc::channel();
        let stderr = thread::spawn(move || {
            let mut lines = Vec::new();
            for line in BufReader::new(err).lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on ") {
                    let _ = tell.send(address.to_owned());
                }
                lines.push(line);
            }
            lines.join("\n")
        });
        match told.recv_timeout(PATIENCE) {
            Ok(address) => Running { child: Some(child), address, stderr: Some(stderr) },
            Err(_) => {
                let _ = child.kill();
                panic!("it does not listen: {}", stderr.join().unwrap());
            }
        }
    }

    /// Asks the controller something.
    fn ask(&self, running: &Running, words: &[&str]) -> std::process::Output {
        let (certificate, key) = (self.path("ctl/controller.pem"), self.path("job.key"));
        let access = ["--controller", &running.address, "--certificate", &certificate];
        let words: Vec<_> = words.iter().chain(&access).copied().collect();
        run(&[&words[..], &["--key-file", &key]].concat())
    }

    fn agent(&self, running: &Running, name: &str) -> Agent {
        let read = |path: String| std::fs::read(Path::new(&path)).unwrap();
        let key = text(&read(self.path("job.key"))).parse().unwrap();
        let access = Access {
            controller: running.address.clone(),
            secret: Secret::Key(key),
            certificate: Some(read(self.path("ctl/controller.pem"))),
        };
        let mut options = AgentOptions::new(access, name.parse().unwrap());
        options.up = Some(Rate::from_mbps(100));
        options.patience = Span::from_ms(200);
        let agent = Agent::start(options).unwrap();
        assert!(agent.wait_link(PATIENCE, |link| matches!(link, Link::Attached(_))));
        agent
    }
}

impl Running {
    fn signal(&self, name: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.unwrap().success());
    }

    /// What it printed, after a signal.
    fn end(mut self, signal: &str) -> (std::process::Output, String) {
        self.signal(signal);
        let output = finish(self.child.take().unwrap());
        (output, self.stderr.take().unwrap().join().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn shuffle() -> Job {
    Job::builder("shuffle")
        .flow(Flow::builder("a", "b", Bytes::from_mib(50)).priority(0).name("urgent"))
        .flow(Flow::builder("a", "c", Bytes::from_mib(50)))
        .build()
        .unwrap()
}

#[test]
fn people_can_ask_what_there_is_and_why() {
    let desk = Desk::new();
    let running = desk.start("127.0.0.1:0", &["--json"]);
    let agent = desk.agent(&running, "a");
    agent.submit(shuffle()).unwrap();
    let end = Instant::now() + PATIENCE;
    while !agent.advice(&FlowName::new("shuffle", FlowId(0))).reason.is_planned() {
        assert!(Instant::now() < end);
    }

    let status = json(&desk.ask(&running, &["controller", "status", "--json"]));
    let rows = status["rows"].as_array().unwrap();
    let kinds: Vec<_> = rows.iter().map(|row| row["row"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["host", "host", "host", "job", "link", "link", "link"]);
    assert_eq!((&rows[0]["name"], &rows[0]["state"]), (&"a".into(), &"attached".into()));
    assert_eq!(
        (rows[3]["rate_bps"].as_u64(), rows[4]["planned_bps"].as_u64()),
        (Some(100_000_000), Some(100_000_000))
    );
    let table = text(&desk.ask(&running, &["controller", "status"]).stdout);
    assert!(table.contains("3 hosts") && table.contains("the uplink of a"), "{table}");

    let why = json(&desk.ask(&running, &["why", "shuffle", "--json"]));
    assert_eq!(why["rows"][0]["rate_bps"], 100_000_000);
    assert_eq!(why["rows"][1]["rate_bps"], 0);
    let one = text(&desk.ask(&running, &["why", "shuffle/1"]).stdout);
    assert!(one.contains("higher ones leave nothing on the uplink of a"), "{one}");
    assert!(one.contains("from:     size = 50MiB"), "{one}");
    let both = text(&desk.ask(&running, &["why", "shuffle"]).stdout);
    assert!(both.contains("shuffle/0") && both.contains("shuffle/1"), "{both}");
    let nothing = desk.ask(&running, &["why", "sort"]);
    assert_eq!(nothing.status.code(), Some(1));
    let said = text(&nothing.stderr);
    assert!(said.contains("has nothing about `sort`; it knows of shuffle"), "{said}");

    let (output, said) = running.end("TERM");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("stopped; the state is saved"), "{said}");
    let events: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |name: &str| events.iter().find(|event| event["event"] == name);
    assert_eq!(named("host_came").unwrap()["host"], "a");
    assert_eq!(named("job_came").unwrap()["flows"], 2);
    let round = named("round").unwrap();
    assert!(round["took_us"].is_u64() && round["flows"] == 2, "{round}");
}

#[test]
fn a_killed_controller_knows_its_jobs() {
    let desk = Desk::new();
    let mut running = desk.start("127.0.0.1:0", &[]);
    let agent = desk.agent(&running, "a");
    agent.submit(shuffle()).unwrap();
    let end = Instant::now() + PATIENCE;
    while !agent.advice(&FlowName::new("shuffle", FlowId(0))).reason.is_planned() {
        assert!(Instant::now() < end);
    }
    drop(agent);
    let address = running.address.clone();
    let mut child = running.child.take().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let running = desk.start(&address, &[]);
    let why = json(&desk.ask(&running, &["why", "shuffle/urgent", "--json"]));
    assert_eq!(why["rows"][0]["what"], "shuffle/0");
    let table = text(&desk.ask(&running, &["controller", "status"]).stdout);
    assert!(table.contains("start 2") && table.contains("away"), "{table}");
}

#[test]
fn mistakes_say_what_to_do() {
    let desk = Desk::new();
    let running = desk.start("127.0.0.1:0", &[]);
    let other = desk.path("other.key");
    assert!(run(&["keygen", &other]).status.success());
    let certificate = desk.path("ctl/controller.pem");
    let access = ["--controller", &running.address, "--certificate", &certificate];
    let wrong = run(&[&["why", "x"][..], &access, &["--key-file", &other]].concat());
    let said = text(&wrong.stderr);
    assert!(said.contains("somebody who asks at 127.0.0.1:"), "{said}");
    assert!(said.contains("and controller controller has key"), "{said}");
    let plain = run(&["why", "x", "--controller", &running.address, "--insecure"]);
    assert!(text(&plain.stderr).contains("it may expect TLS"), "{}", text(&plain.stderr));
    let key = desk.path("job.key");
    let none = run(&["why", "x", "--controller", &running.address, "--key-file", &key]);
    assert_eq!(none.status.code(), Some(2));
    let far = run(&["why", "x", "--controller", "127.0.0.1:74000", "--insecure"]);
    assert_eq!(far.status.code(), Some(2), "nobody else is asked: {}", text(&far.stderr));
    assert!(text(&far.stderr).contains("no port that there can be"), "{}", text(&far.stderr));
    let words = ["why", "x", "--controller", &running.address, "--certificate", &key];
    let no_pem = text(&run(&[&words[..], &["--key-file", &key]].concat()).stderr);
    assert!(no_pem.contains("there is no certificate in it"), "{no_pem}");
    let (folder, state) = (desk.path("ctl"), desk.path("state"));
    let words = ["controller", "--listen", "127.0.0.1:0", "--certificate", &folder];
    let second = run(&[&words[..], &["--key-file", &key, "--state", &state]].concat());
    assert!(text(&second.stderr).contains("is in use by another controller"));
    let again = run(&["controller", "certificate", &folder]);
    assert!(text(&again.stderr).contains("controller.key"), "{}", text(&again.stderr));
}
