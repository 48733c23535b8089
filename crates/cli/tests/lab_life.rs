//! Labs come, are used and go, and leave nothing.

mod common;

use std::{
    collections::BTreeSet,
    fs,
    net::UdpSocket,
    os::unix::fs::MetadataExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use common::{
    finish, json,
    lab::{Place, eventually, kill, processes_with, role, said},
    text,
};

const STAR: &str = "[link]\nrate = '1Gbps'\ndelay = '125us'\n[[hosts]]\nname = 'h'\ncount = 8\n";

/// Not a test: what this program does inside a host.
#[test]
#[ignore = "runs inside a lab, started by the other tests"]
fn inside() {
    match role().as_deref() {
        // To a port where nobody listens: the other host's refusal is as good as an answer.
        Some("knock") => {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            socket.connect("h8:9").unwrap();
            for _ in 0..20 {
                let _ = socket.send(b"knock");
                match socket.recv(&mut [0; 8]) {
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                        println!("\nANSWER {}", socket.peer_addr().unwrap());
                        return;
                    }
                    _ => {}
                }
            }
            panic!("h8 does not answer");
        }
        role => println!("no such role: {role:?}"),
    }
}

#[test]
fn eight_hosts_come_up_and_go_down_within_two_seconds() {
    let Some(place) = Place::new() else { return };
    let file = place.file("star.toml", STAR);
    let (mut best_up, mut best_down) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        let start = Instant::now();
        let up = place.run_well(&["lab", "up", &file]);
        best_up = best_up.min(start.elapsed().as_secs_f64());
        assert_eq!(text(&up.stdout).matches("198.18.0.").count(), 8);
        let knocked = finish(place.inside("h1", "knock").spawn().unwrap());
        let answers = text(&knocked.stdout);
        assert_eq!(said(&answers, "ANSWER"), ["198.18.0.8:9"], "{}", text(&knocked.stderr));
        let start = Instant::now();
        place.run_well(&["lab", "down"]);
        best_down = best_down.min(start.elapsed().as_secs_f64());
        assert!(!place.traces("star").exists());
    }
    eprintln!("8 hosts: up in {best_up:.3} s, down in {best_down:.3} s (best of 3)");
    assert!(best_up < 2.0 && best_down < 2.0, "up {best_up} s, down {best_down} s");
}

