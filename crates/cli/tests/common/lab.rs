//! Labs of a test: in a folder of their own, ended with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{finish, finish_within, laxity, text};

/// For what takes longer than most, while other tests share the machine.
pub(crate) const LONG: Duration = Duration::from_secs(240);

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

    /// Interrupts a command that brings up a lab of its own, some time after so many processes have
    /// come up in it. It must say so, and leave nothing behind.
    pub(crate) fn interrupted(
        &self,
        words: &[&str],
        lab: &str,
        processes: usize,
        after: Duration,
    ) -> Output {
        let mut child = self.laxity(words).spawn().unwrap();
        let lab = format!("{lab}-{}", child.id());
        let until = Instant::now() + LONG;
        while inside(&lab).len() < processes {
            if child.try_wait().unwrap().is_some() {
                panic!("over already: {}", text(&child.wait_with_output().unwrap().stderr));
            }
            assert!(Instant::now() < until, "no processes came up");
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(after);
        kill(child.id(), "-INT");
        let output = finish_within(child, LONG);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        self.nothing_left(&lab);
        output
    }

    /// Waits until no process of a lab runs any more and no file of it is left.
    pub(crate) fn nothing_left(&self, lab: &str) {
        eventually("processes of the lab are gone", || inside(lab).is_empty());
        let folder = self.path().join("run");
        eventually("files of the lab are gone", || {
            fs::read_dir(&folder).map_or(0, Iterator::count) == 0
        });
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
        thread::sleep(Duration::from_millis(10));
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

/// Processes that were started inside a lab, or in one whose name goes on with a number.
pub(crate) fn inside(lab: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|process| {
            let name = environment(*process, "LAXITY_LAB").unwrap_or_default();
            name.strip_prefix(lab).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
        .collect()
}

/// A variable of a process's environment.
pub(crate) fn environment(process: u32, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{process}/environ")).ok()?;
    let set =
        |setting: &[u8]| Some(text(setting).strip_prefix(name)?.strip_prefix('=')?.to_owned());
    bytes.split(|byte| *byte == 0).find_map(set)
}

/// Sends a signal to a process that the test started.
pub(crate) fn kill(process: u32, signal: &str) {
    let done = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(done.success());
}
