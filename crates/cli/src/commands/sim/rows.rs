//! Runs as rows.

use laxity_packetsim::{
    Outcome, Stopped,
    measure::{Measured, Summary},
    scenario::{Point, Ran, Workload},
};
use laxity_report::{Row, Value};

/// What tables show of one run; JSON and CSV have more.
pub(super) const RUN_COLUMNS: &[&str] = &[
    "workload",
    "scheme",
    "jobs",
    "unfinished_jobs",
    "mean_job_ms",
    "p50_job_ms",
    "p99_job_ms",
    "max_job_ms",
    "flows",
    "unfinished_flows",
    "mean_flow_ms",
    "p99_flow_ms",
    "mean_slowdown",
    "p99_slowdown",
    "message_loss",
    "goodput_gbps",
];

/// The settings of a point, one field each.
pub(super) fn settings(point: &Point) -> Row {
    let row = Row::new().with("point", point.index);
    point.settings.iter().fold(row, |row, (name, value)| row.with(field(name), number(value)))
}

/// A name as a field: letters and digits, with underscores between them.
pub(super) fn field(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_").to_lowercase();
    match name.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => name,
        false => format!("w_{name}"),
    }
}

/// Numbers as numbers, everything else as it is written.
fn number(text: &str) -> Value {
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => whole.into(),
        (_, Ok(number)) => number.into(),
        _ => text.into(),
    }
}

/// A row for each workload of a run.
pub(super) fn of_run(point: &Point, ran: &Ran) -> Vec<Row> {
    let all = point.workloads.iter().zip(&ran.workloads);
    all.map(|(workload, measured)| {
        let row = settings(point).with("seed", ran.seed);
        network(of_workload(row, workload, measured), &ran.outcome)
    })
    .collect()
}

/// Adds the figures of a workload.
pub(super) fn of_workload(row: Row, workload: &Workload, measured: &Measured) -> Row {
    let row = row
        .with("workload", workload.name.as_str())
        .with("scheme", workload.scheme.to_string())
        .with("min_delivery", workload.min_delivery.get())
        .with("background", workload.background)
        .with("jobs", measured.jobs)
        .with("unfinished_jobs", measured.unfinished_jobs);
    let row = times(row, "job_ms", measured.job_s.as_ref(), 1e3)
        .with("flows", measured.flows)
        .with("unfinished_flows", measured.unfinished_flows)
        .with("short_flows", measured.short_flows);
    let row = times(row, "flow_ms", measured.flow_s.as_ref(), 1e3);
    times(row, "slowdown", measured.slowdown.as_ref(), 1.0)
        .with("message_loss", measured.message_loss())
        .with("goodput_gbps", measured.goodput().as_gbps_f64())
        .with("jain", measured.jain)
}

/// Adds what the network counted; it is the same for all workloads of a run.
fn network(row: Row, outcome: &Outcome) -> Row {
    let stopped = match outcome.stopped {
        Stopped::Driver => "done",
        Stopped::Idle => "idle",
        Stopped::Until => "until",
        Stopped::Events => "max-events",
    };
    row.with("end_ms", outcome.end.as_ps() as f64 / 1e9)
        .with("stopped", stopped)
        .with("packet_hops", outcome.packet_hops)
        .with("data_packets", outcome.tally.data_packets)
        .with("sent_again", outcome.tally.again)
        .with("timeouts", outcome.tally.timeouts)
        .with("drops", outcome.drops)
        .with("marks", outcome.marks)
        .with("trimmed", outcome.trimmed)
        .with("events", outcome.events)
        .with("trace_hash", format!("{:016x}", outcome.trace_hash))
}

/// Adds mean, p50, p99 and max.
pub(super) fn times(row: Row, name: &str, summary: Option<&Summary>, scale: f64) -> Row {
    let of = |of: fn(&Summary) -> f64| summary.map(|summary| of(summary) * scale);
    row.with(format!("mean_{name}"), of(|s| s.mean))
        .with(format!("p50_{name}"), of(|s| s.p50))
        .with(format!("p99_{name}"), of(|s| s.p99))
        .with(format!("max_{name}"), of(|s| s.max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_fields() {
        assert_eq!(field("min-delivery"), "min_delivery");
        assert_eq!(field("Front End-load"), "front_end_load");
        assert_eq!(field("2nd-load"), "w_2nd_load");
        assert_eq!(number("8"), Value::Int(8));
        assert_eq!(number("0.5"), 0.5.into());
        assert_eq!(number("64kB"), "64kB".into());
    }
}
