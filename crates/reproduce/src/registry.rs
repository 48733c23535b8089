//! Which experiments there are.

use std::fmt;

use crate::{
    bounded, cadentflow,
    catalogue::{CATALOGUE, Entry},
    error::ReproduceError,
    experiment::Experiment,
    mlfabric, netapprox,
};

/// Whether an experiment can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It can.
    Runs,
    /// Nobody has written it.
    NotYet,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Runs => "runs",
            Self::NotYet => "not yet",
        })
    }
}

/// An entry of the catalogue with what runs it.
#[derive(Clone, Copy)]
pub struct Found {
    /// What the catalogue says.
    pub entry: &'static Entry,
    /// What runs it, if it runs.
    pub experiment: Option<&'static dyn Experiment>,
}

impl Found {
    /// Whether it can be run.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.experiment.is_some() { Status::Runs } else { Status::NotYet }
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found")
            .field("name", &self.entry.name)
            .field("status", &self.status())
            .finish()
    }
}

/// Everything that is written.
fn written() -> impl Iterator<Item = &'static dyn Experiment> {
    [cadentflow::EXPERIMENTS, bounded::EXPERIMENTS, netapprox::EXPERIMENTS, mlfabric::EXPERIMENTS]
        .into_iter()
        .flatten()
        .copied()
}

/// Everything in the catalogue, in its order.
pub fn all() -> impl Iterator<Item = Found> {
    CATALOGUE.iter().map(|entry| Found {
        entry,
        experiment: written().find(|experiment| experiment.name() == entry.name),
    })
}

/// The experiment of this name.
///
/// # Errors
/// [`ReproduceError::UnknownName`] with the names that look most like it.
pub fn find(name: &str) -> Result<Found, ReproduceError> {
    let found = all().find(|found| found.entry.name == name);
    found.ok_or_else(|| ReproduceError::UnknownName { name: name.to_owned(), near: near(name) })
}

/// Names that share a word with this one, or that are a few letters away.
fn near(name: &str) -> Vec<&'static str> {
    let mut close: Vec<_> = CATALOGUE
        .iter()
        .filter_map(|entry| {
            let whole = distance(name, entry.name);
            let last = entry.name.split_once('-').map_or(entry.name, |(_, last)| last);
            let part = distance(name, last).min(whole);
            let holds = name.len() >= 3 && entry.name.contains(name);
            (holds || part <= 1 + name.len() / 4).then_some((part, entry.name))
        })
        .collect();
    close.sort();
    close.into_iter().take(5).map(|(_, name)| name).collect()
}

/// How many letters must be added, removed or changed to come from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], at + 1);
        for (place, other) in to.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[place + 1];
            row[place + 1] = changed.min(corner + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_begin_with_their_family() {
        let names: BTreeSet<_> = CATALOGUE.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        for entry in CATALOGUE {
            assert!(entry.name.starts_with(&format!("{}-", entry.family)), "{}", entry.name);
        }
    }

    #[test]
    fn everything_written_is_in_the_catalogue_once() {
        let names: Vec<_> = written().map(|experiment| experiment.entry().name).collect();
        let once: BTreeSet<_> = names.iter().collect();
        assert_eq!(once.len(), names.len());
        assert_eq!(all().filter(|found| found.status() == Status::Runs).count(), names.len());
    }

    #[test]
    fn unknown_names_come_with_near_ones() {
        let near = |name: &str| match find(name) {
            Err(ReproduceError::UnknownName { near, .. }) => near,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(near("cadentflow-fig2"), ["cadentflow-fig1"]);
        assert_eq!(near("sharing"), ["cadentflow-sharing"]);
        assert_eq!(near("aggregaton"), ["mlfabric-aggregation"]);
        assert!(near("netapprox").len() == 5);
        assert!(near("something-else-entirely").is_empty());
        let said = find("cadentflow-fig2").unwrap_err().to_string();
        assert!(said.contains("there is cadentflow-fig1"), "{said}");
    }

    #[test]
    fn distances() {
        for (from, to, far) in [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0)] {
            assert_eq!((distance(from, to), distance(to, from)), (far, far));
        }
    }
}
