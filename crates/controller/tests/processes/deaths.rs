//! The controller dies in the middle of jobs and comes back.

use laxity_controller::{Action, Agent, FlowName, Link, Reason, ask_overview, ask_why};
use laxity_interface::{Bytes, Flow, FlowId, Job};

use super::child::{PATIENCE, Place, host, is_attached, until};

/// Waits for advice of a kind about a flow.
fn advised(agent: &Agent, flow: &FlowName, wanted: impl Fn(&Action, &Reason) -> bool) {
    until(&format!("other advice about {flow}"), || {
        let advice = agent.advice(flow);
        wanted(&advice.action, &advice.reason)
    });
}

fn planned(action: &Action, reason: &Reason) -> bool {
    reason.is_planned() && matches!(action, Action::Send { rate: Some(_), .. })
}

fn local(action: &Action, reason: &Reason) -> bool {
    let away = matches!(reason, Reason::Away { .. });
    away && matches!(action, Action::Send { rate: None, .. })
}

#[test]
fn hosts_go_on_by_local_rules_and_a_killed_controller_has_its_state() {
    let place = Place::new();
    let mut controller = place.start();
    let names = ["a", "b", "c"];
    let agents: Vec<_> = (0u8..)
        .zip(names)
        .map(|(seed, name)| Agent::start(host(place.access(), name, seed + 1)).unwrap())
        .collect();
    let job = |name: &str| {
        let flows = names.iter().flat_map(|from| {
            let others = names.iter().filter(move |to| *to != from);
            others.map(move |to| Flow::builder(*from, *to, Bytes::from_mib(64)))
        });
        Job::builder(name).flows(flows).build().unwrap()
    };
    agents[0].submit(job("shuffle")).unwrap();
    // Two flows of each host, in the order of hosts.
    let flow = |job: &str, host: usize| FlowName::new(job, FlowId(host as u32 * 2));
    for (at, agent) in agents.iter().enumerate() {
        assert!(agent.wait_link(PATIENCE, is_attached));
        advised(agent, &flow("shuffle", at), planned);
    }
    let before = ask_overview(&place.access()).unwrap();
    assert_eq!((before.jobs.len(), before.hosts.len(), before.incarnation), (1, 3, 1));
    agents[0].sent(&flow("shuffle", 0), Bytes::from_mib(16));

    controller.kill();
    for (at, agent) in agents.iter().enumerate() {
        assert!(agent.wait_link(PATIENCE, |link| matches!(link, Link::Away { .. })));
        advised(agent, &flow("shuffle", at), local);
    }
    // A job that begins meanwhile does not wait either.
    agents[1].submit(job("later")).unwrap();
    advised(&agents[1], &flow("later", 1), local);
    agents[0].finished(&flow("shuffle", 0), Bytes::from_mib(64));

    let mut controller = place.start();
    for (at, agent) in agents.iter().enumerate() {
        let second = |link: &Link| matches!(link, Link::Attached(to) if to.incarnation == 2);
        assert!(agent.wait_link(PATIENCE, second));
        advised(agent, &flow("later", at), planned);
        if at > 0 {
            advised(agent, &flow("shuffle", at), planned);
        }
    }
    until("what was sent meanwhile is known", || {
        let after = ask_overview(&place.access()).unwrap();
        let shuffle = after.jobs.iter().find(|job| job.name == "shuffle").unwrap();
        assert_eq!((after.jobs.len(), after.hosts.len(), after.incarnation), (2, 3, 2));
        shuffle.open_flows == 5
    });
    let why = ask_why(&place.access(), "shuffle/2").unwrap();
    assert_eq!(why.explained.len(), 1);
    assert!(!why.explained[0].reason.is_empty() && why.explained[0].round > before.rounds);

    // Without any host: what was taken is there, because it was on disk before it was acknowledged.
    drop(agents);
    controller.kill();
    let _controller = place.start();
    let alone = ask_overview(&place.access()).unwrap();
    let jobs: Vec<_> = alone.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!((jobs, alone.hosts.len()), (vec!["later", "shuffle"], 3));
    assert!(alone.hosts.iter().all(|host| !host.attached));
}

#[test]
fn a_controller_that_hangs_is_away_until_it_goes_on() {
    let place = Place::new();
    let controller = place.start();
    let agent = Agent::start(host(place.access(), "a", 1)).unwrap();
    assert!(agent.wait_link(PATIENCE, is_attached));
    controller.signal("STOP");
    // Nothing is said on either side: only the connection's own questions can tell.
    let job = Job::builder("j").flow(Flow::builder("a", "b", Bytes::from_mib(1))).build().unwrap();
    agent.submit(job).unwrap();
    let flow = FlowName::new("j", FlowId(0));
    let advice = agent.advice(&flow);
    assert!(matches!(advice.reason, Reason::NotInTime { .. } | Reason::Away { .. }), "{advice:?}");
    assert!(agent.wait_link(PATIENCE, |link| matches!(link, Link::Away { .. })));
    controller.signal("CONT");
    assert!(agent.wait_link(PATIENCE, is_attached));
    advised(&agent, &flow, planned);
}
