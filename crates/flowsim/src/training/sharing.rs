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

/// Which four of a job's sixteen hosts are in the rack that both jobs share; the other twelve are in a
/// rack of the job's own. The paper does not say which hosts are workers and which are servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Inside {
    /// All four parameter servers of twelve workers.
    #[default]
    Servers,
    /// Four of the eight parameter servers of eight workers.
    HalfOfServers,
    /// All four workers of twelve parameter servers.
    Workers,
}

impl Inside {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Servers, Self::HalfOfServers, Self::Workers];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Servers => "4 servers of 12 workers",
            Self::HalfOfServers => "4 of 8 servers of 8 workers",
            Self::Workers => "4 workers of 12 servers",
        }
    }

    /// Workers, servers, and how many of the servers are inside.
    const fn hosts(self) -> (u32, u32, u32) {
        match self {
            Self::Servers => (12, 4, 4),
            Self::HalfOfServers => (8, 8, 4),
            Self::Workers => (4, 12, 0),
        }
    }
}

impl std::fmt::Display for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Two jobs of one model, each with twelve hosts in a rack of its own and four in a rack that both
/// share.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    /// What every host sends and receives.
    pub nic: Rate,
    /// What leads from the shared rack to the others.
    pub shared: Rate,
    /// Who is in the shared rack.
    pub inside: Inside,
    /// How much later the second job starts.
    pub offset: Span,
    /// Whether the second job is there.
    pub both: bool,
    /// How many iterations each.
    pub iterations: u32,
}

impl Default for Sharing {
    /// As in the paper: 10 Gbit/s, 60 Gbit/s from the shared rack; all servers are in it and both
    /// jobs start at once.
    fn default() -> Self {
        Self::new(Inside::Servers)
    }
}

impl Sharing {
    /// The paper's racks with these inside the shared one; both jobs start at once.
    pub const fn new(inside: Inside) -> Self {
        Self {
            inside,
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
    let (workers, servers, inside) = sharing.inside.hosts();
    let setting = Setting {
        workers,
        servers,
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
        let all = Rate::bps(sharing.nic.as_bps() * 12);
        net.cable(rack, core, divided(all, by), Span::ZERO);
        let of_workers = if inside > 0 { rack } else { shared };
        let worker = net.host(format!("{job}-worker"));
        net.cable(worker, of_workers, sharing.nic, Span::ZERO);
        let servers: Vec<_> = (0..servers)
            .map(|s| {
                let server = net.host(format!("{job}-ps{s}"));
                let switch = if s < inside { shared } else { rack };
                net.cable(server, switch, divided(sharing.nic, by), Span::ZERO);
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
