//! Who gets which part of the cores that a lab's hosts share. Skipped, with the reason, where a lab is impossible.

mod common;

use std::{
    fs,
    process::{Child, Command},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use common::{
    json,
    lab::{LONG, Place, environment, inside, kill},
};
use laxity_lab::{Lab, LabFile, end_with_parent, run_ahead};

/// One at a time: they are about who gets the processors.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends it with the test.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lab(text: &str, name: &str) -> Option<Lab> {
    let file = LabFile::from_toml(text).unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_laxity"));
    daemon.args(["lab", "daemon"]);
    match Lab::up(&file, &format!("{name}-{}", std::process::id()), daemon) {
        Ok(lab) => Some(lab),
        Err(why) if why.to_string().contains("namespaces") => {
            eprintln!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Programs that run ahead of all others and never pause.
fn busy(lab: &Lab, host: &str) -> Busy {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]);
    let mut command = lab.enter(host, command).unwrap();
    run_ahead(&mut command);
    end_with_parent(&mut command);
    Busy(command.spawn().unwrap())
}

/// It had a piece of 128 KiB after each turn of theirs, which are 100 ms long.
#[test]
fn other_traffic_is_carried_beside_programs_that_never_pause() {
    let _alone = alone();
    let text = "
        link = { rate = '200Mbps', delay = '100us' }
        hosts = [{ name = 'h', count = 3 }]
        background = [{ name = 'others', from = 'h1', to = ['h2', 'h3'], duration = '60s',
                        sizes = [['10KiB', 0.5], ['1MiB', 1.0]], load = 0.4 }]";
    let Some(lab) = lab(text, "busy") else { return };
    let all = ["h1", "h2", "h3"].map(|host| busy(&lab, host));
    let counts = || {
        let status = lab.status().unwrap();
        (status.background[0].offered.get(), status.background[0].delivered.get(), status.turns)
    };
    thread::sleep(Duration::from_millis(500));
    lab.reset_health().unwrap();
    let (offered, delivered, _) = counts();
    thread::sleep(Duration::from_secs(3));
    let (offered, (delivered, turns)) = {
        let now = counts();
        (now.0 - offered, (now.1 - delivered, now.2))
    };
    // 60 MB in the mean.
    assert!(offered > 10_000_000, "{offered}");
    assert!(delivered as f64 > 0.6 * offered as f64, "{delivered} of {offered}");
    // With the priority each of the three has turns of 100 ms, and who wakes up waits for all of them.
    let realtime = lab.status().unwrap().health.realtime;
    if realtime && cores(std::process::id()).len() == 2 {
        assert!(turns.p99.as_secs_f64() > 0.05, "{turns:?}");
    }
    drop(all);
    lab.down().unwrap();
}

/// Behind the switch, on its core, a rank could wait for ever.
#[test]
fn ranks_keep_off_the_core_of_the_switch() {
    let _alone = alone();
    let Some(place) = Place::new() else { return };
    let cores = cores(std::process::id());
    if cores.len() < 2 {
        return eprintln!("skipped: there is only one core");
    }
    let words =
        ["train", "--lab", "--quick", "--model", "mlp", "--ranks", "2", "--rate", "100Mbps"];
    let mut child = place.laxity(&[&words[..], &["--epochs", "100000"]].concat()).spawn().unwrap();
    let lab = format!("train-{}", child.id());
    let until = Instant::now() + LONG;
    let ranks = loop {
        let ranks = inside(&lab).into_iter().filter(|one| environment(*one, "RANK").is_some());
        let ranks: Vec<_> = ranks.collect();
        if ranks.len() == 2 {
            break ranks;
        }
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "no two ranks");
        thread::sleep(Duration::from_millis(20));
    };
    let theirs: Vec<_> = ranks.into_iter().map(self::cores).collect();
    kill(child.id(), "-INT");
    child.wait().unwrap();
    place.nothing_left(&lab);
    for own in theirs {
        assert_eq!(own, cores[..cores.len() - 1]);
    }
}

/// The cores that a process may run on.
fn cores(process: u32) -> Vec<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let range = |range: &str| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        from.parse::<usize>().unwrap()..=to.parse().unwrap()
    };
    list.trim().split(',').flat_map(range).collect()
}

/// What programs wait for a processor stands in the results, whatever became of it.
#[test]
fn results_say_how_long_programs_waited() {
    let _alone = alone();
    let Some(place) = Place::new() else { return };
    let words =
        ["train", "--lab", "--quick", "--model", "mlp", "--ranks", "2", "--rate", "100Mbps"];
    let report = json(&place.run_well(&[&words[..], &["--epochs", "1", "--json"]].concat()));
    for row in report["rows"].as_array().unwrap() {
        assert!(row["host_wait_p99_ms"].as_f64().unwrap() > 0.0, "{row}");
    }
    let words = ["bench", "allreduce", "--ranks", "2", "--rate", "100Mbps", "--size", "100KB"];
    let more = ["--runs", "1", "--accept-invalid", "--json"];
    let report = json(&place.run_well(&[&words[..], &more].concat()));
    for row in report["rows"].as_array().unwrap() {
        assert!(row["host_wait_p99_ms"].as_f64().unwrap() > 0.0, "{row}");
    }
}
