//! What comes out of simulations: closed forms, properties, repeatability.

use laxity_flowsim::{
    Flow, Operation, Outcome, Reservation, Server, Settings, SimError, Slow, Update, Work, World,
    simulate, simulate_all,
};
use laxity_interface::{Bytes, FlowId, Rate, Span, Time};
use laxity_planner::{Options, Scheme};
use laxity_topology::{LinkId, NodeId, Topology};
use proptest::prelude::*;

const MB: u64 = 1_000_000;

fn star(hosts: u32) -> Topology {
    Topology::star(hosts, Rate::from_gbps(1), Span::ZERO).unwrap()
}

fn hosts(net: &Topology) -> Vec<NodeId> {
    net.hosts().to_vec()
}

fn run(world: &World, scheme: Scheme) -> Outcome {
    simulate(world, &Settings::new(Options::new(scheme))).unwrap()
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Two flows of 500 Mbit over 1 Gbit/s into three operations of half a second.
fn figure_one() -> World {
    let net = star(3);
    let host = hosts(&net);
    let mut work = Work::new("figure 1");
    let half = Span::from_ms(500);
    let due = |secs| Span::from_ms(secs);
    let f1 = Flow::new("f1", host[0], host[2], Bytes::new(62_500_000)).priority(0).deadline(due(1));
    let f2 =
        Flow::new("f2", host[1], host[2], Bytes::new(62_500_000)).priority(1).deadline(due(500));
    let (f1, f2) = (work.flow(f1), work.flow(f2));
    let c1 = work.operation(Operation::new("c1", half).on(host[2]).needs([f1]));
    let c2 = work.operation(Operation::new("c2", half).on(host[2]).needs([f2]).after([c1]));
    work.operation(Operation::new("c3", half).on(host[2]).after([c2]));
    World::new(net).work(work)
}

#[test]
fn figure_one_takes_two_and_a_half_seconds_as_a_coflow_and_two_with_priorities() {
    let world = figure_one();
    for scheme in [Scheme::Madd, Scheme::Varys, Scheme::MaxMin] {
        assert_eq!(run(&world, scheme).end, ms(2500), "{scheme}");
    }
    for scheme in [Scheme::Priority, Scheme::Deadline, Scheme::Combined] {
        assert_eq!(run(&world, scheme).end, ms(2000), "{scheme}");
    }
}

#[test]
fn a_host_runs_one_operation_at_a_time_and_a_slow_one_takes_longer() {
    let net = star(2);
    let host = hosts(&net);
    let mut work = Work::new("two");
    for name in ["a", "b"] {
        work.operation(Operation::new(name, Span::from_ms(100)).on(host[0]));
    }
    work.operation(Operation::new("c", Span::from_ms(100)).on(host[1]));
    let mut world = World::new(net).work(work);
    assert_eq!(run(&world, Scheme::MaxMin).end, ms(200));
    // Half speed from 50 to 250 ms: 50 + 50·2 for the first, 50·2 + 50 for the second.
    world.slow.push(Slow { host: host[0], from: ms(50), until: ms(250), factor: 2.0 });
    let outcome = run(&world, Scheme::MaxMin);
    let ends: Vec<_> = outcome.operations.iter().map(|ran| ran.end).collect();
    assert_eq!(ends, [ms(100), ms(150), ms(300)]);
}

#[test]
fn reservations_of_others_come_and_go() {
    let net = star(2);
    let host = hosts(&net);
    let mut work = Work::new("one");
    work.flow(Flow::new("f", host[0], host[1], Bytes::new(125 * MB)));
    let mut world = World::new(net).work(work);
    // 1 Gbit/s for 0.5 s, nothing for 1 s, half for the rest: 0.5 + 1 + 1.
    let link = LinkId(0);
    let rate = Rate::from_gbps(1);
    world.reservations.push(Reservation { link, from: ms(500), until: ms(1500), rate });
    let rate = Rate::from_mbps(500);
    world.reservations.push(Reservation { link, from: ms(1500), until: Time::MAX, rate });
    for scheme in Scheme::ALL {
        assert_eq!(run(&world, scheme).end, ms(2500), "{scheme}");
    }
}

#[test]
fn kept_rates_are_the_planned_ones() {
    for seed in 0..20 {
        let world = random_world(seed, 12);
        for scheme in [Scheme::MaxMin, Scheme::Weighted] {
            let mut settings = Settings::new(Options::new(scheme));
            let kept = simulate(&world, &settings).unwrap();
            settings.incremental = false;
            let planned = simulate(&world, &settings).unwrap();
            assert_eq!(kept.hash(), planned.hash(), "{seed} {scheme}");
        }
    }
}

#[test]
fn updates_have_a_delay_and_stale_ones_are_dropped() {
    let net = star(4);
    let host = hosts(&net);
    let mut work = Work::new("asynchronous");
    // Three workers read version 0 at once; their updates take 1, 2 and 3 s and share the last link.
    for worker in 0..3u32 {
        let compute = Operation::new(format!("w{worker}"), Span::from_secs(1 + u64::from(worker)));
        let read = work.operation(compute.on(host[worker as usize]));
        let update = Update { server: 0, read_at: Some(read) };
        let flow = Flow::new("u", host[worker as usize], host[3], Bytes::new(25 * MB));
        work.flow(flow.after([read]).update(update));
    }
    let mut world = World::new(net).work(work);
    world.servers.push(Server { name: "model".into(), ..Server::default() });
    let free = run(&world, Scheme::MaxMin);
    assert_eq!(free.commits.iter().map(|c| c.delay).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(free.commits[2].version, Some(3));

    world.servers[0].staleness = Some(1);
    let bound = run(&world, Scheme::MaxMin);
    assert_eq!(bound.commits[2].version, None);
    assert!(bound.flows[2].dropped);

    // The last one is to be committed first: the others wait for it.
    world.servers[0].staleness = None;
    world.servers[0].order = vec![(0, FlowId(2)), (0, FlowId(0))];
    let ordered = run(&world, Scheme::MaxMin);
    let order: Vec<_> = ordered.commits.iter().map(|commit| commit.flow.0).collect();
    assert_eq!(order, [1, 2, 0]);
    assert!(ordered.commits[2].at > ordered.commits[2].arrived);
}

#[test]
fn what_cannot_be_is_named() {
    let net = star(2);
    let host = hosts(&net);
    let flow = || Flow::new("f", host[0], host[1], Bytes::new(1));
    let refuse = |work: Work| {
        let world = World::new(net.clone()).work(work);
        simulate(&world, &Settings::new(Options::new(Scheme::MaxMin))).unwrap_err()
    };
    let mut work = Work::new("circle");
    let a = work.operation(Operation::new("a", Span::ZERO));
    let f = work.flow(flow().after([a]));
    work.operations[0].needs.push(f);
    let said = refuse(work).to_string();
    assert!(said.contains("operation `a` -> flow `f` -> operation `a`"), "{said}");

    let mut work = Work::new("empty");
    work.flow(Flow::new("f", host[0], host[1], Bytes::ZERO));
    assert!(matches!(refuse(work), SimError::ZeroSize { .. }));
    let mut work = Work::new("early");
    work.flow(flow().release(Span::from_ms(2)).deadline(Span::from_ms(1)));
    let said = refuse(work).to_string();
    assert!(said.contains("due 1ms after the start, before its release at 2ms"), "{said}");
    let mut work = Work::new("far");
    work.flow(flow().path([0, 99].into()));
    let said = refuse(work).to_string();
    assert!(said.contains("crosses link 99, but the network has only 4"), "{said}");
    let mut work = Work::new("gone");
    work.operation(Operation::new("a", Span::ZERO).needs([FlowId(3)]));
    assert!(refuse(work).to_string().contains("needs flow 3, but there are only 0"));

    let mut work = Work::new("stuck");
    work.flow(flow());
    let mut world = World::new(net.clone()).work(work);
    let rate = Rate::from_gbps(1);
    let (from, until) = (Time::ZERO, Time::MAX);
    world.reservations.push(Reservation { link: LinkId(0), from, until, rate });
    let refused = simulate(&world, &Settings::new(Options::new(Scheme::MaxMin))).unwrap_err();
    assert!(refused.to_string().contains("nothing moves"), "{refused}");
}

/// Jobs with a chain of operations, each with flows before and after, out of a seed.
fn random_world(seed: u64, jobs: usize) -> World {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut below = |count: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % count
    };
    let net = Topology::leaf_spine(3, 2, 4, Rate::from_gbps(1), 2, Span::ZERO).unwrap();
    let host = hosts(&net);
    let mut world = World::new(net);
    for job in 0..jobs {
        let mut work = Work::new(format!("job {job}")).arrives(ms(below(50)));
        let mut before = None;
        for step in 0..1 + below(5) {
            let from = below(12) as usize;
            let to = (from + 1 + below(11) as usize) % 12;
            let size = Bytes::new(1 + below(5 * MB));
            let flow = Flow::new(format!("f{step}"), host[from], host[to], size)
                .after(before)
                .priority(below(3) as u32)
                .deadline(Span::from_ms(10 + below(500)))
                .coflow(step as u32 % 2);
            let flow = work.flow(flow);
            let takes = Span::from_ms(below(20));
            let operation = Operation::new(format!("o{step}"), takes).on(host[to]).needs([flow]);
            before = Some(work.operation(operation.after(before)));
        }
        world.works.push(work);
    }
    let rate = Rate::from_mbps(300);
    world.reservations.push(Reservation { link: LinkId(3), from: ms(20), until: ms(60), rate });
    world
}

#[test]
fn the_same_world_has_the_same_outcome_on_any_number_of_threads() {
    let worlds: Vec<_> = (0..6).map(|seed| random_world(seed, 6)).collect();
    let mut questions = Vec::new();
    for world in &worlds {
        for scheme in Scheme::ALL {
            questions.push((world, Settings::new(Options::new(scheme)).traced()));
        }
    }
    let hashes = |threads| {
        let all = simulate_all(&questions, threads);
        all.into_iter().map(|outcome| outcome.unwrap().hash()).collect::<Vec<_>>()
    };
    let one = hashes(1);
    assert_eq!(one, hashes(4));
    assert_eq!(one, hashes(13));
    // Different schemes do give different outcomes, so the hash says something.
    assert!(one.chunks(Scheme::ALL.len()).any(|of| of.iter().any(|hash| *hash != of[0])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn links_are_never_over_capacity_and_everything_arrives(seed in 0u64..10_000) {
        let world = random_world(seed, 5);
        let routes = laxity_topology::Routes::new(&world.net);
        for scheme in Scheme::ALL {
            let settings = Settings::new(Options::new(scheme)).traced();
            let outcome = simulate(&world, &settings).unwrap();
            let count: usize = world.works.iter().map(|work| work.flows.len()).sum();
            prop_assert_eq!(outcome.flows.len(), count);
            // Rates at every moment at which one changes.
            let mut rates = std::collections::BTreeMap::new();
            for (at, change) in outcome.rates.iter().enumerate() {
                rates.insert((change.work, change.flow), change.rate.as_bps());
                if outcome.rates.get(at + 1).is_some_and(|next| next.at == change.at) {
                    continue;
                }
                let mut load = vec![0u64; world.net.links().len()];
                for ((work, flow), rate) in &rates {
                    let flow_of = &world.works[*work].flows[flow.0 as usize];
                    let hash = laxity_topology::flow_hash(flow_of.from, flow_of.to, flow.0.into());
                    let path = routes.path(&world.net, flow_of.from, flow_of.to, hash).unwrap();
                    path.iter().for_each(|link| load[link.index()] += rate);
                }
                for (link, load) in world.net.links().iter().zip(load) {
                    prop_assert!(load <= link.capacity.as_bps(), "{} at {}", scheme, change.at);
                }
            }
            for sent in &outcome.flows {
                let flow = &world.works[sent.work].flows[sent.flow.0 as usize];
                let least = Rate::from_gbps(1).time_for(flow.size);
                prop_assert!(sent.end.since(sent.released) >= least);
            }
        }
    }
}
