//! Two trainings that meet on one link (section 4.2.2 of the CadentFlow paper).

use laxity_interface::{Rate, Span, Time};
use laxity_planner::BetweenJobs;
use laxity_topology::{Topology, TopologyError};

use super::{
    Control, MeasureError, Setting,
    plan::{divided, training},
};
use crate::{
    engine::{Settings, simulate},
    profile::Profile,
    world::World,
};

/// Two jobs of one model. Each has 12 workers in a rack of its own and 4 parameter servers in a third
/// rack that both share.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    /// Workers of each job.
    pub workers: u32,
    /// Parameter servers of each job.
    pub servers: u32,
    /// What every host sends and receives.
    pub nic: Rate,
    /// What leads from the shared rack to the others.
    pub shared: Rate,
    /// How much later the second job starts.
    pub offset: Span,
    /// Whether the second job is there.
    pub both: bool,
    /// How many iterations each.
    pub iterations: u32,
}

impl Default for Sharing {
    /// As in the paper: 12 and 4, 10 Gbit/s, 60 Gbit/s between the racks; both start at once.
    fn default() -> Self {
        Self {
            workers: 12,
            servers: 4,
            nic: Rate::from_gbps(10),
            shared: Rate::from_gbps(60),
            offset: Span::ZERO,
            both: true,
            iterations: 4,
        }
    }
}

/// The racks with both jobs. `setting` gives device, placement and kind; the rest is in `sharing`.
pub fn sharing_world(
    profile: &Profile,
    setting: &Setting,
    sharing: &Sharing,
    control: Control,
) -> Result<World, TopologyError> {
    let setting = Setting {
        workers: sharing.workers,
        servers: sharing.servers,
        nic: sharing.nic,
        iterations: sharing.iterations,
        every_worker: false,
        ..setting.clone()
    };
    let mut net = Topology::builder();
    let by = setting.stands_for();
    let (core, shared) = (net.switch("s1"), net.switch("s4"));
    net.cable(shared, core, divided(sharing.shared, by), Span::ZERO);
    let mut jobs = Vec::new();
    for (job, rack) in [("a", "s2"), ("b", "s3")] {
        let rack = net.switch(rack);
        // Twelve hosts of one rack could use all of their links at once.
        net.cable(rack, core, sharing.nic, Span::ZERO);
        let worker = net.host(format!("{job}-worker"));
        net.cable(worker, rack, sharing.nic, Span::ZERO);
        let servers: Vec<_> = (0..sharing.servers.max(1))
            .map(|s| {
                let server = net.host(format!("{job}-ps{s}"));
                net.cable(server, shared, divided(sharing.nic, by), Span::ZERO);
                server
            })
            .collect();
        jobs.push((job, worker, servers));
    }
    let mut world = World::new(net.build()?);
    for (at, (job, worker, servers)) in jobs.into_iter().enumerate() {
        let offset = if at == 0 { Span::ZERO } else { sharing.offset };
        let work = training(job, profile, &setting, control, (&[worker], &servers));
        if at == 0 || sharing.both {
            world.works.push(work.arrives(Time::ZERO + offset));
        }
    }
    Ok(world)
}

/// How long an iteration takes, in the mean over all iterations of all jobs.
///
/// Coflow schedulers give each job its fair share of the shared link, as the paper says; TCP shares
/// between flows, CadentFlow compares the tags of both jobs.
pub fn measure_sharing(
    profile: &Profile,
    setting: &Setting,
    sharing: &Sharing,
    control: Control,
) -> Result<Span, MeasureError> {
    let world = sharing_world(profile, setting, sharing, control)?;
    let options = match control {
        Control::Madd => control.options().between(BetweenJobs::MaxMin),
        _ => control.options(),
    };
    let outcome = simulate(&world, &Settings::new(options))?;
    let jobs = world.works.iter().zip(&outcome.work_ends);
    let all: Span = jobs.map(|(work, end)| end.since(work.arrives)).sum();
    Ok(all / (world.works.len() as u64 * u64::from(sharing.iterations.max(1))))
}
