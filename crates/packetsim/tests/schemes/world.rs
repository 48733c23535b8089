//! One switch at 40 Gbit/s with 2 µs links, and flows over it.

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{
    Fault, Flow, HostId, Limits, Messages, Outcome, PortBase, Ready, Schedule, Scheme, Setup,
    Simulation, Trouble, World, ideal_time, packet_sizes,
};
use laxity_topology::Topology;

pub(crate) const LINE: Rate = Rate::from_gbps(40);

pub(crate) fn scheme(name: &str) -> Scheme {
    name.parse().unwrap()
}

pub(crate) fn setup(scheme: Scheme, hosts: u32, seed: u64) -> Setup {
    let topology = Topology::star(hosts, LINE, Span::from_us(2)).unwrap();
    let base = PortBase { buffer: Bytes::new(1_500_000), mark_above_packets: 65, rate: LINE };
    Setup {
        topology,
        routing: scheme.routing(),
        switch: scheme.ports(&base),
        memory: None,
        nic: scheme.nic(),
        faults: Vec::new(),
        seed,
    }
}

/// `count` messages of `bytes`.
pub(crate) fn flow(from: u16, to: u16, (count, bytes): (u32, u32), min: f64) -> Flow {
    Flow {
        from: HostId(from),
        to: HostId(to),
        stack: 0,
        tag: 0,
        messages: Messages::Equal { count, bytes },
        ready: Ready::AtOnce,
        min_delivery: Fraction::new(min).unwrap(),
    }
}

pub(crate) fn run_on(scheme: Scheme, setup: &Setup, flows: &[(Time, Flow)]) -> Outcome {
    let base_rtt = Simulation::new(setup, |_| Vec::new()).unwrap().base_rtt();
    let world = World { line_rate: LINE, base_rtt, hosts: setup.topology.hosts().len() };
    let stacks = |host| vec![scheme.stack(host, setup.seed, &world)];
    let mut simulation = Simulation::new(setup, stacks).unwrap();
    let limits = Limits::until(Time::ZERO + Span::from_secs(10));
    simulation.run(&mut Schedule::new(flows.to_vec()), limits)
}

pub(crate) fn run(scheme: Scheme, hosts: u32, flows: &[(Time, Flow)]) -> Outcome {
    run_on(scheme, &setup(scheme, hosts, 1), flows)
}

/// Flows at random: small and large ones, everybody to everybody.
pub(crate) fn crowd(hosts: u16, count: u32, seed: u64, min: f64) -> Vec<(Time, Flow)> {
    let mut state = seed;
    let mut dice = move |sides: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    let mut now = Time::ZERO;
    (0..count)
        .map(|_| {
            now += Span::from_ns(dice(8000));
            let from = dice(u64::from(hosts)) as u16;
            let to = (from + 1 + dice(u64::from(hosts) - 1) as u16) % hosts;
            let shape = ([1, 7, 40, 150][dice(4) as usize], [700, 1400, 5600][dice(3) as usize]);
            (now, flow(from, to, shape, min))
        })
        .collect()
}

/// Everybody to host 0 at once.
pub(crate) fn incast(senders: u16, shape: (u32, u32), min: f64) -> Vec<(Time, Flow)> {
    (1..=senders).map(|from| (Time::ZERO, flow(from, 0, shape, min))).collect()
}

/// The time of this much payload in the empty network.
pub(crate) fn ideal(payload: u64) -> Span {
    let setup = setup(scheme("dctcp"), 2, 1);
    ideal_time(&setup, packet_sizes(payload), HostId(1), HostId(0))
}

/// When the last flow ended.
pub(crate) fn last(outcome: &Outcome) -> Span {
    outcome.done.iter().map(|done| done.finished).max().unwrap().since(Time::ZERO)
}

pub(crate) fn ratio(a: Span, b: Span) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// Every link loses packets at random.
pub(crate) fn losses(probability: f64) -> Fault {
    let what = Trouble::Loss { probability: Fraction::new(probability).unwrap() };
    Fault::everywhere(what)
}
