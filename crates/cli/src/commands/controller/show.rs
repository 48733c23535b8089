//! What a running controller says: events, and one line of how things stand.

use std::io::{self, Write};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use laxity_controller::{Event, Happened};

use crate::progress;

/// Shows what happens.
#[derive(Debug)]
pub(super) struct Shown {
    json: bool,
    rounds: bool,
    line: ProgressBar,
    incarnation: u64,
    planned: u64,
    slowest_us: u64,
    last: (usize, usize, usize),
}

impl Shown {
    pub(super) fn new(json: bool, rounds: bool, incarnation: u64) -> Self {
        let line = progress::spinner("no hosts yet");
        Self { json, rounds, line, incarnation, planned: 0, slowest_us: 0, last: (0, 0, 0) }
    }

    pub(super) fn event(&mut self, happened: &Happened) -> Result<()> {
        self.last = (happened.hosts, happened.jobs, happened.flows);
        let is_round = matches!(happened.event, Event::Round { .. } | Event::Updates { .. });
        if is_round {
            self.planned += 1;
            self.slowest_us = self.slowest_us.max(happened.took_us.unwrap_or(0));
        }
        if self.json {
            let text = serde_json::to_string(happened).context("an event is plain data")?;
            let mut out = io::stdout().lock();
            return writeln!(out, "{text}")
                .and_then(|()| out.flush())
                .context("cannot print what happened");
        }
        if !is_round || self.rounds {
            let took = happened.took_us.map(|us| format!(" in {us} us")).unwrap_or_default();
            let text = format!("{}{took}", happened.event);
            match self.line.is_hidden() {
                true => eprintln!("{text}"),
                false => self.line.println(text),
            }
        }
        Ok(())
    }

    /// How things stand.
    pub(super) fn tick(&self) {
        let (hosts, jobs, flows) = self.last;
        let Self { planned, slowest_us, incarnation, .. } = self;
        self.line.set_message(format!(
            "start {incarnation}: {hosts} hosts, {jobs} jobs, {flows} flows; {planned} rounds, \
             slowest {:.1} ms",
            *slowest_us as f64 / 1e3
        ));
    }

    pub(super) fn finish(&self) {
        self.line.finish_and_clear();
    }
}
