//! What survives, and what people are told.

use laxity_fabric::roles::{RoleKind, Scheduler};
use laxity_interface::{Bytes, Flow, Job};

use super::*;

fn two_flows(name: &str) -> Job {
    Job::builder(name)
        .flow(Flow::builder("h1", "h2", Bytes::from_mib(10)).name("first"))
        .flow(Flow::builder("h1", "h3", Bytes::from_mib(10)).priority(0))
        .build()
        .unwrap()
}

fn saved(core: &mut Controller) -> Saved {
    // By its records, as a process that is killed leaves them.
    let mut saved = Saved::default();
    std::iter::from_fn(|| core.poll_record()).for_each(|record| saved.add(record));
    saved
}

#[test]
fn what_was_taken_survives_and_goes_on() {
    let mut world = World::new(Options::new("ctl"));
    let one = world.host(1, Some((100, 100)));
    world.submit(one, &two_flows("j"));
    world.pass(Span::from_ms(100));
    let before = world.core.plans(world.now);
    assert_eq!(before.len(), 2);
    let left = saved(&mut world.core);
    let later = world.now + Span::from_secs(5);
    let again = Controller::new(later, Options::new("ctl"), secret(), left);
    let mut again = World { core: again, now: later, heard: BTreeMap::new(), next: 500 };
    assert_eq!(again.core.incarnation(), 1, "records alone say nothing of starts");
    again.pass(Span::from_ms(20));
    let after = again.core.plans(again.now);
    let rates = |plans: &[(FlowName, FlowPlan)]| {
        plans.iter().map(|(name, plan)| (name.clone(), plan.rate)).collect::<Vec<_>>()
    };
    assert_eq!(rates(&after), rates(&before));
    // Its host is known by its token, and hears its plans.
    let thief = again.attend("h1", Some(&HostKeys::from_seed([9; 32])), &secret(), |_| {});
    assert!(again.heard(thief).refused.is_some());
    let one = again.host(1, Some((100, 100)));
    again.pass(Span::from_ms(20));
    assert_eq!(again.heard(one).plans.len(), 2);
    // Submitted again with what was sent meanwhile, it is the same job.
    let sent = vec![wire::Sent { job: "j".into(), flow: 1, bytes: 10 << 20 }];
    let submit = wire::Submit { job: two_flows("j").to_json(), sent, age_ps: 0 };
    again.say(one, from_host::Word::Submit(submit));
    again.pass(Span::from_ms(20));
    assert_eq!(again.heard(one).jobs.pop().unwrap().refused, None);
    assert_eq!(again.core.plans(again.now).len(), 1);
}

#[test]
fn jobs_have_one_owner_and_end_with_its_lease() {
    let mut world = World::new(Options { most_flows: 3, ..Options::new("ctl") });
    let (one, two) = (world.host(1, None), world.host(2, None));
    world.submit(one, &two_flows("j"));
    world.submit(two, &two_flows("j"));
    world.submit(two, &two_flows("k"));
    world.submit(
        one,
        &Job::builder("j").flow(Flow::builder("a", "b", Bytes::new(1))).build().unwrap(),
    );
    world.listen();
    let said = |world: &mut World, id| world.heard(id).jobs.pop().unwrap().refused;
    let full = said(&mut world, two).unwrap();
    assert_eq!(full, "job k of host h2 does not fit: the controller keeps at most 3 flows");
    let not_yours = said(&mut world, two).unwrap();
    assert_eq!(not_yours, "job j is host h1's: host h2 has to give its job another name");
    assert!(said(&mut world, one).unwrap().starts_with("host h1 has another job j already"));
    assert_eq!(said(&mut world, one), None);
    // Nobody else can end it.
    world.say(two, from_host::Word::Withdraw(wire::Withdraw { job: "j".into() }));
    world.say(two, from_host::Word::Sent(wire::Sent { job: "j".into(), flow: 0, bytes: 10 << 20 }));
    world.pass(Span::from_ms(300));
    assert_eq!(world.core.plans(world.now).len(), 2);
    world.core.handle_closed(world.now, one, "gone");
    world.pass(Span::from_secs(59));
    assert_eq!(world.core.plans(world.now).len(), 2, "it goes on while its host may come back");
    world.pass(Span::from_secs(2));
    assert_eq!(world.core.counts(), (1, 0, 0));
    let left = saved(&mut world.core);
    assert_eq!((left.jobs.len(), left.hosts.len()), (0, 1));
}

