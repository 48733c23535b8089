//! The processes of a training.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use laxity_fabric::Rank;
use laxity_lab::end_with_parent;

use super::{
    MODELS, WORDS,
    args::TrainArgs,
    carried::{CONGESTION, Carried},
    cast::{Cast, Part},
    network::Place,
    word::Word,
};
use crate::{keys, sys::signal, wait::TICK};

/// How long ranks may take to end once all have done their work.
const END: Duration = Duration::from_secs(20);

/// All ranks. Killed when dropped.
pub(super) struct Crew {
    cast: Cast,
    ranks: Vec<Member>,
    words: mpsc::Receiver<(Rank, String)>,
    /// When it was last looked who lives.
    looked: Instant,
    key: KeyFile,
    /// Where models are left for a comparison, if somebody will be killed.
    models: Option<Folder>,
}

/// One process.
struct Member {
    /// Its rank, its part and its host, for people.
    who: String,
    child: Child,
    /// Of those that wait for the workers' end: closing it is the word.
    input: Option<ChildStdin>,
    /// It may die without being missed.
    dead: bool,
}

/// A key of this training's own; the file goes with it.
struct KeyFile(PathBuf);

impl Drop for KeyFile {
    fn drop(&mut self) {
        // It is of no use to anybody; that it may be gone is no matter.
        let _ = fs::remove_file(&self.0);
    }
}

