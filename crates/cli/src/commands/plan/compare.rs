//! All schemes side by side.

use anyhow::Result;
use laxity_flowsim::{Outcome, Settings, World, simulate_all};
use laxity_interface::Time;
use laxity_planner::Scheme;
use laxity_report::{Report, Row};

use super::PlanArgs;
use crate::failure::Explain;

/// What the table shows.
pub(super) const COLUMNS: &[&str] =
    &["scheme", "end_ms", "mean_job_ms", "mean_flow_ms", "late_flows", "worst_late_ms"];

/// One row for each scheme.
pub(super) fn fill(report: &mut Report, args: &PlanArgs, world: &World) -> Result<()> {
    let questions: Vec<_> =
        Scheme::ALL.iter().map(|scheme| (world, Settings::new(args.options(*scheme)))).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (scheme, outcome) in Scheme::ALL.iter().zip(simulate_all(&questions, threads)) {
        let outcome = outcome.explain(format!("cannot plan with scheme {scheme}"), "")?;
        report.push(row(world, *scheme, &outcome));
    }
    Ok(())
}

fn row(world: &World, scheme: Scheme, outcome: &Outcome) -> Row {
    let ms = |time: Time, from: Time| time.since(from).as_secs_f64() * 1e3;
    let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len().max(1) as f64;
    let jobs = world.works.iter().zip(&outcome.work_ends).map(|(w, end)| ms(*end, w.arrives));
    let flows = outcome.flows.iter().map(|sent| ms(sent.end, sent.released));
    let late: Vec<_> = outcome
        .flows
        .iter()
        .filter_map(|sent| {
            let work = &world.works[sent.work];
            let deadline = work.flows[sent.flow.0 as usize].deadline?;
            Some(ms(sent.end, work.arrives + deadline))
        })
        .filter(|late| *late > 0.0)
        .collect();
    Row::new()
        .with("scheme", scheme.name())
        .with("end_ms", ms(outcome.end, Time::ZERO))
        .with("mean_job_ms", mean(jobs.collect()))
        .with("mean_flow_ms", mean(flows.collect()))
        .with("late_flows", late.len())
        .with("worst_late_ms", late.iter().copied().fold(0.0, f64::max))
        .with("plans", outcome.plans)
}