#[test]
fn why_has_the_decision_its_reason_and_what_it_was_made_from() {
    let mut world = World::new(Options::new("ctl"));
    let one = world.host(1, Some((100, 100)));
    world.submit(one, &two_flows("team/j"));
    world.pass(Span::from_ms(100));
    let answer = world.core.why(world.now, "team/j/first");
    let row = &answer.explained[0];
    assert_eq!((row.what.as_str(), answer.explained.len()), ("team/j/0", 1));
    assert_eq!(row.reason, "no priority waits: higher ones leave nothing on the uplink of h1");
    assert_eq!(row.decision, "wait; then to h2");
    let inputs: Vec<_> = row.inputs.iter().map(|i| format!("{}={}", i.name, i.value)).collect();
    assert!(inputs.contains(&"the uplink of h1=100Mbps, 2 flows".to_owned()), "{inputs:?}");
    assert!(inputs.contains(&"size=10MiB".to_owned()), "{inputs:?}");
    assert_eq!(world.core.why(world.now, "team/j").explained.len(), 2);
    let nothing = world.core.why(world.now, "k").note.unwrap();
    assert!(
        nothing.contains("controller ctl has nothing about `k`; it knows of team/j"),
        "{nothing}"
    );
    // What has ended is remembered.
    world.say(one, from_host::Word::Withdraw(wire::Withdraw { job: "team/j".into() }));
    let past = world.core.why(world.now, "team/j/1").explained;
    assert!(past[0].outcome.as_ref().unwrap().contains("its host has withdrawn it"), "{past:?}");
}

#[test]
fn a_crew_hears_from_its_scheduler_and_its_state_is_kept() {
    let mut world = World::new(Options::new("ctl"));
    let (one, two) = (world.host(1, None), world.host(2, None));
    let seat = |rank, role: wire::Role| {
        let (crew, roles) = ("train".to_owned(), vec![role.into()]);
        from_host::Word::Seat(wire::Seat { crew, rank, roles })
    };
    world.say(one, seat(4, wire::Role::Worker));
    world.say(two, seat(4, wire::Role::Worker));
    world.listen();
    let said = world.heard(two).refused.clone().unwrap();
    assert!(said.contains("host h2 cannot be rank 4 of `train`"), "{said}");
    // The scheduler says that it is there, and the worker would answer.
    assert_eq!(world.heard(one).roles.len(), 1);
    let junk = wire::RoleWord { crew: "train".into(), rank: 4, envelope: vec![1], word: vec![2] };
    world.say(one, from_host::Word::Role(junk));
    let events: Vec<_> = std::iter::from_fn(|| world.core.poll_event()).collect();
    assert!(matches!(events.last(), Some(Event::CrewRefusal { .. })), "{events:?}");
    world.pass(Span::from_secs(6));
    let (name, bytes) = world.core.poll_crew_save(world.now, false).unwrap();
    assert_eq!(name, "train");
    let options = world.core.options.crews;
    assert!(Scheduler::restore(CONTROLLER, options, &bytes).is_ok());
    assert_eq!(world.core.poll_crew_save(world.now, true), None);
    assert_eq!(RoleKind::ALL.len(), 4, "docs number roles as the protocol file does");
}

#[test]
fn a_job_that_comes_with_everything_sent_is_over() {
    let mut world = World::new(Options::new("ctl"));
    let one = world.host(1, None);
    let sent = |flow| wire::Sent { job: "j".into(), flow, bytes: 10 << 20 };
    let job = two_flows("j").to_json();
    world.say(
        one,
        from_host::Word::Submit(wire::Submit { job, sent: vec![sent(0), sent(1)], age_ps: 0 }),
    );
    world.listen();
    assert_eq!(world.heard(one).jobs.pop().unwrap().refused, None);
    assert_eq!(world.core.counts(), (1, 0, 0), "nobody would ever say that it is");
}

/// Places that were left were counted for ever.
#[test]
fn a_place_that_is_left_is_free_for_another() {
    let mut world = World::new(Options::new("ctl"));
    let (one, two) = (world.host(1, None), world.host(2, None));
    let seat = |crew: &str, rank| {
        let (crew, roles) = (crew.into(), vec![wire::Role::Worker as i32]);
        from_host::Word::Seat(wire::Seat { crew, rank, roles })
    };
    let vacate =
        |crew: &str, rank| from_host::Word::Vacate(wire::Vacate { crew: crew.into(), rank });
    for rank in 0..100 {
        world.say(one, seat("crew", rank));
        // Whoever has no such place leaves none.
        world.say(two, vacate("crew", rank));
        world.say(one, vacate("crew", rank));
    }
    world.say(one, seat("crew", 1));
    world.say(two, vacate("crew", 1));
    world.say(two, seat("crew", 0));
    world.listen();
    for host in [one, two] {
        assert_eq!(world.heard(host).refused, None);
    }
    world.say(two, seat("crew", 1));
    world.listen();
    let said = world.heard(two).refused.clone().expect("that is the other's");
    assert!(said.contains("host h2 cannot be rank 1 of `crew`"), "{said}");
}

#[test]
fn a_host_can_take_the_same_place_again_and_again() {
    let mut world = World::new(Options::new("ctl"));
    let one = world.host(1, None);
    for _ in 0..100 {
        let (crew, roles) = ("crew".into(), vec![wire::Role::Worker as i32]);
        world.say(one, from_host::Word::Seat(wire::Seat { crew, rank: 0, roles }));
    }
    world.listen();
    assert_eq!(world.heard(one).refused, None);
}