/// A folder of this training's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(carried: &str) -> Result<Self> {
        let name = format!("laxity-train-{}-{carried}.models", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).with_context(|| format!("cannot create `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is of no use to anybody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Crew {
    /// Starts every rank with this process's own arguments.
    pub(super) fn start(args: &TrainArgs, carried: &Carried, place: &Place) -> Result<Self> {
        let name = carried.name();
        let program = std::env::current_exe().context("cannot find this program")?;
        let key = KeyFile(
            std::env::temp_dir().join(format!("laxity-train-{}-{name}.key", std::process::id())),
        );
        keys::write(&key.0, &keys::generate()?, true)?;
        let models = args.kill.map(|_| Folder::new(&name)).transpose()?;
        let (host, port) = place.store()?;
        let (tell, words) = mpsc::channel();
        let cast = Cast::new(args);
        let looked = Instant::now();
        let mut crew = Self { cast, ranks: Vec::new(), words, looked, key, models };
        for rank in 0..cast.ranks() {
            let mut command = Command::new(&program);
            command.args(std::env::args_os().skip(1));
            command
                .env("RANK", rank.to_string())
                .env("LOCAL_RANK", rank.to_string())
                .env("WORLD_SIZE", cast.ranks().to_string())
                .env("MASTER_ADDR", &host)
                .env("MASTER_PORT", port.to_string())
                .env("LAXITY_TRANSPORT", carried.transport.name())
                .env("LAXITY_KEY_FILE", &crew.key.0)
                .env(WORDS, "1");
            for other in ["LAXITY_STORE", "LAXITY_BIND", "LAXITY_ADVERTISE", "LAXITY_INSECURE"] {
                command.env_remove(other);
            }
            match &carried.chosen {
                Some(control) => command.env(CONGESTION, control),
                None => command.env_remove(CONGESTION),
            };
            if let Some(models) = &crew.models {
                command.env(MODELS, &models.0);
            }
            let rank = Rank::new(rank);
            let who = who(&cast, rank, place);
            let waits = !matches!(cast.part(rank), Part::Worker(_));
            command
                .stdin(if waits { Stdio::piped() } else { Stdio::null() })
                .stdout(Stdio::piped());
            let mut command = place.put(rank, command)?;
            // Also when this process cannot end them any more.
            end_with_parent(&mut command);
            let mut child = command.spawn().with_context(|| format!("cannot start {who}"))?;
            let out = child.stdout.take().context("a rank without standard output")?;
            let tell = tell.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(out).lines().map_while(Result::ok);
                lines.map_while(|line| tell.send((rank, line)).ok()).for_each(drop);
            });
            let input = child.stdin.take();
            crew.ranks.push(Member { who, child, input, dead: false });
        }
        Ok(crew)
    }

    /// What a rank says next; nothing when all have ended.
    pub(super) fn next(&mut self) -> Result<Option<(Rank, Word)>> {
        loop {
            // Not only when nobody speaks: some trainings have a word for every commit.
            if self.looked.elapsed() >= TICK {
                self.look()?;
                self.looked = Instant::now();
            }
            match self.words.recv_timeout(TICK) {
                Ok((rank, line)) => {
                    let word = serde_json::from_str(&line);
                    let word = word.with_context(|| format!("{rank} said `{line}`"))?;
                    return Ok(Some((rank, word)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    signal::check()?;
                    return Ok(None);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// A rank that has failed ends the training for all; with a server, one that was killed does not.
    /// When all workers have ended, the others are told.
    fn look(&mut self) -> Result<()> {
        // First: Ctrl-C reaches ranks as well, and that they ended by it is no failure of theirs.
        signal::check()?;
        let cast = self.cast;
        let alone = cast.ranks() > cast.workers && cast.replica().is_none();
        let advice = match alone && self.ranks[cast.server().index()].dead {
            true => ". With --replica another process takes over when the server is lost",
            false => "",
        };
        let mut workers = 0;
        for (rank, member) in (0..).map(Rank::new).zip(&mut self.ranks) {
            let status = member.child.try_wait()?;
            let works = matches!(cast.part(rank), Part::Worker(_));
            workers += usize::from(works && status.is_none());
            let Some(status) = status.filter(|status| !status.success()) else { continue };
            let survives = cast.ranks() > cast.workers && status.signal().is_some();
            if !survives {
                let who = &member.who;
                bail!("{who}, ended with {status}; what it said is above{advice}");
            }
            if !std::mem::replace(&mut member.dead, true) {
                eprintln!("note: {}, ended with {status}", member.who);
            }
        }
        let alive = |(rank, member): (Rank, &Member)| {
            matches!(cast.part(rank), Part::Worker(_)) && !member.dead
        };
        if workers == 0 {
            if !(0..).map(Rank::new).zip(&self.ranks).any(alive) {
                bail!("all workers were killed");
            }
            self.ranks.iter_mut().for_each(|member| member.input = None);
        }
        Ok(())
    }

    /// Kills a rank as nothing else can; says who that was.
    pub(super) fn kill(&mut self, rank: Rank) -> Result<&str> {
        let Member { who, child, .. } = &mut self.ranks[rank.index()];
        child.kill().with_context(|| format!("cannot kill {who}"))?;
        Ok(who)
    }

    /// Workers that did not end by themselves.
    pub(super) fn dead_workers(&self) -> usize {
        let workers = &self.ranks[..self.cast.workers as usize];
        workers.iter().filter(|member| member.dead).count()
    }

    /// Where ranks left their models.
    pub(super) fn models(&self) -> Option<&Path> {
        self.models.as_ref().map(|folder| folder.0.as_path())
    }

    /// Waits for all ranks to end.
    pub(super) fn end(mut self) -> Result<()> {
        let until = Instant::now() + END;
        loop {
            self.look()?;
            let mut left = Vec::new();
            for member in &mut self.ranks {
                if member.child.try_wait()?.is_none() {
                    left.push(member.who.as_str());
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                let (who, seconds) = (left.join("; "), END.as_secs());
                bail!("these did not end within {seconds} s of the last word: {who}");
            }
            std::thread::sleep(TICK / 4);
        }
    }
}

/// A rank, its part and where it is.
fn who(cast: &Cast, rank: Rank, place: &Place) -> String {
    let part = cast.part(rank).name();
    let article = if part == "aggregator" { "an" } else { "a" };
    match place.host(rank) {
        Some(host) => format!("{rank}, {article} {part} in host {host}"),
        None => format!("{rank}, {article} {part}"),
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // All at once, so that none has the time to complain about the end of another.
        for Member { child, .. } in &mut self.ranks {
            // One that has ended cannot be killed, which is what is wanted.
            let _ = child.kill();
        }
        for Member { child, .. } in &mut self.ranks {
            let _ = child.wait();
        }
    }
}
