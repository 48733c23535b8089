//! A lab that is up, with a rank in every host.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use laxity_interface::{Bytes, Rate, Span};
use laxity_lab::{Lab, Receive, run_ahead};

use super::{
    super::{compare::schedule::Verdict, worker},
    args::{AllReduceArgs, Scheme},
    message::{Contender, Event, Join, Order, Reduced},
};
use crate::{
    commands::others::{self, Others},
    failure::Interrupted,
    sys::{random, signal},
    wait::TICK,
};

/// The first store's port in the lab, where nobody else is.
const PORT: u16 = 29_500;
/// How long ranks may take to meet.
const MEET: Duration = Duration::from_secs(60);
/// How long ranks may take to end once they are told to.
const LEAVE: Duration = Duration::from_secs(10);
/// How long others may take to tell what a rank's failure meant for them.
const CONSEQUENCES: Duration = Duration::from_secs(2);
/// From the order to start until the start: every rank has heard it by then.
const LEAD_NS: u64 = 30_000_000;

/// All ranks and their network; everything ends when it is dropped.
pub(super) struct Crew {
    // Before the lab: programs inside end first.
    ranks: Vec<Member>,
    lab: Lab,
    limit: Duration,
    /// What the links of all ranks carry together.
    capacity: Rate,
    /// What other traffic may have under way when a run begins.
    usual: Bytes,
    /// How late the lab was at most, in runs that do not count.
    late: Option<Span>,
}

/// A process in a host. Killed when dropped.
struct Member {
    child: Child,
    orders: ChildStdin,
    events: mpsc::Receiver<Event>,
}

/// One run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// Until the slowest rank had its result.
    pub(super) ms: f64,
    pub(super) delivered_min: f64,
    pub(super) delivered_mean: f64,
    /// Processor time of all ranks.
    pub(super) cpu_s: f64,
    /// The part of all links that other traffic had meanwhile.
    pub(super) other_load: f64,
    /// How long a rank waited for a processor, at p99.
    pub(super) wait_ms: f64,
}

impl Sample {
    fn of(start_ns: u64, all: &[Reduced], other_load: f64, wait_ms: f64) -> Self {
        let last = all.iter().map(|one| one.end_ns).max().unwrap_or(start_ns);
        Self {
            ms: last.saturating_sub(start_ns) as f64 / 1e6,
            delivered_min: all.iter().map(|one| one.delivered_min).fold(1.0, f64::min),
            delivered_mean: all.iter().map(|one| one.delivered_mean).sum::<f64>()
                / all.len().max(1) as f64,
            cpu_s: all.iter().map(|one| one.cpu_s).sum(),
            other_load,
            wait_ms,
        }
    }
}

impl Crew {
    pub(super) fn up(args: &AllReduceArgs, limit: Duration) -> Result<Self> {
        // Ranks wait for each other more than they compute: packets need not interrupt them.
        let lab = args.star().up("allreduce", Receive::Threads)?;
        let program = std::env::current_exe().context("cannot find this program")?;
        let capacity = Rate::bps(args.rate.as_bps() * u64::from(args.ranks));
        let usual = others::usual(args.rate, args.rtt, args.background) * u64::from(args.ranks);
        let mut crew = Self { ranks: Vec::new(), lab, limit, capacity, usual, late: None };
        // A key that nobody knows and nobody will need again.
        let mut key = [0; 32];
        random::fill(&mut key)?;
        let contender = |scheme: &Scheme| Contender {
            scheme: *scheme,
            min_delivery: scheme.min_delivery(args),
        };
        for rank in 0..args.ranks {
            let mut command = Command::new(&program);
            command.args(["bench", "rank"]);
            let mut command = crew.lab.enter(&crew.lab.hosts()[rank as usize].name, command)?;
            run_ahead(&mut command);
            let mut member = Member::start(command)?;
            member.order(&Order::Join(Join {
                rank,
                world: args.ranks,
                host: crew.lab.hosts()[0].address.to_string(),
                port: PORT,
                key,
                schemes: args.schemes.iter().map(contender).collect(),
                elements: args.elements(),
                line_rate: args.line_rate.then_some(args.rate),
                limit_ms: limit.as_millis() as u64,
            }))?;
            crew.ranks.push(member);
        }
        for (rank, event) in crew.hear(MEET)?.into_iter().enumerate() {
            if event != Event::Joined {
                bail!("rank {rank} said {event:?} instead of meeting the others");
            }
        }
        Ok(crew)
    }

