//! Good files are read as they are meant, bad ones are refused with words that help.

use laxity_interface::{Bytes, Dscp, Fraction, Rate, Span, Time};
use laxity_switch::{Change, HostId, Limit, Loss, MacAddress, PortId};

use super::LabFile;

/// What ships as an example.
const EXAMPLES: [(&str, &str); 5] = [
    ("star-8", include_str!("../../../../examples/lab/star-8.toml")),
    ("lossy", include_str!("../../../../examples/lab/lossy.toml")),
    ("slack-queues", include_str!("../../../../examples/lab/slack-queues.toml")),
    ("leaf-spine", include_str!("../../../../examples/lab/leaf-spine.toml")),
    ("dumbbell", include_str!("../../../../examples/lab/dumbbell.toml")),
];

fn part(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

#[test]
fn examples_are_labs_and_survive_being_written() {
    for (name, text) in EXAMPLES {
        let file = LabFile::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(LabFile::from_toml(&file.to_toml()).unwrap(), file, "{name}");
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<LabFile>(&json).unwrap(), file, "{name}");
    }
}

#[test]
fn what_is_said_for_all_holds_unless_one_says_otherwise() {
    let file = LabFile::from_toml(
        "link = { rate = '1Gbps', delay = '1ms', loss = '1%', queue = 'q', mtu = 9000 }
         up = { rate = '2Gbps' }
         queues.q = { kind = 'single', buffer = '64KiB', ecn = '10packets' }
         [[hosts]]
         name = 'a'
         [[hosts]]
         name = 'b'
         link = { rate = '10Mbps', burst-loss = { begin = '1%', end = '50%' }, mtu = 1500 }
         up = { delay = '3ms', loss = '2%' }",
    );
    let file = file.unwrap();
    let [a, b] = &file.network().hosts[..] else { panic!("two hosts") };
    assert_eq!((a.down.rate, a.down.loss), (Some(Rate::from_gbps(1)), Loss::Random(part(0.01))));
    assert_eq!(
        (a.up.rate, a.up.loss, a.up.delay),
        (Some(Rate::from_gbps(2)), Loss::None, Span::from_ms(1))
    );
    assert_eq!(a.down.layout.queues[0].limit, Limit::Bytes(Bytes::from_kib(64)));
    assert_eq!(a.down.layout.queues[0].ecn, Some(Limit::Packets(10)));
    assert_eq!((a.mtu, b.mtu), (9000, 1500));
    let burst = Loss::Burst { begin: part(0.01), end: part(0.5) };
    assert_eq!((b.down.rate, b.down.loss), (Some(Rate::from_mbps(10)), burst));
    assert_eq!((b.up.delay, b.up.loss), (Span::from_ms(3), Loss::Random(part(0.02))));
    assert_eq!(b.up.rate, Some(Rate::from_gbps(2)));
}

#[test]
fn own_queues_take_their_code_points() {
    let (_, text) = EXAMPLES[2];
    let file = LabFile::from_toml(&text.replace("queue = \"slack-port\"", "queue = \"own-port\""));
    let file = file.unwrap();
    let layout = &file.network().hosts[0].down.layout;
    let queue = |dscp| layout.queue_of(Dscp::new(dscp).unwrap());
    assert_eq!([0, 3, 11, 15, 27, 46].map(queue), [0, 1, 1, 2, 2, 0]);
    assert_eq!(layout.queues[1].limit, Limit::Packets(4));
    assert_eq!(
        (layout.queues[0].limit, layout.shared),
        (Limit::Shared, Some(Bytes::from_kib(256)))
    );
}

#[test]
fn changes_are_about_the_ports_they_name() {
    let (_, text) = EXAMPLES[3];
    let file = LabFile::from_toml(text).unwrap();
    let fabric = file.network().fabric().unwrap();
    let [gone, back] = &file.network().changes[..] else { panic!("two changes") };
    let [Change::Link { port, up: false }] = gone.what[..] else { panic!("{gone:?}") };
    assert_eq!(back.what, [Change::Link { port, up: true }]);
    let counters = &fabric.counters().ports[port.index()];
    let ends = [counters.from, counters.to].map(|node| file.network().node_name(node));
    assert_eq!(ends, ["leaf1", "spine2"]);
    // And a host's: from the switch to it, from it to the switch.
    for (port, ends) in [(4, ["leaf1", "a3"]), (5, ["a3", "leaf1"])] {
        let counters = &fabric.counters().ports[PortId::new(port).index()];
        assert_eq!([counters.from, counters.to].map(|node| file.network().node_name(node)), ends);
    }
}

#[test]
fn a_card_sends_packets_one_after_the_other() {
    let last_of_two = |text: &str| {
        let file = LabFile::from_toml(&format!("{text}\nhosts = [{{ name = 'h', count = 2 }}]"));
        let mut fabric = file.unwrap().network().fabric().unwrap();
        let mut bytes = vec![0; 1226];
        bytes[..6].copy_from_slice(&MacAddress::of_host(1).0);
        for _ in 0..2 {
            let frame = fabric.frame(&bytes);
            fabric.handle_frame(Time::ZERO, HostId::new(0), frame);
        }
        let late = Time::ZERO + Span::from_secs(1);
        let due = |_| fabric.poll_frame(late).map(|(_, _, due)| due.since(Time::ZERO).as_ns());
        [0, 1].map(due)
    };
    // 1,250 bytes on the wire: 1 us at 10 Gbit/s.
    assert_eq!(last_of_two(""), [Some(1_000), Some(2_000)]);
    assert_eq!(last_of_two("up.rate = '1Gbps'"), [Some(10_000), Some(20_000)]);
    assert_eq!(last_of_two("offload = false"), [Some(0), Some(0)]);
    // A link that is faster than that has a card that is.
    assert_eq!(last_of_two("link.rate = '100Gbps'"), [Some(200), Some(300)]);
}

