//! Runs of one point with different seeds, taken together.

use laxity_packetsim::{
    measure::{Measured, Summary},
    scenario::{Point, Task},
};
use laxity_report::Row;

use super::rows;

/// What tables show of a sweep; CSV and JSON have more.
pub(super) const COLUMNS: &[&str] = &[
    "workload",
    "scheme",
    "runs",
    "jobs",
    "unfinished_jobs",
    "mean_job_ms",
    "p50_job_ms",
    "p99_job_ms",
    "mean_slowdown",
    "p99_slowdown",
    "message_loss",
    "goodput_gbps",
];

/// One point with the figures of all its seeds: (seed, one per workload).
pub(super) struct Pooled {
    pub(super) point: Point,
    runs: Vec<Vec<Measured>>,
}

/// Runs in the order of their tasks, by point.
pub(super) fn pool(tasks: &[Task], runs: Vec<Vec<Measured>>) -> Vec<Pooled> {
    let mut all: Vec<Pooled> = Vec::new();
    for (task, measured) in tasks.iter().zip(runs) {
        match all.last_mut().filter(|last| last.point.index == task.point.index) {
            Some(last) => last.runs.push(measured),
            None => all.push(Pooled { point: task.point.clone(), runs: vec![measured] }),
        }
    }
    all
}

impl Pooled {
    /// One row for each workload: percentiles of all jobs and flows of all runs.
    pub(super) fn rows(&self) -> Vec<Row> {
        let one = |(at, workload)| {
            let row = rows::settings(&self.point).with("runs", self.runs.len());
            rows::of_workload(row, workload, &self.together(at))
        };
        self.point.workloads.iter().enumerate().map(one).collect()
    }

    /// The figures of all runs of one workload.
    pub(super) fn together(&self, workload: usize) -> Measured {
        let all = || self.runs.iter().map(move |run| &run[workload]);
        let mut sum = all().next().expect("a point has a run").clone();
        sum.flow_times = all().flat_map(|m| &m.flow_times).copied().collect();
        sum.job_times = all().flat_map(|m| &m.job_times).copied().collect();
        sum.slowdowns = all().flat_map(|m| &m.slowdowns).copied().collect();
        sum.flow_s = Summary::of(&sum.flow_times);
        sum.job_s = Summary::of(&sum.job_times);
        sum.slowdown = Summary::of(&sum.slowdowns);
        for more in all().skip(1) {
            sum.flows += more.flows;
            sum.unfinished_flows += more.unfinished_flows;
            sum.short_flows += more.short_flows;
            sum.jobs += more.jobs;
            sum.unfinished_jobs += more.unfinished_jobs;
            sum.messages += more.messages;
            sum.delivered += more.delivered;
            sum.bytes += more.bytes;
            sum.took += more.took;
        }
        let shares: Vec<_> = all().filter_map(|m| m.jain).collect();
        // Of the runs, not of their flows together: runs do not share a network.
        sum.jain = Summary::of(&shares).map(|summary| summary.mean);
        sum
    }
}
