//! `laxity why`: what a controller decided about a job, a flow or an update, and why.

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use laxity_controller::{
    ask_why,
    wire::{Explained, Input},
};
use laxity_interface::Span;
use laxity_report::Row;

use crate::{
    commands::controller::AccessArgs,
    failure::Explain,
    output::{self, To},
    progress,
};

/// Ask a controller why a job, a flow or an update goes as it does
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// JOB, JOB/FLOW, a training job, or TRAINING/RANK:UPDATE.
    #[arg(value_name = "WHAT")]
    what: String,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArgs,
}

/// Runs it.
pub(crate) fn run(args: &WhyArgs) -> Result<()> {
    let started = Instant::now();
    let access = args.access.access()?;
    let bar = progress::spinner("asking the controller");
    let answer = ask_why(&access, &args.what).explain(
        format!("cannot ask the controller at {}", args.access.at()),
        "check that it runs, its address, the certificate and the key file",
    );
    bar.finish_and_clear();
    let answer = answer?;
    if let Some(note) = answer.note {
        anyhow::bail!(note);
    }
    let mut report = output::report(started);
    report.meta = report.meta.with("controller", &*answer.name).with("rounds", answer.rounds);
    for one in &answer.explained {
        report.push(row(one));
    }
    if args.json {
        return output::emit(&report, true, To::Stdout, &[]);
    }
    if let [one] = &answer.explained[..] {
        return output::print(&in_full(one), To::Stdout);
    }
    let columns = ["what", "decision", "reason", "decided", "outcome"];
    output::emit(&report, false, To::Stdout, &columns)
}

fn decided(one: &Explained) -> String {
    let age = Span::from_ps(one.age_ps);
    match age.as_ms() {
        0..1000 => format!("{} ms ago", age.as_ms()),
        ms => format!("{} s ago", ms / 1000),
    }
}

fn row(one: &Explained) -> Row {
    let plan = one.plan.as_ref();
    let inputs: Vec<_> =
        one.inputs.iter().map(|Input { name, value }| format!("{name}: {value}")).collect();
    Row::new()
        .with("what", &*one.what)
        .with("decision", &*one.decision)
        .with("reason", &*one.reason)
        .with("inputs", inputs.join("; "))
        .with("decided", decided(one))
        .with("age_s", Span::from_ps(one.age_ps).as_secs_f64())
        .with("round", one.round)
        .with("rate_bps", plan.map(|plan| plan.rate_bps))
        .with("spare_bps", plan.map(|plan| plan.spare_bps))
        .with("order", plan.map(|plan| u64::from(plan.order)))
        .with("class", plan.map(|plan| u64::from(plan.class)))
        .with("starts_in_s", plan.map(|plan| Span::from_ps(plan.after_ps).as_secs_f64()))
        .with("next_hop", plan.map(|plan| plan.next_hop.clone()))
        .with("outcome", one.outcome.clone())
}

/// One decision with everything it was made from.
fn in_full(one: &Explained) -> String {
    let mut text = format!("{}: {}\n  why:      {}\n", one.what, one.decision, one.reason);
    text += &format!("  decided:  {}, round {}\n", decided(one), one.round);
    if let Some(outcome) = &one.outcome {
        text += &format!("  outcome:  {outcome}\n");
    }
    for Input { name, value } in &one.inputs {
        text += &format!("  from:     {name} = {value}\n");
    }
    text
}
