//! Flows on their way, and the rates that the planner gives them.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, FlowId, Fraction, Rate, Time};
use laxity_planner::{
    BetweenJobs, Demand, FairShares, FlowKey, JobKey, JobView, Network, Reason, Scheme, Slot,
    Weight, allocate,
};
use laxity_topology::{LinkId, Path};

use super::Settings;
use crate::{error::SimError, graph::Node, outcome::RateChange, world::World};

/// Bits of a byte in 10⁻¹² of a bit: what a rate in bit/s moves in a picosecond.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// A flow on its way.
#[derive(Debug)]
struct Active {
    node: Node,
    work: usize,
    flow: FlowId,
    /// What is left, in 10⁻¹² of a bit.
    left: u128,
    rate: u64,
    slot: Option<Slot>,
    /// Whether its first rate has been written down.
    told: bool,
}

#[derive(Debug)]
pub(super) struct Rates<'a> {
    world: &'a World,
    settings: &'a Settings,
    network: Network,
    active: Vec<Active>,
    /// One for each active flow, in the same order.
    demands: Vec<Demand>,
    jobs: Vec<JobView>,
    /// Coflows of works under one number each.
    coflows: BTreeMap<(usize, u32), JobKey>,
    /// Fair rates that are kept up to date.
    fair: Option<FairShares>,
    /// Links whose reservations have been told to `fair`, at this time.
    told: Time,
    dirty: bool,
    valid_until: Option<Time>,
    pub(super) changes: Vec<RateChange>,
    pub(super) plans: u64,
}

impl<'a> Rates<'a> {
    pub(super) fn new(world: &'a World, settings: &'a Settings) -> Self {
        let mut network = Network::of(&world.net);
        for reserved in &world.reservations {
            network.reserve(reserved.link, reserved.from, reserved.until, reserved.rate);
        }
        let plain = matches!(settings.options.scheme, Scheme::MaxMin | Scheme::Weighted)
            && settings.options.between == BetweenJobs::Merged
            && world.works.iter().all(|work| work.takes_part);
        let fair =
            (plain && settings.incremental).then(|| FairShares::new(&network.left(Time::ZERO)));
        Self {
            world,
            settings,
            network,
            active: Vec::new(),
            demands: Vec::new(),
            jobs: Vec::new(),
            coflows: BTreeMap::new(),
            fair,
            told: Time::ZERO,
            dirty: false,
            valid_until: None,
            changes: Vec::new(),
            plans: 0,
        }
    }

    /// A flow starts; the clock of its deadline started at `clock`.
    pub(super) fn add(
        &mut self,
        now: Time,
        clock: Time,
        node: Node,
        flow: FlowId,
        (work, path): (usize, Path),
    ) {
        let described = &self.world.works[work];
        let own = &described.flows[flow.0 as usize];
        let next = JobKey(self.coflows.len() as u32);
        let job = *self.coflows.entry((work, own.coflow)).or_insert(next);
        if job == next {
            self.jobs.push(JobView {
                objective: described.objective.clone(),
                weight: described.weight,
                takes_part: described.takes_part,
                arrived: now,
                ..JobView::new(job)
            });
        }
        // What may be lost is not sent by `combined`; the others send everything.
        let size = match self.settings.options.scheme {
            Scheme::Combined => Bytes::new(own.min_delivery.of(own.size.get()).max(1)),
            _ => own.size,
        };
        let deadline = own.deadline.map(|span| clock + span);
        let slot = self.fair.as_mut().map(|fair| {
            let weight = match self.settings.options.scheme {
                Scheme::Weighted => own.weight,
                _ => Weight::ONE,
            };
            fair.add(&path, weight)
        });
        self.demands.push(Demand {
            from: own.from,
            to: own.to,
            // A flow that was held up until after its deadline is late, not wrong.
            released: deadline.map_or(now, |deadline| deadline.min(now)),
            priority: own.priority,
            weight: own.weight,
            deadline,
            min_delivery: Fraction::ONE,
            ..Demand::new(FlowKey(node as u64), job, path, size)
        });
        let left = u128::from(size.get()) * BYTE;
        self.active.push(Active { node, work, flow, left, rate: 0, slot, told: false });
        self.dirty = true;
    }

