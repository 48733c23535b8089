//! The network as hosts tell of it: what each sends and receives, and what was measured between two.

use std::collections::BTreeMap;

use laxity_interface::{Rate, Span, Time};
use laxity_planner::Network;
use laxity_topology::{LinkId, Path};

/// A host, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct HostId(pub(crate) u32);

impl HostId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A way into, out of or between hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum LinkOf {
    /// All that a host sends.
    Up(HostId),
    /// All that a host receives.
    Down(HostId),
    /// What one host sends another.
    Between(HostId, HostId),
}

/// What is known between two hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pair {
    limit: Rate,
    at: Time,
}

/// The most pairs that are remembered.
const MOST_PAIRS: usize = 1 << 16;

/// What was measured between hosts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Pairs(BTreeMap<(HostId, HostId), Pair>);

/// What a measurement says about the way between two hosts, with what was known before. A transfer that
/// reached what it was told says that there is at least that; one that did not says what there is.
/// Nothing: the way itself is no limit.
pub(crate) fn learn(before: Option<Rate>, measured: Rate, told: Option<Rate>) -> Option<Rate> {
    let reached = told.is_some_and(|told| measured.as_bps() >= told.as_bps() / 10 * 9);
    match (before, reached) {
        (None, true) => None,
        // It may be more: the next plan tries an eighth more, until a transfer says otherwise.
        (Some(before), true) => Some(before.max(measured.mul_f64(1.125))),
        (None, false) => Some(measured),
        // A single slow transfer may have had other causes.
        (Some(before), false) => {
            let bps = before.mul_f64(0.75).as_bps() + measured.mul_f64(0.25).as_bps();
            Some(Rate::bps(bps))
        }
    }
}

impl Pairs {
    /// Takes in a measurement; says whether anything is other than before.
    pub(crate) fn measured(
        &mut self,
        now: Time,
        between: (HostId, HostId),
        rate: Rate,
        told: Option<Rate>,
    ) -> bool {
        let before = self.0.get(&between).map(|pair| pair.limit);
        match learn(before, rate, told) {
            Some(limit) if before.is_some() || self.0.len() < MOST_PAIRS => {
                let limit = limit.max(Rate::bps(1));
                self.0.insert(between, Pair { limit, at: now });
                before != Some(limit)
            }
            _ => false,
        }
    }

    /// Forgets what is too old; says whether anything was, and when something will be.
    pub(crate) fn expire(&mut self, now: Time, after: Span) -> bool {
        let count = self.0.len();
        self.0.retain(|_, pair| pair.at + after > now);
        count != self.0.len()
    }

    /// Forgets a host.
    pub(crate) fn forget(&mut self, host: HostId) {
        self.0.retain(|(from, to), _| *from != host && *to != host);
    }
}

/// The links of one round, numbered.
#[derive(Debug)]
pub(crate) struct Links {
    hosts: usize,
    pairs: Vec<(HostId, HostId)>,
    numbers: BTreeMap<(HostId, HostId), LinkId>,
    rates: Vec<Rate>,
}

impl Links {
    /// `rates` are what hosts send and receive, by number.
    pub(crate) fn new(rates: impl Iterator<Item = (Rate, Rate)>, pairs: &Pairs) -> Self {
        let mut all: Vec<_> = rates.flat_map(|(up, down)| [up, down]).collect();
        let hosts = all.len() / 2;
        let keys: Vec<_> = pairs.0.keys().copied().collect();
        let mut numbers = BTreeMap::new();
        for (key, pair) in &pairs.0 {
            numbers.insert(*key, LinkId(all.len() as u32));
            all.push(pair.limit);
        }
        Self { hosts, pairs: keys, numbers, rates: all }
    }

    pub(crate) fn network(&self) -> Network {
        Network::of_rates(&self.rates)
    }

    /// The way from one host to another.
    pub(crate) fn path(&self, from: HostId, to: HostId) -> Path {
        let (up, down) = (LinkId(from.0 * 2), LinkId(to.0 * 2 + 1));
        match self.numbers.get(&(from, to)) {
            None => Path::new([up, down]),
            Some(between) => Path::new([up, *between, down]),
        }
    }

    /// What a number means.
    pub(crate) fn of(&self, link: LinkId) -> Option<LinkOf> {
        let number = link.index();
        if number < self.hosts * 2 {
            let host = HostId(link.0 / 2);
            return Some(if number.is_multiple_of(2) {
                LinkOf::Up(host)
            } else {
                LinkOf::Down(host)
            });
        }
        let (from, to) = *self.pairs.get(number - self.hosts * 2)?;
        Some(LinkOf::Between(from, to))
    }

    /// All links with their rates.
    pub(crate) fn all(&self) -> impl Iterator<Item = (LinkId, LinkOf, Rate)> {
        self.rates.iter().enumerate().filter_map(|(at, rate)| {
            let link = LinkId(at as u32);
            Some((link, self.of(link)?, *rate))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_that_did_as_told_is_no_limit() {
        let mbps = Rate::from_mbps;
        assert_eq!(learn(None, mbps(100), Some(mbps(100))), None);
        assert_eq!(learn(None, mbps(40), Some(mbps(100))), Some(mbps(40)));
        assert_eq!(learn(None, mbps(40), None), Some(mbps(40)));
        // Told to keep to what is known, it reaches that: the next one may try more.
        let after = learn(Some(mbps(40)), mbps(40), Some(mbps(40)));
        assert_eq!(after, Some(mbps(45)));
        assert_eq!(learn(Some(mbps(40)), mbps(20), Some(mbps(40))), Some(mbps(35)));
    }

    #[test]
    fn links_are_found_by_number_and_by_hosts() {
        let mut pairs = Pairs::default();
        let (a, b) = (HostId(0), HostId(1));
        assert!(pairs.measured(Time::ZERO, (b, a), Rate::from_mbps(1), None));
        let links = Links::new([(Rate::from_mbps(8), Rate::from_mbps(9)); 2].into_iter(), &pairs);
        let names = |path: Path| path.iter().map(|l| links.of(*l).unwrap()).collect::<Vec<_>>();
        assert_eq!(names(links.path(a, b)), [LinkOf::Up(a), LinkOf::Down(b)]);
        let back = [LinkOf::Up(b), LinkOf::Between(b, a), LinkOf::Down(a)];
        assert_eq!(names(links.path(b, a)), back);
        assert_eq!(links.all().count(), 5);
        assert!(pairs.expire(Time::ZERO + Span::from_secs(2), Span::from_secs(1)));
        assert_eq!(pairs, Pairs::default());
    }
}
