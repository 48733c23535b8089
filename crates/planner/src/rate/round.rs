//! One round of planning: what is left of the links, and what has been decided so far.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_topology::LinkId;

use super::UNDECIDED;
use crate::{
    demand::{Demand, JobKey, JobView},
    network::Network,
    plan::{Decision, Options, Plan, Scheme},
    reason::Reason,
    shares::FairShares,
    weight::Weight,
};

/// Bits of a byte in 10⁻¹² of a bit.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// What has been decided so far. Flows are positions in `demands`.
#[derive(Debug)]
pub(super) struct Round<'a> {
    pub(super) now: Time,
    pub(super) demands: &'a [Demand],
    pub(super) jobs: &'a BTreeMap<JobKey, JobView>,
    pub(super) options: &'a Options,
    /// What is left of each link.
    pub(super) left: Vec<u64>,
    /// What there was at the start.
    pub(super) capacity: Vec<u64>,
    pub(super) rates: Vec<u64>,
    spare: Vec<u64>,
    pub(super) reasons: Vec<Reason>,
    pub(super) job_reasons: Vec<(JobKey, Reason)>,
    /// When a flow changes its queue or deadline, if nothing else happens.
    pub(super) until: Option<Time>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        now: Time,
        network: &Network,
        demands: &'a [Demand],
        jobs: &'a BTreeMap<JobKey, JobView>,
        options: &'a Options,
    ) -> Self {
        let capacity: Vec<_> = network.left(now).iter().map(|rate| rate.as_bps()).collect();
        Self {
            now,
            demands,
            jobs,
            options,
            left: capacity.clone(),
            capacity,
            rates: vec![0; demands.len()],
            spare: vec![0; demands.len()],
            reasons: vec![UNDECIDED; demands.len()],
            job_reasons: Vec::new(),
            until: None,
        }
    }

    /// Flows that may send and have to; the others get their reason.
    pub(super) fn ready(&mut self) -> Vec<usize> {
        let mut ready = Vec::with_capacity(self.demands.len());
        for (at, demand) in self.demands.iter().enumerate() {
            if demand.released > self.now {
                self.reasons[at] = Reason::NotReleased { at: demand.released };
                self.wake(demand.released);
            } else if self.need(at).is_zero() {
                self.reasons[at] = Reason::Enough;
            } else {
                ready.push(at);
            }
        }
        ready
    }

    /// What the scheme plans for: `combined` sends what must be delivered, others all.
    pub(super) fn need(&self, at: usize) -> Bytes {
        match self.options.scheme {
            Scheme::Combined => self.demands[at].needed(),
            _ => self.demands[at].remaining(),
        }
    }

    /// The same in bits.
    pub(super) fn bits(&self, at: usize) -> u128 {
        u128::from(self.need(at).get()) * 8
    }

    /// Asks for a new plan at a moment.
    pub(super) fn wake(&mut self, at: Time) {
        if at > self.now {
            self.until = Some(self.until.map_or(at, |until| until.min(at)));
        }
    }

    /// What a flow could still get.
    pub(super) fn room(&self, at: usize) -> u64 {
        let demand = &self.demands[at];
        let least = demand.path.iter().map(|link| self.left[link.index()]).min().unwrap_or(0);
        let limit = demand.limit.map_or(u64::MAX, Rate::as_bps).saturating_sub(self.rates[at]);
        least.min(limit)
    }

    /// The link of a flow with the least left.
    pub(super) fn tightest(&self, at: usize) -> LinkId {
        let links = self.demands[at].path.iter().copied();
        links.min_by_key(|link| self.left[link.index()]).expect("paths have links")
    }

    /// Adds to the rate of a flow.
    ///
    /// PRECONDITION: there is room.
    pub(super) fn give(&mut self, at: usize, rate: u64) {
        self.rates[at] += rate;
        for link in self.demands[at].path.iter() {
            let left = &mut self.left[link.index()];
            *left = left.checked_sub(rate).expect("a link is never given out twice");
        }
    }

    /// Shares what is left between flows, max-min by these weights. `decide` gets each flow, the
    /// link that holds it back and how many flows are on it, and returns its reason.
    pub(super) fn share(
        &mut self,
        flows: &[usize],
        weight: impl Fn(&Demand) -> Weight,
        decide: impl Fn(&Demand, LinkId, u32) -> Reason,
    ) {
        for (at, rate, link, count) in self.shares(flows, weight) {
            self.give(at, rate);
            let demand = &self.demands[at];
            self.reasons[at] = match (demand.limit, link) {
                (_, Some(link)) => decide(demand, link, count),
                (limit, None) => Reason::AtLimit { limit: limit.unwrap_or(Rate::MAX) },
            };
        }
    }

    /// The max-min shares of some flows in what is left: flow, rate, full link, flows on it.
    fn shares(
        &self,
        flows: &[usize],
        weight: impl Fn(&Demand) -> Weight,
    ) -> Vec<(usize, u64, Option<LinkId>, u32)> {
        let links = self.left.len();
        let mut capacity: Vec<_> = self.left.iter().map(|left| Rate::bps(*left)).collect();
        // A limit is a link of one's own.
        let mut own = Vec::new();
        for at in flows {
            own.push(self.demands[*at].limit.map(|limit| {
                capacity.push(Rate::bps(limit.as_bps().saturating_sub(self.rates[*at])));
                LinkId(capacity.len() as u32 - 1)
            }));
        }
        let mut shares = FairShares::new(&capacity);
        let mut path = Vec::new();
        let add = |(at, own): (&usize, Option<LinkId>)| {
            path.clear();
            path.extend_from_slice(&self.demands[*at].path);
            path.extend(own);
            shares.add(&path, weight(&self.demands[*at]))
        };
        let slots: Vec<_> = flows.iter().zip(own).map(add).collect();
        shares.settle();
        let found = flows.iter().zip(slots).map(|(at, slot)| {
            let held = shares.held_by(slot).filter(|link| link.index() < links);
            let count = held.map_or(1, |link| shares.flows_on(link) as u32);
            (*at, shares.rate(slot).as_bps(), held, count)
        });
        found.collect()
    }

    /// Hands out what no scheme asked for: in the order of the flows' claims where the scheme has
    /// one, else max-min.
    pub(super) fn hand_out_spare(&mut self, flows: &[usize]) {
        for group in self.spare_order(flows) {
            if let [only] = group[..] {
                let room = self.room(only);
                self.give(only, room);
                self.spare[only] += room;
            } else {
                for (at, rate, ..) in self.shares(&group, |_| Weight::ONE) {
                    self.give(at, rate);
                    self.spare[at] += rate;
                }
            }
        }
        // Flows that need no more take what really nobody wants.
        let enough: Vec<_> =
            (0..self.demands.len()).filter(|at| self.reasons[*at] == Reason::Enough).collect();
        if !enough.is_empty() {
            for (at, rate, ..) in self.shares(&enough, |_| Weight::ONE) {
                self.give(at, rate);
                self.spare[at] += rate;
            }
        }
    }

    fn spare_order(&self, flows: &[usize]) -> Vec<Vec<usize>> {
        let open: Vec<_> = flows.iter().copied().filter(|at| self.room(*at) > 0).collect();
        if open.is_empty() {
            return Vec::new();
        }
        match self.options.scheme {
            // A coflow that ends together gains nothing from spare bandwidth in one flow, but
            // others may; early deadlines gain most.
            Scheme::Deadline | Scheme::Combined => {
                let mut open = open;
                let due = |at: &usize| self.demands[*at].deadline.unwrap_or(Time::MAX);
                open.sort_by_key(due);
                let groups = open.chunk_by(|a, b| due(a) == due(b));
                groups.map(<[usize]>::to_vec).collect()
            }
            // Waiting flows of a sender stay behind the one that it sends.
            Scheme::NodeOrdered | Scheme::ConnectionOrdered => {
                let waits =
                    |reason| matches!(reason, Reason::Behind { .. } | Reason::BehindOwn { .. });
                let first = |at: &usize| !waits(self.reasons[*at]);
                vec![open.into_iter().filter(first).collect()]
            }
            _ => vec![open],
        }
    }

    /// When a flow ends at its rate.
    pub(super) fn time_at(&self, at: usize, rate: u64) -> Span {
        match rate {
            0 => Span::MAX,
            _ => {
                let ps = (u128::from(self.need(at).get()) * BYTE).div_ceil(u128::from(rate));
                Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
            }
        }
    }

    /// The least rate at which a flow ends within `span`, rounded up.
    pub(super) fn rate_for(&self, at: usize, span: Span) -> u64 {
        if span.is_zero() {
            return u64::MAX;
        }
        let rate = (u128::from(self.need(at).get()) * BYTE).div_ceil(u128::from(span.as_ps()));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// The plan.
    pub(super) fn finish(mut self, network: &Network) -> Plan {
        if let Some(change) = network.next_change(self.now) {
            self.wake(change);
        }
        let rates = self.rates.iter().zip(&self.spare).zip(&self.reasons);
        let decisions = rates.map(|((rate, spare), reason)| Decision {
            rate: Rate::bps(*rate),
            spare: Rate::bps(*spare),
            reason: *reason,
        });
        Plan { decisions: decisions.collect(), jobs: self.job_reasons, valid_until: self.until }
    }
}
