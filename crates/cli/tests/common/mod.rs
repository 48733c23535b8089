//! The built command on real sockets, bounded in time.
#![allow(dead_code)] // Each test file uses its own part of this.

pub(crate) mod lab;
pub(crate) mod train;

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Nothing here takes longer, whatever the machine does besides.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// `laxity` with these words, in a clean environment.
pub(crate) fn laxity(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
    command.args(words).env_remove("LAXITY_KEY_FILE").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run(words: &[&str]) -> Output {
    finish(laxity(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Waits for its end, and fails if that does not come.
pub(crate) fn finish(child: Child) -> Output {
    finish_within(child, PATIENCE)
}

/// The same, of something that takes longer.
pub(crate) fn finish_within(mut child: Child, patience: Duration) -> Output {
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let out = thread::spawn(move || read_all(out.as_mut()));
    let err = thread::spawn(move || read_all(err.as_mut()));
    let until = Instant::now() + patience;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("still running; stderr: {}", text(&err.join().unwrap()));
        }
        thread::sleep(Duration::from_millis(5));
    };
    Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }
}

fn read_all(from: Option<&mut impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.read_to_end(&mut bytes).unwrap();
    }
    bytes
}

/// Output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output as JSON.
pub(crate) fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {} / {}", text(&output.stdout), text(&output.stderr))
    })
}

/// A `laxity recv` that listens; killed when dropped.
pub(crate) struct Receiver {
    child: Option<Child>,
    stderr: Option<thread::JoinHandle<String>>,
    /// Where it listens.
    pub(crate) address: String,
}

impl Receiver {
    /// Starts it on a free port of loopback.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut all = vec!["recv", "--bind", "127.0.0.1:0"];
        all.extend(words);
        let mut child = laxity(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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
            Ok(address) => Self { child: Some(child), stderr: Some(stderr), address },
            Err(_) => {
                let _ = child.kill();
                panic!("it does not listen: {}", stderr.join().unwrap());
            }
        }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Output {
        let mut output = finish(self.child.take().unwrap());
        output.stderr = self.stderr.take().unwrap().join().unwrap().into_bytes();
        output
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A file of bytes that look random, the same every time.
pub(crate) fn sample(folder: &Path, name: &str, length: usize) -> (PathBuf, Vec<u8>) {
    let mut state = length as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let bytes: Vec<u8> = (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let path = folder.join(name);
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// A fresh key file.
pub(crate) fn key(folder: &Path, name: &str) -> String {
    let path = folder.join(name).display().to_string();
    assert!(run(&["keygen", &path]).status.success());
    path
}
