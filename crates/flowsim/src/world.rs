//! Everything that a simulation needs to know.

use laxity_interface::{FlowId, Rate, Span, Time};
use laxity_topology::{LinkId, NodeId, Topology};

use crate::work::Work;

/// Bandwidth that somebody else has for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// The link.
    pub link: LinkId,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// How much of it.
    pub rate: Rate,
}

/// A host that computes more slowly for a while: a straggler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slow {
    /// The host.
    pub host: NodeId,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// How many times as long everything takes; 1 or more.
    pub factor: f64,
}

/// A model that updates are committed to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Server {
    /// What people call it.
    pub name: String,
    /// The most commits that may lie between reading the model and committing the update. An update
    /// that is older than that when it could leave is not sent; one that grows older on the way is
    /// thrown away on arrival.
    pub staleness: Option<u64>,
    /// Updates (work, flow) that are committed in this order whatever order they arrive in; others
    /// are committed on arrival.
    pub order: Vec<(usize, FlowId)>,
}

/// A network and what happens on it.
#[derive(Debug, Clone)]
pub struct World {
    /// The network.
    pub net: Topology,
    /// Jobs.
    pub works: Vec<Work>,
    /// What others have reserved.
    pub reservations: Vec<Reservation>,
    /// Which hosts are slow when.
    pub slow: Vec<Slow>,
    /// Models that updates go to.
    pub servers: Vec<Server>,
}

impl World {
    /// A network on which nothing happens.
    pub const fn new(net: Topology) -> Self {
        Self {
            net,
            works: Vec::new(),
            reservations: Vec::new(),
            slow: Vec::new(),
            servers: Vec::new(),
        }
    }

    /// Adds work.
    #[must_use]
    pub fn work(mut self, work: Work) -> Self {
        self.works.push(work);
        self
    }

    /// When an operation that starts now on this host ends.
    pub(crate) fn ends(&self, host: Option<NodeId>, start: Time, takes: Span) -> Time {
        let Some(host) = host else { return start + takes };
        let (mut now, mut left) = (start, takes.as_ps() as f64);
        let factor = |at: Time| {
            let slow = self.slow.iter().filter(|s| s.host == host && s.from <= at && at < s.until);
            slow.map(|s| s.factor).fold(1.0, f64::max)
        };
        if self.slow.iter().all(|s| s.host != host) {
            return start + takes;
        }
        loop {
            let own = self.slow.iter().filter(|s| s.host == host);
            let next = own.flat_map(|s| [s.from, s.until]).filter(|t| *t > now).min();
            let (speed, span) = (factor(now), next.map(|next| next.since(now)));
            match span {
                Some(span) if (span.as_ps() as f64) < left * speed => {
                    left -= span.as_ps() as f64 / speed;
                    now += span;
                }
                _ => return now + Span::from_ps((left * speed).round() as u64),
            }
        }
    }
}
