//! How old updates are where workers go ahead.

use laxity_fabric::roles::{Add, Ahead, Node, Server, ServerOptions, Worker, WorkerOptions};
use laxity_interface::{Rate, Span};

use crate::world::{Program, World, rank, secs};

/// Numbers in a model, which takes a second at 8 Mbit/s.
const ELEMENTS: usize = 250_000;

/// What came of a training in which each worker may have two updates undecided.
struct Came {
    /// Of the last half of all updates, in commits.
    delay: f64,
    seconds: f64,
    ahead: Ahead,
}

fn train(workers: u32, rounds: u64, compute: Span, age: Option<u64>) -> Came {
    let ranks: Vec<_> = (1..=workers).map(rank).collect();
    let options = ServerOptions::new(ranks.clone());
    let server = Server::new(rank(0), vec![0.0; ELEMENTS], Add, options).unwrap();
    let mut world = World { latency: Span::from_us(100), ..World::default() };
    world.add(Node::new(rank(0)).with_server(server));
    // Updates queue for the server's link, models just do not.
    world.host(rank(0), Rate::from_mbps(8));
    world.up.insert(rank(0), laxity_planner::Steps::constant(Rate::from_mbps(9)));
    for worker in ranks {
        let options = WorkerOptions { age, ..WorkerOptions::default() };
        world.add(Node::new(worker).with_worker(Worker::new(worker, options)));
        world.host(worker, Rate::from_gbps(1));
        let mut program = Program::new(rank(0), rounds, compute, |_, _| vec![0.0; ELEMENTS]);
        program.at_once = 2;
        world.program(worker, program);
    }
    assert!(world.train(secs(10_000.0)));
    let late = world.programs.values().flat_map(|program| &program.acked[rounds as usize / 2..]);
    let delays: Vec<_> = late.map(|(_, _, delay)| *delay as f64).collect();
    Came {
        delay: delays.iter().sum::<f64>() / delays.len() as f64,
        seconds: world.now.since(secs(0.0)).as_secs_f64(),
        ahead: world.nodes.get_mut(&rank(1)).unwrap().worker().unwrap().ahead(rank(0)),
    }
}

#[test]
fn updates_that_queue_for_a_link_are_no_older_than_wanted_and_the_link_stays_busy() {
    let compute = Span::from_ms(10);
    let free = train(4, 60, compute, None);
    // Four workers with two updates each: seven others before every one.
    assert!(free.delay > 6.5, "{}", free.delay);
    assert_eq!(free.ahead, Ahead::Unbounded);
    for most in [3, 5] {
        let young = train(4, 60, compute, Some(most));
        assert!(young.delay < most as f64 + 0.5, "{} with {most}", young.delay);
        // 240 updates of a second each.
        let more = young.seconds / free.seconds;
        assert!(more < 1.05, "{} s instead of {} s", young.seconds, free.seconds);
    }
}

#[test]
fn who_computes_long_goes_ahead() {
    // Updates travel while the next is computed: 60 times 5 s, and not a second more each.
    let long = train(2, 60, Span::from_secs(5), Some(2));
    assert!(long.ahead.goes(), "{:?}", long.ahead);
    let held = train(2, 60, Span::from_secs(5), Some(0));
    assert!(!held.ahead.goes(), "{:?}", held.ahead);
    assert!(long.seconds + 50.0 < held.seconds, "{} s, {} s", long.seconds, held.seconds);
}