#[test]
fn programs_inside_are_programs() {
    let Some(place) = Place::new() else { return };
    let file = place.file("star.toml", STAR);
    place.run_well(&["lab", "up", &file]);
    let exec = |words: &[&str]| {
        let all = [&["lab", "exec", "h3", "--"], words].concat();
        let output = place.run(&all);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(exec(&["sh", "-c", "exit 7"]).0, Some(7));
    assert_eq!(exec(&["true"]).0, Some(0));
    let (code, _, said) = exec(&["no-such-program"]);
    assert_eq!(code, Some(127), "{said}");
    assert!(said.contains("no-such-program") && said.contains("h3"), "{said}");
    assert_eq!(exec(&["sh", "-c", "echo $LAXITY_LAB/$LAXITY_LAB_HOST"]).1, "star/h3\n");
    let seen =
        exec(&["sh", "-c", "cat /proc/sys/kernel/hostname; ls /sys/class/net; getent hosts h8"]);
    assert_eq!(
        seen.1.split_whitespace().collect::<Vec<_>>(),
        ["h3", "eth0", "lo", "198.18.0.8", "h8"]
    );
    // A signal ends the program as if nobody stood between.
    let sleeping = place.laxity(&["lab", "exec", "h3", "--", "sleep", "1000"]).spawn().unwrap();
    eventually("it sleeps", || {
        fs::read(format!("/proc/{}/cmdline", sleeping.id())).unwrap().starts_with(b"sleep\0")
    });
    kill(sleeping.id(), "-TERM");
    let ended = finish(sleeping);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(ended.status.signal(), Some(15));

    let unknown = place.run(&["lab", "exec", "h9", "--", "true"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("`h1`, `h2`"), "{}", text(&unknown.stderr));
}

#[test]
fn the_status_says_how_hosts_really_take_in_packets() {
    let Some(place) = Place::new() else { return };
    let pair =
        |extra: &str| format!("receive = 'threads'\n{extra}[[hosts]]\nname = 'h'\ncount = 2\n");
    // Threads would join packets, which cards without offloads do not do.
    for (extra, meant) in [("", "threads"), ("offload = false\n", "interrupts")] {
        place.run_well(&["lab", "up", &place.file("pair.toml", &pair(extra))]);
        let status = json(&place.run_well(&["lab", "status", "--json"]));
        let rows = status["rows"].as_array().unwrap();
        let switch = rows.iter().find(|row| row["row"] == "switch").unwrap();
        // On one core, or in a container that may not mount, nothing can be steered.
        if !switch["receive"].is_null() {
            let root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
            let meant = if root { meant } else { "interrupts" };
            assert_eq!(switch["receive"], meant, "{extra}");
            let words = text(&place.run_well(&["lab", "status"]).stdout);
            assert!(words.contains(&format!("take in packets by {meant}")), "{words}");
        }
        place.run_well(&["lab", "down"]);
    }
}

#[test]
fn a_name_is_taken_once() {
    let Some(place) = Place::new() else { return };
    let file = place.file("star.toml", STAR);
    place.run_well(&["lab", "up", &file]);
    let second = place.run(&["lab", "up", &file]);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{said}");
    for word in ["`star` is up already", "laxity lab down star", "--name"] {
        assert!(said.contains(word), "{said}");
    }
    place.run_well(&["lab", "up", &file, "--name", "other"]);
    let which = place.run(&["lab", "status"]);
    assert_eq!(which.status.code(), Some(2));
    assert!(text(&which.stderr).contains("`other`, `star`"), "{}", text(&which.stderr));
    let listed = json(&place.run_well(&["lab", "list", "--json"]));
    let rows = listed["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[1]["lab"], &rows[1]["hosts"]), (&"star".into(), &8.into()));
    place.run_well(&["lab", "down", "--all"]);
    let none = place.run(&["lab", "down", "star"]);
    assert!(text(&none.stderr).contains("no lab called `star` is up"), "{}", text(&none.stderr));
}

/// Everything in /proc that refers to one of these network namespaces.
fn references(networks: &BTreeSet<u64>) -> Vec<String> {
    let names: BTreeSet<_> = networks.iter().map(|inode| format!("net:[{inode}]")).collect();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let folder = entry.path();
        let mut links = vec![folder.join("ns/net")];
        let files = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
        links.extend(files.map(|file| file.path()));
        for link in links {
            if fs::read_link(&link).is_ok_and(|to| names.contains(&*to.to_string_lossy())) {
                found.push(link.display().to_string());
            }
        }
    }
    found
}

fn interfaces() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_killed_lab_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    let before = interfaces();
    let file = place.file("star.toml", STAR);
    for clear_by_down in [true, false] {
        place.run_well(&["lab", "up", &file]);
        let status = json(&place.run_well(&["lab", "status", "--json"]));
        let rows = status["rows"].as_array().unwrap();
        let daemon = rows.iter().find_map(|row| row["pid"].as_u64()).unwrap() as u32;
        let record = fs::read(place.traces("star").join("record")).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        let networks: BTreeSet<_> = record["networks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|network| network["inode"].as_u64().unwrap())
            .collect();
        assert_eq!(networks.len(), 8);
        // One program directly, one that ran away from its parent, one that does not end politely.
        let word = format!("{}", 1_000_000 + std::process::id());
        let script = format!("trap '' TERM; setsid sleep {word} & sleep {word}");
        let words = ["lab", "exec", "h5", "--", "sh", "-c", &script];
        let child = place.laxity(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap();
        eventually("programs run", || processes_with(&format!("sleep {word}")).len() >= 3);
        assert!(!references(&networks).is_empty());

        kill(daemon, "-KILL");
        eventually("the daemon is gone", || {
            text(&place.run(&["lab", "list"]).stdout).contains("dead")
        });
        let refused = place.run(&["lab", "exec", "h1", "--", "true"]);
        assert!(text(&refused.stderr).contains("dead"), "{}", text(&refused.stderr));
        if clear_by_down {
            place.run_well(&["lab", "down", "star"]);
            assert!(!place.traces("star").exists());
        } else {
            // The next one clears away what the last one left.
            place.run_well(&["lab", "up", &file]);
            place.run_well(&["lab", "down"]);
        }
        let _ = child.wait();
        assert_eq!(processes_with(&word), Vec::<u32>::new());
        eventually("no reference to a namespace", || references(&networks).is_empty());
        assert_eq!(interfaces(), before);
        assert_eq!(fs::read_dir(place.path().join("run")).unwrap().count(), 0);
    }
}

#[test]
fn it_works_without_root() {
    let me = text(&Command::new("id").arg("-u").output().unwrap().stdout);
    if me.trim() != "0" {
        // Then all other tests have shown it.
        return;
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let possible = Command::new("setpriv").args(nobody).args(["unshare", "-Un", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no setpriv, or user namespaces are not allowed");
        return;
    }
    // Nobody must be able to reach the program and the file.
    let folder = tempfile::Builder::new().prefix("lx").tempdir_in("/tmp").unwrap();
    let program = folder.path().join("laxity");
    fs::copy(env!("CARGO_BIN_EXE_laxity"), &program).unwrap();
    fs::write(folder.path().join("star.toml"), STAR).unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(nobody).arg(&program).args(words).current_dir(folder.path());
        command.env("LAXITY_RUNTIME_DIR", folder.path().join("run")).stdin(Stdio::null());
        let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    as_nobody(&["lab", "up", "star.toml"]);
    let script = "cat /proc/sys/kernel/hostname; getent hosts h8; ls /sys/class/net";
    let seen = as_nobody(&["lab", "exec", "h2", "--", "sh", "-c", script]);
    assert_eq!(
        seen.split_whitespace().collect::<Vec<_>>(),
        ["h2", "198.18.0.8", "h8", "eth0", "lo"]
    );
    // A whole conversation: refused by the other host, which takes a packet each way.
    let words = ["lab", "exec", "h1", "--", "bash", "-c", "echo > /dev/tcp/h8/9"];
    let mut command = Command::new("setpriv");
    command.args(nobody).arg(&program).args(words).current_dir(folder.path());
    command.env("LAXITY_RUNTIME_DIR", folder.path().join("run")).stdin(Stdio::null());
    let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert!(text(&output.stderr).contains("refused"), "{}", text(&output.stderr));
    as_nobody(&["lab", "down"]);
    assert_eq!(fs::read_dir(folder.path().join("run")).unwrap().count(), 0);
}

#[test]
fn where_nothing_is_allowed_the_remedy_is_told() {
    let Some(place) = Place::new() else { return };
    let file = place.file("star.toml", STAR);
    // A user namespace whose root may neither make networks nor further user namespaces.
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin \
         --inh-caps=-sys_admin {} lab up {file}",
        env!("CARGO_BIN_EXE_laxity")
    );
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", &script]).env("LAXITY_RUNTIME_DIR", place.path().join("run"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stderr);
    if said.contains("unshare:") || said.contains("setpriv:") || said.contains("sh:") {
        eprintln!("skipped: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in ["run it as root", "user.max_user_namespaces", "SYS_ADMIN"] {
        assert!(said.contains(word), "{said}");
    }
    assert!(!place.traces("star").exists());
}
