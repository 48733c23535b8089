//! The network as the scheduler sees it: what hosts can send and receive, and what pairs were measured
//! to reach.

use std::collections::BTreeMap;

use laxity_interface::{Rate, Span, Time};
use laxity_planner::{Network, Steps};
use laxity_topology::{LinkId, Path};

use crate::rank::Rank;

/// The most pairs whose measurements are kept.
const MOST_PAIRS: usize = 1 << 18;

/// How long a measurement counts.
const COUNTS: Span = Span::from_secs(2);

/// A transfer with this part of what both hosts' links have was limited by them.
const EXPLAINED: f64 = 0.8;

/// A way into, out of or between hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Link {
    /// What a host sends.
    Up(Rank),
    /// What a host receives.
    Down(Rank),
    /// What one host sends another.
    Pair(Rank, Rank),
}

/// Bandwidth of hosts, as configured, and of pairs of hosts, as measured.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    /// Of hosts that nothing is known about.
    usual: Rate,
    links: BTreeMap<Link, Steps>,
}

impl View {
    /// All hosts alike.
    pub fn new(usual: Rate) -> Self {
        Self { usual, links: BTreeMap::new() }
    }

    /// What a host sends and receives at most.
    #[must_use]
    pub fn with_host(mut self, host: Rank, up: Rate, down: Rate) -> Self {
        self.set_host(host, up, down);
        self
    }

    /// What a host sends and receives at most, from now on.
    pub fn set_host(&mut self, host: Rank, up: Rate, down: Rate) {
        self.links.insert(Link::Up(host), Steps::constant(up));
        self.links.insert(Link::Down(host), Steps::constant(down));
    }

    /// What a host receives over time, such as beside known background traffic.
    #[must_use]
    pub fn with_down(mut self, host: Rank, down: Steps) -> Self {
        self.links.insert(Link::Down(host), down);
        self
    }

    /// A transfer between two hosts reached this rate.
    ///
    /// One that was about as fast as the hosts' own links says that nothing else limits the pair. What was slower counts for
    /// a while: other transfers may have been the cause, or a link that has become faster since. Later measurements count
    /// more: of what is new, a quarter.
    pub fn measured(&mut self, now: Time, from: Rank, to: Rank, rate: Rate) {
        let link = Link::Pair(from, to);
        let hosts = [Link::Up(from), Link::Down(to)].map(|link| self.rate(link, now));
        if hosts.into_iter().flatten().min().is_some_and(|least| rate >= least.mul_f64(EXPLAINED)) {
            self.links.remove(&link);
            return;
        }
        if !self.links.contains_key(&link) && self.links.len() >= MOST_PAIRS {
            return;
        }
        let before = self.between(now, from, to).unwrap_or(rate);
        let new = before.mul_f64(0.75).as_bps() + rate.mul_f64(0.25).as_bps();
        let new = Rate::bps(new.max(1));
        self.links.insert(link, Steps::new([(Time::ZERO, new), (now + COUNTS, Rate::MAX)]));
    }

    /// What was measured between two hosts and still counts.
    pub fn between(&self, now: Time, from: Rank, to: Rank) -> Option<Rate> {
        let known = self.links.get(&Link::Pair(from, to))?;
        Some(known.at(now)).filter(|rate| *rate < Rate::MAX)
    }

    pub(super) fn steps(&self, link: Link) -> Option<Steps> {
        let known = self.links.get(&link).cloned();
        match link {
            Link::Pair(..) => known,
            Link::Up(_) | Link::Down(_) => {
                Some(known.unwrap_or_else(|| Steps::constant(self.usual)))
            }
        }
    }

    /// What a link carries at a moment, without anybody on it.
    pub(super) fn rate(&self, link: Link, at: Time) -> Option<Rate> {
        match (self.links.get(&link), link) {
            (Some(steps), _) => Some(steps.at(at)),
            (None, Link::Pair(..)) => None,
            (None, Link::Up(_) | Link::Down(_)) => Some(self.usual),
        }
    }

    /// The lesser of what a host sends and receives, if anything is known of it.
    pub(super) fn known_strength(&self, host: Rank, now: Time) -> Option<Rate> {
        let known = self.links.contains_key(&Link::Up(host));
        known.then(|| self.strength(host, now))
    }

