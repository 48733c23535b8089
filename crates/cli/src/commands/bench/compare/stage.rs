//! A lab that is up, with a worker in every host.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use laxity_interface::{Bytes, Rate, Span};
use laxity_lab::{Lab, LabFile, engine::Health, run_ahead};

use super::{
    crew::Worker,
    network,
    plan::Setting,
    play::{Flow, Played, Seat, Terms, how_far, play},
    schedule::Verdict,
};
use crate::{
    commands::{
        lab::daemon_command,
        others::{self, Others},
    },
    failure::is_interrupt,
};

/// How long workers may take to begin.
const BEGIN: Duration = Duration::from_secs(20);

/// A lab with a worker in every host; everything ends when it is dropped.
pub(super) struct Stage {
    // Before the lab: programs inside end first.
    seats: Vec<Seat>,
    lab: Lab,
    tcp_ecn: bool,
    /// What other traffic may have under way when a run begins.
    usual: Bytes,
    /// What the links carry that it shares.
    capacity: Rate,
    trouble: Option<Trouble>,
}

/// What was wrong with runs that are not valid.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    runs: usize,
    latest: Span,
    lost: u64,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { runs, latest, lost } = self;
        write!(
            f,
            "{runs} runs were not valid: the lab was late by up to {latest} (p99 of a run) and lost {lost} \
             packets by itself; a machine with less to do would help"
        )
    }
}

/// A run, and whether it counts.
pub(super) enum Run {
    /// It went to its end.
    Played {
        /// What happened.
        played: Played,
        /// What else there was.
        around: Around,
        /// Valid unless the lab did not keep time.
        verdict: Verdict,
    },
    /// It did not.
    Failed(anyhow::Error),
}

/// What a run met.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Around {
    /// How long a program waited for a processor, at p99.
    pub(super) host_wait_ms: f64,
    /// The part of the measured links that other traffic had.
    pub(super) other_load: f64,
}

impl Stage {
    pub(super) fn up(setting: &Setting, number: usize, tcp_ecn: bool) -> Result<Self> {
        let file = LabFile::from_toml(&network::toml(setting))
            .context("a lab file of our own was refused")?;
        let name = format!("compare-{}-{number}", std::process::id());
        let lab = Lab::up(&file, &name, daemon_command()?)?;
        let links = network::measured_hosts(setting).count() as u64;
        let usual = others::usual(setting.rate, setting.rtt, setting.background) * links;
        let capacity = Rate::bps(setting.rate.as_bps() * links);
        let mut stage = Self { seats: Vec::new(), lab, tcp_ecn, usual, capacity, trouble: None };
        stage.hire(setting.hosts())?;
        Ok(stage)
    }

    /// Starts a worker in each of the first hosts.
    fn hire(&mut self, hosts: usize) -> Result<()> {
        self.seats.clear();
        let program = std::env::current_exe().context("cannot find this program")?;
        for info in &self.lab.hosts()[..hosts] {
            let mut command = Command::new(&program);
            command.args(["bench", "worker"]);
            let mut command = self.lab.enter(&info.name, command)?;
            run_ahead(&mut command);
            let worker = Worker::start(&info.name, command)?;
            self.seats.push(Seat { worker, address: info.address.into() });
        }
        let until = Instant::now() + BEGIN;
        for seat in &mut self.seats {
            let unset = seat.worker.prepare(self.tcp_ecn, until)?;
            for setting in unset {
                eprintln!("note: host {} could not set {setting}", seat.worker.host());
            }
        }
        Ok(())
    }

    /// One run. Errors are those that no other run would mend.
    pub(super) fn run(&mut self, flows: &[Flow], terms: &Terms) -> Result<Run> {
        Others::let_catch_up(&self.lab, self.usual)?;
        let lab = &self.lab;
        let mut before = None;
        let reset = || {
            lab.reset_health().context("the lab does not answer")?;
            before = Some(Others::of(&lab.status().context("the lab does not answer")?));
            Ok(())
        };
        match play(&mut self.seats, flows, terms, reset) {
            Ok(played) => {
                let status = self.lab.status().context("the lab does not answer")?;
                let now = Others::of(&status);
                let around = Around {
                    host_wait_ms: status.turns.p99.as_secs_f64() * 1e3,
                    other_load: before.map_or(0.0, |it| it.load_until(&now, self.capacity)),
                };
                Ok(Run::Played { played, around, verdict: self.verdict(&status.health) })
            }
            Err(error) if is_interrupt(&error) => Err(error),
            Err(error) => {
                let far = how_far(&mut self.seats);
                // Their state is unknown: others take their place.
                let hosts = self.seats.len();
                self.hire(hosts)?;
                Ok(Run::Failed(error.context(far)))
            }
        }
    }

    /// Whether what was measured since the last start counts.
    fn verdict(&mut self, health: &Health) -> Verdict {
        if health.is_valid() {
            return Verdict::Valid;
        }
        let trouble = self.trouble.get_or_insert_default();
        trouble.runs += 1;
        trouble.latest = trouble.latest.max(health.lateness.p99);
        trouble.lost += health.ring_drops + health.refused;
        Verdict::Invalid
    }

    /// Takes it down; returns what was wrong with runs that are not valid, in words.
    pub(super) fn down(mut self) -> Result<Option<String>> {
        self.seats.clear();
        self.lab.down()?;
        Ok(self.trouble.map(|trouble| trouble.to_string()))
    }
}
