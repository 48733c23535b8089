//! Synchronous, asynchronous and stale-synchronous training; loss; staleness; replication.

use laxity_fabric::roles::{
    AckAfter, AdaDelay, Add, Gaps, Mode, Node, Notice, Push, Reason, Replication, Scheduler,
    SchedulerOptions, Server, ServerOptions, Sgd, Version, View, Worker, WorkerOptions,
};
use laxity_interface::{Fraction, Rate, Span};

use crate::{
    cluster::{Job, REPLICA, SERVER, WORKER},
    world::{Program, World, rank, secs},
};

/// A server at rank 0 and workers from 1 on, without anybody else.
fn plain(server: Server, workers: u32) -> World {
    let mut world = World { latency: Span::from_us(100), ..World::default() };
    world.add(Node::new(rank(0)).with_server(server));
    for number in 1..=workers {
        let worker = Worker::new(rank(number), WorkerOptions::default());
        world.add(Node::new(rank(number)).with_worker(worker));
    }
    world
}

fn ranks(workers: u32) -> Vec<laxity_fabric::Rank> {
    (1..=workers).map(rank).collect()
}

#[test]
fn synchronous_rounds_are_means_of_all() {
    let options =
        ServerOptions { mode: Mode::Sync { enough: None }, ..ServerOptions::new(ranks(3)) };
    let server = Server::new(rank(0), vec![0.0; 2], Sgd { rate: 0.5 }, options).unwrap();
    let mut world = plain(server, 3);
    for worker in ranks(3) {
        // Worker 3 computes ten times as long, and is waited for.
        let compute = Span::from_ms(if worker == rank(3) { 10 } else { 1 });
        let mut program = Program::new(rank(0), 4, compute, |rank, _| vec![rank.get() as f32, 0.0]);
        program.wait_for_next = true;
        world.program(worker, program);
    }
    assert!(world.train(secs(1.0)));
    let server = world.nodes[&rank(0)].server().unwrap();
    assert_eq!(server.version().commits, 4);
    // The mean of 1, 2, 3 at rate 0.5, four times, downhill.
    assert_eq!(server.model(), [-4.0, 0.0]);
    assert!(world.now >= secs(0.04), "the slow worker was not waited for");
}

#[test]
fn a_synchronous_round_ends_with_enough_after_the_grace() {
    let mode = Mode::Sync { enough: Some((2, Span::from_ms(3))) };
    let options = ServerOptions { mode, ..ServerOptions::new(ranks(3)) };
    let server = Server::new(rank(0), vec![0.0], Add, options).unwrap();
    let mut world = plain(server, 3);
    for worker in ranks(3) {
        let compute = Span::from_ms(if worker == rank(3) { 1000 } else { 1 });
        let mut program = Program::new(rank(0), 3, compute, |_, _| vec![1.0]);
        program.wait_for_next = true;
        world.program(worker, program);
    }
    world.run(secs(0.1));
    for worker in ranks(2) {
        assert_eq!(world.programs[&worker].acked.len(), 3, "{worker}");
    }
    world.run(secs(1.5));
    let [(_, reason)] = &world.programs[&rank(3)].dropped[..] else {
        panic!("{:?}", world.programs[&rank(3)])
    };
    assert!(reason.contains("belongs to version 0"), "{reason}");
}

#[test]
fn nobody_is_further_ahead_than_stale_synchronous_allows() {
    for ahead in [0, 1, 3] {
        let mode = Mode::StaleSync { ahead, staleness: None };
        let options = ServerOptions { mode, ..ServerOptions::new(ranks(2)) };
        let server = Server::new(rank(0), vec![0.0], Add, options).unwrap();
        let mut world = plain(server, 2);
        for (worker, ms) in ranks(2).into_iter().zip([1, 20]) {
            world.program(worker, Program::new(rank(0), 8, Span::from_ms(ms), |_, _| vec![1.0]));
        }
        let mut most = 0;
        while world.programs.values().any(|p| p.done < p.rounds) {
            assert!(world.step(secs(5.0)));
            let [fast, slow] = [1, 2].map(|n| world.programs[&rank(n)].pushed.len());
            most = most.max(fast.saturating_sub(slow));
        }
        // It may compute while it is `ahead` ahead, and is one more ahead when it has pushed.
        assert_eq!(most as u64, ahead + 1);
    }
}

