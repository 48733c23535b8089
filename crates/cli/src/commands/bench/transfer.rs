//! `laxity bench transfer`: the same transfers over TCP and Laxity, interleaved in one run.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use laxity_interface::{Bytes, Fraction};
use laxity_report::{Report, Row, stats::Summary};

use super::{
    cpu, laxity,
    serve::{self, Addresses},
    tcp,
};
use crate::{
    failure::usage,
    output::{self, To},
};

/// Compare transfers over kernel TCP and Laxity: goodput, latency, CPU
///
/// A transfer lasts from the call to send until the receiver's confirmation is back. TCP means cubic
/// with TCP_NODELAY on a persistent connection; Laxity sends to a buffer that the receiver has posted.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// Server on another host (`laxity bench serve` there). Default: this host, over loopback.
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// Sizes of the transfers.
    #[arg(long, value_delimiter = ',', default_values = ["4KiB", "64KiB", "1MiB", "16MiB", "256MiB"])]
    sizes: Vec<Bytes>,
    /// What to compare.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["tcp", "laxity", "laxity-insecure"])]
    schemes: Vec<Scheme>,
    /// Time to spend on each size and scheme; at least 5 transfers are made.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// Minimum delivery that Laxity is given.
    #[arg(long, default_value = "1")]
    min_delivery: Fraction,
    /// TCP's congestion control.
    #[arg(long, default_value = "cubic")]
    tcp_control: String,
    /// Laxity's largest datagram in bytes. Default: what the route carries, at most 16,376.
    #[arg(long)]
    max_datagram: Option<u16>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Scheme {
    Tcp,
    Laxity,
    LaxityInsecure,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Laxity => "laxity",
            Self::LaxityInsecure => "laxity-insecure",
        }
    }
}

enum Sender {
    Tcp(tcp::Sender),
    Laxity(laxity::Sender),
}

impl Sender {
    fn send(&mut self, data: &[u8]) -> Result<()> {
        match self {
            Self::Tcp(sender) => Ok(sender.send(data)?),
            Self::Laxity(sender) => sender.send(data),
        }
    }
}

/// Measurements of one scheme at one size.
#[derive(Default)]
struct Samples {
    times: Vec<Duration>,
    cpu: Duration,
    spent: Duration,
}

/// Transfers are made in slices of this length, schemes taking turns: a machine that is busy for a
/// moment then disturbs all of them alike.
const SLICE: Duration = Duration::from_millis(250);

pub(super) fn run(args: &TransferArgs) -> Result<()> {
    let started = Instant::now();
    if !(args.seconds > 0.0 && args.seconds <= 600.0) {
        return Err(usage("--seconds must be more than 0 and at most 600"));
    }
    let largest = args.sizes.iter().map(|size| size.get()).max().context("no sizes given")?;
    let largest = usize::try_from(largest)?;
    let addresses = match &args.to {
        Some(to) => Addresses::of_server(resolve(to)?)?,
        None => {
            let any = "127.0.0.1:0".parse()?;
            serve::start([any; 3], largest, args.max_datagram)?
        }
    };
    let mut senders = args
        .schemes
        .iter()
        .map(|scheme| connect(args, *scheme, &addresses))
        .collect::<Result<Vec<_>>>()?;
    let data = vec![0x5a; largest];
    let mut report = output::report(started);
    report.meta = report
        .meta
        .with("path", args.to.as_deref().unwrap_or("loopback"))
        .with("tcp_control", args.tcp_control.as_str())
        .with("min_delivery", args.min_delivery.get())
        .with("cpu_of", if args.to.is_some() { "sender" } else { "both sides" });
    let bar = progress(args);
    for size in &args.sizes {
        let data = &data[..size.get() as usize];
        let samples = measure(args, &mut senders, data, &bar)?;
        for (scheme, samples) in args.schemes.iter().zip(&samples) {
            report.push(row(*scheme, size.get(), samples));
        }
    }
    bar.finish_and_clear();
    report.meta.seconds = started.elapsed().as_secs_f64();
    let columns = report.columns().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    output::emit(&report, args.json, To::Stdout, &columns)?;
    if !args.json {
        output::print(&summary(&report, &args.sizes), To::Stdout)?;
    }
    Ok(())
}

