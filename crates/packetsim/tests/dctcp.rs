//! DCTCP does what is known of DCTCP.

mod harness;

use harness::{dctcp, flow, port, run, star};
use laxity_interface::{Bytes, Fraction, Span, Time};
use laxity_packetsim::{
    DropReason, Fault, Flow, Limits, Messages, Outcome, PortSetup, Schedule, SeriesSetup, Setup,
    Trouble,
    stacks::dctcp::{Classes, DctcpConfig},
};
use laxity_topology::{LinkId, Topology};

const MAX: u64 = u32::MAX as u64;

fn at(span: Span) -> Time {
    Time::ZERO + span
}

fn took(outcome: &Outcome, index: usize) -> Span {
    let done = &outcome.done[index];
    done.finished.since(done.started)
}

/// The link from the switch to a host.
fn downlink(net: &Topology, host: usize) -> LinkId {
    let host = net.hosts()[host];
    let up = net.link(net.out_links(host)[0]).to;
    net.link_between(up, host).unwrap()
}

#[test]
fn the_queue_stays_near_the_threshold_and_the_line_is_full() {
    // §3.3 of the paper: the queue's maximum is K + N packets, and it never runs empty if K is large
    // enough: above 1/7 of the bandwidth-delay product, here 65 packets against 4.
    for senders in [2u16, 8, 16] {
        let setup = Setup::new(star(u32::from(senders) + 1), port(), 3);
        let link = downlink(&setup.topology, senders.into());
        let flows = (0..senders).map(|host| (Time::ZERO, flow(host, senders, MAX)));
        let mut simulation = dctcp(&setup, &DctcpConfig::strong());
        let mut driver = Schedule::new(flows);
        simulation.run(&mut driver, Limits::until(at(Span::from_ms(5))));
        simulation.record(SeriesSetup { interval: Span::from_ns(700), links: vec![link] });
        let outcome = simulation.run(&mut driver, Limits::until(at(Span::from_ms(15))));
        let samples = &outcome.series.as_ref().unwrap().links[0];
        let mean = samples.mean_waiting() / 1518.0;
        assert!((40.0..80.0).contains(&mean), "{senders} senders: {mean} packets");
        let most = samples.samples.iter().map(|sample| sample.packets).max().unwrap();
        assert!(most <= 65 + 2 * u32::from(senders) + 2, "{senders} senders: {most} packets");
        let (first, last) = (samples.samples[0], samples.samples.last().unwrap());
        let full = 40e9 / 8.0 * 700e-9 * (samples.samples.len() - 1) as f64;
        let share = (last.sent - first.sent) as f64 / full;
        assert!(share > 0.999, "{senders} senders: {share} of the line");
        assert_eq!(outcome.drops, 0);
    }
}

#[test]
fn long_flows_share_fairly() {
    let senders = 8u16;
    let setup = Setup::new(star(u32::from(senders) + 1), port(), 5);
    // One after the other, so that the first has all of the line before.
    let flows = (0..senders)
        .map(|host| (at(Span::from_us(300) * u64::from(host)), flow(host, senders, MAX)));
    let mut simulation = dctcp(&setup, &DctcpConfig::strong());
    let links: Vec<_> = (0..usize::from(senders))
        .map(|host| setup.topology.out_links(setup.topology.hosts()[host])[0])
        .collect();
    let mut driver = Schedule::new(flows);
    simulation.run(&mut driver, Limits::until(at(Span::from_ms(10))));
    simulation.record(SeriesSetup { interval: Span::from_ms(1), links });
    let outcome = simulation.run(&mut driver, Limits::until(at(Span::from_ms(41))));
    let rates = outcome
        .series
        .as_ref()
        .unwrap()
        .links
        .iter()
        .map(|link| (link.samples.last().unwrap().sent - link.samples[0].sent) as f64);
    let (sum, squares) =
        rates.fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    let jain = sum * sum / (f64::from(senders) * squares);
    assert!(jain > 0.98, "Jain's index {jain}");
}