    /// The lesser of what a host sends and receives, to choose among hosts.
    pub(super) fn strength(&self, host: Rank, now: Time) -> Rate {
        let at = |link| self.rate(link, now).unwrap_or(Rate::ZERO);
        at(Link::Up(host)).min(at(Link::Down(host)))
    }

    pub(super) fn usual(&self) -> Rate {
        self.usual
    }

    pub(super) fn known(&self) -> impl Iterator<Item = (Link, &Steps)> {
        self.links.iter().map(|(link, steps)| (*link, steps))
    }

    pub(super) fn restore(&mut self, link: Link, steps: Steps) {
        self.links.insert(link, steps);
    }
}

/// What is left of the network while a round is planned.
#[derive(Debug)]
pub(super) struct Left<'a> {
    view: &'a View,
    taken: BTreeMap<Link, Steps>,
}

impl<'a> Left<'a> {
    pub(super) fn new(view: &'a View) -> Self {
        Self { view, taken: BTreeMap::new() }
    }

    /// What is left of a link; nothing for pairs that were not measured.
    pub(super) fn steps(&self, link: Link) -> Option<Steps> {
        self.taken.get(&link).cloned().or_else(|| self.view.steps(link))
    }

    /// Takes what a transfer uses.
    pub(super) fn take(&mut self, links: &[Link], used: &Steps) {
        for link in links {
            if let Some(mut steps) = self.steps(*link) {
                steps.reserve_steps(used);
                self.taken.insert(*link, steps);
            }
        }
    }

    /// A small network of only the links between these hosts and the server, for the planner.
    pub(super) fn part(&self) -> Part<'_> {
        Part { left: self, links: Vec::new(), index: BTreeMap::new(), steps: Vec::new() }
    }
}

/// The links that matter for some updates.
#[derive(Debug)]
pub(super) struct Part<'a> {
    left: &'a Left<'a>,
    links: Vec<Link>,
    index: BTreeMap<Link, LinkId>,
    steps: Vec<Steps>,
}

impl Part<'_> {
    /// Adds the links from one host to another.
    pub(super) fn add(&mut self, from: Rank, to: Rank) -> Path {
        [Link::Up(from), Link::Pair(from, to), Link::Down(to)]
            .into_iter()
            .filter_map(|link| {
                if let Some(id) = self.index.get(&link) {
                    return Some(*id);
                }
                let steps = self.left.steps(link)?;
                let id = LinkId(self.links.len() as u32);
                self.links.push(link);
                self.steps.push(steps);
                self.index.insert(link, id);
                Some(id)
            })
            .collect()
    }

    /// The way from one host to another, if its links were added.
    pub(super) fn path(&self, from: Rank, to: Rank) -> Path {
        let links = [Link::Up(from), Link::Pair(from, to), Link::Down(to)];
        links.iter().filter_map(|link| self.index.get(link).copied()).collect()
    }

    /// The links of a path.
    pub(super) fn links(&self, path: &Path) -> Vec<Link> {
        path.iter().map(|id| self.links[id.index()]).collect()
    }

    /// The links that were added, for the planner. Others cannot be added any more.
    pub(super) fn network(&mut self) -> Network {
        Network::of_steps(std::mem::take(&mut self.steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_count_for_a_while_unless_hosts_explain_them() {
        let (a, b) = (Rank::new(1), Rank::new(2));
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mbps = Rate::from_mbps;
        let mut view = View::new(mbps(100)).with_host(a, mbps(50), mbps(50));
        view.measured(at(0), a, b, mbps(45));
        assert_eq!(view.between(at(0), a, b), None, "the host's own link");
        view.measured(at(0), a, b, mbps(20));
        view.measured(at(1000), a, b, mbps(16));
        assert_eq!(view.between(at(1000), a, b), Some(mbps(19)));
        assert_eq!(view.between(at(2999), a, b), Some(mbps(19)));
        assert_eq!(view.between(at(3000), a, b), None, "too long ago");
        view.measured(at(4000), a, b, mbps(10));
        assert_eq!(view.between(at(4000), a, b), Some(mbps(10)));
        view.measured(at(4100), a, b, mbps(48));
        assert_eq!(view.between(at(4100), a, b), None);
    }
}
