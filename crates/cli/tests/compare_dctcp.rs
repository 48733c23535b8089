//! The DCTCP that `bench compare` loads does what DCTCP is for: it holds the queue near the threshold.
//! Skipped, with the reason, where it cannot be loaded or a lab is impossible.
#![allow(unsafe_code)] // Reading the clock that hosts share.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use laxity_lab::{
    Lab, LabFile,
    dctcp::{Dctcp, DctcpError},
};
use serde_json::{Value, json};

/// Above how many packets the port marks, and how many it holds.
const MARK: u64 = 30;
const HOLDS: u64 = 200;

/// A `laxity bench worker` inside a host.
struct Worker {
    child: Child,
    orders: ChildStdin,
    events: BufReader<ChildStdout>,
}

impl Worker {
    fn start(lab: &Lab, host: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
        command.args(["bench", "worker"]);
        let mut command = lab.enter(host, command).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = child.stdin.take().unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        Self { child, orders, events }
    }

    fn order(&mut self, order: Value) {
        writeln!(self.orders, "{order}").unwrap();
    }

    /// The next event, which must be of this kind.
    fn hear(&mut self, kind: &str) -> Value {
        let mut line = String::new();
        self.events.read_line(&mut line).unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        if event == kind { Value::Null } else { event.get(kind).expect(&line).clone() }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Streams from h1 to h2 for two seconds; returns the median queue in packets and the goodput in Mbit/s.
fn stream(lab: &Lab, control: &str) -> (u64, f64) {
    let (mut sender, mut receiver) = (Worker::start(lab, "h1"), Worker::start(lab, "h2"));
    let address = |at: usize| lab.hosts()[at].address.to_string();
    let transport = json!({ "tcp": { "control": control } });
    receiver.order(json!({ "receive": {
        "tag": 0, "transport": transport, "bind": address(1), "load": "stream", "senders": 1,
        "bytes": 1, "limit_ms": 20_000,
    }}));
    let to = receiver.hear("listening")["address"].clone();
    sender.order(json!({ "send": {
        "transport": transport, "bind": address(0), "to": to, "load": "stream", "bytes": 1,
        "limit_ms": 20_000,
    }}));
    sender.hear("ready");
    receiver.hear("ready");
    let now = now_ns();
    let second = 1_000_000_000;
    let window = json!({ "start": {
        "start_ns": now, "from_ns": now + second, "until_ns": now + 3 * second,
    }});
    receiver.order(window.clone());
    sender.order(window);
    thread::sleep(Duration::from_millis(1100));
    let mut queue = Vec::new();
    for _ in 0..100 {
        let status = lab.status().unwrap();
        let port = status.ports.iter().find(|port| port.to == "h2").unwrap();
        queue.push(port.counters.queues[0].backlog.packets);
        thread::sleep(Duration::from_millis(15));
    }
    queue.sort_unstable();
    let bytes = receiver.hear("received")["arrivals"][0]["bytes"].as_u64().unwrap();
    (queue[queue.len() / 2], bytes as f64 * 8.0 / 2e6)
}

/// CLOCK_MONOTONIC, by which workers start.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place for one timespec, and every kernel has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
fn dctcp_holds_the_queue_near_the_threshold_and_cubic_does_not() {
    let _loaded = match Dctcp::load() {
        Ok(loaded) => loaded,
        Err(DctcpError::Refused { tool, what, output }) if !output.contains("ermi") => {
            panic!("{tool} could not {what}: {output}")
        }
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let file = LabFile::from_toml(&format!(
        "link = {{ rate = '100Mbps', delay = '100us', queue = 'port' }}
         hosts = [{{ name = 'h', count = 2 }}]
         queues.port = {{ kind = 'own', queue = [{{ limit = '{HOLDS}packets', ecn = '{MARK}packets' }}] }}"
    ))
    .unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_laxity"));
    daemon.args(["lab", "daemon"]);
    let lab = match Lab::up(&file, &format!("dctcp-{}", std::process::id()), daemon) {
        Ok(lab) => lab,
        Err(why) if why.to_string().contains("namespaces") => {
            return eprintln!("skipped: {why}");
        }
        Err(why) => panic!("{why}"),
    };
    // A short queue runs empty while a busy machine keeps the hosts waiting: what has to hold has to be
    // seen once.
    let mut seen = Vec::new();
    for _ in 0..3 {
        let ((dctcp, dctcp_mbps), (cubic, cubic_mbps)) =
            (stream(&lab, Dctcp::NAME), stream(&lab, "cubic"));
        let near = dctcp > MARK / 4 && dctcp < 2 * MARK;
        let full = dctcp_mbps > 0.7 * cubic_mbps;
        seen.push(format!(
            "dctcp {dctcp} packets, {dctcp_mbps:.1} Mbit/s; cubic {cubic}, {cubic_mbps:.1}"
        ));
        // Cubic is not marked and fills the buffer: the port is the bottleneck, and marks are what helps.
        if near && full && cubic > 2 * dctcp {
            return lab.down().unwrap();
        }
    }
    panic!("the port marks above {MARK} packets and holds {HOLDS}: {seen:#?}");
}