fn resolve(to: &str) -> Result<SocketAddr> {
    let mut all = to.to_socket_addrs().with_context(|| format!("cannot resolve {to}"))?;
    all.next().with_context(|| format!("{to} has no address"))
}

fn connect(args: &TransferArgs, scheme: Scheme, addresses: &Addresses) -> Result<Sender> {
    let laxity = |to, keyed| {
        laxity::Sender::connect(to, keyed, args.min_delivery, args.max_datagram).map(Sender::Laxity)
    };
    match scheme {
        Scheme::Tcp => Ok(Sender::Tcp(tcp::Sender::connect(addresses.tcp, &args.tcp_control)?)),
        Scheme::Laxity => laxity(addresses.keyed, true),
        Scheme::LaxityInsecure => laxity(addresses.insecure, false),
    }
}

fn measure(
    args: &TransferArgs,
    senders: &mut [Sender],
    data: &[u8],
    bar: &ProgressBar,
) -> Result<Vec<Samples>> {
    let budget = Duration::from_secs_f64(args.seconds);
    let mut samples: Vec<Samples> = senders.iter().map(|_| Samples::default()).collect();
    // The first transfer touches fresh memory and teaches the senders their path.
    for sender in senders.iter_mut() {
        sender.send(data)?;
    }
    loop {
        let mut busy = false;
        for (sender, samples) in senders.iter_mut().zip(&mut samples) {
            if samples.spent >= budget && samples.times.len() >= 5 {
                continue;
            }
            busy = true;
            let (start, cpu) = (Instant::now(), cpu::used());
            while start.elapsed() < SLICE.min(budget) {
                let at = Instant::now();
                sender.send(data)?;
                samples.times.push(at.elapsed());
            }
            samples.cpu += cpu::used() - cpu;
            samples.spent += start.elapsed();
            bar.inc(start.elapsed().as_millis() as u64);
        }
        if !busy {
            return Ok(samples);
        }
    }
}

fn row(scheme: Scheme, bytes: u64, samples: &Samples) -> Row {
    let micros: Vec<f64> = samples.times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
    let total = bytes as f64 * samples.times.len() as f64;
    let seconds: f64 = samples.times.iter().map(Duration::as_secs_f64).sum();
    let summary = Summary::of(&micros);
    Row::new()
        .with("scheme", scheme.name())
        .with("bytes", bytes)
        .with("goodput_gbps", total * 8.0 / seconds / 1e9)
        .with("p50_us", summary.as_ref().map(|s| s.p50))
        .with("p99_us", summary.as_ref().map(|s| s.p99))
        .with("cpu_s_per_gb", samples.cpu.as_secs_f64() / (total / 1e9))
        .with("runs", samples.times.len())
}

/// How the schemes compare, in words.
fn summary(report: &Report, sizes: &[Bytes]) -> String {
    let find = |scheme: &str, bytes: u64, field: &str| {
        let wanted = |row: &&Row| {
            row.get("scheme").and_then(|v| v.as_str()) == Some(scheme)
                && row.get("bytes").and_then(|v| v.as_f64()) == Some(bytes as f64)
        };
        report.rows.iter().find(wanted)?.get(field)?.as_f64()
    };
    let mut text = String::new();
    for size in sizes {
        let tcp = (find("tcp", size.get(), "goodput_gbps"), find("tcp", size.get(), "p50_us"));
        for scheme in ["laxity", "laxity-insecure"] {
            let own =
                (find(scheme, size.get(), "goodput_gbps"), find(scheme, size.get(), "p50_us"));
            if let ((Some(base), Some(base_us)), (Some(own), Some(own_us))) = (tcp, own) {
                text += &format!(
                    "{size} by {scheme}: {:.2} of TCP's goodput, {:.2} times its median latency\n",
                    own / base,
                    own_us / base_us
                );
            }
        }
    }
    text
}

fn progress(args: &TransferArgs) -> ProgressBar {
    let total = args.sizes.len() as f64 * args.schemes.len() as f64 * args.seconds * 1000.0;
    let style = ProgressStyle::with_template("measuring [{bar:40}] {percent}% {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    // Hidden by itself when standard error is not a terminal.
    ProgressBar::new(total as u64).with_style(style)
}