/// Many hosts send to one at the same moment, through a buffer of 150 KB.
fn incast(config: &DctcpConfig) -> Outcome {
    let setup = Setup::new(star(65), PortSetup::fifo_packets(Bytes::new(150_000), Some(65)), 7);
    run(&setup, config, (0..64).map(|host| flow(host, 64, 64_000)).collect())
}

#[test]
fn incast_meets_timeouts_in_the_plain_form_and_not_in_the_strong_one() {
    let ideal = Span::from_us(64 * 44 * 1518 / 5000);
    let (plain, strong) = (incast(&DctcpConfig::plain()), incast(&DctcpConfig::strong()));
    assert!(plain.drops > 0 && strong.drops > 0);
    assert!(plain.tally.timeouts > 0);
    assert!(plain.end > at(Span::from_ms(10)), "{}", plain.end);
    assert_eq!(strong.tally.timeouts, 0);
    assert!(strong.end < at(ideal * 2), "{} of ideally {ideal}", strong.end);
}

#[test]
fn one_lost_packet_is_sent_again_once_and_fast() {
    for config in [DctcpConfig::strong(), DctcpConfig::plain()] {
        let mut setup = Setup::new(star(2), port(), 1);
        let first = setup.topology.out_links(setup.topology.hosts()[0])[0];
        let whole = run(&setup, &config, vec![flow(0, 1, 146_000)]);
        setup.faults = vec![Fault::on_link(first, Trouble::Nth { positions: vec![40] })];
        let outcome = run(&setup, &config, vec![flow(0, 1, 146_000)]);
        assert_eq!(outcome.drops_by_reason.of(DropReason::Fault), 1);
        assert_eq!((outcome.tally.again, outcome.tally.timeouts), (1, 0));
        // Less than two round trips (of some 8 µs with the queues) more.
        assert!(took(&outcome, 0) < took(&whole, 0) + Span::from_us(20));
    }
}

#[test]
fn a_lost_tail_costs_a_probe_or_a_timeout() {
    let mut setup = Setup::new(star(2), port(), 1);
    let first = setup.topology.out_links(setup.topology.hosts()[0])[0];
    setup.faults = vec![Fault::on_link(first, Trouble::Nth { positions: vec![8, 9] })];
    let strong = run(&setup, &DctcpConfig::strong(), vec![flow(0, 1, 14_600)]);
    assert_eq!(strong.tally.timeouts, 0);
    assert!(took(&strong, 0) < Span::from_us(60), "{}", took(&strong, 0));
    let plain = run(&setup, &DctcpConfig::plain(), vec![flow(0, 1, 14_600)]);
    assert_eq!(plain.tally.timeouts, 1);
    let least = Span::from_ms(10);
    assert!((least..least * 2).contains(&took(&plain, 0)), "{}", took(&plain, 0));
}

#[test]
fn timeouts_double_while_nothing_comes_through() {
    let mut setup = Setup::new(star(2), port(), 1);
    let first = setup.topology.out_links(setup.topology.hosts()[0])[0];
    // One packet; it and its next four copies are lost: 1 + 2 + 4 + 8 ms and the first wait of 10.
    setup.faults = vec![Fault::on_link(first, Trouble::Nth { positions: vec![0, 1, 2, 3, 4] })];
    let outcome = run(&setup, &DctcpConfig::plain(), vec![flow(0, 1, 1000)]);
    assert_eq!(outcome.tally.timeouts, 5);
    let waited = Span::from_ms(10 * (1 + 2 + 4 + 8 + 16));
    assert_eq!(took(&outcome, 0).as_us() - waited.as_us(), 2, "two links of 1 µs");
}

#[test]
fn everything_arrives_through_a_lossy_network() {
    for config in [DctcpConfig::strong(), DctcpConfig::plain()] {
        let net = Topology::leaf_spine(
            4,
            2,
            4,
            laxity_interface::Rate::from_gbps(10),
            1,
            Span::from_us(1),
        );
        let mut setup = Setup::new(net.unwrap(), port(), 11);
        let fraction = |value| Fraction::new(value).unwrap();
        setup.faults = vec![
            Fault::everywhere(Trouble::Loss { probability: fraction(0.01) }),
            Fault::everywhere(Trouble::Bursts { begin: fraction(0.001), end: fraction(0.2) }),
            Fault::everywhere(Trouble::Late {
                probability: fraction(0.01),
                extra: Span::from_us(5),
            }),
        ];
        let flows = (0..16).map(|host| flow(host, (host + 5) % 16, 300_000)).collect();
        let outcome = run(&setup, &config, flows);
        assert_eq!(outcome.done.len(), 16);
        assert!(outcome.done.iter().all(|done| done.bytes == 300_000 && !done.short));
        assert!(outcome.tally.again > 0);
    }
}