#[test]
fn an_update_beyond_the_bound_is_dropped_with_its_reason() {
    let mode = Mode::Async { staleness: Some(2) };
    let options = ServerOptions { mode, ..ServerOptions::new(ranks(2)) };
    let server = Server::new(rank(0), vec![0.0], Add, options).unwrap();
    let mut world = plain(server, 2);
    for (worker, ms, rounds) in [(rank(1), 1, 10), (rank(2), 200, 2)] {
        let program = Program::new(rank(0), rounds, Span::from_ms(ms), |_, _| vec![1.0]);
        world.program(worker, program);
    }
    assert!(world.train(secs(2.0)));
    // Its first is ten commits old; its second was computed when nobody was left to be faster.
    let slow = &world.programs[&rank(2)];
    let [(_, reason)] = &slow.dropped[..] else { panic!("{slow:?}") };
    assert!(reason.contains("10 updates lie between") && reason.contains("2 may"), "{reason}");
    assert_eq!(slow.acked.len(), 1);
    assert_eq!(world.nodes[&rank(0)].server().unwrap().model(), [11.0]);
}

#[test]
fn adadelay_takes_smaller_steps_for_older_updates() {
    let rule = AdaDelay { smoothness: 1.0, c: 1.0 };
    let server = Server::new(rank(0), vec![0.0], rule, ServerOptions::new(ranks(1))).unwrap();
    let mut world = plain(server, 1);
    let worker = world.nodes.get_mut(&rank(1)).unwrap().worker().unwrap();
    for _ in 0..2 {
        worker.push(secs(0.0), rank(0), Push::new(&[1.0], Version::default())).unwrap();
    }
    world.run(secs(1.0));
    // 1 / (1 + √0), then 1 / (1 + √(1 + 1)) with one commit before it and a delay of one.
    let expected = -1.0 - 1.0 / (1.0 + 2f32.sqrt());
    let model = world.nodes[&rank(0)].server().unwrap().model()[0];
    assert!((model - expected).abs() < 1e-6, "{model} is not {expected}");
}

#[test]
fn momentum_follows_its_formula() {
    let options = ServerOptions { momentum: 0.5, ..ServerOptions::new(ranks(1)) };
    let server = Server::new(rank(0), vec![0.0], Add, options).unwrap();
    let mut world = plain(server, 1);
    world.program(rank(1), Program::new(rank(0), 3, Span::from_ms(1), |_, _| vec![1.0]));
    assert!(world.train(secs(1.0)));
    // h: 1, 1.5, 1.75.
    assert_eq!(world.nodes[&rank(0)].server().unwrap().model(), [4.25]);
}

#[test]
fn lost_elements_are_known_and_become_what_the_policy_says() {
    for gaps in [Gaps::Zero, Gaps::Scale] {
        let options = ServerOptions { gaps, ..ServerOptions::new(ranks(1)) };
        let server = Server::new(rank(0), vec![0.0; 1000], Add, options).unwrap();
        let mut world = plain(server, 1);
        (world.lossy, world.dice) = (true, Some(crate::world::Dice(7)));
        let mut program = Program::new(rank(0), 1, Span::from_ms(1), |_, _| vec![1.0; 1000]);
        program.min_delivery = Fraction::new(0.8).unwrap();
        world.program(rank(1), program);
        assert!(world.train(secs(1.0)));
        let commit = world.told(rank(0)).find_map(|notice| match notice {
            Notice::Commit(commit) => Some(commit.clone()),
            _ => None,
        });
        let commit = commit.unwrap();
        let [gap] = &commit.missing[..] else { panic!("{commit:?}") };
        let (lost, model) = (gap.len(), world.nodes[&rank(0)].server().unwrap().model());
        assert!(0 < lost && lost <= 200, "{lost}");
        assert_eq!(commit.members[0].lost, lost as u64);
        let kept = if gaps == Gaps::Scale { 1000.0 / (1000 - lost) as f32 } else { 1.0 };
        for (at, value) in model.iter().enumerate() {
            let expected = if gap.contains(&at) { 0.0 } else { kept };
            assert!((value - expected).abs() < 1e-6, "element {at}: {value}, not {expected}");
        }
    }
}

