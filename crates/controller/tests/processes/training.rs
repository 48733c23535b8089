//! Workers, a server and an aggregator of fabric's roles with the controller as their scheduler.

use std::thread;

use laxity_controller::{Agent, CONTROLLER, WithController, ask_why};
use laxity_fabric::{
    Rank,
    carrier::memory,
    roles::{
        Add, Aggregator, AggregatorOptions, Node, Notice, Push, Reason, RoleKind, Server,
        ServerOptions, Version, Worker, WorkerOptions,
        drive::{Driver, Handle, spawn},
    },
};
use laxity_interface::Span;

use super::child::{PATIENCE, Place, host, is_attached, until};

const WORKERS: u32 = 3;

/// Pushes an update, waits until it is committed, and says how it was planned.
fn push(handle: &mut Handle, server: Rank) -> Reason {
    let update = handle.push(server, Push::new(&[1.0; 256], Version::default())).unwrap();
    let limit = Span::from(PATIENCE);
    let reason = handle.wait(limit, |notice| match notice {
        Notice::Planned { update: u, reason } if u == update => Ok(reason),
        other => Err(other),
    });
    let outcome = handle.decided(update, limit).unwrap().expect("decided in time");
    outcome.expect("committed");
    reason.unwrap().expect("planned, by somebody")
}

#[test]
fn training_goes_on_without_the_controller_and_with_it_again() {
    let place = Place::new();
    let mut controller = place.start();
    let carriers = memory::carriers(WORKERS + 2, memory::Faults::none(1));
    let mut agents = Vec::new();
    let mut handles = Vec::new();
    for (rank, carrier) in (0u32..).zip(carriers) {
        let me = Rank::new(rank);
        let scheduler = Some(CONTROLLER);
        let (role, node) = match rank {
            0 => {
                let ranks: Vec<_> = (2..WORKERS + 2).map(Rank::new).collect();
                let options = ServerOptions { scheduler, ..ServerOptions::new(ranks) };
                let server = Server::new(me, vec![0.0; 256], Add, options).unwrap();
                (RoleKind::Model, Node::new(me).with_server(server))
            }
            1 => {
                let options = AggregatorOptions { scheduler, ..AggregatorOptions::default() };
                let aggregator = Aggregator::new(me, options);
                (RoleKind::Aggregator, Node::new(me).with_aggregator(aggregator))
            }
            _ => {
                let patience = Span::from_secs(2);
                let options = WorkerOptions { scheduler, patience, ..WorkerOptions::default() };
                (RoleKind::Worker, Node::new(me).with_worker(Worker::new(me, options)))
            }
        };
        let agent = Agent::start(host(place.access(), &format!("h{rank}"), rank as u8)).unwrap();
        assert!(agent.wait_link(PATIENCE, is_attached));
        let line = agent.line("train", me, &[role]);
        handles.push(spawn(Driver::new(WithController::new(carrier, line), node)).unwrap());
        agents.push(agent);
    }
    let server = Rank::new(0);
    let mut workers = handles.split_off(2);
    let all = |workers: &mut Vec<Handle>, wanted: fn(&Reason) -> bool, what: &str| {
        until(what, || {
            let reasons: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = workers
                    .iter_mut()
                    .map(|worker| scope.spawn(move || push(worker, server)))
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            reasons.iter().all(wanted)
        });
    };
    let by_plan = |reason: &Reason| !matches!(reason, Reason::SchedulerAway);
    let alone = |reason: &Reason| matches!(reason, Reason::SchedulerAway);
    all(&mut workers, by_plan, "updates are planned by the controller");
    let why = ask_why(&place.access(), "train").unwrap();
    assert!(why.explained.iter().any(|one| one.what.starts_with("train/2:")), "{why:?}");
    assert!(why.explained.iter().all(|one| !one.reason.is_empty()));

    controller.kill();
    all(&mut workers, alone, "updates go by the local rule");
    let _controller = place.start();
    all(&mut workers, by_plan, "updates are planned again");
    let known = ask_why(&place.access(), "train").unwrap().explained;
    until("the server's commits are known again", || {
        let why = ask_why(&place.access(), "train").unwrap();
        why.explained.iter().any(|one| one.outcome.is_some()) || known.is_empty()
    });
}
