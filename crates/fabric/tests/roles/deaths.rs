//! Whoever dies, and whenever: training goes on, what was acknowledged stays, bounds hold.

use laxity_fabric::{
    Rank,
    roles::{AckAfter, Mode, Notice, Replication, UpdateId, norm},
};
use laxity_interface::Span;
use proptest::prelude::*;

use crate::{
    cluster::{AGGREGATOR, Job, REPLICA, SCHEDULER, SERVER, WORKER},
    world::{World, rank, secs},
};

/// Runs a job in which some die after so many steps, and checks every promise. Gives the steps it took.
fn check(job: &Job, deaths: &[(u64, Rank)]) -> u64 {
    let mut world = job.start();
    let mut deaths = deaths.to_vec();
    deaths.sort_unstable();
    let mut old: Option<(Vec<f32>, Option<f64>)> = None;
    let mut taken_over = false;
    let mut acked_of_dead: Vec<UpdateId> = Vec::new();
    let working = |world: &World| world.programs.values().any(|p| p.done < p.rounds);
    while working(&world) || (old.is_some() && !taken_over) {
        while let Some((_, victim)) = deaths.first().filter(|(at, _)| *at <= world.steps).copied() {
            deaths.remove(0);
            // A server without a replica that could take over is not among the promises.
            let ready = world.nodes.get(&REPLICA).is_none_or(|n| {
                n.server().is_some() || n.replica().is_some_and(|r| r.version().commits > 0)
            });
            if victim == SERVER && !(ready && world.nodes.contains_key(&REPLICA)) {
                continue;
            }
            if let Some(program) = world.programs.get(&victim) {
                acked_of_dead.extend(program.acked.iter().map(|(update, ..)| *update));
            }
            let node = world.kill(victim);
            if victim == SERVER {
                old = node.and_then(|n| n.server().map(|s| (s.model().to_vec(), s.apart())));
            }
        }
        assert!(
            world.step(secs(60.0)),
            "training stands still: {job:?}, {:?}",
            world.programs.values().map(|p| (p.done, p.pushed.len())).collect::<Vec<_>>()
        );
        if let (Some((model, apart)), Some(new), false) =
            (&old, world.nodes.get(&REPLICA).and_then(|n| n.server()), taken_over)
        {
            // The models of the dead and of the new, at the moment of taking over.
            taken_over = true;
            let between: Vec<_> = model.iter().zip(new.model()).map(|(a, b)| a - b).collect();
            let most = apart.expect("a replica followed") + 1e-5;
            assert!(norm(&between) <= most, "apart by {}, not {most}", norm(&between));
        }
    }
    let took = world.steps;
    let until = world.now + Span::from_secs(2);
    world.run(until);

    let holder = if world.nodes.contains_key(&SERVER) { SERVER } else { REPLICA };
    let server = world.nodes[&holder].server().expect("somebody is the server");
    for (worker, program) in &world.programs {
        let count = server.model()[(worker.get() - WORKER.get()) as usize];
        assert!(program.failed.is_empty(), "{worker}: {:?}", program.failed);
        let decided = program.acked.len() + program.dropped.len();
        assert_eq!(decided, program.pushed.len(), "{worker}: each update is decided once");
        if job.momentum == 0.0 && !matches!(job.mode, Mode::Sync { .. }) {
            let acked = program.acked.len() as f32;
            match job.replication.ack {
                AckAfter::Replicated => {
                    assert_eq!(count, acked, "{worker}: in the model once each")
                }
                AckAfter::Commit => assert!(count <= acked, "{worker}: {count} of {acked}"),
            }
        }
    }
    if job.momentum == 0.0 && !matches!(job.mode, Mode::Sync { .. }) {
        for update in &acked_of_dead {
            let at = (update.worker.get() - WORKER.get()) as usize;
            let acked = acked_of_dead.iter().filter(|u| u.worker == update.worker).count();
            let kept = job.replication.ack == AckAfter::Replicated;
            assert!(!kept || server.model()[at] >= acked as f32, "{update} was acknowledged");
        }
    }
    bounds_held(job, &world);
    took
}

