//! What happens on a lab's network: packets, changes at their times, traffic in the background.

mod common;

use std::{
    fs,
    io::ErrorKind,
    net::UdpSocket,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use common::{
    finish, json,
    lab::{Place, eventually, role, said},
    text,
};

/// Not a test: what this program does inside a host.
#[test]
#[ignore = "runs inside a lab, started by the other tests"]
fn inside() {
    match role().as_deref() {
        Some("echo") => echo(),
        Some("ask") => ask(),
        role => println!("no such role: {role:?}"),
    }
}

/// Sends everything back, until it is ended or half a minute is over.
fn echo() {
    let socket = UdpSocket::bind("0.0.0.0:7000").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    println!("\nREADY");
    let (start, mut buffer) = (Instant::now(), [0; 2000]);
    while start.elapsed() < Duration::from_secs(30) {
        if let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], from);
        }
    }
}

/// Asks h2 a hundred times a second for as long as it is told; prints when each question was asked
/// and how long its answer took.
fn ask() {
    let seconds: f64 = std::env::var("LAB_TEST_SECONDS").unwrap().parse().unwrap();
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("h2:7000").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let start = Instant::now();
    let (mut next, mut number, mut asked) = (start, 0u64, Vec::new());
    println!();
    while start.elapsed().as_secs_f64() < seconds {
        if Instant::now() >= next {
            next = Instant::now() + Duration::from_millis(10);
            asked.push(start.elapsed());
            let _ = socket.send(&number.to_le_bytes());
            number += 1;
        }
        let mut answer = [0; 8];
        match socket.recv(&mut answer) {
            Ok(8) => {
                let at = asked[u64::from_le_bytes(answer) as usize];
                let took = start.elapsed() - at;
                println!("ANSWER {} {}", at.as_secs_f64(), took.as_secs_f64());
            }
            Ok(_) => panic!("not what was asked"),
            Err(error) => assert!(
                matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused),
                "{error}"
            ),
        }
    }
    println!("ASKED {number}");
}

/// An echo in h2 and questions from h1 for so long: when asked, how long it took.
fn converse(place: &Place, seconds: f64) -> (u64, Vec<(f64, f64)>) {
    let mut echo = place.inside("h2", "echo").spawn().unwrap();
    let mut asking = place.inside("h1", "ask");
    asking.env("LAB_TEST_SECONDS", seconds.to_string());
    let output = finish(asking.spawn().unwrap());
    let _ = echo.kill();
    let _ = echo.wait();
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed} {}", text(&output.stderr));
    let pair = |line: &str| {
        let (at, took) = line.split_once(' ').unwrap();
        (at.parse().unwrap(), took.parse().unwrap())
    };
    let answers = said(&printed, "ANSWER").into_iter().map(pair).collect();
    (said(&printed, "ASKED")[0].parse().unwrap(), answers)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn packets_take_the_stated_time_and_are_counted() {
    let Some(place) = Place::new() else { return };
    let file =
        place.file("pair.toml", "link = { delay = '5ms' }\nhosts = [{ name = 'h', count = 2 }]");
    place.run_well(&["lab", "up", &file]);
    let (asked, answers) = converse(&place, 1.0);
    let least = answers.iter().map(|(_, took)| *took).fold(f64::MAX, f64::min);
    // Four wires of 5 ms; the machine can only be late.
    assert!(least > 0.020, "{least}");
    assert!(least < 0.100, "{least}");
    let status = json(&place.run_well(&["lab", "status", "--json"]));
    let rows = status["rows"].as_array().unwrap();
    let port = rows.iter().find(|row| row["from"] == "switch" && row["to"] == "h1").unwrap();
    let delivered = port["delivered_packets"].as_u64().unwrap();
    assert!(delivered >= answers.len() as u64, "{port}");
    // Questions before the echo listened are refused, which is a packet, too.
    assert!(delivered <= asked, "{port}");
    assert_eq!((&port["queue"], &port["full_packets"]), (&0.into(), &0.into()), "{port}");
}

