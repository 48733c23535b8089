//! What survives a restart: records that are written as they happen, and the state they add up to.

use std::collections::BTreeMap;

use laxity_interface::{FlowId, HostName, Job, Rate, Time};
use serde::{Deserialize, Serialize};

/// Something that must not be forgotten.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Record {
    /// A process began to use this state.
    Began {
        /// The wall clock at time zero, in milliseconds since 1970.
        zero_unix_ms: u64,
        /// How often that has happened.
        incarnation: u64,
        /// How many rounds had been planned.
        rounds: u64,
    },
    /// A host is known.
    Host(SavedHost),
    /// A host is forgotten.
    HostGone {
        /// Its name.
        name: HostName,
    },
    /// A job was taken.
    Job(SavedJob),
    /// A job is over.
    JobOver {
        /// Its name.
        name: String,
    },
}

/// A host as it is kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedHost {
    /// Its name.
    pub name: HostName,
    /// What it signs with, in hexadecimal digits.
    pub token: String,
    /// Where others reach it.
    pub addresses: Vec<String>,
    /// What it sends, if it said.
    pub up: Option<Rate>,
    /// What it receives, if it said.
    pub down: Option<Rate>,
    /// When it was there last, in picoseconds of the controller's clock.
    pub seen_ps: u64,
}

/// A job as it is kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedJob {
    /// The job.
    pub job: Job,
    /// Whose it is.
    pub owner: HostName,
    /// When it began, in picoseconds of the controller's clock.
    pub started_ps: u64,
    /// What had been sent of its flows.
    #[serde(default)]
    pub sent: Vec<(FlowId, u64)>,
}

/// All records together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Saved {
    /// The wall clock at time zero, in milliseconds since 1970; 0 where nothing was saved.
    pub zero_unix_ms: u64,
    /// How many processes have used the state.
    pub incarnation: u64,
    /// How many rounds had been planned.
    pub rounds: u64,
    /// Hosts by name.
    pub hosts: BTreeMap<HostName, SavedHost>,
    /// Jobs by name.
    pub jobs: BTreeMap<String, SavedJob>,
}

impl Saved {
    /// Takes in the next record.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Began { zero_unix_ms, incarnation, rounds } => {
                (self.zero_unix_ms, self.incarnation) = (zero_unix_ms, incarnation);
                self.rounds = rounds;
            }
            Record::Host(host) => {
                self.hosts.insert(host.name.clone(), host);
            }
            Record::HostGone { name } => {
                self.hosts.remove(&name);
            }
            Record::Job(job) => {
                self.jobs.insert(job.job.name().to_owned(), job);
            }
            Record::JobOver { name } => {
                self.jobs.remove(&name);
            }
        }
    }

    /// Lets the clock begin as late as it can: at the start of the oldest job, or now. A clock of
    /// picoseconds in 64 bits ends after 213 days.
    #[must_use]
    pub fn rebased(mut self, now_unix_ms: u64) -> Self {
        const MS: u64 = 1_000_000_000;
        let oldest = self.jobs.values().map(|job| self.zero_unix_ms + job.started_ps / MS).min();
        let zero = oldest.unwrap_or(now_unix_ms).min(now_unix_ms).max(self.zero_unix_ms);
        let shift = (zero - self.zero_unix_ms).saturating_mul(MS);
        for job in self.jobs.values_mut() {
            job.started_ps = job.started_ps.saturating_sub(shift);
        }
        for host in self.hosts.values_mut() {
            host.seen_ps = host.seen_ps.saturating_sub(shift);
        }
        Self { zero_unix_ms: zero, ..self }
    }

    /// The time by the state's clock.
    pub fn time_of(&self, unix_ms: u64) -> Time {
        Time::from_ps(unix_ms.saturating_sub(self.zero_unix_ms).saturating_mul(1_000_000_000))
    }

    /// The fewest records that add up to this.
    pub fn records(&self) -> Vec<Record> {
        let Self { zero_unix_ms, incarnation, rounds, .. } = *self;
        let mut records = vec![Record::Began { zero_unix_ms, incarnation, rounds }];
        records.extend(self.hosts.values().cloned().map(Record::Host));
        records.extend(self.jobs.values().cloned().map(Record::Job));
        records
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::{Bytes, Flow, Span};

    use super::*;

    #[test]
    fn a_state_adds_up_to_itself_and_its_clock_begins_with_the_oldest_job() {
        let job = Job::builder("j").flow(Flow::builder("a", "b", Bytes::new(1))).build().unwrap();
        let started_ps = (Time::ZERO + Span::from_secs(10)).as_ps();
        let owner = HostName::new("a").unwrap();
        let mut saved = Saved::default();
        saved.add(Record::Began { zero_unix_ms: 1_000_000, incarnation: 2, rounds: 7 });
        saved.add(Record::Job(SavedJob { job, owner, started_ps, sent: vec![(FlowId(0), 1)] }));
        let mut again = Saved::default();
        saved.records().into_iter().for_each(|record| again.add(record));
        assert_eq!(again, saved);

        let later = saved.rebased(1_050_000);
        assert_eq!(later.zero_unix_ms, 1_010_000);
        assert_eq!(later.jobs["j"].started_ps, 0);
        assert_eq!(later.time_of(1_050_000), Time::ZERO + Span::from_secs(40));
    }
}
