//! The process that holds a lab: its namespaces, its switch, its traffic.
//!
//! Everything hangs on open files of this process. When it ends, in whatever way, the kernel takes
//! the namespaces, the cables between them and the switch away.

mod control;
mod schedule;
mod traffic;
mod turns;

use std::{
    io::{self, BufRead, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::{UnixListener, UnixStream},
    },
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use laxity_switch::HostId;

use crate::{
    client::runtime::{Entry, Record},
    engine::{Engine, EngineOptions, Realtime},
    file::Network,
    host::{Offload, Site, processes, site, sys},
    wire::{Introduction, KEEP, Ready, Start},
};

/// Holds a lab until it is told to end. This is what the program that is given to
/// [`Lab::up`](crate::Lab::up) has to call, in the only thread of its process.
pub fn main() -> ExitCode {
    let mut line = String::new();
    // Not buffered: what follows the first line is read elsewhere.
    let start = read_line(&mut io::stdin().lock(), &mut line)
        .and_then(|()| serde_json::from_str::<Start>(&line).map_err(io::Error::from));
    let start = match start {
        Ok(start) => start,
        Err(error) => {
            eprintln!(
                "error: this command is for `laxity lab up`, which tells it what to do: {error}"
            );
            return ExitCode::from(2);
        }
    };
    let lock = sys::inherited(start.lock);
    match up(start) {
        Ok(daemon) => {
            say(&Ready::Up);
            daemon.serve();
            // The lock goes last: who has it next finds everything done.
            drop(lock);
            ExitCode::SUCCESS
        }
        Err(reason) => {
            say(&Ready::Failed(reason));
            ExitCode::FAILURE
        }
    }
}

/// Tells whoever made this process how it went; nobody may be there any more.
fn say(ready: &Ready) {
    let line = serde_json::to_string(ready).unwrap_or_default();
    let _ = writeln!(io::stdout(), "{line}");
}

fn read_line(from: &mut impl BufRead, line: &mut String) -> io::Result<()> {
    from.read_line(line).map(|_| ())
}

/// What every part of the daemon can reach.
struct Shared {
    introduction: Introduction,
    network: Network,
    site: Site,
    engine: Engine,
    started: Instant,
    traffic: Vec<Arc<traffic::Stats>>,
    turns: turns::Turns,
    /// Rings when the lab is to end.
    bell: UnixStream,
    /// Who is to be told when it has ended.
    waiting: Mutex<Vec<crate::wire::Channel>>,
}

struct Daemon {
    shared: Arc<Shared>,
    entry: Entry,
    listener: UnixListener,
    bell: UnixStream,
    signals: OwnedFd,
}

/// Everything up to the moment at which programs can run inside.
fn up(start: Start) -> Result<Daemon, String> {
    // A namespace, a packet socket and perhaps connections for every host. Where the limit cannot be
    // raised, the step that needs more says so.
    let _ = sys::raise_file_limit();
    let entry = Entry::at(&start.folder);
    let network = start.file.network().clone();
    let signals = sys::signals(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT])
        .map_err(|error| format!("cannot watch for signals: {error}"))?;
    let mtus: Vec<_> = network.hosts.iter().map(|host| host.mtu).collect();
    let offload = if network.offload { Offload::Switch } else { Offload::Hosts };
    let site = Site::build(&mtus, offload, network.receive).map_err(|error| error.to_string())?;
    let files = |error: io::Error| {
        format!(
            "cannot write to `{}`: {error}; check that there is space",
            entry.folder().display()
        )
    };
    let record = Record {
        id: start.id.clone(),
        process: std::process::id(),
        networks: site.numbers().map_err(files)?,
    };
    entry.write_record(&record).map_err(files)?;
    std::fs::write(entry.names_file(), names(&network)).map_err(files)?;
    let fabric = network.fabric().map_err(|error| error.to_string())?;
    let ports = (0..network.hosts.len())
        .map(|host| (HostId::new(host as u32), site::port_name(host)))
        .collect();
    let realtime = if start.realtime { Realtime::Auto } else { Realtime::Off };
    let ring = ring_size(network.hosts.len());
    let options =
        EngineOptions { realtime, ring, join: network.offload, ..EngineOptions::default() };
    let engine = Engine::start(ports, fabric, options).map_err(|error| error.to_string())?;
    let listener = UnixListener::bind(entry.socket()).map_err(files)?;
    let (bell, ringer) = UnixStream::pair().map_err(files)?;
    let introduction = Introduction {
        name: start.name,
        id: start.id,
        process: std::process::id(),
        hosts: network.host_infos(),
    };
    let traffic = network.background.iter().map(|_| Arc::default()).collect();
    let shared = Arc::new(Shared {
        introduction,
        network,
        site,
        engine,
        started: Instant::now(),
        traffic,
        turns: turns::Turns::new(Instant::now()),
        bell: ringer,
        waiting: Mutex::default(),
    });
    schedule::start(&shared).map_err(|error| format!("cannot start a thread: {error}"))?;
    traffic::start(&shared).map_err(|error| format!("cannot start a thread: {error}"))?;
    turns::start(&shared).map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(Daemon { shared, entry, listener, bell, signals })
}

/// Memory for frames at each port: plenty, but a large lab must not take all there is.
fn ring_size(hosts: usize) -> usize {
    const ALL: usize = 256 << 20;
    let most = EngineOptions::default().ring;
    (ALL / hosts.next_power_of_two()).clamp(256 << 10, most)
}

/// What `/etc/hosts` is inside.
fn names(network: &Network) -> String {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for host in network.host_infos() {
        text += &format!("{} {}\n", host.address, host.name);
    }
    text
}

impl Daemon {
    fn serve(self) {
        self.wait();
        let shared = &self.shared;
        let networks = shared.site.numbers().map(|all| all.into_iter().collect());
        // We hold these namespaces, so whoever is in them is ours.
        let left = processes::end_all(&networks.unwrap_or_default(), |_| true);
        if left > 0 {
            eprintln!("{left} programs could not be ended");
        }
        if let Err(error) = self.entry.remove() {
            eprintln!("cannot remove `{}`: {error}", self.entry.folder().display());
        }
        let waiting =
            std::mem::take(&mut *shared.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for mut channel in waiting {
            // Who has gone meanwhile needs no answer.
            let _ = channel.send(&crate::wire::Answer::Done);
            // It is closed by the kernel with everything else: whoever waits for that knows that the
            // switch and the namespaces are gone, too.
            std::mem::forget(channel);
        }
    }

    /// Takes connections until something says that it is over.
    fn wait(&self) {
        let stdin = io::stdin();
        let mut tied = true;
        loop {
            let mut files = vec![self.signals.as_fd(), self.bell.as_fd(), self.listener.as_fd()];
            if tied {
                files.push(stdin.as_fd());
            }
            match sys::wait_readable(&files, None) {
                Ok(Some(2)) => match self.listener.accept() {
                    Ok((stream, _)) => control::serve(stream, &self.shared),
                    Err(error) => eprintln!("cannot take a connection: {error}"),
                },
                // The end of the string: whoever made the lab has gone, or lets it live.
                Ok(Some(3)) => {
                    let mut said = [0; KEEP.len()];
                    match stdin.lock().read(&mut said) {
                        Ok(1..) => tied = false,
                        _ => return,
                    }
                }
                Ok(Some(_)) => return,
                Ok(None) => {}
                Err(error) => {
                    eprintln!("cannot wait: {error}");
                    return;
                }
            }
        }
    }
}
