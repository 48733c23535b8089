//! A plan as rows: what ran and what was sent, when, and why.

use anyhow::Result;
use laxity_flowsim::{Outcome, World};
use laxity_interface::{Span, Time};
use laxity_report::{Report, Row};

use crate::output::{self, To};

fn ms(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64() * 1e3
}

/// One row for each operation and flow, then one for each decision.
pub(super) fn fill(report: &mut Report, world: &World, outcome: &Outcome, explain: bool) {
    let end = ms(outcome.end);
    report.meta = report.meta.clone().with("end_ms", end);
    for ran in &outcome.operations {
        let work = &world.works[ran.work];
        let operation = &work.operations[ran.operation.index()];
        let host = operation.host.map(|host| world.net.name(host).to_string());
        report.push(
            Row::new()
                .with("what", "operation")
                .with("job", work.name.as_str())
                .with("name", operation.name.as_str())
                .with("where", host)
                .with("start_ms", ms(ran.start))
                .with("end_ms", ms(ran.end)),
        );
    }
    for sent in &outcome.flows {
        let work = &world.works[sent.work];
        let flow = &work.flows[sent.flow.0 as usize];
        let (from, to) = (world.net.name(flow.from), world.net.name(flow.to));
        let late = flow.deadline.map(|deadline| lateness(work.arrives + deadline, sent.end));
        report.push(
            Row::new()
                .with("what", "flow")
                .with("job", work.name.as_str())
                .with("name", flow.name.as_str())
                .with("where", format!("{from} to {to}"))
                .with("bytes", flow.size.get())
                .with("start_ms", ms(sent.released))
                .with("end_ms", ms(sent.end))
                .with("late_ms", late),
        );
    }
    if !explain {
        return;
    }
    for change in &outcome.rates {
        let Some(reason) = change.reason else { continue };
        let work = &world.works[change.work];
        report.push(
            Row::new()
                .with("what", "decision")
                .with("job", work.name.as_str())
                .with("name", work.flows[change.flow.0 as usize].name.as_str())
                .with("start_ms", ms(change.at))
                .with("rate_gbps", change.rate.as_gbps_f64())
                .with("reason", with_names(world, &reason.to_string())),
        );
    }
}

/// How late, in milliseconds; negative if early.
fn lateness(due: Time, end: Time) -> f64 {
    let span = |span: Span| span.as_secs_f64() * 1e3;
    span(end.since(due)) - span(due.since(end))
}

/// Replaces the numbers of links by their names.
fn with_names(world: &World, reason: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in reason.split(' ') {
        let after_link = words.last().is_some_and(|last| last == "link");
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        let number = digits.parse::<u32>().ok().filter(|n| (*n as usize) < world.net.links().len());
        words.push(match number.filter(|_| after_link) {
            Some(number) => {
                let name = world.net.link_name(laxity_topology::LinkId(number));
                format!("{name}{}", &word[digits.len()..])
            }
            None => word.to_owned(),
        });
    }
    words.join(" ")
}

/// Two tables: what happened, and why.
pub(super) fn print(report: &Report, explain: bool) -> Result<()> {
    let (why, what): (Vec<_>, Vec<_>) = report
        .rows
        .iter()
        .cloned()
        .partition(|row| row.get("what").and_then(|what| what.as_str()) == Some("decision"));
    let part = |rows| Report { rows, ..report.clone() };
    let columns = ["what", "job", "name", "where", "bytes", "start_ms", "end_ms", "late_ms"];
    output::emit(&part(what), false, To::Stdout, &columns)?;
    if explain {
        output::print("\n", To::Stdout)?;
        let columns = ["start_ms", "job", "name", "rate_gbps", "reason"];
        output::emit(&part(why), false, To::Stdout, &columns)?;
    }
    Ok(())
}