#[test]
fn the_schema_knows_every_table() {
    let schema = LabFile::json_schema();
    let properties = schema["properties"].as_object().unwrap();
    for name in [
        "seed",
        "offload",
        "receive",
        "link",
        "up",
        "queues",
        "switches",
        "hosts",
        "links",
        "background",
        "changes",
        "programs",
    ] {
        assert!(properties.contains_key(name), "{name}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_a_remedy() {
    let host = "hosts = [{ name = 'h', count = 2 }]\n";
    let bad = [
        "",
        "hosts = [{ name = 'a b' }]",
        "hosts = [{ name = 'a' }, { name = 'a' }]",
        "hosts = [{ name = 'a', switch = 'x' }]",
        "hosts = [{ name = 'h', count = 0 }]",
        "hosts = [{ name = 'h', count = 2000 }]",
        "hosts = [{ nam = 'h' }]",
        "hosts = [{ name = 'a' }]\nlink = { rate = '5 apples' }",
        "hosts = [{ name = 'a' }]\nlink = { rate = '0bps' }",
        "hosts = [{ name = 'a' }]\nlink = { loss = '120%' }",
        "hosts = [{ name = 'a' }]\nlink = { loss = '1%', burst-loss = { begin = '1%', end = '1%' } }",
        "hosts = [{ name = 'a' }]\nlink = { mtu = 100 }",
        "hosts = [{ name = 'a' }]\nlink = { queue = 'tiny' }",
        "hosts = [{ name = 'a' }]\nqueues.q = { kind = 'single', buffer = '100B' }",
        "hosts = [{ name = 'a' }]\nqueues.q = { kind = 'slack', ecn = '10KiB' }",
        "hosts = [{ name = 'a' }]\nqueues.q = { kind = 'own' }",
        "hosts = [{ name = 'a' }]\nqueues.q = { kind = 'own', queue = [{ dscp = [64] }] }",
        "hosts = [{ name = 'a' }]\nqueues.q = { kind = 'own', queue = [{ dscp = [1] }, { dscp = [1] }] }",
        "hosts = [{ name = 'a' }]\nqueues.q = { kind = 'own', queue = [{ limit = '7 boxes' }] }",
        "hosts = [{ name = 'a' }]\nqueues.q = { kind = 'sinlge' }",
        "switches = [{ name = 's' }, { name = 't' }]\nhosts = [{ name = 'a' }]",
        "switches = [{ name = 's' }, { name = 't' }]\nhosts = [{ name = 'a', switch = 's' }, { name = 'b', switch = 't' }]",
        "switches = [{ name = 's' }]\nhosts = [{ name = 'a' }]\nlinks = [{ between = ['s', 's'] }]",
    ];
    let more = [
        "background = [{ from = 'h1', to = 'h9', on = '1s', duration = '1s' }]",
        "background = [{ from = 'h1', to = 'h1', on = '1s', duration = '1s' }]",
        "background = [{ from = 'h1', to = 'h2', duration = '1s' }]",
        "background = [{ from = 'h1', to = 'h2', on = '1s' }]",
        "background = [{ from = 'h1', to = 'h2', on = '1s', duration = '1s', transport = 'udp' }]",
        "background = [{ from = 'h1', to = 'h2', sizes = [['1KB', 1]], load = 0.5, duration = '1s' }]",
        "link.rate = '1Gbps'\nbackground = [{ from = 'h1', to = 'h2', sizes = [['1KB', 0.5]], load = 0.5, duration = '1s' }]",
        "link.rate = '1Gbps'\nbackground = [{ from = 'h1', to = 'h2', sizes = [['2KB', 0.5], ['1KB', 1]], load = 0.5, duration = '1s' }]",
        "changes = [{ at = '1s' }]",
        "changes = [{ at = '1s', host = 'h1' }]",
        "changes = [{ at = '1s', host = 'h3', state = 'gone' }]",
        "changes = [{ at = '1s', between = ['a', 'b'], state = 'gone' }]",
        "changes = [{ host = 'h1', state = 'gone' }]",
        "programs = [{ host = 'h3', command = 'true' }]",
        "programs = [{ host = 'h1', command = '' }]",
        "programs = [{ host = 'h1', command = 'true', name = 'a/b' }]",
        "programs = [{ host = 'h1', command = 'true', server = true }]",
        "programs = [{ host = 'h1', command = 7 }]",
    ];
    let all = bad.iter().map(|text| (*text).to_owned());
    let all = all.chain(more.iter().map(|text| format!("{host}{text}")));
    let mut table = String::new();
    for text in all {
        let error = LabFile::from_toml(&text).map(|_| ()).unwrap_err();
        let shown = text.strip_prefix(host).unwrap_or(&text);
        table += &format!("{shown}\n=> {error}\n\n");
    }
    insta::assert_snapshot!(table);
}
