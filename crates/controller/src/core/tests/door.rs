//! Who is let in, and what others are told.

use laxity_interface::{Bytes, Flow, Job};

use super::*;

#[test]
fn a_host_with_the_key_is_welcome_and_others_hear_both_sides() {
    let mut world = World::new(Options::new("ctl"));
    let good = world.host(1, None);
    assert!(world.heard(good).welcome);

    let other = Secret::Key(Key::new([4; 32]));
    let keys = HostKeys::from_seed([2; 32]);
    let bad = world.attend("h2", Some(&keys), &other, |_| {});
    let (ours, theirs) = (key_id(&secret()), key_id(&other));
    let said = world.heard(bad).refused.clone().unwrap();
    assert_eq!(
        said,
        format!(
            "host h2 at 10.0.0.3:4000 has key {theirs}, and controller ctl has key {ours}: give both \
             the same key file"
        )
    );
    assert!(world.heard(bad).ended);
    // It says that it has ours, and does not.
    let liar = world.attend("h2", Some(&keys), &other, |hello| hello.key_id = key_id(&secret()));
    let said = world.heard(liar).refused.clone().unwrap();
    assert!(said.contains("h2 at 10.0.0.4:4000") && said.contains("cannot prove it"), "{said}");
    let none = world.attend("h2", Some(&keys), &Secret::Insecure, |_| {});
    let said = world.heard(none).refused.clone().unwrap();
    assert!(said.contains("has no key, and controller ctl has key"), "{said}");
}

#[test]
fn who_claims_another_hosts_name_is_refused_and_its_holder_stays() {
    let mut world = World::new(Options::new("ctl"));
    let holder = world.host(1, None);
    let thief = HostKeys::from_seed([66; 32]);
    let stolen = world.attend("h1", Some(&thief), &secret(), |_| {});
    let said = world.heard(stolen).refused.clone().unwrap();
    assert!(
        said.starts_with(
            "host h1 at 10.0.0.3:4000 presented another token than host h1, which registered from \
             10.0.0.2:4000 and is attached"
        ),
        "{said}"
    );
    assert!(!world.heard(holder).ended);
    // It shows the holder's token, and cannot sign with it.
    let token = HostKeys::from_seed([1; 32]).token();
    let forged = world.attend("h1", Some(&thief), &secret(), |hello| hello.token = token.to_vec());
    let said = world.heard(forged).refused.clone().unwrap();
    assert!(said.contains("presented a token that it cannot sign with"), "{said}");
    // The holder itself, over a new connection, takes the place of the old one.
    let again = world.host(1, None);
    assert!(world.heard(again).welcome && world.heard(holder).ended);
    // Long after the holder has left, the name is free.
    world.core.handle_closed(world.now, again, "gone");
    let early = world.attend("h1", Some(&thief), &secret(), |_| {});
    assert!(world.heard(early).refused.is_some());
    world.pass(Span::from_secs(61));
    let late = world.attend("h1", Some(&thief), &secret(), |_| {});
    assert!(world.heard(late).welcome);
}

#[test]
fn nobody_stays_without_a_proof_and_nothing_is_said_out_of_turn() {
    let mut world = World::new(Options::new("ctl"));
    let silent = world.open();
    world.pass(Span::from_secs(11));
    let said = world.heard(silent).refused.clone().unwrap();
    assert!(said.contains("did not prove within 10s"), "{said}");
    let hasty = world.open();
    let job = Job::builder("j").flow(Flow::builder("a", "b", Bytes::new(1))).build().unwrap();
    world.submit(hasty, &job);
    world.listen();
    assert!(world.heard(hasty).refused.is_some());
    assert_eq!(world.core.counts(), (0, 0, 0));
    // Who asks may ask, and nothing else.
    let observer = world.attend("me", None, &secret(), |_| {});
    assert!(world.heard(observer).welcome);
    world.submit(observer, &job);
    world.listen();
    assert!(world.heard(observer).refused.is_some());
}

#[test]
fn one_too_many_is_told_so() {
    let options = Options { most_sessions: 1, ..Options::new("ctl") };
    let mut world = World::new(options);
    world.host(1, None);
    let second = world.open();
    world.listen();
    let said = world.heard(second).refused.clone().unwrap();
    assert!(said.contains("controller ctl talks to 1 others already"), "{said}");
}

#[test]
fn a_host_that_reads_nothing_is_let_go_and_others_are_told() {
    let options = Options { most_waiting: 10, ..Options::new("ctl") };
    let mut world = World::new(options);
    let (slow, quick) = (world.host(1, None), world.host(2, None));
    let job = Job::builder("j").flow(Flow::builder("h2", "h1", Bytes::new(1000))).build().unwrap();
    world.submit(quick, &job);
    // Answers pile up: nobody takes them.
    for number in 0..20 {
        let about = Some(wire::ask::About::Overview(wire::Overview {}));
        world.core.handle_word(
            world.now,
            slow,
            FromHost { word: Some(from_host::Word::Ask(wire::Ask { number, about })) },
        );
    }
    let events: Vec<_> = std::iter::from_fn(|| world.core.poll_event()).collect();
    let left = |event: &Event| matches!(event, Event::HostLeft { host, .. } if host == "h1");
    assert!(events.iter().any(left), "{events:?}");
    world.pass(Span::from_ms(50));
    assert!(world.heard(slow).ended);
    assert_eq!(world.heard(quick).plans.len(), 1);
}

#[test]
fn a_host_that_is_turned_out_leaves_like_any_other() {
    let mut world = World::new(Options::new("ctl"));
    let job = Job::builder("j").flow(Flow::builder("h1", "h2", Bytes::new(1000))).build().unwrap();
    let seat = wire::Seat { crew: "crew".into(), rank: CONTROLLER.get(), ..Default::default() };
    let out_of_turn = from_host::Word::Hello(wire::Hello::default());
    for word in [out_of_turn, from_host::Word::Seat(seat)] {
        let host = world.host(1, None);
        world.submit(host, &job);
        assert_eq!(world.core.counts(), (1, 1, 1));
        world.say(host, word);
        world.listen();
        assert!(world.heard(host).refused.is_some() && world.heard(host).ended);
        assert_eq!(world.core.counts(), (0, 1, 1), "it is not attached any more");
        // Its jobs end with its lease, and its name is free.
        world.pass(Span::from_secs(61));
        assert_eq!(world.core.counts(), (0, 0, 0));
        let other = world.attend("h1", Some(&HostKeys::from_seed([66; 32])), &secret(), |_| {});
        assert!(world.heard(other).welcome);
        world.core.handle_closed(world.now, other, "gone");
        world.pass(Span::from_secs(61));
    }
}
