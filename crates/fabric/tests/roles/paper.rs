//! The worked examples of seed 003, through the live roles.

use laxity_fabric::{
    Rank,
    roles::{
        Add, Aggregator, AggregatorOptions, Node, Notice, Push, Reason, Scheduler,
        SchedulerOptions, Server, ServerOptions, Version, View, Worker, WorkerOptions,
        words::Action,
    },
};
use laxity_interface::{Rate, Span};
use laxity_planner::Steps;

use crate::world::{World, rank, secs};

const SERVER: Rank = rank(0);
const AGGREGATOR: Rank = rank(7);
const SCHEDULER: Rank = rank(8);
/// Updates of 10 MB would take long to add up in a test; the ratio of size and rate is what matters.
const ELEMENTS: usize = 2500;
const TEN: Rate = Rate::bps(80_000);

fn options() -> WorkerOptions {
    let patience = Span::from_secs(1);
    WorkerOptions { scheduler: Some(SCHEDULER), patience, ..WorkerOptions::default() }
}

/// Workers 1 to `workers`, each with an update for the server at time 0.
fn pushed(workers: u32, elements: usize, view: View, aggregator: Option<Rate>) -> World {
    let mut world = World::default();
    let ranks: Vec<_> = (1..=workers).map(rank).collect();
    let server = ServerOptions { scheduler: Some(SCHEDULER), ..ServerOptions::new(ranks.clone()) };
    let server = Server::new(SERVER, vec![0.0; elements], Add, server).unwrap();
    world.add(Node::new(SERVER).with_server(server));
    let options_of_scheduler =
        SchedulerOptions { interval: Span::from_us(1), ..SchedulerOptions::default() };
    let scheduler = Scheduler::new(SCHEDULER, view, options_of_scheduler);
    world.add(Node::new(SCHEDULER).with_scheduler(scheduler));
    if let Some(down) = aggregator {
        let options =
            AggregatorOptions { scheduler: Some(SCHEDULER), ..AggregatorOptions::default() };
        world.add(Node::new(AGGREGATOR).with_aggregator(Aggregator::new(AGGREGATOR, options)));
        world.host(AGGREGATOR, TEN);
        world.down.insert(AGGREGATOR, Steps::constant(down));
    }
    world.host(SERVER, TEN);
    for worker in ranks {
        world.host(worker, TEN);
        let mut role = Worker::new(worker, options());
        let push = Push::new(&vec![1.0; elements], Version::default());
        role.push(secs(0.0), SERVER, push).unwrap();
        world.add(Node::new(worker).with_worker(role));
    }
    world
}

/// When each worker's update was committed at the server, in seconds, in the order of workers.
fn commits(world: &World) -> Vec<(u32, f64)> {
    let mut found = Vec::new();
    for (at, rank, notice) in &world.notices {
        if let (&SERVER, Notice::Commit(commit)) = (rank, notice) {
            for member in &commit.members {
                let at = (at.since(secs(0.0)).as_secs_f64() * 1000.0).round() / 1000.0;
                found.push((member.update.worker.get(), at));
            }
        }
    }
    found.sort_unstable_by_key(|(worker, _)| *worker);
    found
}

/// Figure 4 (b): 30 MB available at 0 end at 7. The text does not give the steps of its drawing; these
/// carry 30 units in 7 s.
#[test]
fn the_update_of_thirty_ends_at_seven() {
    let unit = |units: u64| Rate::bps(8_000 * units); // 1 kB/s
    let left = Steps::new([
        (secs(0.0), unit(5)),
        (secs(2.0), unit(2)),
        (secs(4.0), unit(5)),
        (secs(6.0), unit(6)),
    ]);
    let view = View::new(TEN).with_host(SERVER, TEN, TEN).with_down(SERVER, left.clone());
    let mut world = pushed(1, 7500, view, None);
    world.down.insert(SERVER, left);
    world.run(secs(20.0));
    assert_eq!(commits(&world), [(1, 7.0)]);
    let planned = world.told(rank(1)).find_map(|notice| match notice {
        Notice::Planned { reason, .. } => Some(*reason),
        _ => None,
    });
    let Some(Reason::Direct { ends }) = planned else { panic!("{planned:?}") };
    assert!((ends.as_secs_f64() - 7.0).abs() < 1e-3, "{ends}");
}

/// Figures 2 and 6: u1 to u3 go straight to the server for 3 s; u4 and u5 are summed meanwhile, at a host
/// that receives a little more slowly; u6 would make it 3.6 s and stays out.
#[test]
fn u1_to_u3_go_direct_u4_and_u5_are_summed_u6_stays_out() {
    let down = Rate::bps(80_000 * 10 / 12);
    let view = View::new(TEN).with_host(AGGREGATOR, TEN, down);
    let mut world = pushed(6, ELEMENTS, view, Some(down));
    world.run(secs(20.0));
    let expected = [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (5, 4.0), (6, 5.0)];
    assert_eq!(commits(&world), expected);
    let scheduler = world.nodes.get_mut(&SCHEDULER).unwrap().scheduler().unwrap();
    let through: Vec<_> = scheduler
        .decisions()
        .filter(|one| matches!(one.action, Action::Send { through: Some(_), .. }))
        .map(|one| one.update.worker.get())
        .collect();
    assert_eq!(through, [4, 5]);
    // Why? The answer is still there, with what became of it.
    let update = laxity_fabric::roles::UpdateId { worker: rank(4), number: 1 };
    let why = scheduler.why(update).unwrap().to_string();
    assert!(why.contains("summed at rank 7") && why.contains("committed"), "{why}");
    // All direct would be 3.5 s in the mean; this is 19/6.
    let summed = world.told(AGGREGATOR).any(|n| *n == Notice::Summed { updates: 2, absent: 0 });
    assert!(summed);
    let server = world.nodes[&SERVER].server().unwrap();
    assert!(server.model().iter().all(|w| *w == 6.0));
}