    /// One all-reduce by the scheme at this place, and whether it counts.
    pub(super) fn reduce(&mut self, scheme: usize) -> Result<(Sample, Verdict)> {
        Others::let_catch_up(&self.lab, self.usual)?;
        self.lab.reset_health().context("the lab does not answer")?;
        let before = Others::of(&self.lab.status().context("the lab does not answer")?);
        let start_ns = worker::now_ns() + LEAD_NS;
        for member in &mut self.ranks {
            member.order(&Order::Reduce { scheme, start_ns })?;
        }
        let mut all = Vec::new();
        for (rank, event) in self.hear(self.limit + TICK)?.into_iter().enumerate() {
            let Event::Reduced(reduced) = event else { bail!("rank {rank} said {event:?}") };
            all.push(reduced);
        }
        let status = self.lab.status().context("the lab does not answer")?;
        let other_load = before.load_until(&Others::of(&status), self.capacity);
        self.check()?;
        let health = status.health;
        let verdict = if health.is_valid() { Verdict::Valid } else { Verdict::Invalid };
        if verdict == Verdict::Invalid {
            self.late = self.late.max(Some(health.lateness.p99));
        }
        let wait_ms = status.turns.p99.as_secs_f64() * 1e3;
        Ok((Sample::of(start_ns, &all, other_load, wait_ms), verdict))
    }

    /// Has every rank look at its result. Not before all have theirs: it would slow the last ones down.
    fn check(&mut self) -> Result<()> {
        for member in &mut self.ranks {
            member.order(&Order::Check)?;
        }
        for (rank, event) in self.hear(self.limit + TICK)?.into_iter().enumerate() {
            if event != Event::Checked {
                bail!("rank {rank} said {event:?} instead of looking at its result");
            }
        }
        Ok(())
    }

    /// How late the lab was at most, in runs that do not count.
    pub(super) fn late(&self) -> Option<Span> {
        self.late
    }

    /// Runs until now were not to count anyway.
    pub(super) fn forget_late(&mut self) {
        self.late = None;
    }

    /// What each rank says next.
    fn hear(&mut self, patience: Duration) -> Result<Vec<Event>> {
        let mut until = Instant::now() + patience;
        let (mut events, mut failures) = (Vec::new(), Vec::new());
        for (rank, member) in self.ranks.iter_mut().enumerate() {
            match member.hear(until) {
                Ok(event) => events.push(event),
                Err(error) if error.is::<Interrupted>() => return Err(error),
                Err(error) => {
                    // One that fails takes others with it: they say so soon, and which came first
                    // cannot be told from the order in which they are asked.
                    until = until.min(Instant::now() + CONSEQUENCES);
                    failures.push(format!("rank {rank} in host h{}: {error:#}", rank + 1));
                }
            }
        }
        if failures.is_empty() { Ok(events) } else { Err(anyhow!(failures.join("\n  "))) }
    }

    /// Takes it down; says how late the lab was, if runs did not count for it.
    pub(super) fn down(mut self) -> Result<Option<Span>> {
        for member in &mut self.ranks {
            member.order(&Order::Leave)?;
        }
        let until = Instant::now() + LEAVE;
        for member in &mut self.ranks {
            while member.child.try_wait()?.is_none() && Instant::now() < until {
                std::thread::sleep(TICK / 10);
            }
        }
        self.ranks.clear();
        self.lab.down()?;
        Ok(self.late)
    }
}

impl Member {
    fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a rank")?;
        let orders = child.stdin.take().context("a rank without standard input")?;
        let out = child.stdout.take().context("a rank without standard output")?;
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
        Ok(Self { child, orders, events })
    }

    fn order(&mut self, order: &Order) -> Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let written = self.orders.write_all(&line);
        if written.is_err() {
            ended_by_signal()?;
        }
        written.context("a rank has ended; what it said is above")
    }

    fn hear(&mut self, until: Instant) -> Result<Event> {
        loop {
            signal::check()?;
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left.min(TICK)) {
                Ok(Event::Failed { why }) => return Err(anyhow!("{why}")),
                Ok(event) => return Ok(event),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => bail!("it did not answer"),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    ended_by_signal()?;
                    match self.child.try_wait()? {
                        Some(status) => bail!("it has ended with {status}; what it said is above"),
                        None => bail!("it says nothing any more; what it said is above"),
                    }
                }
            }
        }
    }
}

/// What a rank that is gone means: a signal from the terminal reaches the ranks too, and they may go first.
fn ended_by_signal() -> Result<(), Interrupted> {
    std::thread::sleep(TICK / 10);
    signal::check()
}

impl Drop for Member {
    fn drop(&mut self) {
        // It ends by itself when its input does, but perhaps not soon; nothing in it is worth waiting for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_as_slow_as_its_slowest_rank_and_as_whole_as_its_worst() {
        let one = |end_ns, delivered_min| Reduced {
            end_ns,
            delivered_min,
            delivered_mean: delivered_min,
            cpu_s: 0.5,
        };
        let sample = Sample::of(1_000_000, &[one(4_000_000, 0.98), one(3_500_000, 1.0)], 0.25, 3.5);
        assert_eq!((sample.ms, sample.delivered_min, sample.cpu_s), (3.0, 0.98, 1.0));
        assert!((sample.delivered_mean - 0.99).abs() < 1e-12);
        assert_eq!(sample.other_load, 0.25);
    }
}
