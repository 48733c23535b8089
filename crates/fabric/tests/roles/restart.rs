//! A scheduler that is started again goes on where it was.

use laxity_fabric::roles::{Node, Notice, RestoreError, Scheduler, SchedulerOptions};
use proptest::prelude::*;

use crate::{
    cluster::{Job, SCHEDULER},
    world::{World, secs},
};

fn saved(world: &mut World) -> (Vec<u8>, Vec<String>) {
    let scheduler = world.nodes.get_mut(&SCHEDULER).unwrap().scheduler().unwrap();
    (scheduler.save(), scheduler.decisions().map(ToString::to_string).collect())
}

#[test]
fn state_survives_a_restart_and_hosts_rejoin() {
    let job = Job::new(3, 30);
    let mut world = job.start();
    world.run(secs(0.03));
    let (bytes, decisions) = saved(&mut world);
    assert!(!decisions.is_empty());
    world.kill(SCHEDULER);
    world.run(secs(0.06));
    let options = SchedulerOptions { incarnation: 1, ..SchedulerOptions::default() };
    let restored = Scheduler::restore(SCHEDULER, options, &bytes).unwrap();
    assert_eq!(restored.decisions().map(ToString::to_string).collect::<Vec<_>>(), decisions);
    assert_eq!(restored.save()[..17], bytes[..17]);
    world.revive(Node::new(SCHEDULER).with_scheduler(restored));
    assert!(world.train(secs(5.0)));
    for worker in job.ranks() {
        let said: Vec<_> = world
            .told(worker)
            .filter_map(|notice| match notice {
                Notice::Scheduler { there, .. } => Some(*there),
                _ => None,
            })
            .collect();
        assert_eq!(said, [false, true], "{worker}");
        assert_eq!(world.programs[&worker].acked.len(), 30);
    }
    assert!(saved(&mut world).1.len() > decisions.len(), "it plans again");
}

#[test]
fn what_is_no_saved_state_is_refused() {
    let restore = |bytes: &[u8]| {
        Scheduler::restore(SCHEDULER, SchedulerOptions::default(), bytes).unwrap_err()
    };
    assert_eq!(restore(b"something else"), RestoreError::NotOne);
    let mut world = Job::new(2, 5).start();
    world.run(secs(0.03));
    let (mut bytes, _) = saved(&mut world);
    for length in 8..bytes.len() {
        restore(&bytes[..length]);
    }
    bytes[8] = 9;
    assert_eq!(restore(&bytes), RestoreError::Layout(9));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_state_never_panics(
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let mut world = Job::new(2, 3).start();
        world.run(secs(0.02));
        let (mut bytes, _) = saved(&mut world);
        let at = at.index(bytes.len());
        bytes[at] ^= with;
        let _ = Scheduler::restore(SCHEDULER, SchedulerOptions::default(), &bytes);
    }
}
