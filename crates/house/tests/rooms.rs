//! Crates that promise to have no input and output keep the promise.

use std::path::Path;

use laxity_house::{crates, files, text};

/// Crates that own no socket, no clock, no thread and no file.
const PURE: &[&str] =
    &["interface", "link", "packetsim", "planner", "protocol", "report", "switch", "topology"];

/// What such a crate cannot be built from.
const FOREIGN: &[&str] = &["libc", "socket2", "rustix", "tokio", "mio", "polling", "getrandom"];

/// What cannot appear in its code.
const WORDS: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "UdpSocket",
    "TcpStream",
    "std::thread",
    "std::fs",
    "std::env",
    "std::process",
    "println!",
    "HashMap",
    "HashSet",
];

#[test]
fn pure_crates_do_not_touch_the_outside() {
    let all = crates();
    for name in PURE {
        let found = all.iter().find(|found| found.name == *name).expect("a crate of the workspace");
        for foreign in FOREIGN {
            let used = found.foreign.iter().any(|used| used == foreign);
            assert!(!used, "`{name}` promises no input and output but is built from `{foreign}`");
        }
        for path in files(&found.folder.join("src"), "rs") {
            check_words(&path);
        }
    }
}

fn check_words(path: &Path) {
    let code = text(path);
    for (number, line) in code.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for word in WORDS {
            let place = format!("{}:{}", path.display(), number + 1);
            assert!(!line.contains(word), "{place}: `{word}` in a crate without input and output");
        }
    }
}

#[test]
fn pure_crates_forbid_unsafe_code_and_every_crate_introduces_itself() {
    for found in crates() {
        let lib = found.folder.join("src/lib.rs");
        let start = if lib.exists() { lib } else { found.folder.join("src/main.rs") };
        let code = text(&start);
        assert!(code.starts_with("//!"), "{} does not say what it is", start.display());
        if PURE.contains(&found.name.as_str()) {
            assert!(code.contains("#![forbid(unsafe_code)]"), "{} allows unsafe", start.display());
        }
    }
}
