//! Parcels over links that are shared, in virtual time, without packets.
//!
//! Every rank is a host with a link up and a link down behind one switch that never blocks. Parcels are
//! flows that share both links max-min, as TCP does when it has had time; shares change the moment a flow
//! comes or goes or a link gets another rate. Parcels of the least priority (`u32::MAX`) have what the
//! others leave. Bodies of bytes are words between roles: they take the latency and no bandwidth, so that a
//! small model on slow links behaves like a large one on fast links. Nothing is lost, and of a parcel's
//! slack only the priority counts.
//!
//! There are no threads and no clock here: drive it by hand to run many ranks in one thread.
//!
//! ```
//! use bytes::Bytes;
//! use laxity_fabric::{Rank, GroupId, carrier::{Channel, Envelope, Event, Lane, Parcel, Signature, Slack, fluid}};
//! use laxity_interface::{Rate, Span, Time};
//! use laxity_protocol::ElementType;
//!
//! let mut network = fluid::Network::new(3, Rate::from_mbps(8), Span::ZERO);
//! for from in [1, 2] {
//!     let channel = Channel { lane: Lane::Direct, group: GroupId::new(from), sequence: 0, step: 0, part: 0 };
//!     let signature = Signature { kind: 0, element: ElementType::F32, count: 250_000 };
//!     let body = Bytes::from(vec![0; 1_000_000]);
//!     let envelope = Envelope { channel, signature };
//!     let parcel = Parcel { to: Rank::new(0), envelope, body, slack: Slack::EXACT };
//!     network.submit(Time::ZERO, Rank::new(from), parcel);
//! }
//! // A second each, at the same time, into one link.
//! assert_eq!(network.next_event(), Some(Time::ZERO + Span::from_secs(2)));
//! ```

use std::collections::{BTreeMap, BTreeSet};

use laxity_interface::{Rate, Span, Time};
use laxity_planner::{FairShares, Slot, Weight};
use laxity_protocol::ElementType;
use laxity_topology::LinkId;

use super::{Arrival, Event, Parcel};
use crate::rank::Rank;

/// Bit-picoseconds per second in a bit.
const SECOND: u128 = 1_000_000_000_000;

/// Who gets what is left.
const LAST: u32 = u32::MAX;

/// A parcel on its way.
#[derive(Debug)]
struct Flow {
    from: Rank,
    parcel: Parcel,
    /// Its share, unless it has what others leave.
    slot: Option<Slot>,
    /// What has to be carried yet, in bits times picoseconds per second.
    left: u128,
    rate: Rate,
}

impl Flow {
    fn ends(&self, now: Time) -> Time {
        match (self.left, u128::from(self.rate.as_bps())) {
            (0, _) => now,
            (_, 0) => Time::MAX,
            (left, rate) => {
                let ps = u64::try_from(left.div_ceil(rate)).unwrap_or(u64::MAX);
                Time::from_ps(now.as_ps().saturating_add(ps))
            }
        }
    }
}

/// What is on its way between ranks.
#[derive(Debug)]
pub struct Network {
    latency: Span,
    detection: Span,
    now: Time,
    /// Up and down of each rank.
    rates: Vec<[Rate; 2]>,
    shares: FairShares,
    flows: BTreeMap<u64, Flow>,
    count: u64,
    events: BTreeMap<(Time, u64), (Rank, Event)>,
    dead: BTreeSet<Rank>,
    /// Bytes that each rank has sent and received.
    carried: Vec<[u64; 2]>,
    /// Whether shares have to be found anew.
    stale: bool,
}

impl Network {
    /// Ranks whose links all have this rate.
    pub fn new(ranks: u32, rate: Rate, latency: Span) -> Self {
        let links = vec![rate; 2 * ranks as usize];
        Self {
            latency,
            detection: Span::from_ms(10),
            now: Time::ZERO,
            rates: vec![[rate; 2]; ranks as usize],
            shares: FairShares::new(&links),
            flows: BTreeMap::new(),
            count: 0,
            events: BTreeMap::new(),
            dead: BTreeSet::new(),
            carried: vec![[0; 2]; ranks as usize],
            stale: false,
        }
    }

    /// What a rank's host sends and receives from now on.
    pub fn set_host(&mut self, now: Time, rank: Rank, up: Rate, down: Rate) {
        self.advance(now);
        for (at, (link, rate)) in links(rank, rank).into_iter().zip([up, down]).enumerate() {
            if self.rates[rank.index()][at] != rate {
                self.rates[rank.index()][at] = rate;
                self.shares.set_capacity(link, rate);
                self.stale = true;
            }
        }
        self.settle();
    }

    /// What a rank's host sends and receives now.
    pub fn host(&self, rank: Rank) -> (Rate, Rate) {
        let [up, down] = self.rates[rank.index()];
        (up, down)
    }

    /// How many bytes a rank has sent and received so far, words not counted.
    pub fn carried(&self, rank: Rank) -> (u64, u64) {
        let [sent, received] = self.carried[rank.index()];
        (sent, received)
    }

