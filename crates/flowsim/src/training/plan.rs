//! Operations and flows of training.

use laxity_interface::{Bytes, FlowId, Rate, Span};
use laxity_planner::Weight;
use laxity_topology::{NodeId, Topology, TopologyError};

use super::{Control, Kind, Placement, Setting};
use crate::{
    profile::{Pass, Profile, Step},
    work::{Flow, Operation, OperationId, Work},
    world::World,
};

/// A network of workers and servers behind one switch that never is the bottleneck, and the work of
/// one model on it, with the tags that this control is given.
pub fn world(
    profile: &Profile,
    setting: &Setting,
    control: Control,
) -> Result<World, TopologyError> {
    let mut net = Topology::builder();
    let count = if setting.every_worker { setting.workers.max(1) } else { 1 };
    let workers: Vec<_> = (0..count).map(|w| net.host(format!("worker{w}"))).collect();
    let servers: Vec<_> = (0..setting.servers.max(1)).map(|s| net.host(format!("ps{s}"))).collect();
    let switch = net.switch("switch");
    for worker in &workers {
        net.cable(*worker, switch, setting.nic, Span::ZERO);
    }
    let share = divided(setting.nic, setting.stands_for());
    for server in &servers {
        net.cable(*server, switch, share, Span::ZERO);
    }
    let net = net.build()?;
    let work = training(&profile.model, profile, setting, control, (&workers, &servers));
    Ok(World::new(net).work(work))
}

/// The part of a link that one of several has.
pub(super) fn divided(rate: Rate, by: u32) -> Rate {
    Rate::bps((rate.as_bps() / u64::from(by.max(1))).max(1))
}

/// The server of each parameter.
fn place(profile: &Profile, setting: &Setting) -> Vec<usize> {
    let servers = setting.servers.max(1) as usize;
    match setting.placement {
        Placement::RoundRobin => (0..profile.parameters.len()).map(|at| at % servers).collect(),
        Placement::Balanced => {
            let mut order: Vec<_> = (0..profile.parameters.len()).collect();
            order.sort_by_key(|at| (std::cmp::Reverse(profile.parameters[*at].size), *at));
            let mut load = vec![Bytes::ZERO; servers];
            let mut placed = vec![0; order.len()];
            for at in order {
                let least = (0..servers).min_by_key(|s| load[*s]).expect("there are servers");
                load[least] += profile.parameters[at].size;
                placed[at] = least;
            }
            placed
        }
    }
}

/// When things would happen if nothing ever waited for the network.
struct Estimate {
    /// When each parameter is read first.
    read: Vec<Span>,
    /// Its place in that order.
    read_place: Vec<u32>,
    /// The place of each gradient in the order of being ready.
    ready_place: Vec<u32>,
    /// When computing ends.
    end: Span,
}

/// If `fine`, every read and write has a place of its own; else those of one step have the same.
fn estimate(profile: &Profile, setting: &Setting, steps: &[&Step], fine: bool) -> Estimate {
    let count = profile.parameters.len();
    let (mut read, mut ready) = (vec![None; count], vec![None; count]);
    let mut now = Span::ZERO;
    let mut place = 0;
    for step in steps {
        for parameter in &step.reads {
            read[*parameter].get_or_insert((now, place));
            place += u32::from(fine);
        }
        now += profile.time_of(step, &setting.device);
        for parameter in &step.writes {
            ready[*parameter] = Some(place);
            place += u32::from(fine);
        }
        place += 1;
    }
    let place = |found: &Option<(Span, u32)>| found.map_or(u32::MAX, |(_, place)| place);
    Estimate {
        read: read.iter().map(|found| found.map_or(now, |(at, _)| at)).collect(),
        read_place: read.iter().map(place).collect(),
        ready_place: ready.iter().map(|found| found.unwrap_or(u32::MAX)).collect(),
        end: now,
    }
}

/// A weight in proportion to the rate that a deadline asks for.
fn weight(size: Bytes, time: Span, fastest: f64) -> Weight {
    let rate = size.get() as f64 / time.as_secs_f64().max(1e-4);
    Weight::new((rate / fastest * 1024.0).clamp(Weight::MIN, 1024.0)).expect("clamped")
}

/// The work of training a model on these workers with these servers.
pub(super) fn training(
    name: &str,
    profile: &Profile,
    setting: &Setting,
    control: Control,
    (workers, servers): (&[NodeId], &[NodeId]),
) -> Work {
    let steps: Vec<_> = profile
        .steps
        .iter()
        .filter(|step| setting.kind == Kind::Training || step.pass == Pass::Forward)
        .collect();
    let estimate = estimate(profile, setting, &steps, control.tags_every_read());
    let placed = place(profile, setting);
    let fastest = profile
        .parameters
        .iter()
        .zip(&estimate.read)
        .map(|(p, at)| p.size.get() as f64 / at.as_secs_f64().max(1e-4))
        .fold(1e-9, f64::max);
    let used: Vec<_> = {
        let read = |at: &usize| steps.iter().any(|step| step.reads.contains(at));
        (0..profile.parameters.len()).filter(read).collect()
    };
    let mut work = Work::new(name);
    let mut barrier: Option<OperationId> = None;
    for round in 0..setting.iterations.max(1) {
        let mut arrived = Vec::new();
        let mut last = Vec::new();
        for worker in workers {
            let mut here: Vec<Option<FlowId>> = vec![None; profile.parameters.len()];
            for at in &used {
                let parameter = &profile.parameters[*at];
                let flow =
                    Flow::new(&parameter.name, servers[placed[*at]], *worker, parameter.size)
                        .after(barrier)
                        .deadline(estimate.read[*at])
                        .deadline_after(barrier)
                        .priority(estimate.read_place[*at])
                        .weight(weight(parameter.size, estimate.read[*at], fastest))
                        .coflow(2 * round);
                here[*at] = Some(work.flow(flow));
            }
            let mut before = barrier;
            for step in &steps {
                let operation = Operation::new(&step.name, profile.time_of(step, &setting.device))
                    .on(*worker)
                    .after(before)
                    .needs(step.reads.iter().filter_map(|at| here[*at]));
                let id = work.operation(operation);
                before = Some(id);
                for at in &step.writes {
                    let (parameter, server) = (&profile.parameters[*at], servers[placed[*at]]);
                    let flow =
                        Flow::new(format!("{}'", parameter.name), *worker, server, parameter.size)
                            .after([id])
                            .deadline(estimate.end)
                            .deadline_after(barrier)
                            .priority(estimate.ready_place[*at])
                            .weight(weight(parameter.size, estimate.end, fastest))
                            .coflow(2 * round + 1);
                    arrived.push(work.flow(flow));
                }
            }
            last.extend(before);
        }
        let apply = Operation::new("apply", Span::ZERO).after(last).needs(arrived);
        barrier = Some(work.operation(apply));
    }
    work
}
