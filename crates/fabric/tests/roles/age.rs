//! How old updates are where workers have two at once on their way.

use laxity_fabric::roles::{Add, Node, Server, ServerOptions, Worker, WorkerOptions};
use laxity_interface::{Rate, Span};

use crate::world::{Program, World, rank, secs};

/// Numbers in a model, which takes a second at 8 Mbit/s.
const ELEMENTS: usize = 250_000;

/// What came of a training in which each worker may have two updates undecided.
struct Came {
    /// Of the last half of all updates, in commits: the mean, and the largest.
    delay: (f64, u64),
    seconds: f64,
}

fn train(workers: u32, rounds: u64, compute: Span, awaits: Option<usize>) -> Came {
    let ranks: Vec<_> = (1..=workers).map(rank).collect();
    let options = ServerOptions { awaits, ..ServerOptions::new(ranks.clone()) };
    let server = Server::new(rank(0), vec![0.0; ELEMENTS], Add, options).unwrap();
    let mut world = World { latency: Span::from_us(100), ..World::default() };
    world.add(Node::new(rank(0)).with_server(server));
    // Updates queue for the server's link, models just do not.
    world.host(rank(0), Rate::from_mbps(8));
    world.up.insert(rank(0), laxity_planner::Steps::constant(Rate::from_mbps(9)));
    for worker in ranks {
        let role = Worker::new(worker, WorkerOptions::default());
        world.add(Node::new(worker).with_worker(role));
        world.host(worker, Rate::from_gbps(1));
        let mut program = Program::new(rank(0), rounds, compute, |_, _| vec![0.0; ELEMENTS]);
        program.at_once = 2;
        world.program(worker, program);
    }
    assert!(world.train(secs(10_000.0)));
    let late = world.programs.values().flat_map(|program| &program.acked[rounds as usize / 2..]);
    let delays: Vec<_> = late.map(|(_, _, delay)| *delay).collect();
    let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
    let largest = delays.iter().copied().max().unwrap_or(0);
    Came { delay: (mean, largest), seconds: world.now.since(secs(0.0)).as_secs_f64() }
}

#[test]
fn updates_are_as_old_as_many_are_awaited_and_the_link_stays_busy() {
    let compute = Span::from_ms(10);
    let free = train(4, 60, compute, None);
    // Four workers with two updates each: seven others before every one.
    assert!(free.delay.0 > 6.5, "{}", free.delay.0);
    for awaits in [3, 4, 6] {
        let young = train(4, 60, compute, Some(awaits));
        let (mean, largest) = young.delay;
        assert!(mean <= (awaits - 1) as f64 && largest < awaits as u64, "{mean}, {largest}");
        // 240 updates of a second each, however many are awaited.
        let (young, free) = (young.seconds, free.seconds);
        assert!(young < free * 1.02, "{young} s instead of {free} s with {awaits}");
    }
}

#[test]
fn who_asks_and_pushes_nothing_holds_up_nobody_for_long() {
    let options = ServerOptions { awaits: Some(1), ..ServerOptions::new([rank(1), rank(2)]) };
    let server = Server::new(rank(0), vec![0.0], Add, options).unwrap();
    let mut world = World { latency: Span::from_us(100), ..World::default() };
    world.add(Node::new(rank(0)).with_server(server));
    for worker in [rank(1), rank(2)] {
        let role = Worker::new(worker, WorkerOptions::default());
        world.add(Node::new(worker).with_worker(role));
    }
    // Only looks at the model.
    let looker = world.nodes.get_mut(&rank(2)).unwrap().worker().unwrap();
    looker.get(rank(0), Default::default());
    world.run(secs(0.5));
    world.program(rank(1), Program::new(rank(0), 5, Span::from_ms(1), |_, _| vec![1.0]));
    world.run(secs(0.9));
    assert_eq!(world.nodes[&rank(0)].server().unwrap().version().commits, 0);
    assert!(world.train(secs(2.0)));
    assert_eq!(world.nodes[&rank(0)].server().unwrap().model(), [5.0]);
}