/// The kernel's threads that take in what arrives at hosts of labs.
fn receivers() -> usize {
    let names = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("napi/eth0-")).count()
}

#[test]
fn threads_take_in_what_arrives_where_a_file_says_so() {
    let Some(place) = Place::new() else { return };
    let file = place.file(
        "threads.toml",
        "receive = 'threads'\nlink = { delay = '5ms' }\nhosts = [{ name = 'h', count = 2 }]",
    );
    let before = receivers();
    place.run_well(&["lab", "up", &file]);
    let sees_them = fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n");
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if sees_them && is_root {
        assert_eq!(receivers(), before + 2);
    } else {
        eprintln!("without root, or without sight of the kernel's threads: interrupts stay");
    }
    let (_, answers) = converse(&place, 1.0);
    let least = answers.iter().map(|(_, took)| *took).fold(f64::MAX, f64::min);
    assert!(least > 0.020 && least < 0.100, "{least}");
    place.run_well(&["lab", "down"]);
    eventually("the threads are gone", || receivers() == before);
}

#[test]
fn changes_happen_at_their_times() {
    let Some(place) = Place::new() else { return };
    let file = place.file(
        "changes.toml",
        "link = { delay = '1ms' }
         hosts = [{ name = 'h', count = 2 }]
         changes = [
             { at = '3s', host = 'h2', state = 'gone' },
             { at = '1.5s', host = 'h2', delay = '60ms' },
             { at = '4.5s', host = 'h2', state = 'back', delay = '1ms' },
         ]",
    );
    // On a machine that stands still for a second the windows do not fit: once more then.
    for attempt in 0.. {
        place.run_well(&["lab", "up", &file]);
        let status = json(&place.run_well(&["lab", "status", "--json"]));
        let rows = status["rows"].as_array().unwrap();
        let up = rows.iter().find_map(|row| row["up_s"].as_f64()).unwrap();
        let (_, answers) = converse(&place, 6.0 - up);
        let after = json(&place.run_well(&["lab", "status", "--json"]));
        place.run_well(&["lab", "down"]);
        // The questions began a little after the status.
        let window = |from: f64, to: f64| -> Vec<f64> {
            let inside = answers.iter().filter(|(at, _)| (from..to).contains(&(at + up)));
            inside.map(|(_, took)| *took).collect()
        };
        let windows = [(0.0, 1.2), (1.7, 2.6), (3.2, 4.0), (4.8, 5.7)];
        let [before, slow, gone, back] = windows.map(|(from, to)| window(from, to));
        let fits = before.len() > 10 && slow.len() > 10 && back.len() > 10 && gone.is_empty();
        if !fits && attempt < 2 {
            continue;
        }
        assert!(fits, "{} {} {} {}", before.len(), slow.len(), gone.len(), back.len());
        assert!(median(before.clone()) < 0.060, "{before:?}");
        assert!(slow.iter().all(|took| *took > 0.062), "{slow:?}");
        assert!(median(back.clone()) < 0.060, "{back:?}");
        let rows = after["rows"].as_array().unwrap();
        let changes: Vec<_> = rows.iter().filter(|row| row["row"] == "change").collect();
        assert!(changes.iter().all(|change| change["done"] == true), "{changes:?}");
        assert_eq!(changes[0]["what"], "h2 delay 60ms");
        let port = rows.iter().find(|row| row["from"] == "switch" && row["to"] == "h2").unwrap();
        assert!(port["down_packets"].as_u64().unwrap() > 20, "{port}");
        return;
    }
}

