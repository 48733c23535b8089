//! Programs inside hosts, found by the network they are in.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use super::{site::Number, sys};

/// How long a program may take to end by itself once it is told to.
const POLITE: Duration = Duration::from_millis(400);
/// How long the kernel may take to end it.
const FORCED: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(5);

/// Ends every process that is in one of these networks and that `ours` agrees to. Says how many
/// are still there, which is none unless the kernel cannot end them.
pub(crate) fn end_all(networks: &BTreeSet<Number>, ours: impl Fn(u32) -> bool) -> usize {
    let found = || -> Vec<_> { inside(networks).filter(|process| ours(*process)).collect() };
    for (signal, time) in [(libc::SIGTERM, POLITE), (libc::SIGKILL, FORCED)] {
        let start = Instant::now();
        let mut told = BTreeSet::new();
        loop {
            let left = found();
            if left.is_empty() {
                return 0;
            }
            // Those that were born meanwhile are told too.
            for process in left {
                if told.insert(process) {
                    // It may have ended since; that is what we want.
                    let _ = sys::kill(process, signal);
                }
            }
            if start.elapsed() > time {
                break;
            }
            std::thread::sleep(LOOK);
        }
    }
    found().len()
}

/// Whether a process was started with this setting in its environment.
pub(crate) fn has_setting(process: u32, setting: &str) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|found| found == setting.as_bytes())
}

fn inside(networks: &BTreeSet<Number>) -> impl Iterator<Item = u32> {
    let me = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(move |process| *process != me)
        .filter(|process| is_alive(*process))
        .filter(|process| Number::of_process(*process).is_some_and(|net| networks.contains(&net)))
}

/// A zombie has no network any more, only a parent that has not looked yet.
fn is_alive(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}
