//! Faults hit what they should, and routes avoid links that are down.

mod harness;

use harness::{
    blast::{PLAIN, blasting, packets},
    dctcp, flow, port, star,
};
use laxity_interface::{Fraction, Rate, Span, Time};
use laxity_packetsim::{
    DropReason, Fault, Limits, Schedule, Setup, SetupError, Simulation, Trouble,
    stacks::dctcp::DctcpConfig,
};
use laxity_topology::{Clos, LinkId, Routes};

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn certain_packets_are_lost() {
    let mut setup = Setup::new(star(2), port(), 1);
    let first = setup.topology.out_links(setup.topology.hosts()[0])[0];
    let positions = vec![0, 3, 9];
    setup.faults = vec![Fault::on_link(first, Trouble::Nth { positions })];
    let (mut simulation, arrivals) = blasting(&setup);
    let mut driver = Schedule::new([(Time::ZERO, packets(0, 1, 10, 1000, PLAIN))]);
    let outcome = simulation.run(&mut driver, Limits::default());
    let got: Vec<_> = arrivals.lock().unwrap().iter().map(|packet| packet.sequence).collect();
    assert_eq!(got, [1, 2, 4, 5, 6, 7, 8]);
    assert_eq!(outcome.drops_by_reason.of(DropReason::Fault), 3);
}

#[test]
fn late_packets_are_overtaken_and_arrive_when_they_should() {
    let mut setup = Setup::new(star(2), port(), 1);
    let first = setup.topology.out_links(setup.topology.hosts()[0])[0];
    let (probability, extra) = (Fraction::new(0.3).unwrap(), Span::from_us(50));
    let run = |setup: &Setup| {
        let (mut simulation, arrivals) = blasting(setup);
        let mut driver = Schedule::new([(Time::ZERO, packets(0, 1, 100, 1000, PLAIN))]);
        simulation.run(&mut driver, Limits::default());
        let mut arrivals = arrivals.lock().unwrap().clone();
        arrivals.sort_by_key(|packet| packet.sequence);
        arrivals
    };
    let usual = run(&setup);
    setup.faults = vec![Fault::on_link(first, Trouble::Late { probability, extra })];
    let late = run(&setup);
    let delays = usual.iter().zip(&late).map(|(usual, late)| late.at.since(usual.at));
    let (held, others): (Vec<_>, Vec<_>) = delays.partition(|delay| *delay >= extra);
    assert!((15..=45).contains(&held.len()), "{} of 100", held.len());
    // Behind those that were held, a packet may have to wait for one of them, not longer.
    assert!(others.iter().all(|delay| *delay <= Span::from_ns(200) * 30));
}

#[test]
fn traffic_goes_around_a_link_that_is_down_and_comes_back() {
    let rate = Rate::from_gbps(40);
    let (leaves, spines, hosts, cables, delay) = (2, 2, 1, 1, Span::from_us(1));
    let clos = Clos { leaves, spines, hosts, rate, uplink: rate, cables, delay };
    let topology = clos.build().unwrap();
    let mut setup = Setup::new(topology, port(), 1);
    let net = &setup.topology;
    // The flow's own link from its leaf to a spine, and the link's way back.
    let routes = Routes::new(net);
    let path = routes.path(net, net.hosts()[0], net.hosts()[1], 0).unwrap();
    let link = net.link(path[1]);
    let back = net.link_between(link.to, link.from).unwrap();
    let detect = Span::from_us(30);
    let down = |link| {
        let (from, until) = (at(100), Some(at(300)));
        Fault::on_link(link, Trouble::Down { from, until, detect })
    };
    setup.faults = vec![down(path[1]), down(back)];
    let (mut simulation, arrivals) = blasting(&setup);
    let mut driver = Schedule::new([(Time::ZERO, packets(0, 1, 2000, 1500, PLAIN))]);
    let outcome = simulation.run(&mut driver, Limits::default());
    // Lost: what left in 30 µs at 300 ns each, then nothing.
    assert_eq!(outcome.drops_by_reason.of(DropReason::Fault), 100);
    assert_eq!(outcome.drops, 100);
    let arrivals = arrivals.lock().unwrap();
    let gap = arrivals.windows(2).map(|pair| pair[1].at.since(pair[0].at)).max().unwrap();
    assert_eq!(gap, detect + Span::from_ns(300));
}

#[test]
fn a_host_that_is_cut_off_loses_its_packets_and_goes_on_after() {
    let mut setup = Setup::new(star(2), port(), 1);
    let all = (0..setup.topology.links().len() as u32).map(LinkId).collect();
    let what = Trouble::Down { from: at(10), until: Some(at(2_000)), detect: Span::ZERO };
    let on = laxity_packetsim::On::Links(all);
    setup.faults = vec![Fault { on, ..Fault::everywhere(what) }];
    let mut driver = Schedule::new([(Time::ZERO, flow(0, 1, 1_000_000))]);
    let outcome = dctcp(&setup, &DctcpConfig::strong()).run(&mut driver, Limits::default());
    assert_eq!(outcome.done[0].bytes, 1_000_000);
    assert!(outcome.end > at(2_000) && outcome.tally.timeouts > 0);
    assert!(outcome.drops_by_reason.of(DropReason::NoRoute) > 0);
}

#[test]
fn a_fault_on_a_link_that_is_not_there_is_refused() {
    let mut setup = Setup::new(star(2), port(), 1);
    setup.faults = vec![Fault::on_link(LinkId(99), Trouble::Nth { positions: Vec::new() })];
    let error = Simulation::new(&setup, |_| Vec::new()).unwrap_err();
    assert_eq!(error, SetupError::NoSuchLink { fault: 0, link: 99, links: 4 });
}
