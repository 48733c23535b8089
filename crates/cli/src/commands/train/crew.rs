//! The processes of a training.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{WORDS, args::TrainArgs, network::Place, word::Word};
use crate::{keys, sys::signal, wait::TICK};

/// How long ranks may take to end once rank 0 has.
const END: Duration = Duration::from_secs(20);

/// All ranks. Killed when dropped.
pub(super) struct Crew {
    ranks: Vec<Child>,
    words: mpsc::Receiver<String>,
    key: KeyFile,
}

/// A key of this training's own; the file goes with it.
struct KeyFile(PathBuf);

impl Drop for KeyFile {
    fn drop(&mut self) {
        // It is of no use to anybody; that it may be gone is no matter.
        let _ = fs::remove_file(&self.0);
    }
}

impl Crew {
    /// Starts every rank with this process's own arguments.
    pub(super) fn start(args: &TrainArgs, transport: &str, place: &Place) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let key = KeyFile(
            std::env::temp_dir()
                .join(format!("laxity-train-{}-{transport}.key", std::process::id())),
        );
        keys::write(&key.0, &keys::generate()?, true)?;
        let (host, port) = place.store()?;
        let (tell, words) = mpsc::channel();
        let mut crew = Self { ranks: Vec::new(), words, key };
        for rank in 0..args.ranks {
            let mut command = Command::new(&program);
            command.args(std::env::args_os().skip(1));
            command
                .env("RANK", rank.to_string())
                .env("LOCAL_RANK", rank.to_string())
                .env("WORLD_SIZE", args.ranks.to_string())
                .env("MASTER_ADDR", &host)
                .env("MASTER_PORT", port.to_string())
                .env("LAXITY_TRANSPORT", transport)
                .env("LAXITY_KEY_FILE", &crew.key.0)
                .env(WORDS, "1");
            for other in ["LAXITY_STORE", "LAXITY_BIND", "LAXITY_ADVERTISE", "LAXITY_INSECURE"] {
                command.env_remove(other);
            }
            if let Some(control) = &args.tcp_control {
                command.env("LAXITY_TCP_CONGESTION", control);
            }
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            let mut command = place.put(rank, command)?;
            let mut child = command.spawn().with_context(|| format!("cannot start rank {rank}"))?;
            if rank == 0 {
                let out = child.stdout.take().context("a rank without standard output")?;
                let tell = tell.clone();
                std::thread::spawn(move || {
                    let lines = BufReader::new(out).lines().map_while(Result::ok);
                    lines.map_while(|line| tell.send(line).ok()).for_each(drop);
                });
            }
            crew.ranks.push(child);
        }
        Ok(crew)
    }

    /// What rank 0 says next; nothing when it has ended.
    pub(super) fn next(&mut self) -> Result<Option<Word>> {
        loop {
            match self.words.recv_timeout(TICK) {
                Ok(line) => {
                    let word = serde_json::from_str(&line);
                    return word.map(Some).with_context(|| format!("rank 0 said `{line}`"));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    signal::check()?;
                    self.look()?;
                }
            }
        }
    }

    /// A rank that has failed ends the training for all.
    fn look(&mut self) -> Result<()> {
        for (rank, child) in self.ranks.iter_mut().enumerate() {
            if let Some(status) = child.try_wait()?.filter(|status| !status.success()) {
                bail!("rank {rank} ended with {status}; what it said is above");
            }
        }
        Ok(())
    }

    /// Waits for all ranks to end.
    pub(super) fn end(mut self) -> Result<()> {
        let until = Instant::now() + END;
        loop {
            self.look()?;
            let left = self.ranks.iter_mut().filter_map(|child| child.try_wait().transpose());
            if left.count() == self.ranks.len() {
                return Ok(());
            }
            if Instant::now() > until {
                bail!("ranks did not end within {} s of rank 0", END.as_secs());
            }
            signal::check()?;
            std::thread::sleep(TICK);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for child in &mut self.ranks {
            // One that has ended cannot be killed, which is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
