//! The shipping protocol on ports of every layout, told of it or not, and beside others.

use laxity_interface::{Bytes, Layout, Span, Time};
use laxity_packetsim::{Flow, Limits, Outcome, PortSetup, Schedule, Simulation, World};

use crate::world::{LINE, crowd, flow, incast, scheme, setup};

/// Flows on ports of one layout, where hosts believe in another; stack 1 is DCTCP.
fn run(ports: Layout, believed: Layout, flows: &[(Time, Flow)], until: Span) -> Outcome {
    let (laxity, tcp) = (scheme("laxity"), scheme("dctcp"));
    let mut setup = setup(laxity, 9, 1);
    setup.switch = PortSetup::named(ports, Bytes::new(1_500_000), 65);
    let base_rtt = Simulation::new(&setup, |_| Vec::new()).unwrap().base_rtt();
    let world = World { line_rate: LINE, base_rtt, hosts: 9 };
    let stacks = |host| {
        vec![laxity.stack_on(believed, host, setup.seed, &world), tcp.stack(host, 1, &world)]
    };
    let mut simulation = Simulation::new(&setup, stacks).unwrap();
    let limits = Limits::until(Time::ZERO + until);
    simulation.run(&mut Schedule::new(flows.to_vec()), limits)
}

#[test]
fn every_layout_keeps_the_promise_whatever_hosts_believe() {
    let flows = [crowd(9, 150, 7, 0.7), incast(8, (200, 1400), 0.7)].concat();
    for ports in Layout::ALL {
        for believed in [Layout::Shared, ports] {
            let outcome = run(ports, believed, &flows, Span::from_secs(2));
            let words = format!("{ports} ports, {believed} believed");
            assert_eq!(outcome.unfinished, [], "{words}");
            for done in &outcome.done {
                let least = flows[done.flow.index()].1.min_delivery.of(done.messages as u64);
                assert!(!done.short && u64::from(done.delivered) >= least, "{words}: {done:?}");
            }
        }
    }
}

#[test]
fn what_overtakes_is_not_taken_for_a_loss() {
    // Jobs rise from class to class as they get smaller, and nothing is lost in these buffers.
    let flows = incast(8, (700, 1400), 0.7);
    let outcome = run(Layout::Shared, Layout::Shared, &flows, Span::from_secs(1));
    assert_eq!((outcome.drops, outcome.unfinished.len()), (0, 0));
    let needed = 8 * 490;
    let sent = outcome.tally.data_packets;
    assert!(sent < needed * 102 / 100, "{sent} packets for {needed}");
}

#[test]
fn backlogged_exact_traffic_starves_nobody() {
    // Two flows of a TCP keep the first queue of the receiver's port full for 80 ms. A job behind it
    // joins it after 8 to 64 round trips, for as long as it had waited.
    let bulk = |from| Flow { stack: 1, ..flow(from, 0, (200_000, 1000), 1.0) };
    let mut flows = vec![(Time::ZERO, bulk(1)), (Time::ZERO, bulk(2))];
    let jobs = [(50, 1400), (300, 1400), (2000, 1400)];
    for (from, job) in (3..).zip(jobs) {
        flows.push((Time::ZERO + Span::from_ms(1), flow(from, 0, job, 0.7)));
    }
    for ports in Layout::ALL {
        let outcome = run(ports, ports, &flows, Span::from_secs(2));
        let end = |index: usize| {
            let done = outcome.done.iter().find(|done| done.flow.index() == index);
            done.unwrap_or_else(|| panic!("{ports}: flow {index} never ends")).finished
        };
        let tcp = end(0).min(end(1));
        for index in 2..flows.len() {
            assert!(end(index) < tcp, "{ports}: job {index} waited for the end of the others");
        }
    }
}

#[test]
fn repairs_do_not_join_the_queue_that_is_not_served() {
    // All of the job that has to arrive leaves at once and stands behind the TCP's packets. When it is
    // given up, after 64 round trips, the job must have left that queue: it would wait as long again.
    let bulk = Flow { stack: 1, ..flow(1, 0, (40_000, 1000), 1.0) };
    let start = Time::ZERO + Span::from_ms(1);
    let flows = [(Time::ZERO, bulk), (start, flow(3, 0, (46, 1400), 0.7))];
    let outcome = run(Layout::Shared, Layout::Shared, &flows, Span::from_secs(1));
    let job = outcome.done.iter().find(|done| done.flow.index() == 1).expect("it ends");
    let base_rtt =
        Simulation::new(&setup(scheme("laxity"), 9, 1), |_| Vec::new()).unwrap().base_rtt();
    let took = job.finished.since(start);
    assert!(took > base_rtt * 64, "{took} in no queue that others kept full");
    assert!(took < base_rtt * 96, "{took}: the repair waited as well");
}
