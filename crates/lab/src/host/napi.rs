//! Threads of the kernel that take in what arrives at a card.
//!
//! A frame for another core's attention is announced by an interrupt from core to core, some 15,000 of
//! them a second in a lab of eight hosts, and a third of the hosts' time on a virtual machine. A thread
//! with the priority of the hosts' programs takes its turn after them instead. With a higher one it
//! interrupts them again, and was slower than interrupts are.

use std::{collections::BTreeSet, fs, io};

use super::{enter::AHEAD, ethtool, sys};

/// Starts the thread of a card of the calling thread's network, on these cores. Where that does not work,
/// everything is as before.
///
/// PRECONDITION: /sys shows that network.
pub(super) fn start(card: &str, cores: &[usize]) -> io::Result<()> {
    let started = try_start(card, cores);
    if started.is_err() {
        // The kernel may not know of threads at all: then there is nothing to take back.
        let _ = fs::write(switch(card), "0");
        let _ = ethtool::poll(card, false);
    }
    started
}

fn try_start(card: &str, cores: &[usize]) -> io::Result<()> {
    let others = threads(card)?;
    ethtool::poll(card, true)?;
    fs::write(switch(card), "1")?;
    let cores = sys::core_set(cores);
    let mut new = threads(card)?;
    new.retain(|thread| !others.contains(thread));
    if new.is_empty() {
        // In a container that does not see the kernel's threads.
        return Err(io::ErrorKind::NotFound.into());
    }
    for thread in new {
        sys::take_turns(thread, AHEAD)?;
        sys::keep_to(thread, &cores)?;
    }
    Ok(())
}

fn switch(card: &str) -> String {
    format!("/sys/class/net/{card}/threaded")
}

/// The threads that poll cards of this name, in whichever network.
fn threads(card: &str) -> io::Result<BTreeSet<libc::pid_t>> {
    let prefix = format!("napi/{card}-");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // One that ended meanwhile is none.
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if name.starts_with(&prefix) {
            found.insert(number);
        }
    }
    Ok(found)
}
