//! Queues and links over time.

use laxity_interface::{Span, Time};
use laxity_topology::LinkId;

/// What is to be looked at, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesSetup {
    /// Time from one look to the next. The first is at time 0.
    pub interval: Span,
    /// Which links and the ports before them.
    pub links: Vec<LinkId>,
}

/// Samples of some links at equal intervals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// When the first sample was taken.
    pub first: Time,
    /// Time from one sample to the next.
    pub interval: Span,
    /// One line of samples per link.
    pub links: Vec<LinkSeries>,
}

/// Samples of one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSeries {
    /// Which.
    pub link: LinkId,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// One link at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Bytes that wait, per queue.
    pub queues: [u64; 8],
    /// Packets that wait, in all queues.
    pub packets: u32,
    /// Bytes that left since the simulation began.
    pub sent: u64,
}

impl Sample {
    /// Bytes that wait in all queues.
    pub fn waiting(&self) -> u64 {
        self.queues.iter().sum()
    }
}

impl LinkSeries {
    /// Mean of the bytes that wait.
    pub fn mean_waiting(&self) -> f64 {
        let sum: u64 = self.samples.iter().map(Sample::waiting).sum();
        sum as f64 / self.samples.len().max(1) as f64
    }
}

impl Series {
    pub(crate) fn new(setup: &SeriesSetup, first: Time) -> Self {
        let empty = |link: &LinkId| LinkSeries { link: *link, samples: Vec::new() };
        let links = setup.links.iter().map(empty).collect();
        Self { first, interval: setup.interval, links }
    }
}