/// The first of two workers' updates in a round loses elements, the other none.
#[test]
fn each_update_of_a_round_knows_what_it_lost() {
    let options =
        ServerOptions { mode: Mode::Sync { enough: None }, ..ServerOptions::new(ranks(2)) };
    let server = Server::new(rank(0), vec![0.0; 1000], Add, options).unwrap();
    let mut world = plain(server, 2);
    (world.lossy, world.dice) = (true, Some(crate::world::Dice(7)));
    for (worker, least) in [(1, 0.8), (2, 1.0)] {
        let mut program = Program::new(rank(0), 1, Span::from_ms(1), |_, _| vec![1.0; 1000]);
        program.min_delivery = Fraction::new(least).unwrap();
        world.program(rank(worker), program);
    }
    assert!(world.train(secs(1.0)));
    let commit = world.told(rank(0)).find_map(|notice| match notice {
        Notice::Commit(commit) => Some(commit.clone()),
        _ => None,
    });
    let commit = commit.unwrap();
    let missing: usize = commit.missing.iter().map(ExactSizeIterator::len).sum();
    let lost = |of: u32| commit.members.iter().find(|m| m.update.worker == rank(of)).unwrap().lost;
    assert!(missing > 0, "{commit:?}");
    assert_eq!((lost(1), lost(2)), (missing as u64, 0));
}

/// Whatever overtakes what: a model that says it is of a version is what the commits until then make of the first one.
#[test]
fn a_model_is_that_of_its_version() {
    let update = |worker: laxity_fabric::Rank, round: u64| {
        let seed = u64::from(worker.get()) * 1000 + round;
        let mut dice = crate::world::Dice(seed);
        (0..50).map(|_| dice.below(1000) as f32 / 1000.0 - 0.5).collect::<Vec<f32>>()
    };
    for (relay, parts, awaits) in [(1, 1, None), (1, 1, Some(4)), (4, 3, None)] {
        let answers = (relay > 1).then_some(2);
        let base = ServerOptions::new(ranks(4));
        let options = ServerOptions { momentum: 0.9, answers, relay, parts, awaits, ..base };
        let server = Server::new(rank(0), vec![1.0; 50], Add, options).unwrap();
        let mut world = plain(server, 4);
        (world.jitter, world.dice) = (Span::from_ms(5), Some(crate::world::Dice(3)));
        for worker in 1..=4 {
            let mut program = Program::new(rank(0), 30, Span::from_ms(1), update);
            program.at_once = 2;
            world.program(rank(worker), program);
        }
        assert!(world.train(secs(60.0)));
        let (mut now, mut history) = (vec![1f32; 50], vec![0f32; 50]);
        let mut models = vec![now.clone()];
        for notice in world.told(rank(0)) {
            let Notice::Commit(commit) = notice else { continue };
            let [member] = &commit.members[..] else { panic!("{commit:?}") };
            // Numbers of updates begin with 1, rounds with 0.
            let step = update(member.update.worker, member.update.number - 1);
            for ((w, h), u) in now.iter_mut().zip(&mut history).zip(step) {
                *h = 0.9 * *h + u;
                *w += *h;
            }
            models.push(now.clone());
            assert_eq!(models.len() as u64, commit.version.commits + 1);
        }
        let mut seen = 0;
        for (_, who, notice) in &world.notices {
            let Notice::Model { version, values, .. } = notice else { continue };
            assert_eq!(values, &models[version.commits as usize], "of {who}, {version:?}");
            seen += 1;
        }
        assert!(seen >= 120, "{seen} models with a relay of {relay}");
    }
}

