//! Labs of a test: in a folder of their own, ended with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use super::{finish, laxity, text};

/// A folder where a test's labs leave their traces.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A new one, or a printed reason why this machine cannot run labs.
    pub(crate) fn new() -> Option<Self> {
        // Short, because sockets lie in it.
        let folder = tempfile::Builder::new().prefix("lx").tempdir_in("/tmp").unwrap();
        let place = Self { folder };
        let checked = place.run(&["lab", "check"]);
        if checked.status.success() {
            return Some(place);
        }
        eprintln!("skipped, no labs here: {}", text(&checked.stdout));
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of a lab.
    pub(crate) fn traces(&self, lab: &str) -> PathBuf {
        self.path().join("run").join(lab)
    }

    /// `laxity` with these words, among the labs of this test.
    pub(crate) fn laxity(&self, words: &[&str]) -> Command {
        let mut command = laxity(words);
        command.env("LAXITY_RUNTIME_DIR", self.path().join("run")).current_dir(self.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        finish(self.laxity(words).spawn().unwrap())
    }

    /// Runs it to its end, which is good.
    pub(crate) fn run_well(&self, words: &[&str]) -> Output {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        output
    }

    /// A lab file.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// This test program inside a host, in this role: see `inside`.
    pub(crate) fn inside(&self, host: &str, role: &str) -> Command {
        let me = std::env::current_exe().unwrap().display().to_string();
        let words =
            ["lab", "exec", host, "--", &me, "inside", "--exact", "--ignored", "--nocapture"];
        let mut command = self.laxity(&words);
        command.env("LAB_TEST_ROLE", role);
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whatever a failed test has left.
        let _ = self.laxity(&["lab", "down", "--all"]).output();
    }
}

/// The role that this process plays inside a host, if any.
pub(crate) fn role() -> Option<String> {
    std::env::var("LAB_TEST_ROLE").ok()
}

/// What a process inside printed behind this word.
pub(crate) fn said<'a>(output: &'a str, word: &str) -> Vec<&'a str> {
    output.lines().filter_map(|line| line.strip_prefix(word)).map(str::trim).collect()
}

/// Waits for something, but not for ever.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "not after 10 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes whose command line contains this.
pub(crate) fn processes_with(word: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| {
            fs::read(format!("/proc/{process}/cmdline"))
                .is_ok_and(|line| text(&line).replace('\0', " ").contains(word))
        })
        .collect()
}

/// Sends a signal to a process that the test started.
pub(crate) fn kill(process: u32, signal: &str) {
    let done = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(done.success());
}
