//! A workload that passed its checks, and the driver that plays it.

use laxity_interface::{Fraction, Rate, Span, Time};

use crate::{
    chance::Chance,
    flow::{Driver, HostId},
    scheme::Scheme,
    workload::{
        AllReduce, Cargo, Collective, Gaps, ParameterServer, Pattern, Planned, Poisson, Rounds,
        Tag, Until,
    },
};

/// One workload of a point.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What it is called.
    pub name: String,
    /// What carries it.
    pub scheme: Scheme,
    /// Whether the simulation ends without waiting for it.
    pub background: bool,
    /// When it begins.
    pub start: Time,
    /// How much of every flow has to arrive.
    pub min_delivery: Fraction,
    /// What is sent.
    pub source: Source,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Source {
    /// Rounds of a pattern.
    Rounds {
        /// Who sends to whom.
        pattern: Pattern,
        /// Among whom.
        hosts: Vec<HostId>,
        /// What each flow carries.
        cargo: Cargo,
        /// How often.
        rounds: u32,
        /// From the end of one to the begin of the next.
        gap: Span,
    },
    /// Arrivals at a load.
    Poisson {
        /// Among whom.
        hosts: Vec<HostId>,
        /// What each flow carries.
        cargo: Cargo,
        /// Payload of all together.
        offered: Rate,
        /// When it ends.
        until: Until,
    },
    /// Training with parameter servers.
    ParameterServer {
        /// Who computes.
        workers: Vec<HostId>,
        /// Who sums.
        servers: Vec<HostId>,
        /// What goes from a worker to a server, and back.
        part: Cargo,
        /// How long a worker computes.
        compute: Span,
        /// How often.
        iterations: u32,
    },
    /// Sums for everybody.
    AllReduce {
        /// How.
        collective: Collective,
        /// Among whom.
        hosts: Vec<HostId>,
        /// One part of the vector.
        part: Cargo,
        /// How long everybody computes before.
        compute: Span,
        /// How often.
        iterations: u32,
    },
    /// Flow by flow.
    List {
        /// When, from whom, to whom, what.
        flows: Vec<(Span, HostId, HostId, Cargo)>,
    },
}

impl Workload {
    /// Times between the messages of a flow.
    pub fn gaps(&self) -> Gaps {
        match &self.source {
            Source::Rounds { cargo, .. } | Source::Poisson { cargo, .. } => cargo.gaps,
            _ => Gaps::AtOnce,
        }
    }

    /// The driver, whose flows go through this stack of the hosts. The same seed draws the same flows
    /// whatever carries them.
    pub fn driver(&self, index: usize, stack: u8, seed: u64) -> Box<dyn Driver> {
        let mut chance = Chance::new(seed, "workload", index as u64);
        let load = |cargo: &Cargo| Cargo { stack, ..cargo.clone() };
        let start = self.start;
        match &self.source {
            Source::Rounds { pattern, hosts, cargo, rounds, gap } => {
                let (hosts, cargo) = (hosts.clone(), load(cargo));
                Box::new(Rounds::new(*pattern, hosts, cargo, *rounds, start, *gap, chance))
            }
            Source::Poisson { hosts, cargo, offered, until } => {
                let (hosts, cargo) = (hosts.clone(), load(cargo));
                Box::new(Poisson::new(hosts, cargo, *offered, start, *until, chance))
            }
            Source::ParameterServer { workers, servers, part, compute, iterations } => {
                let (workers, servers, part) = (workers.clone(), servers.clone(), load(part));
                let all = (*compute, *iterations);
                Box::new(ParameterServer::new(workers, servers, part, all.0, all.1, start, chance))
            }
            Source::AllReduce { collective, hosts, part, compute, iterations } => {
                let (kind, hosts, part) = (*collective, hosts.clone(), load(part));
                Box::new(AllReduce::new(kind, hosts, part, *compute, *iterations, start, chance))
            }
            Source::List { flows } => {
                let flow =
                    |(at, (after, from, to, cargo)): (usize, &(Span, HostId, HostId, Cargo))| {
                        let tag = Tag::new(at as u32, 0);
                        (start + *after, load(cargo).flow(*from, *to, tag, &mut chance))
                    };
                Box::new(Planned::new(flows.iter().enumerate().map(flow).collect::<Vec<_>>()))
            }
        }
    }
}