#[test]
fn the_replica_has_bit_for_bit_what_the_server_had_at_its_version() {
    let mut job = Job::new(3, 20);
    (job.momentum, job.replication.apart) = (0.9, 30.0);
    let mut world = job.start();
    assert!(world.train(secs(5.0)));
    let until = world.now + Span::from_secs(1);
    world.run(until);
    let server = world.nodes[&SERVER].server().unwrap();
    let replica = world.nodes[&REPLICA].replica().unwrap();
    assert_eq!(server.version(), replica.version());
    assert_eq!(server.model(), replica.model());
    assert_eq!(server.apart(), Some(0.0));
}

#[test]
fn commits_wait_where_the_replica_would_be_too_far_away() {
    let mut job = Job::new(4, 10);
    job.replication = Replication { ack: AckAfter::Commit, apart: 2.0, required: false };
    let mut world = job.start();
    // The replica receives slowly: what it lacks piles up.
    world.host(SERVER, Rate::from_gbps(1));
    world.host(REPLICA, Rate::bps(100_000));
    assert!(world.train(secs(30.0)));
    let apart = world.told(SERVER).filter_map(|notice| match notice {
        Notice::Commit(commit) => commit.apart.map(|apart| (apart, commit.members.len())),
        _ => None,
    });
    let apart: Vec<_> = apart.collect();
    assert!(apart.iter().any(|(apart, _)| *apart > 1.5), "it never lacked anything: {apart:?}");
    // A sum by itself can be larger than the bound; nothing is added to it then.
    assert!(apart.iter().all(|(apart, members)| *apart <= f64::max(2.0, *members as f64)));
}

#[test]
fn a_paced_update_arrives_whole() {
    use laxity_fabric::roles::{Role, words};
    let scheduler = rank(9);
    let options = WorkerOptions { scheduler: Some(scheduler), ..WorkerOptions::default() };
    let mut worker = Worker::new(WORKER, options);
    let values: Vec<f32> = (0..100_000).map(|at| at as f32).collect();
    let update = worker.push(secs(0.0), rank(0), Push::new(&values, Version::default())).unwrap();
    let action = words::Action::Send {
        after: Span::from_secs(1),
        rate: Some(Rate::from_mbps(1)),
        place: 3,
        through: None,
    };
    let reason = Reason::Direct { ends: Span::from_secs(4) };
    let word = words::Word::Entry(words::Entry { update, action, reason });
    worker.handle_letter(
        secs(0.0),
        laxity_fabric::roles::Letter {
            from: scheduler,
            from_role: laxity_fabric::roles::RoleKind::Scheduler,
            to_role: laxity_fabric::roles::RoleKind::Worker,
            epoch: 0,
            word,
            tensor: None,
        },
    );
    while worker.poll_parcel(secs(0.5)).is_some() {}
    assert_eq!(worker.poll_timeout(), Some(secs(1.0)), "it waits for its time");
    let server =
        Server::new(rank(0), vec![0.0; values.len()], Add, ServerOptions::new(vec![WORKER]));
    let mut world = World { now: secs(1.0), ..World::default() };
    world.add(Node::new(rank(0)).with_server(server.unwrap()));
    world.add(Node::new(WORKER).with_worker(worker));
    world.run(secs(3.0));
    assert_eq!(world.nodes[&rank(0)].server().unwrap().version().commits, 0, "3.2 s at 1 Mbit/s");
    world.run(secs(10.0));
    assert_eq!(world.nodes[&rank(0)].server().unwrap().model(), values);
}

