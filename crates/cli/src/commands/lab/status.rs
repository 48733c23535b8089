//! `laxity lab status`: what every queue does.

use std::{
    io::{IsTerminal, stdout},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::Args;
use laxity_interface::Span;
use laxity_lab::{Lab, PortStatus, Status};
use laxity_report::{Report, Row};

use super::chosen;
use crate::{
    output::{self, To},
    sys::signal,
    wait::TICK,
};

/// Show what every queue of every port does, and how well the switch keeps time.
///
/// The table shows ports and queues that have seen a packet; --json and --all show all of them.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The lab's name; needed where there are several.
    name: Option<String>,

    /// Show it again and again, with rates, until Ctrl-C.
    #[arg(long)]
    watch: bool,

    /// How often --watch looks.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Span,

    /// Show all queues, also those that nothing went through.
    #[arg(long)]
    all: bool,

    /// Print everything as JSON; with --watch, one object after the other.
    #[arg(long)]
    json: bool,
}

const COLUMNS: [&str; 11] = [
    "from",
    "to",
    "queue",
    "rate_mbps",
    "sent_packets",
    "sent_bytes",
    "full_packets",
    "marked_packets",
    "lost_packets",
    "backlog_bytes",
    "max_bytes",
];

/// Runs it.
pub(super) fn run(args: &StatusArgs) -> Result<()> {
    let lab = Lab::open(&chosen(args.name.as_deref())?)?;
    let mut before = lab.status()?;
    if !args.watch {
        return show(args, &before, None);
    }
    signal::watch();
    let interval = args.interval.to_std().max(TICK);
    loop {
        if sleep(interval).is_err() {
            // Ctrl-C is how this is meant to end.
            return Ok(());
        }
        let now = lab.status()?;
        if stdout().is_terminal() && !args.json {
            output::print("\x1b[H\x1b[2J", To::Stdout)?;
        }
        show(args, &now, Some(&before))?;
        before = now;
    }
}

