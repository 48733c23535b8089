//! A round: every open flow gets a plan, by the planner's rules.

use laxity_interface::Time;
use laxity_planner::{Decision, Demand, JobView, Plan, PlanError, Reason as PlanReason, allocate};
use laxity_topology::{LinkId, NodeId};

use super::{
    Controller,
    event::Event,
    jobs::{Planned, Why, flow_key},
    network::{LinkOf, Links},
    plan::Class,
};

impl Controller {
    /// Plans all flows, now. Says nothing where there are none.
    pub(super) fn plan_flows(&mut self, now: Time) {
        self.next_round = None;
        let links = Links::new(self.hosts.rates(self.options.usual), &self.pairs);
        let network = links.network();
        let views: Vec<JobView> = self.jobs.all.values().map(|job| job.view()).collect();
        let demands: Vec<_> = self.demands(&links);
        if demands.is_empty() {
            return;
        }
        self.rounds += 1;
        let options = &self.options.flows;
        let (demands, plan, left_out) = match allocate(now, &network, &demands, &views, options) {
            Ok(plan) => (demands, plan, Vec::new()),
            Err(error) => {
                // CORRECTNESS: what is submitted is checked, so this does not happen; if it does, the
                // flows that the planner names are left out, and nobody else suffers.
                let (good, bad) = part(now, &network, demands);
                let plan = allocate(now, &network, &good, &views, options);
                let none = Plan { decisions: Vec::new(), jobs: Vec::new(), valid_until: None };
                let first = bad.first().map_or(error, |(_, error)| error.clone());
                let (flows, error) = (bad.len(), first.to_string());
                self.events.push_back(Event::NoPlan { flows, error });
                (good, plan.unwrap_or(none), bad)
            }
        };
        let mut changed = 0;
        let orders = orders(&demands, &plan.decisions);
        for ((demand, decision), order) in demands.iter().zip(&plan.decisions).zip(orders) {
            let start = match decision.reason {
                PlanReason::NotReleased { at } => at,
                _ => now,
            };
            let link = link_of(&decision.reason).and_then(|link| links.of(link));
            let planned = Planned {
                rate: decision.rate,
                spare: decision.spare,
                order,
                class: Class::of(demand, decision),
                start,
                why: Why::Planned(decision.reason, link),
                round: self.rounds,
                at: now,
                sent: demand.sent,
            };
            changed += usize::from(self.set_plan(now, demand.key.0, planned));
        }
        for (demand, error) in left_out {
            let (rate, spare) = Default::default();
            let (order, class, start) = (u32::MAX, Class::LAST, now);
            let (why, round, at) = (Why::NoPlan(error.to_string()), self.rounds, now);
            let sent = demand.sent;
            let planned = Planned { rate, spare, order, class, start, why, round, at, sent };
            self.set_plan(now, demand.key.0, planned);
        }
        for (job, reason) in plan.jobs {
            let name = self.jobs.name_of(job).map(str::to_owned);
            if let Some(state) = name.and_then(|name| self.jobs.all.get_mut(&name)) {
                state.reason = Some(reason);
            }
        }
        let (round, flows) = (self.rounds, demands.len());
        self.events.push_back(Event::Round { round, flows, changed });
        if let Some(until) = plan.valid_until {
            self.plan_by(until.max(now + self.options.interval));
        }
    }

    fn demands(&self, links: &Links) -> Vec<Demand> {
        let mut demands = Vec::with_capacity(self.jobs.flows);
        for job in self.jobs.all.values() {
            let open = job.flows.iter().enumerate().filter(|(_, flow)| flow.is_open());
            demands.extend(
                open.map(|(place, flow)| flow.demand(flow_key(job.key, place), job.key, links)),
            );
        }
        demands
    }

    /// Puts a plan in the place of the one before; says whether its host is to be told.
    fn set_plan(&mut self, now: Time, key: u64, planned: Planned) -> bool {
        let Some((name, place)) = self.jobs.place(key) else { return false };
        let name = name.to_owned();
        let Some(flow) = self.jobs.all.get_mut(&name).and_then(|job| job.flows.get_mut(place))
        else {
            return false;
        };
        let differs = flow.planned.as_ref().is_none_or(|before| before.differs(&planned, now));
        match &mut flow.planned {
            // Decided before and still so: what was true then and why is what people ask for.
            Some(before) if !differs => before.why = planned.why,
            place => *place = Some(planned),
        }
        let from = flow.from;
        if differs && let Some(host) = self.hosts.get_mut(from) {
            host.untold.insert(key);
            if let Some(session) = host.session {
                self.sessions.wake(session);
            }
        }
        differs
    }
}

