//! How long iterations take, and how much time there is to spare.

use laxity_interface::{Span, Time};
use laxity_planner::{Demand, FlowKey, JobKey, Network, bottleneck_time, flexibility};
use laxity_topology::{Routes, TopologyError};

use super::{Control, Kind, Setting, plan};
use crate::{
    engine::{Settings, simulate},
    error::SimError,
    outcome::Outcome,
    profile::{Pass, Profile},
    world::World,
};

/// What came out of training a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Iteration {
    /// How long one iteration takes, in the mean.
    pub time: Span,
    /// How much of it is computing.
    pub compute: Span,
    /// How long until the parameters of the first iteration had arrived.
    pub forward_cct: Span,
    /// How long from the first gradient of the first iteration until all had arrived.
    pub backward_cct: Option<Span>,
    /// The time until the last deadline of the forward pass over the least time to send everything.
    pub forward_flexibility: f64,
    /// The same of the backward pass.
    pub backward_flexibility: Option<f64>,
}

/// Why nothing was measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// There is no such network.
    #[error(transparent)]
    Network(#[from] TopologyError),
    /// There is no such simulation.
    #[error(transparent)]
    Simulation(#[from] SimError),
}

/// Trains a model and measures its iterations.
pub fn measure(
    profile: &Profile,
    setting: &Setting,
    control: Control,
) -> Result<Iteration, MeasureError> {
    let world = plan::world(profile, setting, control)?;
    let outcome = simulate(&world, &Settings::new(control.options()))?;
    Ok(measure_world(&world, &outcome, profile, setting, 0))
}

/// Measures the iterations of one work of a world that was simulated.
pub fn measure_world(
    world: &World,
    outcome: &Outcome,
    profile: &Profile,
    setting: &Setting,
    work: usize,
) -> Iteration {
    let described = &world.works[work];
    let all = outcome.work_ends[work].since(described.arrives);
    let sent: Vec<_> = outcome.flows.iter().filter(|sent| sent.work == work).collect();
    let of = |coflow: u32| {
        let own = sent.iter().filter(move |s| described.flows[s.flow.0 as usize].coflow == coflow);
        let first = own.clone().map(|sent| sent.released).min();
        let last = own.map(|sent| sent.end).max();
        first.zip(last).map(|(first, last)| last.since(first))
    };
    let compute = profile.compute(Pass::Forward, &setting.device)
        + match setting.kind {
            Kind::Training => profile.compute(Pass::Backward, &setting.device),
            Kind::Inference => Span::ZERO,
        };
    let (forward, backward) = (demands(world, work, 0), demands(world, work, 1));
    let network = Network::of(&world.net);
    // What the backward pass has: from the first gradient, which is not before the forward pass ends.
    let start = Time::ZERO + profile.compute(Pass::Forward, &setting.device);
    let has_backward =
        !backward.is_empty() && bottleneck_time(start, &network, &backward).is_some();
    Iteration {
        time: all / u64::from(setting.iterations.max(1)),
        compute,
        forward_cct: of(0).unwrap_or_default(),
        backward_cct: of(1),
        forward_flexibility: flexibility(Time::ZERO, &network, &forward).unwrap_or(0.0),
        backward_flexibility: has_backward
            .then(|| flexibility(start, &network, &backward))
            .flatten(),
    }
}

/// The flows of a coflow as the planner sees them when nothing has been sent.
fn demands(world: &World, work: usize, coflow: u32) -> Vec<Demand> {
    let routes = Routes::new(&world.net);
    let flows = world.works[work].flows.iter().enumerate();
    let own = flows.filter(|(_, flow)| flow.coflow == coflow);
    own.filter_map(|(at, flow)| {
        let path = routes.path(&world.net, flow.from, flow.to, at as u64).ok()?;
        let demand = Demand::new(FlowKey(at as u64), JobKey(0), path, flow.size);
        Some(Demand { deadline: flow.deadline.map(|span| Time::ZERO + span), ..demand })
    })
    .collect()
}
