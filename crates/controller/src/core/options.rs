//! How a controller works.

use laxity_fabric::roles::SchedulerOptions;
use laxity_interface::{Rate, Span};
use laxity_planner::Scheme;

/// How a controller works.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// What it calls itself to hosts.
    pub name: String,
    /// After something has come or gone, how long others are gathered before all are planned.
    pub interval: Span,
    /// While flows only progress, how often plans are made anew.
    pub refresh: Span,
    /// How flows are planned.
    pub flows: laxity_planner::Options,
    /// What a host sends and receives that has not said.
    pub usual: Rate,
    /// How long a host that is away keeps its name and its jobs.
    pub lease: Span,
    /// How long somebody may take to prove who it is.
    pub proof: Span,
    /// How long what was measured between two hosts holds.
    pub measured: Span,
    /// How many decisions about flows that have ended are remembered.
    pub history: usize,
    /// The most conversations, proved or not.
    pub most_sessions: usize,
    /// The most hosts, also as ends of flows.
    pub most_hosts: usize,
    /// The most jobs.
    pub most_jobs: usize,
    /// The most flows of all jobs.
    pub most_flows: usize,
    /// The most training jobs whose updates are scheduled.
    pub most_crews: usize,
    /// The most words that wait for a host; one that reads no faster is let go.
    pub most_waiting: usize,
    /// How the updates of training jobs are scheduled.
    pub crews: SchedulerOptions,
}

impl Options {
    /// A controller of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            interval: Span::from_ms(10),
            refresh: Span::from_ms(200),
            flows: laxity_planner::Options::new(Scheme::Combined),
            usual: Rate::from_gbps(10),
            lease: Span::from_secs(60),
            proof: Span::from_secs(10),
            measured: Span::from_secs(60),
            history: 4096,
            most_sessions: 8192,
            most_hosts: 8192,
            most_jobs: 16_384,
            most_flows: 131_072,
            most_crews: 256,
            most_waiting: 4096,
            crews: SchedulerOptions { history: 8192, ..SchedulerOptions::default() },
        }
    }
}