/// Flows that can be planned, and those that cannot, with the reason.
fn part(
    now: Time,
    network: &laxity_planner::Network,
    demands: Vec<Demand>,
) -> (Vec<Demand>, Vec<(Demand, PlanError)>) {
    let alone = laxity_planner::Options::new(laxity_planner::Scheme::MaxMin);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for demand in demands {
        match allocate(now, network, std::slice::from_ref(&demand), &[], &alone) {
            Ok(_) => good.push(demand),
            Err(error) => bad.push((demand, error)),
        }
    }
    (good, bad)
}

/// The place of each flow among those of its sender: by when it ends at its rate, those that wait last.
fn orders(demands: &[Demand], decisions: &[Decision]) -> Vec<u32> {
    let ends = |at: usize| match decisions[at].rate.as_bps() {
        0 => u128::MAX,
        rate => u128::from(demands[at].remaining().get()) * 8_000_000 / u128::from(rate),
    };
    let claim = |at: usize| (demands[at].released, demands[at].deadline.unwrap_or(Time::MAX));
    let mut all: Vec<_> = (0..demands.len())
        .map(|at| (demands[at].from, ends(at), claim(at), demands[at].key, at))
        .collect();
    all.sort_unstable();
    let mut orders = vec![0; demands.len()];
    let mut before: Option<(NodeId, u32)> = None;
    for (from, .., at) in all {
        let place = match before {
            Some((host, place)) if host == from => place + 1,
            _ => 0,
        };
        orders[at] = place;
        before = Some((from, place));
    }
    orders
}

/// The link that a reason speaks of.
pub(super) fn link_of(reason: &PlanReason) -> Option<LinkId> {
    match reason {
        PlanReason::FairShare { link, .. }
        | PlanReason::WeightedShare { link, .. }
        | PlanReason::WithSlowest { link, .. }
        | PlanReason::CoflowWaits { link, .. }
        | PlanReason::PriorityTurn { link, .. }
        | PlanReason::PriorityWaits { link, .. }
        | PlanReason::LeftByDeadlines { link }
        | PlanReason::Outsider { link }
        | PlanReason::JobPart { link, .. }
        | PlanReason::CoflowOrder { link, .. } => Some(*link),
        _ => None,
    }
}

impl Controller {
    /// A reason with names instead of numbers.
    pub(super) fn in_words(&self, reason: &PlanReason, link: Option<LinkOf>, now: Time) -> String {
        let mut text = reason.to_string();
        if let (Some(number), Some(link)) = (link_of(reason), link) {
            text = text.replacen(&format!("link {number}"), &self.link_name(link), 1);
        }
        match reason {
            PlanReason::Behind { flow } | PlanReason::BehindOwn { flow, .. } => {
                let name = match self.jobs.flow(flow.0) {
                    Some((job, flow)) => format!("{}/{}", job.job.name(), flow.id),
                    None => "another".to_owned(),
                };
                text = text.replacen(&format!("flow {flow}"), &format!("flow {name}"), 1);
                if let PlanReason::BehindOwn { node, .. } = reason {
                    let host = self.hosts.name(super::network::HostId(node.0));
                    text = text.replacen(&format!("node {node}"), host, 1);
                }
            }
            PlanReason::JobPart { job, .. } | PlanReason::JobSlowdown { job, .. } => {
                if let Some(name) = self.jobs.name_of(*job) {
                    text = text.replacen(&format!("job {job}"), &format!("job {name}"), 1);
                }
            }
            // Moments of the controller's clock mean nothing to others.
            PlanReason::NotReleased { at } => {
                text = format!("may not start for another {}", at.since(now));
            }
            PlanReason::MeetsDeadline { deadline, .. }
            | PlanReason::AfterEarlier { deadline, .. }
            | PlanReason::Late { deadline, .. } => {
                let when = match (*deadline > now, deadline.since(now), now.since(*deadline)) {
                    (true, left, _) => format!("in {left}"),
                    (false, _, over) => format!("{over} ago"),
                };
                text = text.replacen(&format!("at {deadline}"), &when, 1);
            }
            _ => {}
        }
        text
    }

    pub(super) fn link_name(&self, link: LinkOf) -> String {
        match link {
            LinkOf::Up(host) => format!("the uplink of {}", self.hosts.name(host)),
            LinkOf::Down(host) => format!("the downlink of {}", self.hosts.name(host)),
            LinkOf::Between(from, to) => {
                format!("the way from {} to {}", self.hosts.name(from), self.hosts.name(to))
            }
        }
    }
}
