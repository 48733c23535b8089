//! The number of threads changes nothing, whatever the network looks like.

use laxity_packetsim::scenario::{Ran, Scenario, Task, run_all};

/// One network of every shape, with enough hosts that paths meet.
const SHAPES: [&str; 7] = [
    "kind = 'star'\nhosts = 6\nrate = '10Gbps'",
    "kind = 'dumbbell'\nleft = 3\nright = 3\nrate = '10Gbps'\nmiddle = '10Gbps'",
    "kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts = 2\nrate = '10Gbps'\noversubscription = 2",
    "kind = 'clos'\nleaves = 3\nspines = 2\nhosts = 2\ncables = 2\nrate = '10Gbps'\nuplink = '5Gbps'",
    "kind = 'fat-tree'\nk = 4\nrate = '10Gbps'",
    "kind = 'racks'\nhosts = 3\nrate = '10Gbps'\nuplinks = ['25Gbps', '10Gbps']",
    "kind = 'graph'\nhosts = ['a', 'b', 'c', 'd']\nswitches = ['s', 't']\ncables = [\n\
     { between = ['a', 's'], rate = '10Gbps' }, { between = ['b', 's'], rate = '10Gbps' },\n\
     { between = ['c', 't'], rate = '10Gbps' }, { between = ['d', 't'], rate = '5Gbps' },\n\
     { between = ['s', 't'], rate = '10Gbps' }]",
];

#[test]
fn every_network_has_the_same_traces_on_one_and_two_threads() {
    for shape in SHAPES {
        let scenario = Scenario::from_toml(&format!(
            "seeds = [1, 2]\n[topology]\n{shape}\n[switch]\nbuffer = '30KB'\nmark-above = '10packets'\n\
             [[workloads]]\nkind = 'random'\nscheme = ['dctcp', 'laxity', 'atp-full', 'ndp', 'udp']\n\
             size = '1400B'\nmessages = 60\nrounds = 2\nmin-delivery = 0.7\n\
             [[faults]]\nkind = 'loss'\nprobability = 0.01\n"
        ));
        let tasks = scenario.unwrap_or_else(|error| panic!("{shape}: {error}")).tasks();
        assert_eq!(tasks.len(), 10);
        let hashes = |threads| {
            run_all(&tasks, threads, |_: &Task, ran: Ran| ran.outcome.trace_hash).unwrap()
        };
        let one = hashes(1);
        assert_eq!(one, hashes(2), "{shape}");
        let mut different = one.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), one.len(), "seeds and schemes differ: {shape}");
    }
}
