//! Good files are read as they are meant, bad ones are refused with words that help.

use laxity_interface::{Bytes, Layout, Rate, Span, Time};

use super::{FileError, Scenario, Source};
use crate::{Discipline, PortSetup, SharedMemory, Stopped, workload::Until};

const STAR: &str = "topology = { kind = 'star', hosts = 8, rate = '10Gbps', delay = '1us' }\n";

fn read(rest: &str) -> Result<Scenario, FileError> {
    Scenario::from_toml(&format!("{STAR}{rest}"))
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_a_remedy() {
    let one = "[[workloads]]\nscheme = 'dctcp'\n";
    for (rest, line, path, words) in [
        ("", None, "", "workloads"),
        ("workloads = []", Some(1), "workloads", "write 1 to 256"),
        ("[[workload]]", None, "", "unknown field `workload`"),
        ("@kind = 'incsat'\nsize = '1KB'", None, "", "incast"),
        ("@kind = 'incast'\nsize = 'wibsearch'", None, "", "web-search"),
        ("@kind = 'incast'\nsiez = '1KB'", None, "", "siez"),
        ("@kind = 'incast'", Some(2), "workloads[0].size", "missing"),
        ("@kind = 'incast'\nsize = '1KB'\nsenders = 8", Some(6), "workloads[0].senders", "1 to 7"),
        (
            "@kind = 'incast'\nsize = '1KB'\nsenders = [2, 4, 8]",
            Some(6),
            "workloads[0].senders",
            "8 senders",
        ),
        ("@kind = 'incast'\nsize = '1KB'\nreceiver = 'x'", Some(6), "workloads[0].receiver", "`x`"),
        (
            "@kind = 'permutation'\nsize = '1KB'\nload = 0.5",
            Some(6),
            "workloads[0].load",
            "it has hosts",
        ),
        (
            "@kind = 'poisson'\nsize = '1KB'\nload = 1.5\ncount = 1",
            Some(6),
            "workloads[0].load",
            "at most 1",
        ),
        ("@kind = 'poisson'\nsize = '1KB'\nload = 0.5", Some(2), "workloads[0].count", "duration"),
        ("@kind = 'poisson'\nsize = '1KB'\ncount = 5", Some(2), "workloads[0].load", "missing"),
        (
            "@kind = 'poisson'\nsize = '1KB'\nload = 0.5\ncount = 5\nof = 'core'",
            Some(8),
            "workloads[0].of",
            "different switches",
        ),
        (
            "@kind = 'parameter-server'\nbytes = '1MB'\nworkers = { first = 4 }\nservers = { first = 1 }",
            Some(7),
            "workloads[0].servers",
            "worker as well",
        ),
        ("@kind = 'ring-all-reduce'", Some(2), "workloads[0].bytes", "missing"),
        (
            "@kind = 'random'\nsize = '1KB'\nmin-delivery = 0",
            Some(6),
            "workloads[0].min-delivery",
            "above 0",
        ),
        ("@kind = 'random'\nsize = '1KB'\nmin-delivery = 1.2", None, "", "1.2"),
        (
            "@kind = 'random'\nsize = '1KB'\nrounds = 0",
            Some(6),
            "workloads[0].rounds",
            "at least 1",
        ),
        (
            "@kind = 'random'\nsize = '1KB'\nhosts = ['h0']",
            Some(6),
            "workloads[0].hosts",
            "at least 2",
        ),
        ("@kind = 'list'", Some(2), "workloads[0].flows", "from"),
        (
            "@kind = 'list'\nflows = [{ from = 'h0', to = 'h0', size = '1KB' }]",
            Some(5),
            "workloads[0].flows[0].to",
            "itself",
        ),
        (
            "[switch]\nbuffer = '100B'\n@kind = 'random'\nsize = '1KB'",
            Some(3),
            "switch.buffer",
            "1518B",
        ),
        (
            "[switch]\nmemory = '1KB'\n@kind = 'random'\nsize = '1KB'",
            Some(3),
            "switch.memory",
            "1518B",
        ),
        (
            "[switch]\nmemory = '1MB'\nshare = 0\n@kind = 'random'\nsize = '1KB'",
            Some(4),
            "switch.share",
            "above 0",
        ),
        (
            "[switch]\nshare = 2\n@kind = 'random'\nsize = '1KB'",
            Some(3),
            "switch.share",
            "nothing to share",
        ),
        (
            "[switch]\nmark-above = '5 apples'\n@kind = 'random'\nsize = '1KB'",
            None,
            "",
            "65packets",
        ),
    ] {
        let text = rest.replace('@', one);
        let error = read(&text).map(|_| ()).expect_err(&text);
        let said = error.to_string();
        assert!(said.contains(words), "{text}\n=> {said}");
        assert_eq!(
            (error.line(), error.path().unwrap_or_default()),
            (line, path),
            "{text}\n=> {said}"
        );
        // What the parser refuses has its line as well.
        assert!(said.contains("line"), "{text}\n=> {said}");
    }
}

#[test]
fn an_unknown_scheme_names_the_known_ones() {
    let error = read("[[workloads]]\nkind = 'random'\nscheme = 'dtcp'\nsize = '1KB'").unwrap_err();
    let said = error.to_string();
    assert!(said.contains("line 4") && said.contains("udp"), "{said}");
}

#[test]
fn loads_are_parts_of_what_the_network_carries() {
    let text = "topology = { kind = 'leaf-spine', leaves = 8, spines = 4, hosts = 16, rate = '40Gbps', \
                oversubscription = 4 }\n[[workloads]]\nkind = 'poisson'\nscheme = 'dctcp'\n\
                size = 'web-search'\nload = 0.5\nduration = '10ms'\nstart = '1ms'\nhosts = { last = 8, of = 16 }\n";
    let offered = |text: &str| {
        let point = Scenario::from_toml(text).unwrap().point(0);
        let Source::Poisson { hosts, offered, until, .. } = &point.workloads[0].source else {
            panic!("{:?}", point.workloads);
        };
        assert_eq!(hosts.len(), 64);
        assert_eq!(*until, Until::Time(Time::ZERO + Span::from_ms(11)));
        *offered
    };
    assert_eq!(offered(text), Rate::from_gbps(64 * 20));
    // Uplinks: 8 · 160 Gbit/s. Of all pairs of 64 hosts, 56/63 are in different racks.
    let core = offered(&format!("{text}of = 'core'\n")).as_gbps_f64();
    assert!((core - 640.0 * 63.0 / 56.0).abs() < 1e-6, "{core}");
}

#[test]
fn a_sweep_has_all_combinations_and_each_has_its_values() {
    let text = "[switch]\nbuffer = ['100KB', '200KB']\n[[workloads]]\nname = 'front'\nkind = 'random'\n\
                scheme = ['dctcp', 'udp']\nsize = '1KB'\nmin-delivery = { from = 0.5, to = 0.9, step = 0.2 }\n\
                [[workloads]]\nkind = 'poisson'\nbackground = true\nscheme = 'udp'\nload = 0.1\nsize = 'fbkv'";
    let scenario = read(text).unwrap();
    assert_eq!(scenario.points(), 12);
    let last = scenario.point(11);
    let names: Vec<_> = last.settings.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    assert_eq!(
        names,
        [("buffer", "200kB"), ("front-scheme", "udp"), ("front-min-delivery", "0.9")]
    );
    assert_eq!(last.buffer, Bytes::new(200_000));
    assert_eq!(last.memory, None);
    assert_eq!((last.schemes().len(), scenario.point(0).schemes().len()), (1, 2));
}

#[test]
fn the_same_seed_is_the_same_run_and_all_schemes_get_the_same_flows() {
    let text = "[[workloads]]\nkind = 'random'\nscheme = ['dctcp', 'udp']\nsize = 'fbkv'\nmessages = 20\nrounds = 3";
    let scenario = read(text).unwrap();
    let run = |point, seed| scenario.point(point).run(seed).unwrap();
    let (a, b, other, udp) = (run(0, 1), run(0, 1), run(0, 2), run(1, 1));
    assert_eq!(a.outcome.trace_hash, b.outcome.trace_hash);
    assert_ne!(a.outcome.trace_hash, other.outcome.trace_hash);
    assert_eq!(a.outcome.stopped, Stopped::Driver);
    assert_eq!((a.workloads[0].flows, a.workloads[0].jobs), (24, 3));
    for (x, y) in a.started.iter().zip(&udp.started) {
        assert_eq!(
            (x.flow.from, x.flow.to, &x.flow.messages),
            (y.flow.from, y.flow.to, &y.flow.messages)
        );
    }
}

#[test]
fn a_dry_run_counts_what_a_real_one_sends() {
    let text = "[[workloads]]\nkind = 'ring-all-reduce'\nscheme = 'dctcp'\nbytes = '1MB'\nmessage = '125KB'\niterations = 2";
    let point = read(text).unwrap().point(0);
    let dry = point.dry(1);
    let ran = point.run(1).unwrap();
    let own = &dry.workloads[0];
    assert_eq!(own.flows, 2 * 8 * 14);
    assert_eq!((own.flows, own.bytes), (ran.workloads[0].flows as u64, ran.workloads[0].bytes));
    assert_eq!(own.packets, 2 * 8 * 14 * 125_000u64.div_ceil(1460));
    // A ring loads every host's link alike: 14 steps of 2, of which none overlap.
    let (_, load) = dry.busiest(&point).unwrap();
    assert!(load > 0.9 && load <= 1.0, "{load}");
    assert!(!dry.cut && ran.outcome.end >= dry.end);
}

#[test]
fn what_did_not_end_is_counted() {
    let text = "[limits]\nuntil = '50us'\n[[workloads]]\nkind = 'incast'\nscheme = 'dctcp'\nsize = '1MB'\nreceiver = 'h0'";
    let ran = read(text).unwrap().point(0).run(1).unwrap();
    assert_eq!(ran.outcome.stopped, Stopped::Until);
    assert_eq!((ran.workloads[0].unfinished_flows, ran.workloads[0].unfinished_jobs), (7, 1));
    assert_eq!(ran.workloads[0].flow_s, None);
}

/// What ships as an example.
const EXAMPLES: [(&str, &str); 7] = [
    ("all-reduce", include_str!("../../../../examples/sim/all-reduce.toml")),
    ("background", include_str!("../../../../examples/sim/background.toml")),
    ("incast", include_str!("../../../../examples/sim/incast.toml")),
    ("list", include_str!("../../../../examples/sim/list.toml")),
    ("netapprox", include_str!("../../../../examples/sim/netapprox.toml")),
    ("permutation", include_str!("../../../../examples/sim/permutation.toml")),
    ("training", include_str!("../../../../examples/sim/training.toml")),
];

#[test]
fn examples_are_scenarios_that_say_what_they_are_for() {
    for (name, text) in EXAMPLES {
        let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(scenario.name(), name);
        assert!(scenario.about().is_some_and(|about| about.len() > 40), "{name}");
        let dry = scenario.point(0).dry(scenario.seeds()[0]);
        assert!(dry.workloads.iter().all(|workload| workload.flows > 0), "{name}");
    }
}

#[test]
fn ports_have_the_layout_that_the_file_names() {
    let one = "[[workloads]]\nscheme = 'laxity'\nkind = 'permutation'\nsize = '1KB'\n";
    let swept = read(&format!("switch.layout = ['single', 'shared', 'slack']\n{one}")).unwrap();
    let ports = |index| swept.point(index).setup(1).switch;
    let layouts = [Layout::Single, Layout::Shared, Layout::Slack];
    for (index, layout) in layouts.into_iter().enumerate() {
        let named = PortSetup::named(layout, Bytes::new(1_500_000), 65);
        assert_eq!(ports(index as u64), named, "{layout}");
    }
    assert_eq!(read(one).unwrap().point(0).setup(1).switch, ports(1), "what the scheme wants");
    let ranked = read(&format!("switch.ports = 'pfabric'\n{one}")).unwrap().point(0).setup(1);
    assert_eq!(ranked.switch.discipline, Discipline::Ranked, "pFabric's queue under anybody");
    let both = read(&format!("switch = {{ layout = 'slack', ports = 'dctcp' }}\n{one}"));
    let error = both.unwrap_err().to_string();
    assert!(error.contains("switch.layout") && error.contains("leave out"), "{error}");
}

#[test]
fn ports_may_share_the_memory_of_their_switch() {
    let rest = "[[workloads]]\nkind = 'random'\nscheme = 'udp'\nsize = '1KB'\n";
    let read = |switch: &str| read(&format!("[switch]\n{switch}\n{rest}")).unwrap();
    let plain = read("memory = '2MB'").point(0);
    let expected = SharedMemory { total: Bytes::new(2_000_000), share: 1.0 };
    assert_eq!((plain.memory, plain.buffer), (Some(expected), expected.total));
    assert_eq!(plain.setup(1).memory, Some(expected));
    let swept = read("memory = ['1MB', '2MB']\nshare = [0.5, 8]\nbuffer = '100KB'");
    assert_eq!(swept.points(), 4);
    let last = swept.point(3);
    assert_eq!(last.memory, Some(SharedMemory { share: 8.0, ..expected }));
    assert_eq!(last.buffer, Bytes::new(100_000));
}