#[test]
fn background_traffic_has_the_stated_load() {
    let Some(place) = Place::new() else { return };
    let content = |transport: &str| {
        format!(
            "link = {{ rate = '100Mbps', delay = '100us' }}
             hosts = [{{ name = 'h', count = 3 }}]
             [[background]]
             from = ['h1', 'h2']
             to = 'h3'
             sizes = [['5KB', 0.2], ['30KB', 1.0]]
             load = 0.5
             duration = '3s'
             {transport}"
        )
    };
    for transport in ["", "transport = 'udp'\nrate = '50Mbps'"] {
        let file = place.file("load.toml", &content(transport));
        // A machine that is busy with something else may hold the flows up: bounded retries.
        for attempt in 0.. {
            place.run_well(&["lab", "up", &file]);
            let mut row = serde_json::Value::Null;
            eventually("the traffic is over", || {
                let status = json(&place.run_well(&["lab", "status", "--json"]));
                let rows = status["rows"].as_array().unwrap();
                row = rows.iter().find(|row| row["row"] == "background").unwrap().clone();
                row["running"] == false && row["flows"].as_u64() > Some(0)
            });
            place.run_well(&["lab", "down"]);
            let stated = 0.5 * 100e6 / 8.0 * 3.0;
            let off = |field: &str| (row[field].as_f64().unwrap() / stated - 1.0).abs();
            eprintln!("{row}");
            assert!(off("offered_bytes") < 0.15, "{row}");
            assert_eq!(row["skipped"], 0, "{row}");
            if off("delivered_bytes") < 0.15 {
                break;
            }
            assert!(attempt < 3, "{row}");
        }
    }
}

/// The last of the cores that a task may use, by its folder in /proc.
fn last_core(task: &Path) -> Option<usize> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    cores.trim().rsplit([',', '-']).next()?.parse().ok()
}

#[test]
fn background_traffic_leaves_the_switch_its_core() {
    let Some(place) = Place::new() else { return };
    let file = place.file(
        "apart.toml",
        "receive = 'threads'
         link = { rate = '100Mbps', delay = '100us' }
         hosts = [{ name = 'h', count = 2 }]
         [[background]]
         from = 'h1'
         to = 'h2'
         rate = '1Mbps'
         on = '1s'
         off = '0s'
         duration = '20s'",
    );
    place.run_well(&["lab", "up", &file]);
    let status = json(&place.run_well(&["lab", "status", "--json"]));
    let rows = status["rows"].as_array().unwrap();
    let process = rows.iter().find_map(|row| row["pid"].as_u64()).unwrap();
    let process = PathBuf::from(format!("/proc/{process}"));
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return eprintln!("skipped: there is one core, which all have to share");
    }
    // The switch has the last one. A thread has its name before it has its cores.
    eventually("the traffic keeps to other cores than the switch", || {
        let threads = fs::read_dir(process.join("task")).unwrap();
        let mut threads = threads.filter_map(|entry| Some(entry.ok()?.path()));
        let flows = threads.find(|thread| {
            fs::read_to_string(thread.join("comm")).is_ok_and(|name| name == "laxity-flows0\n")
        });
        flows
            .and_then(|flows| last_core(&flows))
            .is_some_and(|last| Some(last) < last_core(&process))
    });
    place.run_well(&["lab", "down"]);
}

#[test]
fn pulses_come_and_go() {
    let Some(place) = Place::new() else { return };
    let file = place.file(
        "pulses.toml",
        "link = { rate = '200Mbps', delay = '100us' }
         hosts = [{ name = 'h', count = 2 }]
         [[background]]
         from = 'h1'
         to = 'h2'
         rate = '40Mbps'
         on = '250ms'
         off = '250ms'
         duration = '2s'",
    );
    place.run_well(&["lab", "up", &file]);
    let mut row = serde_json::Value::Null;
    eventually("the traffic is over", || {
        let status = json(&place.run_well(&["lab", "status", "--json"]));
        let rows = status["rows"].as_array().unwrap();
        row = rows.iter().find(|row| row["row"] == "background").unwrap().clone();
        row["running"] == false && row["flows"].as_u64() > Some(0)
    });
    eprintln!("{row}");
    // 40 Mbit/s for half of two seconds is 5 MB; what waits in the kernel at a pause still goes out.
    let delivered = row["delivered_bytes"].as_f64().unwrap();
    assert!((1e6..8e6).contains(&delivered), "{row}");
    assert!(row["flows"].as_u64().unwrap() <= 4, "{row}");
}
