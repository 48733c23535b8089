//! Networks and flows for tests.
#![allow(dead_code)]

pub(crate) mod blast;

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{
    Flow, HostId, Limits, Messages, Outcome, PortSetup, Ready, Schedule, Setup, Simulation,
    stacks::dctcp::{Dctcp, DctcpConfig},
};
use laxity_topology::Topology;

/// Bytes as one message.
pub(crate) fn flow(from: u16, to: u16, bytes: u64) -> Flow {
    Flow {
        from: HostId(from),
        to: HostId(to),
        stack: 0,
        tag: 0,
        messages: Messages::Sizes([u32::try_from(bytes).unwrap()].into()),
        ready: Ready::AtOnce,
        min_delivery: Fraction::ONE,
    }
}

/// A switch with so many hosts at 40 Gbit/s, 1 µs per link.
pub(crate) fn star(hosts: u32) -> Topology {
    Topology::star(hosts, Rate::from_gbps(40), Span::from_us(1)).unwrap()
}

/// Ports of the papers: 450 KB, marks above 65 packets.
pub(crate) fn port() -> PortSetup {
    PortSetup::fifo_packets(Bytes::new(450_000), Some(65))
}

pub(crate) fn dctcp(setup: &Setup, config: &DctcpConfig) -> Simulation {
    Simulation::new(setup, |_| vec![Box::new(Dctcp::new(config.clone()))]).unwrap()
}

/// Runs flows that all start at once until all have ended.
pub(crate) fn run(setup: &Setup, config: &DctcpConfig, flows: Vec<Flow>) -> Outcome {
    let mut driver = Schedule::new(flows.into_iter().map(|flow| (Time::ZERO, flow)));
    dctcp(setup, config).run(&mut driver, Limits::default())
}