    /// Takes a parcel.
    pub fn submit(&mut self, now: Time, from: Rank, parcel: Parcel) {
        self.advance(now);
        if self.dead.contains(&from) {
            return;
        }
        if self.dead.contains(&parcel.to) {
            // The sender will learn of the death, or has.
            let (peer, envelope) = (parcel.to, parcel.envelope);
            let event = Event::Failed { peer, envelope, reason: format!("{peer} is gone") };
            return self.tell(now + self.latency, from, event);
        }
        if parcel.envelope.signature.element == ElementType::U8 || parcel.body.is_empty() {
            return self.arrive(now, from, parcel);
        }
        let path = links(from, parcel.to);
        let first = parcel.slack.priority != LAST;
        let slot = first.then(|| self.shares.add(&path, Weight::ONE));
        let left = parcel.body.len() as u128 * 8 * SECOND;
        self.count += 1;
        self.flows.insert(self.count, Flow { from, parcel, slot, left, rate: Rate::ZERO });
        self.stale = true;
    }

    /// When something happens next.
    pub fn next_event(&mut self) -> Option<Time> {
        self.settle();
        let ends = self.flows.values().map(|flow| flow.ends(self.now));
        let ends = ends.filter(|ends| *ends < Time::MAX);
        ends.chain(self.events.keys().map(|(at, _)| *at)).min()
    }

    /// The next thing that somebody is told by now.
    pub fn take(&mut self, now: Time) -> Option<(Rank, Event)> {
        self.advance(now);
        let first = self.events.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    /// A rank dies: what it sends or gets at this moment is lost, and the others are told after a while.
    pub fn kill(&mut self, now: Time, rank: Rank) {
        self.advance(now);
        self.dead.insert(rank);
        let its = |flow: &Flow| flow.from == rank || flow.parcel.to == rank;
        let lost: Vec<_> =
            self.flows.iter().filter(|(_, flow)| its(flow)).map(|(at, _)| *at).collect();
        for at in lost {
            if let Some(slot) = self.flows.remove(&at).and_then(|flow| flow.slot) {
                self.shares.remove(slot);
            }
        }
        self.stale = true;
        self.events.retain(|_, (to, _)| *to != rank);
        let news = now + self.detection;
        for other in (0..self.rates.len() as u32).map(Rank::new) {
            if !self.dead.contains(&other) {
                let reason = "its process has ended".to_owned();
                self.tell(news, other, Event::Lost { peer: rank, reason, left: false });
            }
        }
    }

    fn tell(&mut self, at: Time, to: Rank, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), (to, event));
    }

    /// All of a parcel has crossed the links.
    fn arrive(&mut self, at: Time, from: Rank, parcel: Parcel) {
        let Parcel { to, envelope, body, .. } = parcel;
        let (there, back) = (at + self.latency, at + self.latency * 2);
        let arrival = Arrival { from, envelope, body, missing: Vec::new() };
        self.tell(there, to, Event::Arrived(arrival));
        self.tell(back, from, Event::Sent { to, envelope, missing: Vec::new() });
    }

    /// Lets flows go on until now.
    fn advance(&mut self, now: Time) {
        loop {
            self.settle();
            let ends = self.flows.iter().map(|(at, flow)| (flow.ends(self.now), *at));
            let first = ends.min().filter(|(ends, _)| *ends <= now);
            let until = first.map_or(now, |(ends, _)| ends).max(self.now);
            let span = u128::from(until.since(self.now).as_ps());
            for flow in self.flows.values_mut() {
                let done = u128::from(flow.rate.as_bps()) * span;
                flow.left = flow.left.saturating_sub(done);
            }
            self.now = until;
            let Some((_, at)) = first else { return };
            let flow = self.flows.remove(&at).expect("just found");
            if let Some(slot) = flow.slot {
                self.shares.remove(slot);
            }
            self.stale = true;
            let bytes = flow.parcel.body.len() as u64;
            self.carried[flow.from.index()][0] += bytes;
            self.carried[flow.parcel.to.index()][1] += bytes;
            self.arrive(until, flow.from, flow.parcel);
        }
    }

    fn settle(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.shares.settle();
        let mut left: Vec<u64> = self.rates.iter().flatten().map(|rate| rate.as_bps()).collect();
        let mut behind = false;
        for flow in self.flows.values_mut() {
            let Some(slot) = flow.slot else {
                behind = true;
                continue;
            };
            flow.rate = self.shares.rate(slot);
            for link in links(flow.from, flow.parcel.to) {
                left[link.index()] = left[link.index()].saturating_sub(flow.rate.as_bps());
            }
        }
        if behind {
            let left: Vec<_> = left.into_iter().map(Rate::bps).collect();
            let mut shares = FairShares::new(&left);
            let behind = self.flows.values_mut().filter(|flow| flow.slot.is_none());
            let behind: Vec<_> = behind
                .map(|flow| (shares.add(&links(flow.from, flow.parcel.to), Weight::ONE), flow))
                .collect();
            shares.settle();
            for (slot, flow) in behind {
                flow.rate = shares.rate(slot);
            }
        }
    }
}

/// The links from one rank to another.
fn links(from: Rank, to: Rank) -> [LinkId; 2] {
    [LinkId(2 * from.get()), LinkId(2 * to.get() + 1)]
}
