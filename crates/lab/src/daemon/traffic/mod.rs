//! Background traffic: flows that the lab itself makes between its hosts.

mod arrivals;
mod core;
mod poller;
mod share;
mod tcp;
mod udp;

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use self::core::{Core, Cores};
use arrivals::Arrivals;
use laxity_interface::{Bytes, Span};
use tcp::Tcp;
use udp::Udp;

use super::Shared;
use crate::{
    file::{Background, Pattern, Transport},
    host::stand_before_programs,
    wire::BackgroundStatus,
};

/// Looked at at least this often, so that numbers in a status are of now.
const LOOK: Duration = Duration::from_millis(50);

/// What became of it so far.
#[derive(Debug, Default)]
pub(super) struct Stats {
    running: AtomicBool,
    flows: AtomicU64,
    skipped: AtomicU64,
    offered: AtomicU64,
    delivered: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl Stats {
    /// For those who ask.
    pub(super) fn status(&self, name: &str) -> BackgroundStatus {
        BackgroundStatus {
            name: name.to_owned(),
            running: self.running.load(Relaxed),
            flows: self.flows.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            offered: Bytes::new(self.offered.load(Relaxed)),
            delivered: Bytes::new(self.delivered.load(Relaxed)),
            trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn note(&self, what: &str, error: &io::Error) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = Some(format!("{what}: {error}"));
    }
}

/// What carries flows between pairs of hosts.
trait Carrier {
    /// A flow of so many bytes begins; false if there is no room for it.
    fn begin(&mut self, pair: usize, bytes: u64) -> io::Result<bool>;
    /// The pair sends without end, from now on or no longer.
    fn switch(&mut self, pair: usize, on: bool) -> io::Result<()>;
    /// Does what can be done now, waits for more until `until` at most.
    fn turn(&mut self, until: Instant) -> io::Result<()>;
}

/// Starts a thread for every entry; they end with their time, or with the process.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let cores = Cores::of_programs();
    for at in 0..shared.network.background.len() {
        let (shared, cores) = (Arc::clone(shared), cores.clone());
        let thread = std::thread::Builder::new().name(format!("laxity-flows{at}"));
        thread.spawn(move || {
            let (entry, stats) = (&shared.network.background[at], &shared.traffic[at]);
            let start = shared.started + entry.start.to_std();
            std::thread::sleep(start.saturating_duration_since(Instant::now()));
            stats.running.store(true, Relaxed);
            if let Err(error) = run(entry, at as u64, &cores, &shared, stats) {
                stats.note("this traffic ended early", &error);
                eprintln!("background traffic `{}`: {error}", entry.name);
            }
            stats.running.store(false, Relaxed);
        })?;
    }
    Ok(())
}

/// Who sends to whom.
fn pairs(entry: &Background) -> Vec<(usize, usize)> {
    let all = entry.from.iter().flat_map(|from| entry.to.iter().map(move |to| (*from, *to)));
    all.filter(|(from, to)| from != to).collect()
}

fn run(
    entry: &Background,
    index: u64,
    cores: &Cores,
    shared: &Shared,
    stats: &Stats,
) -> io::Result<()> {
    // A kernel that does not let us only makes pacing coarser.
    let _ = laxity_endpoint::udp::tighten_timer_slack();
    stand_before_programs();
    let pairs = pairs(entry);
    let core = Core::take(cores);
    let mut carrier: Box<dyn Carrier> = match entry.transport {
        Transport::Tcp => Box::new(Tcp::new(entry, &pairs, shared, stats, core)?),
        Transport::Udp => Box::new(Udp::new(entry, &pairs, shared, stats, core)?),
    };
    let begin = Instant::now();
    let end = begin + entry.duration.to_std();
    match &entry.pattern {
        Pattern::OnOff { on, off } => pulsate(&mut *carrier, pairs.len(), (*on, *off), end, stats),
        Pattern::Sizes { points, rate } => {
            let arrivals = Arrivals::new(points, *rate, shared.network.seed, index);
            arrive(&mut *carrier, pairs.len(), arrivals, begin, end, stats)
        }
    }
}

fn pulsate(
    carrier: &mut dyn Carrier,
    pairs: usize,
    (on, off): (Span, Span),
    end: Instant,
    stats: &Stats,
) -> io::Result<()> {
    let (mut due, mut sending) = (Instant::now(), false);
    loop {
        let now = Instant::now();
        if now >= end {
            return Ok(());
        }
        // With no pause it is switched on once and for all.
        if now >= due && !(sending && off.is_zero()) {
            sending = !sending;
            for pair in 0..pairs {
                carrier.switch(pair, sending)?;
            }
            if sending {
                stats.flows.fetch_add(pairs as u64, Relaxed);
            }
            due += if sending { on } else { off }.to_std();
        }
        let until = if sending && off.is_zero() { end } else { due };
        carrier.turn(until.min(end).min(now + LOOK))?;
    }
}

fn arrive(
    carrier: &mut dyn Carrier,
    pairs: usize,
    mut arrivals: Arrivals,
    begin: Instant,
    end: Instant,
    stats: &Stats,
) -> io::Result<()> {
    loop {
        let now = Instant::now();
        if now >= end {
            return Ok(());
        }
        // Open loop: flows begin when they are due, however the earlier ones fare.
        while begin + arrivals.due() <= now {
            let (pair, bytes) = arrivals.take(pairs);
            if carrier.begin(pair, bytes)? {
                stats.flows.fetch_add(1, Relaxed);
                stats.offered.fetch_add(bytes, Relaxed);
            } else {
                stats.skipped.fetch_add(1, Relaxed);
            }
        }
        carrier.turn((begin + arrivals.due()).min(end).min(now + LOOK))?;
    }
}
