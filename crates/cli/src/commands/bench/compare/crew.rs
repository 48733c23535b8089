//! The workers of a lab, one per host.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};

use super::super::worker::message::{Arrival, Event, Order, Totals};
use crate::sys::signal;

/// How often a wait looks for signals.
const TICK: Duration = Duration::from_millis(100);
/// How long a worker may take to say how far it is.
const PROGRESS: Duration = Duration::from_millis(500);

/// A process in a host. Killed when dropped.
pub(super) struct Worker {
    host: String,
    child: Child,
    orders: ChildStdin,
    events: mpsc::Receiver<Event>,
    heard: Heard,
}

/// What a worker has told in this run and nobody has taken yet.
#[derive(Default)]
struct Heard {
    prepared: Option<Vec<String>>,
    listening: VecDeque<SocketAddr>,
    ready: usize,
    received: Vec<(usize, Vec<Arrival>)>,
    progress: Option<(u64, u64)>,
    closed: Option<Totals>,
}

impl Worker {
    /// Starts `laxity bench worker` by way of a command that leads into the host.
    pub(super) fn start(host: &str, mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.spawn().with_context(|| format!("cannot start a worker in host {host}"))?;
        let orders = child.stdin.take().context("a worker without standard input")?;
        let out = child.stdout.take().context("a worker without standard output")?;
        let (tell, events) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line)
                    .unwrap_or_else(|error| Event::Failed { why: format!("{error}: {line}") });
                if tell.send(event).is_err() {
                    return;
                }
            }
        });
        Ok(Self { host: host.to_owned(), child, orders, events, heard: Heard::default() })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn order(&mut self, order: &Order) -> Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.orders.write_all(&line).with_context(|| format!("the worker in {} is gone", self.host))
    }

    /// Has the host's kernel set up; returns what could not be set.
    pub(super) fn prepare(&mut self, tcp_ecn: bool, until: Instant) -> Result<Vec<String>> {
        self.order(&Order::Prepare { tcp_ecn })?;
        self.wait(until, "set up its host", |heard| heard.prepared.take())
    }

    pub(super) fn listening(&mut self, until: Instant) -> Result<SocketAddr> {
        self.wait(until, "listen", |heard| heard.listening.pop_front())
    }

    /// Waits until so many tasks are set up.
    pub(super) fn ready(&mut self, tasks: usize, until: Instant) -> Result<()> {
        self.wait(until, "connect", |heard| (heard.ready >= tasks).then_some(()))
    }

    /// Waits until so many receivers have everything.
    pub(super) fn received(
        &mut self,
        receivers: usize,
        until: Instant,
    ) -> Result<Vec<(usize, Vec<Arrival>)>> {
        self.wait(until, "receive", |heard| {
            let all = heard.received.len() >= receivers;
            all.then(|| std::mem::take(&mut heard.received))
        })
    }

    /// Waits until every socket of the run is closed, and forgets the run.
    pub(super) fn closed(&mut self, until: Instant) -> Result<Totals> {
        let totals = self.wait(until, "close", |heard| heard.closed.take())?;
        self.heard = Heard::default();
        Ok(totals)
    }

    /// How far it got, in words; nothing if it does not answer.
    pub(super) fn progress(&mut self) -> Option<String> {
        let until = Instant::now() + PROGRESS;
        self.order(&Order::Progress).ok()?;
        let (complete, bytes) = self.wait(until, "answer", |heard| heard.progress.take()).ok()?;
        (complete > 0 || bytes > 0)
            .then(|| format!("{} had {complete} transfers complete, {bytes} bytes", self.host))
    }

    fn wait<T>(
        &mut self,
        until: Instant,
        what: &str,
        mut found: impl FnMut(&mut Heard) -> Option<T>,
    ) -> Result<T> {
        loop {
            if let Some(found) = found(&mut self.heard) {
                return Ok(found);
            }
            signal::check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("host {} did not {what} in time", self.host);
            }
            match self.events.recv_timeout(left.min(TICK)) {
                Ok(event) => self.hear(event)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // A signal from the terminal reaches the workers too, and they go first.
                    std::thread::sleep(TICK / 10);
                    signal::check()?;
                    bail!("the worker in host {} ended", self.host);
                }
            }
        }
    }

    fn hear(&mut self, event: Event) -> Result<()> {
        let heard = &mut self.heard;
        match event {
            Event::Prepared { unset } => heard.prepared = Some(unset),
            Event::Listening { address } => heard.listening.push_back(address),
            Event::Ready => heard.ready += 1,
            Event::Received { tag, arrivals } => heard.received.push((tag, arrivals)),
            Event::Progress { complete, bytes } => heard.progress = Some((complete, bytes)),
            Event::Closed(totals) => heard.closed = Some(totals),
            Event::Failed { why } => {
                return Err(anyhow!("{why}").context(format!("in host {}", self.host)));
            }
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends by itself when its input does, but perhaps not soon; nothing in it is worth waiting for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