/// Six workers that ask at once, and when each has the model.
fn models_at(mode: Mode, answers: Option<usize>, relay: usize, parts: usize) -> Vec<f64> {
    let options = ServerOptions { mode, answers, relay, parts, ..ServerOptions::new(ranks(6)) };
    let server = Server::new(rank(0), vec![0.0; 250_000], Add, options).unwrap();
    let mut world = plain(server, 6);
    for host in 0..=6 {
        world.host(rank(host), Rate::from_mbps(8)); // A second for the model.
    }
    for worker in ranks(6) {
        world.program(worker, Program::new(rank(0), 1, Span::ZERO, |_, _| vec![0.0; 250_000]));
    }
    world.run(secs(30.0));
    let mut at: Vec<_> = ranks(6)
        .into_iter()
        .map(|worker| {
            let mut told = world.notices.iter().filter(|(_, who, _)| *who == worker);
            let model = told.find(|(_, _, notice)| matches!(notice, Notice::Model { .. }));
            (model.expect("everybody gets the model").0.as_ps() as f64 / 1e11).round() / 10.0
        })
        .collect();
    at.sort_by(f64::total_cmp);
    at
}

#[test]
fn models_leave_in_turn_and_workers_pass_them_on() {
    let free = Mode::Async { staleness: None };
    assert_eq!(models_at(free, Some(1), 1, 1), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // The first by itself; then the second for five: it passes it on to two, one after the other on its link, and
    // each of those to one more.
    assert_eq!(models_at(free, Some(1), 8, 1), [1.0, 2.0, 3.0, 4.0, 4.0, 5.0]);
    // In tenths, which go on at once.
    assert_eq!(models_at(free, Some(1), 8, 10), [1.0, 2.0, 2.1, 2.2, 2.3, 2.4]);
}

#[test]
fn in_a_synchronous_round_all_who_ask_are_reached_together() {
    let rounds = Mode::Sync { enough: None };
    assert_eq!(models_at(rounds, Some(1), 8, 10), [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]);
}

/// How many updates each round plans, of five that come one after the other while the first is on its way.
fn rounds(mode: Mode, hold: Span) -> Vec<usize> {
    let scheduler = Some(rank(6));
    let options = ServerOptions { mode, scheduler, ..ServerOptions::new(ranks(5)) };
    let server = Server::new(rank(0), vec![0.0; 250_000], Add, options).unwrap();
    let mut world = World { latency: Span::from_us(100), ..World::default() };
    world.add(Node::new(rank(0)).with_server(server));
    let options = SchedulerOptions { hold, ..SchedulerOptions::default() };
    let view = View::new(Rate::from_mbps(8)); // A second for an update.
    world.add(Node::new(rank(6)).with_scheduler(Scheduler::new(rank(6), view, options)));
    for worker in ranks(5) {
        let patience = Span::from_secs(10);
        let options = WorkerOptions { scheduler, patience, ..WorkerOptions::default() };
        world.add(Node::new(worker).with_worker(Worker::new(worker, options)));
        world.up.insert(worker, laxity_planner::Steps::constant(Rate::from_mbps(8)));
        let compute = Span::from_ms(100 * u64::from(worker.get()));
        world.program(worker, Program::new(rank(0), 1, compute, |_, _| vec![0.0; 250_000]));
    }
    world.down.insert(rank(0), laxity_planner::Steps::constant(Rate::from_mbps(8)));
    assert!(world.train(secs(30.0)));
    let planned = |notice: &Notice| match notice {
        Notice::Round { updates, .. } => Some(*updates),
        _ => None,
    };
    world.told(rank(6)).filter_map(planned).collect()
}

#[test]
fn updates_that_come_while_the_link_is_busy_are_planned_together() {
    let free = Mode::Async { staleness: None };
    assert_eq!(rounds(free, Span::ZERO), [1, 1, 1, 1, 1]);
    assert_eq!(rounds(free, Span::from_secs(5)), [1, 4]);
    // The first of a synchronous round wait for others, a quarter of the second that one takes.
    let sync = Mode::Sync { enough: None };
    assert_eq!(rounds(sync, Span::ZERO), [1, 1, 1, 1, 1]);
    assert_eq!(rounds(sync, Span::from_secs(5)), [3, 2]);
}
