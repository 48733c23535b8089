//! `laxity bench rank`: one rank of `bench allreduce`, told what to do over standard input.

use std::{
    io::{self, BufRead, Write},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use laxity_endpoint::Key;
use laxity_fabric::{
    Communicator, Importance, Options, Rank, ReduceOp,
    rendezvous::{Fabric, Secret, Settings},
};
use laxity_interface::Span;

use super::{
    super::{cpu, worker},
    args::Scheme,
    message::{Event, Join, Order, Reduced},
};

/// One rank of `bench allreduce`
#[derive(Debug, Args)]
pub(crate) struct RankArgs {}

/// How long a rank that leaves waits for the others to hear it.
const GOODBYE: Duration = Duration::from_secs(5);

/// Serves until it is told to leave, or until standard input ends.
pub(in super::super) fn run(_: &RankArgs) -> Result<()> {
    let mut joined: Option<Joined> = None;
    for line in io::stdin().lock().lines() {
        let line = line.context("cannot read orders")?;
        let order: Order = serde_json::from_str(&line).with_context(|| format!("order {line}"))?;
        let done = match (order, &mut joined) {
            (Order::Join(join), none @ None) => Joined::new(&join).map(|made| {
                *none = Some(made);
                Event::Joined
            }),
            (Order::Reduce { scheme, start_ns }, Some(joined)) => {
                joined.reduce(scheme, start_ns).map(Event::Reduced)
            }
            (Order::Check, Some(joined)) => joined.check().map(|()| Event::Checked),
            (Order::Leave, _) => break,
            (order, _) => bail!("{order:?} comes at the wrong time"),
        };
        tell(&done.unwrap_or_else(|error| Event::Failed { why: format!("{error:#}") }))?;
    }
    if let Some(joined) = joined {
        joined.leave();
    }
    Ok(())
}

fn tell(event: &Event) -> Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).context("nobody listens")
}

/// A rank that has met the others.
struct Joined {
    ways: Vec<(Communicator<Fabric>, Options)>,
    own: f32,
    world: f32,
    numbers: Vec<f32>,
    /// Whether nothing was lost of what the numbers were reduced from.
    whole: bool,
}

impl Joined {
    fn new(join: &Join) -> Result<Self> {
        let (rank, world) = (Rank::new(join.rank), join.world);
        let mut ways = Vec::new();
        for (port, contender) in (join.port..).zip(&join.schemes) {
            let scheme = contender.scheme;
            let store = format!("{}:{port}", join.host);
            let secret = match scheme {
                Scheme::LaxityInsecure => Secret::Insecure,
                _ => Secret::Key(Key::new(join.key)),
            };
            let mut settings = Settings::new(rank, world, store, secret);
            settings.transport = scheme.transport();
            settings.laxity.line_rate = join.line_rate;
            // On a machine with too few cores a host can be silent for long and is not dead: the
            // kernel's own questions wait for a core too.
            let dead_after = Duration::from_millis(join.limit_ms);
            (settings.laxity.dead_after, settings.tcp.dead_after) = (dead_after, dead_after);
            settings.tcp.congestion = scheme.control().map(str::to_owned);
            let fabric = Fabric::join(settings)
                .with_context(|| format!("the ranks of {} do not meet", scheme.name()))?;
            let options = Options {
                algorithm: scheme.algorithm(),
                importance: Importance::Uniform(contender.min_delivery),
                limit: Span::from_ms(join.limit_ms),
                ..Options::default()
            };
            ways.push((Communicator::new(fabric, world), options));
        }
        let numbers = vec![0.0; join.elements];
        let (own, world) = (join.rank as f32 + 1.0, world as f32);
        Ok(Self { ways, own, world, numbers, whole: true })
    }

    fn reduce(&mut self, scheme: usize, start_ns: u64) -> Result<Reduced> {
        let (ranks, options) = self.ways.get_mut(scheme).context("there is no such scheme")?;
        self.numbers.fill(self.own);
        let cpu = cpu::used();
        worker::sleep_until(start_ns);
        let outcome = ranks.all_reduce(&mut self.numbers, ReduceOp::Mean, options)?;
        let end_ns = worker::now_ns();
        let cpu_s = (cpu::used() - cpu).as_secs_f64();
        ensure!(outcome.left_out.is_empty(), "{:?} were left out", outcome.left_out);
        self.whole = outcome.least_delivered() >= 1.0;
        let (delivered_min, delivered_mean) = (outcome.least_delivered(), outcome.mean_delivered());
        Ok(Reduced { end_ns, delivered_min, delivered_mean, cpu_s })
    }

    /// Every rank gave its number and 1: the mean of all is known, and of some has its bounds.
    fn check(&self) -> Result<()> {
        let mean = f32::midpoint(self.world, 1.0);
        let bounds = if self.whole { mean - 1e-3..=mean + 1e-3 } else { 1.0..=self.world };
        let wrong = self.numbers.iter().position(|number| !bounds.contains(number));
        if let Some(at) = wrong {
            let number = self.numbers[at];
            bail!("element {at} is {number}, which is no mean of what ranks gave: a bug");
        }
        Ok(())
    }

    fn leave(self) {
        // All at once: goodbyes of one scheme do not wait for those of another.
        let threads: Vec<_> = self
            .ways
            .into_iter()
            .map(|(ranks, _)| std::thread::spawn(move || ranks.into_carrier().shutdown(GOODBYE)))
            .collect();
        for thread in threads {
            // What a goodbye cannot say, the end of this process does.
            let _ = thread.join();
        }
    }
}
