//! Traces say what happened.

mod harness;

use std::collections::BTreeMap;

use harness::{dctcp, flow, star};
use laxity_interface::{Bytes, Time};
use laxity_packetsim::{
    JsonLines, Limits, Outcome, Pcap, PortSetup, Schedule, Setup, stacks::dctcp::DctcpConfig,
};
use serde_json::Value;

fn setup() -> Setup {
    Setup::new(star(5), PortSetup::fifo_packets(Bytes::new(20_000), Some(5)), 1)
}

fn driver() -> Schedule {
    Schedule::new((0..4).map(|host| (Time::ZERO, flow(host, 4, 100_000))))
}

fn plain() -> Outcome {
    dctcp(&setup(), &DctcpConfig::strong()).run(&mut driver(), Limits::default())
}

#[test]
fn the_lines_of_json_are_the_counters_of_the_outcome() {
    let mut lines = JsonLines::new(Vec::new());
    let mut simulation = dctcp(&setup(), &DctcpConfig::strong());
    let outcome = simulation.run_observed(&mut driver(), Limits::default(), &mut lines);
    assert_eq!(outcome.trace_hash, plain().trace_hash, "watching changes nothing");
    let text = String::from_utf8(lines.finish().unwrap()).unwrap();
    let (mut counts, mut last) = (BTreeMap::new(), 0);
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        *counts.entry(line["event"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        let time = line["t"].as_u64().unwrap();
        assert!(time >= last);
        last = time;
    }
    let expected = [
        ("delivered", outcome.delivered),
        ("dropped", outcome.drops),
        ("finished", 4),
        ("marked", outcome.marks),
        ("sent", outcome.packet_hops),
        ("started", 4),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(name, count)| (name.to_owned(), count)).into();
    assert!(outcome.drops > 0 && outcome.marks > 0);
    assert_eq!(counts, expected);
    assert_eq!(last, outcome.end.as_ps());
}

#[test]
fn a_capture_has_every_packet_of_its_link() {
    let setup = setup();
    let net = &setup.topology;
    let last = net.hosts()[4];
    let up = net.link(net.out_links(last)[0]).to;
    let link = net.link_between(up, last).unwrap();
    let mut capture = Pcap::new(Vec::new(), Some(link)).unwrap();
    let mut simulation = dctcp(&setup, &DctcpConfig::strong());
    simulation.run_observed(&mut driver(), Limits::default(), &mut capture);
    let bytes = capture.finish().unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 1), "nanoseconds, Ethernet");
    let (mut at, mut packets) = (24, 0);
    while at < bytes.len() {
        let (length, original) = (word(at + 8) as usize, word(at + 12));
        let frame = &bytes[at + 16..at + 16 + length];
        assert_eq!(frame[12..14], [8, 0]);
        assert_eq!((frame[14], frame[23]), (0x45, 17), "IPv4, UDP");
        assert_eq!(frame[30..34], [10, 0, 0, 4], "to the last host");
        let sum: u32 = frame[14..34]
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum of IP");
        assert!(original >= length as u32 && original <= 1514);
        packets += 1;
        at += 16 + length;
    }
    assert_eq!(at, bytes.len());
    // Everything that was sent to it and not lost: it gets data only.
    let outcome = plain();
    assert_eq!(packets, outcome.tally.data_packets - outcome.drops);
}
