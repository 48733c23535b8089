//! One combination of values: what is simulated, and the run.

use std::sync::Arc;

use laxity_interface::{Bytes, Layout, Rate};
use laxity_topology::Topology;

use super::{amount::Amount, faults, source::Workload};
use crate::{
    Fault, Limits, Observer, Outcome, PortSetup, Routing, SeriesSetup, Setup, SetupError,
    SharedMemory, Simulation,
    measure::{self, Ideal, Measured},
    scheme::{PortBase, Scheme, World},
    workload::{Combined, Started},
};

/// A scenario with one value for everything.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its number in the sweep.
    pub index: u64,
    /// Fields that have several values in the file, and the value here.
    pub settings: Vec<(String, String)>,
    /// The network.
    pub topology: Arc<Topology>,
    /// What may wait at a port.
    pub buffer: Bytes,
    /// What may wait in a switch, if its ports share.
    pub memory: Option<SharedMemory>,
    /// From where ports mark.
    pub mark_above: Amount,
    /// The layout of ports, if the file says it.
    pub layout: Option<Layout>,
    /// The scheme whose ports the switches have otherwise.
    pub ports: Scheme,
    /// How switches choose among equal paths, if the file says it.
    pub routing: Option<Routing>,
    /// What is sent.
    pub workloads: Vec<Workload>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// When the simulation ends at the latest.
    pub limits: Limits,
}

/// What came of a point.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The seed.
    pub seed: u64,
    /// What the simulator says.
    pub outcome: Outcome,
    /// Figures of each workload.
    pub workloads: Vec<Measured>,
    /// All flows, by number.
    pub started: Vec<Started>,
}

impl Point {
    /// The schemes that take part, each once; a flow's stack is a position here.
    pub fn schemes(&self) -> Vec<Scheme> {
        schemes(&self.workloads)
    }

    /// What goes wrong, each in a sentence.
    pub fn faults_in_words(&self) -> Vec<String> {
        let schemes = self.schemes();
        self.faults.iter().map(|fault| faults::in_words(fault, &self.topology, &schemes)).collect()
    }

    /// The fastest interface of a host.
    pub fn line_rate(&self) -> Rate {
        let net = &self.topology;
        let links = net.hosts().iter().flat_map(|host| net.out_links(*host));
        links.map(|link| net.link(*link).capacity).max().unwrap_or(Rate::ZERO)
    }

    /// The network as the simulator takes it.
    pub fn setup(&self, seed: u64) -> Setup {
        let rate = self.line_rate();
        let mark_above_packets = match self.mark_above {
            Amount::Packets(packets) => packets,
            Amount::Bytes(bytes) => (bytes.get() / u64::from(crate::MTU)) as u32,
        };
        let base = PortBase { buffer: self.buffer, mark_above_packets, rate };
        let switch = match self.layout {
            Some(layout) => PortSetup::named(layout, self.buffer, mark_above_packets),
            None => self.ports.ports(&base),
        };
        let switch = self.marking(switch);
        let routing = self.routing.unwrap_or_else(|| self.ports.routing());
        let nic = self.ports.nic();
        let topology = Topology::clone(&self.topology);
        Setup {
            topology,
            routing,
            switch,
            memory: self.memory,
            nic,
            faults: self.faults.clone(),
            seed,
        }
    }

    /// Thresholds in bytes where the file gives bytes.
    fn marking(&self, mut ports: PortSetup) -> PortSetup {
        if let Amount::Bytes(bytes) = self.mark_above {
            for queue in &mut ports.queues {
                if queue.mark_above_packets.take().is_some() {
                    queue.mark_above = Some(bytes);
                }
            }
        }
        ports
    }

    /// The drivers of all workloads together.
    pub fn driver(&self, seed: u64) -> Combined {
        let schemes = self.schemes();
        let one = |(at, workload): (usize, &Workload)| {
            let stack = schemes.iter().position(|s| *s == workload.scheme).expect("it is listed");
            (workload.driver(at, stack as u8, seed), !workload.background)
        };
        Combined::new(self.workloads.iter().enumerate().map(one).collect())
    }

    /// A simulation that has not begun.
    pub fn simulation(&self, seed: u64) -> Result<Simulation, SetupError> {
        let setup = self.setup(seed);
        // The round trip is known once the network is put together.
        let base_rtt = Simulation::new(&setup, |_| Vec::new())?.base_rtt();
        let world =
            World { line_rate: self.line_rate(), base_rtt, hosts: self.topology.hosts().len() };
        let schemes = self.schemes();
        Simulation::new(&setup, |host| {
            let layout = |scheme: &Scheme| self.layout.unwrap_or_else(|| scheme.layout());
            let stack = |scheme: &Scheme| scheme.stack_on(layout(scheme), host, seed, &world);
            schemes.iter().map(stack).collect()
        })
    }

    /// Runs it.
    pub fn run(&self, seed: u64) -> Result<Ran, SetupError> {
        self.run_with(seed, None, None)
    }

    /// Runs it, with samples of queues, and somebody who watches.
    pub fn run_with(
        &self,
        seed: u64,
        series: Option<SeriesSetup>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Ran, SetupError> {
        let mut simulation = self.simulation(seed)?;
        if let Some(series) = series {
            simulation.record(series);
        }
        let mut driver = self.driver(seed);
        let outcome = match observer {
            Some(observer) => simulation.run_observed(&mut driver, self.limits, observer),
            None => simulation.run(&mut driver, self.limits),
        };
        let started = driver.into_started();
        let mut ideal = Ideal::new(&self.topology);
        let time = |started: &Started| ideal.time(&started.flow);
        let count = self.workloads.len();
        let workloads = measure::measure(count, &started, &outcome.done, outcome.end, time);
        Ok(Ran { seed, outcome, workloads, started })
    }
}

/// The schemes of workloads, each once.
pub(super) fn schemes(workloads: &[Workload]) -> Vec<Scheme> {
    let mut schemes: Vec<Scheme> = Vec::new();
    for workload in workloads {
        if !schemes.contains(&workload.scheme) {
            schemes.push(workload.scheme);
        }
    }
    schemes
}
