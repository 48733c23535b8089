//! `laxity controller status`: hosts, jobs and links as a controller knows them.

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use laxity_controller::{ask_overview, wire::Answer};
use laxity_interface::{Bytes, Rate, Span};
use laxity_report::{Report, Row};

use super::AccessArgs;
use crate::{
    failure::Explain,
    output::{self, To},
    progress,
};

/// Show the hosts, jobs, links and training jobs that a controller knows
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// How many rows of each kind; --json prints all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,

    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArgs,
}

const HOSTS: &[&str] = &["name", "state", "since", "up", "down", "at", "waiting_words"];
const JOBS: &[&str] = &["name", "owner", "objective", "flows", "open", "sent", "of", "rate", "age"];
const LINKS: &[&str] = &["name", "capacity", "planned", "used_percent", "flows"];
const CREWS: &[&str] = &["name", "hosts", "decisions"];

pub(super) fn run(args: &StatusArgs) -> Result<()> {
    let started = Instant::now();
    let access = args.access.access()?;
    let bar = progress::spinner("asking the controller");
    let answer = ask_overview(&access).explain(
        format!("cannot ask the controller at {}", args.access.at()),
        "check that it runs, its address, the certificate and the key file",
    );
    bar.finish_and_clear();
    let answer = answer?;
    let kinds = [
        ("host", host_rows(&answer), HOSTS),
        ("job", job_rows(&answer), JOBS),
        ("link", link_rows(&answer), LINKS),
        ("training job", crew_rows(&answer), CREWS),
    ];
    if args.json {
        let mut report = output::report(started);
        report.meta = report.meta.with("controller", &*answer.name).with("rounds", answer.rounds);
        for row in kinds.into_iter().flat_map(|(_, rows, _)| rows) {
            report.push(row);
        }
        return output::emit(&report, true, To::Stdout, &[]);
    }
    let Answer { name, rounds, incarnation, .. } = &answer;
    output::print(
        &format!("controller {name}, start {incarnation}, {rounds} rounds planned\n"),
        To::Stdout,
    )?;
    for (kind, rows, columns) in kinds {
        show(started, kind, rows, columns, args.rows)?;
    }
    Ok(())
}

fn show(started: Instant, kind: &str, rows: Vec<Row>, columns: &[&str], most: usize) -> Result<()> {
    let count = rows.len();
    let plural = if count == 1 { "" } else { "s" };
    output::print(&format!("\n{count} {kind}{plural}\n"), To::Stdout)?;
    if count == 0 {
        return Ok(());
    }
    let mut report: Report = output::report(started);
    rows.into_iter().take(most).for_each(|row| report.push(row));
    output::emit(&report, false, To::Stdout, columns)?;
    if count > most {
        output::print(&format!("and {} more; --rows shows them\n", count - most), To::Stdout)?;
    }
    Ok(())
}

/// Whole seconds, or less where there is nothing else.
fn age(ps: u64) -> String {
    let span = Span::from_ps(ps);
    match span.as_ms() {
        0..1000 => format!("{} ms", span.as_ms()),
        ms => format!("{} s", ms / 1000),
    }
}

fn host_rows(answer: &Answer) -> Vec<Row> {
    let rows = answer.hosts.iter().map(|host| {
        Row::new()
            .with("row", "host")
            .with("name", &*host.name)
            .with("state", if host.attached { "attached" } else { "away" })
            .with("since", age(host.since_ps))
            .with("since_s", Span::from_ps(host.since_ps).as_secs_f64())
            .with("up", Rate::bps(host.up_bps).to_string())
            .with("down", Rate::bps(host.down_bps).to_string())
            .with("up_bps", host.up_bps)
            .with("down_bps", host.down_bps)
            .with("at", &*host.at)
            .with("addresses", host.addresses.join(" "))
            .with("waiting_words", u64::from(host.waiting))
    });
    rows.collect()
}

fn job_rows(answer: &Answer) -> Vec<Row> {
    let rows = answer.jobs.iter().map(|job| {
        Row::new()
            .with("row", "job")
            .with("name", &*job.name)
            .with("owner", &*job.owner)
            .with("objective", &*job.objective)
            .with("flows", u64::from(job.flows))
            .with("open", u64::from(job.open_flows))
            .with("sent", Bytes::new(job.sent_bytes).to_string())
            .with("of", Bytes::new(job.bytes).to_string())
            .with("rate", Rate::bps(job.rate_bps).to_string())
            .with("age", age(job.age_ps))
            .with("sent_bytes", job.sent_bytes)
            .with("size_bytes", job.bytes)
            .with("rate_bps", job.rate_bps)
            .with("age_s", Span::from_ps(job.age_ps).as_secs_f64())
    });
    rows.collect()
}

fn link_rows(answer: &Answer) -> Vec<Row> {
    let rows = answer.links.iter().map(|link| {
        let used = link.planned_bps as f64 * 100.0 / link.capacity_bps.max(1) as f64;
        Row::new()
            .with("row", "link")
            .with("name", &*link.name)
            .with("capacity", Rate::bps(link.capacity_bps).to_string())
            .with("planned", Rate::bps(link.planned_bps).to_string())
            .with("used_percent", used)
            .with("capacity_bps", link.capacity_bps)
            .with("planned_bps", link.planned_bps)
            .with("flows", u64::from(link.flows))
    });
    rows.collect()
}

fn crew_rows(answer: &Answer) -> Vec<Row> {
    let rows = answer.crews.iter().map(|crew| {
        Row::new()
            .with("row", "training_job")
            .with("name", &*crew.name)
            .with("hosts", u64::from(crew.hosts))
            .with("decisions", crew.decisions)
    });
    rows.collect()
}
