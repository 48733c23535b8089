//! Nothing less than was promised, the same result each time, nothing left behind.

use laxity_interface::{Span, Time};
use laxity_packetsim::{Flow, Outcome, Scheme, Setup, stacks::approx::Approx};
use laxity_topology::Topology;

use crate::world::{LINE, crowd, incast, last, losses, run, run_on, scheme, setup};

fn check(scheme: Scheme, flows: &[(Time, Flow)], outcome: &Outcome) {
    assert_eq!(outcome.done.len(), flows.len(), "{scheme}: {:?}", outcome.unfinished);
    for done in &outcome.done {
        let flow = &flows[done.flow.index()].1;
        let promised = match scheme.approx() {
            Some(Approx::Whole) => u64::from(done.messages),
            _ => flow.min_delivery.of(u64::from(done.messages)),
        };
        if scheme.to_string() == "udp" {
            assert_eq!(done.short, u64::from(done.delivered) < promised, "{scheme}: {done:?}");
            continue;
        }
        assert!(!done.short, "{scheme}: {done:?}");
        // The protocol of seed 001 counts bytes, not whole messages.
        if scheme.to_string() != "bounded" {
            assert!(u64::from(done.delivered) >= promised, "{scheme}: {done:?}");
        }
        assert!(done.bytes <= flow.messages.total());
        let each = u64::from(flow.messages.size(0));
        assert_eq!(done.bytes, u64::from(done.delivered) * each, "{scheme}: {done:?}");
    }
}

#[test]
fn every_scheme_keeps_its_promise_in_a_crowd() {
    for min in [0.0, 0.6, 1.0] {
        let flows = crowd(6, 60, 7, min);
        for scheme in Scheme::ALL {
            check(*scheme, &flows, &run(*scheme, 6, &flows));
        }
    }
}

#[test]
fn every_scheme_keeps_its_promise_under_incast() {
    let flows = incast(20, (40, 1400), 0.8);
    for scheme in Scheme::ALL {
        check(*scheme, &flows, &run(*scheme, 21, &flows));
    }
}

#[test]
fn every_scheme_keeps_its_promise_between_racks() {
    // Half as much between racks as in them, and everybody to one host meanwhile.
    let mut flows = [crowd(9, 60, 5, 0.7), incast(8, (60, 1400), 0.7)].concat();
    // Flows are numbered in the order in which they begin.
    flows.sort_by_key(|(at, _)| *at);
    let topology = Topology::leaf_spine(3, 2, 3, LINE, 2, Span::from_us(1)).unwrap();
    for scheme in Scheme::ALL {
        let setup = Setup { topology: topology.clone(), ..setup(*scheme, 9, 3) };
        check(*scheme, &flows, &run_on(*scheme, &setup, &flows));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let flows = crowd(5, 40, 3, 0.7);
    for scheme in Scheme::ALL {
        let (one, two) = (run(*scheme, 5, &flows), run(*scheme, 5, &flows));
        assert_eq!(one.trace_hash, two.trace_hash, "{scheme}");
        assert_eq!(one.done, two.done, "{scheme}");
    }
}

#[test]
fn promises_survive_links_that_lose_packets() {
    let flows = crowd(4, 30, 11, 0.7);
    for scheme in Scheme::ALL.iter().filter(|scheme| scheme.to_string() != "udp") {
        let mut setup = setup(*scheme, 4, 5);
        setup.faults.push(losses(0.02));
        check(*scheme, &flows, &run_on(*scheme, &setup, &flows));
    }
}

#[test]
fn an_endless_wait_is_not_an_answer() {
    // A single message that may get lost: the job is over once the receiver has heard of it.
    let flows = incast(3, (1, 100), 0.0);
    for name in ["laxity", "atp-full", "dctcp-es", "pfabric-es", "aeolus-es", "ndp-es", "bounded"] {
        let outcome = run(scheme(name), 4, &flows);
        assert!(outcome.unfinished.is_empty(), "{name}");
        assert!(last(&outcome) < Span::from_ms(20), "{name}");
    }
}