/// No commit was older than allowed, and none took server and replica further apart than allowed.
fn bounds_held(job: &Job, world: &World) {
    for (_, _, notice) in &world.notices {
        match notice {
            Notice::Commit(commit) => {
                let bound = job.mode.staleness().unwrap_or(u64::MAX);
                assert!(commit.delay <= bound, "{commit:?} is older than {bound}");
                // By itself a commit can be larger than the bound: a sum, or the momentum behind it.
                let alone = commit.members.len() as f64 / (1.0 - job.momentum);
                let most = job.replication.apart.max(alone);
                let by_momentum = job.momentum > 0.0 && job.replication.apart == 0.0;
                assert!(
                    by_momentum || commit.apart.is_none_or(|apart| apart <= most + 1e-6),
                    "{commit:?}"
                );
            }
            Notice::Refusal { from, what } => panic!("{from} was refused: {what}"),
            Notice::Promoted(promotion) => {
                // The replica's model at that moment is the old one's, less what it lacked.
                assert!(promotion.version.commits <= promotion.heard.commits, "{promotion:?}");
            }
            _ => {}
        }
    }
}

fn victims(job: &Job) -> Vec<Rank> {
    let mut all = vec![SERVER, REPLICA, AGGREGATOR, rank(WORKER.get() + 1)];
    all.extend(job.scheduler());
    all
}

#[test]
fn without_deaths_everything_is_committed_once() {
    let job = Job::new(4, 6);
    check(&job, &[]);
    // The aggregator has part in it, so that its death matters below.
    let mut world = job.start();
    assert!(world.train(secs(5.0)));
    let sums = world.told(AGGREGATOR).filter(|n| matches!(n, Notice::Summed { updates: 2.., .. }));
    assert!(sums.count() > 0);
}

#[test]
fn one_death_at_every_step_loses_nothing_that_was_acknowledged() {
    let mut job = Job::new(3, 3);
    job.replication.apart = 4.0;
    job.mode = Mode::Async { staleness: Some(8) };
    let steps = check(&job, &[]);
    assert!(steps > 100, "{steps} steps");
    for victim in victims(&job) {
        for at in (0..steps).step_by(3) {
            check(&job, &[(at, victim)]);
        }
    }
}

/// `LAXITY_RUNS` says how many.
fn cases() -> u32 {
    std::env::var("LAXITY_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Two deaths, of different ranks, at any time, in any mode, with and without a scheduler.
    #[test]
    fn two_deaths_at_any_time_keep_every_promise(
        seed in any::<u64>(),
        workers in 2u32..5,
        mode in prop_oneof![
            Just(Mode::Async { staleness: None }),
            (2u64..8).prop_map(|bound| Mode::Async { staleness: Some(bound) }),
            (0u64..3).prop_map(|ahead| Mode::StaleSync { ahead, staleness: None }),
            Just(Mode::Sync { enough: None }),
            Just(Mode::Sync { enough: Some((1, Span::from_ms(3))) }),
        ],
        momentum in prop_oneof![Just(0.0), Just(0.9)],
        apart in prop_oneof![Just(f64::INFINITY), Just(2.0), Just(0.0)],
        ack in prop_oneof![Just(AckAfter::Replicated), Just(AckAfter::Commit)],
        scheduled in any::<bool>(),
        answers in prop_oneof![Just(None), Just(Some((1, 4))), Just(Some((2, 1)))],
        parts in 1usize..4,
        awaits in prop_oneof![Just(None), Just(Some(1)), Just(Some(3))],
        first in (0u64..400, 0usize..5),
        second in (0u64..400, 0usize..5),
    ) {
        let mut job = Job::new(workers, 5);
        job.replication = Replication { ack, apart, required: false };
        (job.seed, job.mode, job.momentum, job.scheduled) = (seed, mode, momentum, scheduled);
        (job.answers, job.parts, job.awaits) = (answers, parts, awaits);
        let victims = victims(&job);
        let pick = |(at, which): (u64, usize)| (at, victims[which % victims.len()]);
        let mut deaths = vec![pick(first), pick(second)];
        // Of server and replica only one: with both, the model is gone.
        if deaths.iter().all(|(_, who)| [SERVER, REPLICA].contains(who)) {
            deaths.pop();
        }
        check(&job, &deaths);
    }
}

#[test]
fn the_scheduler_dies_and_workers_go_on_by_themselves() {
    let job = Job::new(3, 10);
    let mut world = job.start();
    world.run(secs(0.02));
    world.kill(SCHEDULER);
    assert!(world.train(secs(5.0)));
    for worker in job.ranks() {
        let away = world.told(worker).any(|n| matches!(n, Notice::Scheduler { there: false, .. }));
        assert!(away, "{worker} was not told");
        assert_eq!(world.programs[&worker].acked.len(), 10);
    }
}
