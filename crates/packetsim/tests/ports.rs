//! Ports do what their disciplines say.

mod harness;

use harness::{
    blast::{Arrival, DROPPABLE, Look, PLAIN, TRIMMABLE, blasting, blasting_with, packets},
    star,
};
use laxity_interface::{Bytes, Ecn, Span, Time};
use laxity_packetsim::{
    DropReason, Flags, Flow, Limits, Outcome, PortSetup, Schedule, Setup, Stopped,
};

/// Flows of hosts 0, 1, … to the last one, all at once.
fn run(port: PortSetup, hosts: u32, flows: Vec<Flow>) -> (Outcome, Vec<Arrival>) {
    let setup = Setup::new(star(hosts), port, 1);
    let (mut simulation, arrivals) = blasting(&setup);
    let mut driver = Schedule::new(flows.into_iter().map(|flow| (Time::ZERO, flow)));
    let outcome = simulation.run(&mut driver, Limits::default());
    let arrivals = arrivals.lock().unwrap().clone();
    (outcome, arrivals)
}

fn big() -> Bytes {
    Bytes::from_mib(1)
}

#[test]
fn two_senders_share_a_line_packet_by_packet() {
    let flows = vec![packets(0, 2, 50, 1500, PLAIN), packets(1, 2, 50, 1500, PLAIN)];
    let (outcome, arrivals) = run(PortSetup::fifo(big(), None), 3, flows);
    // 300 ns per packet; two links of 1 µs, one packet on the first line, 100 on the second.
    assert_eq!(outcome.end, Time::ZERO + Span::from_ns(2_000 + 300 + 100 * 300));
    let turns = arrivals.windows(2).filter(|pair| pair[0].flow != pair[1].flow).count();
    assert_eq!(turns, 99, "they alternate");
}

#[test]
fn the_lower_class_leaves_first() {
    let low = Look { class: 7, ..PLAIN };
    let flows = vec![packets(0, 2, 50, 1500, low), packets(1, 2, 50, 1500, PLAIN)];
    let (_, arrivals) = run(PortSetup::fifo(big(), None), 3, flows);
    // The first of each came at the same time; after that class 0 has the line until its end.
    let last_high = arrivals.iter().rposition(|packet| packet.flow == 1).unwrap();
    let lows_before = arrivals[..last_high].iter().filter(|packet| packet.flow == 0).count();
    assert!(lows_before <= 1, "{lows_before} packets of class 7 before the end of class 0");
}

#[test]
fn marks_begin_above_the_threshold() {
    // Two to one at equal speed: every packet time, two come and one leaves.
    let flows = vec![packets(0, 2, 40, 1500, PLAIN), packets(1, 2, 40, 1500, PLAIN)];
    let (outcome, arrivals) = run(PortSetup::fifo_packets(big(), Some(10)), 3, flows.clone());
    let first = arrivals.iter().position(|packet| packet.ecn == Ecn::Ce).unwrap();
    // Of pair 0 one leaves at once and one waits. When pair k comes, one has left: the first of the
    // pair finds k - 1 waiting, the second k. So the second of pair 11 is the first above 10.
    assert_eq!(first, 2 * 11 + 1);
    assert!(arrivals[first..].iter().all(|packet| packet.ecn == Ecn::Ce));
    assert_eq!(outcome.marks, 80 - 23);
    let (none, _) = run(PortSetup::fifo(big(), None), 3, flows.clone());
    assert_eq!(none.marks, 0);
    let (bytes, _) = run(PortSetup::fifo(big(), Some(Bytes::new(15_000))), 3, flows);
    assert_eq!(bytes.marks, outcome.marks, "15000 bytes are 10 packets");
}

#[test]
fn what_does_not_fit_is_lost_and_the_rest_arrives() {
    let flows = vec![packets(0, 2, 40, 1500, PLAIN), packets(1, 2, 40, 1500, PLAIN)];
    let (outcome, arrivals) = run(PortSetup::fifo(Bytes::new(15_000), None), 3, flows);
    // After 10 packet times 10 wait; from then on one of each pair fits. Pairs 0 to 39: one on the
    // line, 10 waiting at the end of pair 10.
    assert_eq!(outcome.drops_by_reason.of(DropReason::Full), 80 - arrivals.len() as u64);
    assert_eq!(arrivals.len(), 40 + 10);
    assert_eq!(outcome.stopped, Stopped::Idle);
    assert!(!outcome.unfinished.is_empty());
}