fn sleep(time: Duration) -> Result<()> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        signal::check()?;
        thread::sleep(TICK.min(end.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

fn show(args: &StatusArgs, status: &Status, before: Option<&Status>) -> Result<()> {
    let mut report = output::report(Instant::now());
    for (at, port) in status.ports.iter().enumerate() {
        let earlier = before.and_then(|before| {
            Some((before.ports.get(at)?, (status.up_for - before.up_for).as_secs_f64()))
        });
        for row in queue_rows(port, earlier, args.all || args.json) {
            report.push(row);
        }
    }
    if args.json {
        push_others(&mut report, status);
        return output::emit(&report, true, To::Stdout, &[]);
    }
    let columns = COLUMNS.iter().filter(|column| before.is_some() || **column != "rate_mbps");
    let columns: Vec<_> = columns.copied().collect();
    if report.rows.is_empty() {
        output::print("nothing went through any port yet\n", To::Stdout)?;
    } else {
        output::emit(&report, false, To::Stdout, &columns)?;
    }
    output::print(&words(status), To::Stdout)
}

/// A row for each queue of a port; what belongs to the whole port stands in the first.
fn queue_rows(port: &PortStatus, before: Option<(&PortStatus, f64)>, all: bool) -> Vec<Row> {
    let counters = &port.counters;
    let queues = counters.queues.iter().enumerate();
    let shown = queues.filter(|(_, queue)| all || queue.offered.packets > 0);
    shown
        .map(|(at, queue)| {
            let rate = before.and_then(|(before, seconds)| {
                let earlier = before.counters.queues.get(at)?.sent.bytes;
                Some((queue.sent.bytes - earlier).get() as f64 * 8.0 / seconds.max(1e-3) / 1e6)
            });
            let mut row = Row::new()
                .with("row", "queue")
                .with("from", &*port.from)
                .with("to", &*port.to)
                .with("up", counters.up)
                .with("queue", at as u64)
                .with("rate_mbps", rate)
                .with("offered_packets", queue.offered.packets)
                .with("sent_packets", queue.sent.packets)
                .with("sent_bytes", queue.sent.bytes.get())
                .with("full_packets", queue.full.packets)
                .with("down_packets", queue.down.packets)
                .with("marked_packets", queue.marked.packets)
                .with("backlog_packets", queue.backlog.packets)
                .with("backlog_bytes", queue.backlog.bytes.get())
                .with("max_packets", queue.max_packets)
                .with("max_bytes", queue.max_bytes.get());
            if at == 0 {
                row = row
                    .with("lost_packets", counters.lost.packets)
                    .with("delivered_packets", counters.delivered.packets)
                    .with("delivered_bytes", counters.delivered.bytes.get())
                    .with("cut_packets", counters.cut.packets);
            }
            row
        })
        .collect()
}

/// What is not about queues, as rows.
pub(super) fn push_others(report: &mut Report, status: &Status) {
    report.push(health_row(status));
    for entry in &status.background {
        report.push(
            Row::new()
                .with("row", "background")
                .with("name", &*entry.name)
                .with("running", entry.running)
                .with("flows", entry.flows)
                .with("skipped", entry.skipped)
                .with("offered_bytes", entry.offered.get())
                .with("delivered_bytes", entry.delivered.get())
                .with("trouble", entry.trouble.clone()),
        );
    }
    for change in &status.changes {
        report.push(
            Row::new()
                .with("row", "change")
                .with("at_s", change.at.as_secs_f64())
                .with("what", &*change.what)
                .with("done", change.done),
        );
    }
}

fn health_row(status: &Status) -> Row {
    let health = &status.health;
    let us = |span: Span| span.as_secs_f64() * 1e6;
    Row::new()
        .with("row", "switch")
        .with("lab", &*status.name)
        .with("pid", status.process)
        .with("up_s", status.up_for.as_secs_f64())
        .with("valid", health.is_valid())
        .with("seconds", health.seconds)
        .with("busy", health.busy)
        .with("late_p50_us", us(health.lateness.p50))
        .with("late_p99_us", us(health.lateness.p99))
        .with("late_max_us", us(health.lateness.max))
        .with("host_wait_p50_us", us(status.turns.p50))
        .with("host_wait_p99_us", us(status.turns.p99))
        .with("host_wait_max_us", us(status.turns.max))
        .with("received_packets", health.received)
        .with("received_pieces", health.received_pieces)
        .with("sent_packets", health.sent)
        .with("sent_pieces", health.sent_pieces)
        .with("ring_drops", health.ring_drops)
        .with("oversized", health.oversized)
        .with("refused", health.refused)
        .with("realtime", health.realtime)
        .with("receive", status.receive.map(|receive| receive.to_string()))
        .with("unroutable_packets", status.unroutable.packets)
}

/// What is not about queues, in words.
fn words(status: &Status) -> String {
    let health = &status.health;
    let mut text = format!(
        "lab `{}`, up {:.1} s; the switch is late by {} (p50), {} (p99), busy {:.0} %{}\n",
        status.name,
        status.up_for.as_secs_f64(),
        health.lateness.p50,
        health.lateness.p99,
        health.busy * 100.0,
        if health.is_valid() { "" } else { "; it does not keep time: do not trust measurements" },
    );
    text += &format!(
        "a program that wakes up waits for a processor for {} (p50), {} (p99)\n",
        status.turns.p50, status.turns.p99
    );
    text += &match status.receive {
        Some(receive) => format!("hosts take in packets by {receive}\n"),
        None => {
            "hosts take in packets on the switch's core: steering needs root and two cores\n".into()
        }
    };
    for entry in &status.background {
        let state = if entry.running { "on" } else { "off" };
        text += &format!(
            "background `{}` {state}: {} flows, {} offered, {} arrived",
            entry.name, entry.flows, entry.offered, entry.delivered
        );
        text += &entry.trouble.as_ref().map(|it| format!("; {it}")).unwrap_or_default();
        text.push('\n');
    }
    for change in &status.changes {
        let state = if change.done { "done" } else { "to come" };
        text += &format!("change at {}: {} ({state})\n", change.at, change.what);
    }
    text
}