    /// Gives rates anew if something has changed.
    pub(super) fn plan(&mut self, now: Time) -> Result<(), SimError> {
        if self.valid_until.is_some_and(|until| until <= now) {
            self.dirty = true;
        }
        if !std::mem::take(&mut self.dirty) {
            return Ok(());
        }
        self.plans += 1;
        match self.fair.take() {
            Some(fair) => self.fair = Some(self.keep_fair(now, fair)),
            None => self.ask(now)?,
        }
        Ok(())
    }

    fn keep_fair(&mut self, now: Time, mut fair: FairShares) -> FairShares {
        if !self.world.reservations.is_empty() && (now != self.told || self.plans == 1) {
            for (at, rate) in self.network.left(now).into_iter().enumerate() {
                let link = LinkId(at as u32);
                if self.network.link(link).at(self.told) != rate {
                    fair.set_capacity(link, rate);
                }
            }
            self.told = now;
        }
        fair.settle();
        for at in 0..self.active.len() {
            let slot = self.active[at].slot.expect("every flow has a slot");
            self.set(now, at, fair.rate(slot), None);
        }
        self.valid_until = self.network.next_change(now);
        fair
    }

    fn ask(&mut self, now: Time) -> Result<(), SimError> {
        for (active, demand) in self.active.iter().zip(&mut self.demands) {
            let left = u64::try_from(active.left.div_ceil(BYTE)).unwrap_or(u64::MAX);
            demand.sent = demand.size - Bytes::new(left);
        }
        let options = &self.settings.options;
        let plan = allocate(now, &self.network, &self.demands, &self.jobs, options)
            .map_err(|source| SimError::Plan { at: now, source })?;
        for (at, decision) in plan.decisions.iter().enumerate() {
            self.set(now, at, decision.rate, Some(decision.reason));
        }
        self.valid_until = plan.valid_until;
        Ok(())
    }

    fn set(&mut self, at: Time, flow: usize, rate: Rate, reason: Option<Reason>) {
        let active = &mut self.active[flow];
        let new = active.rate != rate.as_bps() || !std::mem::replace(&mut active.told, true);
        active.rate = rate.as_bps();
        if new && self.settings.trace {
            let (work, flow) = (active.work, active.flow);
            self.changes.push(RateChange { at, work, flow, rate, reason });
        }
    }

    /// When a flow ends or a new plan is due.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        let moving = self.active.iter().filter(|active| active.rate > 0);
        let ends = moving.map(|active| {
            let ps = active.left.div_ceil(u128::from(active.rate));
            Time::from_ps(u64::try_from(u128::from(now.as_ps()) + ps).unwrap_or(u64::MAX))
        });
        // A plan that only says when it ends keeps nothing alive that does not move.
        let until = self.valid_until.filter(|until| *until > now && !self.active.is_empty());
        ends.chain(until).min().filter(|next| *next < Time::MAX)
    }

    /// Lets flows progress; returns those that have arrived.
    pub(super) fn advance(&mut self, now: Time, next: Time) -> Vec<Node> {
        let ps = u128::from(next.since(now).as_ps());
        let mut ended = Vec::new();
        for active in &mut self.active {
            active.left = active.left.saturating_sub(u128::from(active.rate) * ps);
            if active.left == 0 {
                ended.push(active.node);
            }
        }
        if ended.is_empty() {
            return ended;
        }
        let gone: Vec<_> = self.active.iter().map(|active| active.left == 0).collect();
        for at in (0..gone.len()).filter(|at| gone[*at]) {
            if let (Some(fair), Some(slot)) = (&mut self.fair, self.active[at].slot) {
                fair.remove(slot);
            }
            let job = self.demands[at].job;
            self.jobs[job.0 as usize].sent_before += self.demands[at].size;
            if self.settings.trace {
                let (work, flow) = (self.active[at].work, self.active[at].flow);
                let change = RateChange { at: next, work, flow, rate: Rate::ZERO, reason: None };
                self.changes.push(change);
            }
        }
        let mut at = 0;
        self.demands.retain(|_| {
            at += 1;
            !gone[at - 1]
        });
        self.active.retain(|active| active.left > 0);
        self.dirty = true;
        ended
    }
}