#[test]
fn two_packets_share_an_acknowledgement_if_asked() {
    let config = DctcpConfig { ack_every: 2, ..DctcpConfig::strong() };
    let setup = Setup::new(star(2), port(), 1);
    let outcome = run(&setup, &config, vec![flow(0, 1, 1_460_000)]);
    let (data, acks) = (outcome.tally.data_packets, outcome.tally.control_packets);
    assert_eq!(data, 1000);
    assert!((490..=510).contains(&acks), "{acks} acknowledgements");
    // An odd number: the last but one waits, the last ends it.
    let outcome = run(&setup, &config, vec![flow(0, 1, 1460)]);
    assert_eq!(outcome.done.len(), 1);
    // With marks: the share of marks is still exact, so the queue is as with one per packet.
    let setup = Setup::new(star(3), port(), 1);
    let outcome = run(&setup, &config, vec![flow(0, 2, 9_000_000), flow(1, 2, 9_000_000)]);
    assert!(outcome.marks > 0 && outcome.drops == 0 && outcome.tally.again == 0);
}

#[test]
fn a_receiver_that_has_enough_stops_the_sender() {
    let config = DctcpConfig { stop_when_enough: true, ..DctcpConfig::strong() };
    let setup = Setup::new(star(2), port(), 1);
    for (part, least) in [(0.5, 500), (0.999, 999), (1.0, 1000), (0.0, 0)] {
        let flow = Flow {
            messages: Messages::Equal { count: 1000, bytes: 2000 },
            min_delivery: Fraction::new(part).unwrap(),
            ..flow(0, 1, 0)
        };
        let outcome = run(&setup, &config, vec![flow]);
        let done = &outcome.done[0];
        // A packet ends at most one message here.
        assert!((least..=least + 1).contains(&done.delivered), "{} of {part}", done.delivered);
        assert_eq!(done.bytes, u64::from(done.delivered) * 2000);
        assert!(!done.short);
    }
}

#[test]
fn short_flows_go_first_if_classes_go_by_size() {
    let limit = vec![Bytes::new(100_000)];
    let sorted = DctcpConfig { class: Classes::BySize(limit), ..DctcpConfig::strong() };
    let setup = Setup::new(star(3), port(), 1);
    let times = |config, first: u64| {
        let short = (at(Span::from_ms(1)), flow(1, 2, 50_000));
        let mut driver = Schedule::new([(Time::ZERO, flow(0, 2, first)), short]);
        let outcome = dctcp(&setup, config).run(&mut driver, Limits::default());
        let done = outcome.done.iter().find(|done| done.bytes == 50_000).unwrap();
        done.finished.since(done.started)
    };
    let alone = times(&sorted, 1);
    let (fast, slow) = (times(&sorted, 20_000_000), times(&DctcpConfig::strong(), 20_000_000));
    // Behind one packet that is on the line per round trip, of which it needs three.
    assert!(fast <= alone + Span::from_ns(4 * 304), "{fast}, alone {alone}");
    // Behind a queue of some 40 packets.
    assert!(slow > alone + Span::from_us(10), "{slow}, alone {alone}");
}

#[test]
fn flows_of_one_host_take_turns() {
    let setup = Setup::new(star(3), port(), 1);
    let flows = vec![flow(0, 1, 3_000_000), flow(0, 2, 3_000_000)];
    let outcome = run(&setup, &DctcpConfig::strong(), flows);
    let (first, second) = (took(&outcome, 0), took(&outcome, 1));
    // Both need the whole line of their sender: they end within two packets of each other.
    assert!(second - first < Span::from_us(1), "{first}, {second}");
}
