//! The network as the planner sees it: capacities, and what others have reserved.

use laxity_interface::{Bytes, Rate, Time};
use laxity_topology::{LinkId, NodeId, Path, Topology};

use crate::steps::{Steps, from_piece, t_end_by};

/// Paths of more links than that are rare, and only slower.
const USUAL: usize = 8;

/// Directed links with what is left of them over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    links: Vec<Steps>,
    /// Where links start and end; empty where only capacities are known.
    ends: Vec<(NodeId, NodeId)>,
}

impl Network {
    /// The links of a network; those that are down carry nothing.
    pub fn of(net: &Topology) -> Self {
        let rate = |(at, link): (usize, &laxity_topology::Link)| {
            let up = net.is_up(LinkId(at as u32));
            Steps::constant(if up { link.capacity } else { Rate::ZERO })
        };
        let links = net.links().iter().enumerate().map(rate).collect();
        let ends = net.links().iter().map(|link| (link.from, link.to)).collect();
        Self { links, ends }
    }

    /// Links of which only the capacity is known.
    pub fn of_rates(rates: &[Rate]) -> Self {
        Self { links: rates.iter().map(|rate| Steps::constant(*rate)).collect(), ends: Vec::new() }
    }

    /// Links with what is left of each over time.
    pub fn of_steps(links: Vec<Steps>) -> Self {
        Self { links, ends: Vec::new() }
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Takes bandwidth away from a link between two moments.
    ///
    /// Panics on a link of another network.
    pub fn reserve(&mut self, link: LinkId, from: Time, until: Time, rate: Rate) {
        self.links[link.index()].reserve(from, until, rate);
    }

    /// Takes bandwidth away from all links of a path, as much as `taken` says at each moment.
    pub fn reserve_path(&mut self, path: &Path, taken: &Steps) {
        for link in path.iter() {
            self.links[link.index()].reserve_steps(taken);
        }
    }

    /// Replaces what is left of a link, such as when background traffic changes.
    pub fn set(&mut self, link: LinkId, left: Steps) {
        self.links[link.index()] = left;
    }

    /// What is left of a link over time.
    pub fn link(&self, link: LinkId) -> &Steps {
        &self.links[link.index()]
    }

    /// What is left of every link at a moment.
    pub fn left(&self, now: Time) -> Vec<Rate> {
        self.links.iter().map(|link| link.at(now)).collect()
    }

    /// When something changes by itself after a moment.
    pub fn next_change(&self, now: Time) -> Option<Time> {
        self.links.iter().filter_map(|link| link.next_change(now)).min()
    }

    /// The residual bandwidth of a path: the least of its links at each moment.
    ///
    /// Panics on an empty path.
    pub fn residual(&self, path: &Path) -> Steps {
        let (first, rest) = path.split_first().expect("a path has links");
        rest.iter().fold(self.link(*first).clone(), |least, link| least.min(self.link(*link)))
    }

    /// When `size` bytes that may start at `from` have crossed a path, if ever: what
    /// [`Steps::t_end`] says of the [`residual`](Self::residual), found without making it.
    ///
    /// Panics on an empty path.
    pub fn t_end(&self, path: &Path, from: Time, size: Bytes) -> Option<Time> {
        if path.len() > USUAL {
            return self.residual(path).t_end(from, size);
        }
        t_end_by(from, size, self.walk(path, from))
    }

    /// What is left of a path at a moment.
    ///
    /// Panics on an empty path.
    pub fn rate(&self, path: &Path, at: Time) -> Rate {
        path.iter().map(|link| self.link(*link).at(at)).min().expect("a path has links")
    }

    /// Takes everything that a path has left between two moments, and says what that was: what
    /// [`Steps::used`] says of the [`residual`](Self::residual), found without making it.
    ///
    /// Panics on an empty path.
    pub fn take(&mut self, path: &Path, from: Time, until: Time) -> Steps {
        let used = self.used(path, from, until);
        self.reserve_path(path, &used);
        used
    }

    /// What [`take`](Self::take) would take.
    pub(crate) fn used(&self, path: &Path, from: Time, until: Time) -> Steps {
        if path.len() > USUAL {
            return self.residual(path).used(from, until);
        }
        Steps::between(from, until, self.walk(path, from))
    }

    /// The least rate of a path's links at a moment and when it can change next, for moments from `from`
    /// on that rise. For paths of a usual length.
    fn walk(&self, path: &Path, from: Time) -> impl FnMut(Time) -> (Rate, Option<Time>) {
        let mut links = [self.link(path[0]).from(from); USUAL];
        for (pieces, link) in links.iter_mut().zip(path.iter()) {
            *pieces = self.link(*link).from(from);
        }
        let count = path.len();
        move |at| {
            let (mut rate, mut next) = (Rate::MAX, Time::MAX);
            for pieces in &mut links[..count] {
                *pieces = from_piece(pieces, at);
                rate = rate.min(pieces[0].1);
                next = next.min(pieces.get(1).map_or(Time::MAX, |(change, _)| *change));
            }
            (rate, Some(next).filter(|next| *next < Time::MAX))
        }
    }

    /// Puts something in the place of what is left of a link, and gives that back.
    pub(crate) fn replace(&mut self, link: LinkId, left: Steps) -> Steps {
        std::mem::replace(&mut self.links[link.index()], left)
    }

    /// Where a link starts and ends, if known.
    pub(crate) fn ends(&self, link: LinkId) -> Option<(NodeId, NodeId)> {
        self.ends.get(link.index()).copied()
    }
}
