//! `laxity bench worker`: one host's part in `bench compare`, told what to do over standard input.
//!
//! One order per line, one event per line, both JSON. A worker does one run at a time: it listens and
//! connects, waits for the start, transfers, and tells what arrived when. Connections never outlive a run,
//! so that no run profits from what an earlier one has learned. When standard input ends, so does the
//! worker.

mod clock;
mod laxity;
pub(super) mod message;
mod settings;
mod tcp;

use std::{
    io::{self, BufRead, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use anyhow::{Context, Result};
use clap::Args;
use laxity_endpoint::Endpoint;

pub(super) use clock::{now_ns, sleep_until};
use message::{Event, Order, Totals, Transport, Window};

use super::cpu;

/// One host of `bench compare`
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {}

/// What a task hears after it was set up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cue {
    /// The run begins.
    Start(Window),
    /// The run is over.
    Close,
}

/// What the tasks of a worker share.
#[derive(Debug)]
struct Shared {
    out: Mutex<io::Stdout>,
    /// Memory of earlier transfers: touching fresh pages costs as much as receiving into them.
    buffers: Mutex<Vec<Vec<u8>>>,
    /// What TCP flows have read so far.
    tcp_bytes: AtomicU64,
    /// Transfers that are complete.
    complete: AtomicU64,
}

impl Shared {
    fn tell(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody listens any more: then standard input has ended too.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }

    fn buffer(&self, bytes: usize) -> Vec<u8> {
        let free = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = free.unwrap_or_default();
        if buffer.len() < bytes {
            // Every page is touched now, before the clock runs.
            buffer.resize(bytes, 1);
        }
        buffer
    }

    fn give_back(&self, buffer: Vec<u8>) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

/// What a task knows at its end.
type Ended = Result<Totals>;

struct Task {
    cues: mpsc::Sender<Cue>,
    thread: JoinHandle<Ended>,
}

struct Worker {
    shared: Arc<Shared>,
    tasks: Vec<Task>,
    /// All Laxity flows of a host use one endpoint, as an application would.
    endpoint: Option<Endpoint>,
    cpu_before: f64,
}

/// Serves until standard input ends.
pub(super) fn run(_: &WorkerArgs) -> Result<()> {
    let shared = Arc::new(Shared {
        out: Mutex::new(io::stdout()),
        buffers: Mutex::default(),
        tcp_bytes: AtomicU64::new(0),
        complete: AtomicU64::new(0),
    });
    let mut worker = Worker { shared, tasks: Vec::new(), endpoint: None, cpu_before: 0.0 };
    for line in io::stdin().lock().lines() {
        let line = line.context("cannot read orders")?;
        let order: Order = serde_json::from_str(&line).with_context(|| format!("order {line}"))?;
        if let Err(error) = worker.obey(order) {
            worker.shared.tell(&Event::Failed { why: format!("{error:#}") });
        }
    }
    // Tasks may be stuck in a transfer whose other end is gone; nobody waits for them.
    std::process::exit(0)
}

impl Worker {
    fn obey(&mut self, order: Order) -> Result<()> {
        match order {
            Order::Prepare { tcp_ecn } => {
                let unset = settings::prepare(tcp_ecn);
                self.shared.tell(&Event::Prepared { unset });
            }
            Order::Receive(receive) => {
                let shared = self.shared.clone();
                match &receive.transport {
                    Transport::Tcp { .. } => {
                        self.start(move |cues| tcp::receive(&shared, &receive, &cues))?
                    }
                    Transport::Laxity(settings) => {
                        let endpoint = self.endpoint(settings, receive.bind)?;
                        let address = endpoint.local_addr();
                        shared.tell(&Event::Listening { address });
                        self.start(move |cues| {
                            laxity::receive(&shared, &endpoint, &receive, &cues)
                        })?;
                    }
                }
            }
            Order::Send(send) => {
                let shared = self.shared.clone();
                match &send.transport {
                    Transport::Tcp { .. } => {
                        self.start(move |cues| tcp::send(&shared, &send, &cues))?;
                    }
                    Transport::Laxity(settings) => {
                        let endpoint = self.endpoint(settings, send.bind)?;
                        self.start(move |cues| laxity::send(&shared, &endpoint, &send, &cues))?;
                    }
                }
            }
            Order::Start(window) => {
                self.cpu_before = cpu::used().as_secs_f64();
                for task in &self.tasks {
                    // A task that has failed has said so.
                    let _ = task.cues.send(Cue::Start(window));
                }
            }
            Order::Progress => {
                let complete = self.shared.complete.load(Ordering::Relaxed);
                let tcp = self.shared.tcp_bytes.load(Ordering::Relaxed);
                let laxity = self.endpoint.as_ref().map_or(0, |e| e.stats().bytes_received);
                self.shared.tell(&Event::Progress { complete, bytes: tcp + laxity });
            }
            Order::Close => {
                let totals = self.close()?;
                self.shared.tell(&Event::Closed(totals));
            }
        }
        Ok(())
    }

    fn endpoint(
        &mut self,
        settings: &message::LaxitySettings,
        bind: std::net::IpAddr,
    ) -> Result<Endpoint> {
        if self.endpoint.is_none() {
            self.endpoint = Some(laxity::bind(settings, bind)?);
        }
        Ok(self.endpoint.clone().expect("made above"))
    }

    fn start(
        &mut self,
        work: impl FnOnce(mpsc::Receiver<Cue>) -> Ended + Send + 'static,
    ) -> Result<()> {
        let (cues, heard) = mpsc::channel();
        let shared = self.shared.clone();
        let run = move || {
            let ended = work(heard);
            if let Err(error) = &ended {
                shared.tell(&Event::Failed { why: format!("{error:#}") });
            }
            ended
        };
        let thread = std::thread::Builder::new().spawn(run).context("cannot start a thread")?;
        self.tasks.push(Task { cues, thread });
        Ok(())
    }

    /// Ends the run: every socket is closed when this returns.
    fn close(&mut self) -> Result<Totals> {
        let cpu_s = cpu::used().as_secs_f64() - self.cpu_before;
        let mut totals = Totals { cpu_s, ..Totals::default() };
        for task in &self.tasks {
            let _ = task.cues.send(Cue::Close);
        }
        for task in self.tasks.drain(..) {
            // What failed has said so, and the run is lost anyway.
            if let Ok(Ok(own)) = task.thread.join() {
                totals.repeated += own.repeated;
            }
        }
        if let Some(endpoint) = self.endpoint.take() {
            totals.socket_drops = endpoint.socket_drops();
        }
        self.shared.tcp_bytes.store(0, Ordering::Relaxed);
        self.shared.complete.store(0, Ordering::Relaxed);
        Ok(totals)
    }
}
