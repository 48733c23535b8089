//! How fast the simulator is. It reads no clock: whoever measures brings one.

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_topology::{Clos, FatTree, Topology};
use rand_core::Rng;

use crate::{
    flow::{Flow, HostId, Messages, Ready},
    random::stream,
    schedule::Schedule,
    setup::{PortSetup, Setup, SetupError},
    simulation::{Limits, Simulation},
    stacks::dctcp::{Dctcp, DctcpConfig},
};

/// A load that is always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// 128 hosts under 8 leaves and 4 spines at 40 Gbit/s (uplinks of 160 Gbit/s, so that no path
    /// is oversubscribed); every host sends to the next rack without end, with DCTCP.
    Permutation {
        /// Time that is simulated.
        time: Span,
    },
    /// A fat-tree of k = 16 with 1024 hosts at 40 Gbit/s and flows of 100 KB on average, each from
    /// one random host to another, at a load of one half.
    ManyFlows {
        /// How many flows.
        flows: u32,
    },
}

impl Load {
    /// 128 hosts for 10 ms.
    pub const SMALL: Self = Self::Permutation { time: Span::from_ms(10) };
    /// 1024 hosts and 100,000 flows.
    pub const LARGE: Self = Self::ManyFlows { flows: 100_000 };
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedReport {
    /// Packets that left queues.
    pub packet_hops: u64,
    /// Events that were handled.
    pub events: u64,
    /// Flows that ended.
    pub flows: u64,
    /// Time that was simulated.
    pub simulated: Span,
    /// Seconds that it took, without building the network.
    pub seconds: f64,
    /// Equal for equal loads on every machine.
    pub trace_hash: u64,
}

impl SpeedReport {
    /// Packets that leave queues per second.
    pub fn hops_per_second(&self) -> f64 {
        self.packet_hops as f64 / self.seconds
    }

    /// Nanoseconds per event.
    pub fn ns_per_event(&self) -> f64 {
        self.seconds * 1e9 / self.events as f64
    }
}

/// Runs a load. `clock` answers in seconds since any moment in the past.
pub fn run(load: Load, mut clock: impl FnMut() -> f64) -> Result<SpeedReport, SetupError> {
    let (setup, mut driver, limits) = prepare(load);
    let stack =
        |_| -> Vec<Box<dyn crate::Stack>> { vec![Box::new(Dctcp::new(DctcpConfig::strong()))] };
    let mut simulation = Simulation::new(&setup, stack)?;
    let start = clock();
    let outcome = simulation.run(&mut driver, limits);
    Ok(SpeedReport {
        packet_hops: outcome.packet_hops,
        events: outcome.events,
        flows: outcome.done.len() as u64,
        simulated: outcome.end.since(Time::ZERO),
        seconds: clock() - start,
        trace_hash: outcome.trace_hash,
    })
}

fn prepare(load: Load) -> (Setup, Schedule, Limits) {
    let (rate, delay) = (Rate::from_gbps(40), Span::from_us(1));
    let port = PortSetup::fifo_packets(Bytes::new(450_000), Some(65));
    let flow = |from, to, bytes| Flow {
        from: HostId(from),
        to: HostId(to),
        stack: 0,
        tag: 0,
        messages: Messages::Equal { count: 1, bytes },
        ready: Ready::AtOnce,
        min_delivery: Fraction::ONE,
    };
    let build = |network: Result<Topology, _>| network.expect("a shape that is known to be right");
    match load {
        Load::Permutation { time } => {
            let uplink = Rate::from_gbps(160);
            let clos = Clos { leaves: 8, spines: 4, hosts: 16, rate, uplink, cables: 1, delay };
            let setup = Setup::new(build(clos.build()), port, 1);
            let flows = (0..128).map(|host| flow(host, (host + 16) % 128, u32::MAX));
            let flows = flows.map(|flow| (Time::ZERO, flow));
            (setup, Schedule::new(flows), Limits::until(Time::ZERO + time))
        }
        Load::ManyFlows { flows } => {
            let tree = FatTree { k: 16, hosts_per_edge: None, rate, delay };
            let setup = Setup::new(build(tree.build()), port, 1);
            let mut rng = stream(1, "speed", 0);
            // Half of what 1024 hosts can send: one flow of 100 KB per so much time.
            let gap = rate.time_for(Bytes::new(100_000)).as_ps() * 2 / 1024;
            let mut start = 0;
            let flows = (0..flows).map(|_| {
                start += rng.next_u64() % (2 * gap);
                let from = (rng.next_u64() % 1024) as u16;
                let to = (from + 1 + (rng.next_u64() % 1023) as u16) % 1024;
                (Time::from_ps(start), flow(from, to, (rng.next_u64() % 200_000) as u32))
            });
            (setup, Schedule::new(flows), Limits::default())
        }
    }
}