#[test]
fn slack_queues_hold_their_few_packets() {
    for class in 1..8u8 {
        let look = Look { class, ..PLAIN };
        let flows = (0..20).map(|host| packets(host, 20, 1, 1518, look)).collect();
        let (outcome, arrivals) = run(PortSetup::slack(big(), 65), 21, flows);
        // All at once: one leaves, 8 - class wait.
        assert_eq!(arrivals.len(), 1 + 8 - usize::from(class), "class {class}");
        assert_eq!(outcome.drops, 20 - arrivals.len() as u64);
    }
}

#[test]
fn by_rank_the_smallest_leaves_and_the_largest_is_lost() {
    // All at once: host 0's packet is on the line, the others wait, ranks 19 down to 1.
    let flows = (0..20u16)
        .map(|host| packets(host, 20, 1, 1500, Look { rank: 20 - u32::from(host), ..PLAIN }));
    let (outcome, arrivals) = run(PortSetup::ranked(Bytes::new(7_500)), 21, flows.collect());
    let order: Vec<_> = arrivals.iter().map(|packet| packet.flow).collect();
    assert_eq!(order, [0, 19, 18, 17, 16, 15], "the five smallest ranks in their order");
    assert_eq!(outcome.drops_by_reason.of(DropReason::PushedOut), 14);
    assert_eq!(outcome.drops, 14);
}

#[test]
fn by_rank_a_flow_stays_in_order() {
    // Ranks fall as flows come to their end; the oldest of the flow leaves nevertheless.
    let look = |rank| Look { rank, ..PLAIN };
    let flows = vec![packets(0, 2, 30, 1500, look(5)), packets(1, 2, 30, 1500, look(9))];
    let (_, arrivals) = run(PortSetup::ranked(big()), 3, flows);
    for flow in [0, 1] {
        let own: Vec<_> = arrivals.iter().filter(|packet| packet.flow == flow).collect();
        assert!(own.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
    }
    let last = arrivals.iter().rposition(|packet| packet.flow == 0).unwrap();
    assert!(last <= 31, "the smaller rank is through first: {last}");
}

#[test]
fn only_droppable_packets_are_dropped_early() {
    let port = PortSetup::fifo(big(), None).with_droppable_above(Bytes::new(6_000));
    let first = Look { flags: DROPPABLE, ..PLAIN };
    let flows = |look| (0..20).map(|host| packets(host, 20, 1, 1500, look)).collect();
    let (outcome, arrivals) = run(port.clone(), 21, flows(first));
    // One on the line, and waiting until more than 6000 bytes wait: five.
    assert_eq!(arrivals.len(), 6);
    assert_eq!(outcome.drops_by_reason.of(DropReason::Early), 14);
    let (outcome, _) = run(port, 21, flows(PLAIN));
    assert_eq!(outcome.drops, 0);
}

#[test]
fn trimmed_packets_arrive_as_headers_and_first() {
    let look = Look { class: 1, flags: TRIMMABLE, ..PLAIN };
    let flows = (0..20).map(|host| packets(host, 20, 1, 1500, look)).collect();
    let (outcome, arrivals) = run(PortSetup::trimming(big(), 8), 21, flows);
    assert_eq!((outcome.trimmed, outcome.drops), (11, 0));
    assert_eq!(arrivals.len(), 20);
    let cut = |packet: &Arrival| packet.flags.has(Flags::TRIMMED);
    assert!(!cut(&arrivals[0]));
    assert!(arrivals[1..12].iter().all(|packet| cut(packet) && packet.size == 64));
    assert!(arrivals[12..].iter().all(|packet| !cut(packet) && packet.size == 1500));
    // Without leave it is lost.
    let look = Look { class: 1, ..PLAIN };
    let flows = (0..20).map(|host| packets(host, 20, 1, 1500, look)).collect();
    let (outcome, _) = run(PortSetup::trimming(big(), 8), 21, flows);
    assert_eq!((outcome.trimmed, outcome.drops), (0, 11));
}

#[test]
fn stacks_of_one_host_take_turns() {
    let setup = Setup::new(star(2), PortSetup::fifo(big(), None), 1);
    let (mut simulation, arrivals) = blasting_with(&setup, 3);
    let flows = (0..3).map(|stack| Flow { stack, ..packets(0, 1, 20, 1500, PLAIN) });
    let mut driver = Schedule::new(flows.map(|flow| (Time::ZERO, flow)));
    simulation.run(&mut driver, Limits::default());
    let order: Vec<_> = arrivals.lock().unwrap().iter().map(|packet| packet.flow).collect();
    // The first stack starts alone and has two packets in the interface before the others come.
    assert_eq!(order[..2], [0, 0]);
    for three in order[2..56].chunks(3) {
        let mut three = three.to_vec();
        three.sort_unstable();
        assert_eq!(three, [0, 1, 2]);
    }
}
