//! What holds whatever hosts do.

use laxity_interface::{Bytes, Flow, Fraction, Job, Objective, Tag};
use laxity_planner::{BetweenJobs, Scheme};
use proptest::prelude::*;

use super::*;

const HOSTS: u8 = 6;

#[derive(Clone, Debug)]
enum Step {
    Come(u8, Option<(u64, u64)>),
    Go(u8),
    Submit(u8, u8, Vec<FlowSpec>),
    Sent(u8, u8, u8, u8),
    Withdraw(u8, u8),
    Measured(u8, u8, u64, Option<u64>),
    Pass(u64),
}

#[derive(Clone, Debug)]
struct FlowSpec {
    from: u8,
    to: u8,
    kilobytes: u64,
    priority: Option<u32>,
    deadline: Option<u64>,
    weight: Option<u8>,
    release: u64,
    min: u8,
}

fn flow() -> impl Strategy<Value = FlowSpec> {
    let host = 0..HOSTS + 2; // Two that never come.
    let tags = (
        proptest::option::of(0u32..10),
        proptest::option::of(1u64..3000),
        proptest::option::of(1u8..9),
    );
    (host.clone(), host, 1u64..100_000, tags, 0u64..200, 1u8..=4).prop_map(
        |(from, to, kilobytes, (priority, deadline, weight), release, min)| FlowSpec {
            from,
            to,
            kilobytes,
            priority,
            deadline: deadline.map(|ms| ms + release),
            weight,
            release,
            min,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let host = 0..HOSTS;
    let rates = proptest::option::of((1u64..2000, 1u64..2000));
    prop_oneof![
        3 => (host.clone(), rates).prop_map(|(host, rates)| Step::Come(host, rates)),
        1 => host.clone().prop_map(Step::Go),
        4 => (host.clone(), 0u8..8, proptest::collection::vec(flow(), 1..6))
            .prop_map(|(host, job, flows)| Step::Submit(host, job, flows)),
        4 => (host.clone(), 0u8..8, 0u8..6, 0u8..=4).prop_map(|(h, j, f, q)| Step::Sent(h, j, f, q)),
        1 => (host.clone(), 0u8..8).prop_map(|(host, job)| Step::Withdraw(host, job)),
        1 => (host.clone(), 0..HOSTS, 1u64..2000, proptest::option::of(1u64..2000))
            .prop_map(|(from, to, rate, told)| Step::Measured(from, to, rate, told)),
        4 => (1u64..400).prop_map(Step::Pass),
    ]
}

fn job(number: u8, flows: &[FlowSpec]) -> Option<Job> {
    let name = |host: u8| format!("h{host}");
    let flows = flows.iter().map(|spec| {
        let size = Bytes::new(spec.kilobytes * 1000);
        let mut flow = Flow::builder(name(spec.from), name(spec.to), size)
            .release(Span::from_ms(spec.release))
            .min_delivery(Fraction::new(f64::from(spec.min) / 4.0).unwrap());
        flow = spec.priority.into_iter().fold(flow, |flow, level| flow.priority(level));
        flow = spec.weight.into_iter().fold(flow, |flow, weight| flow.weight(f64::from(weight)));
        let due = spec.deadline.map(|ms| Tag::Deadline(Span::from_ms(ms)));
        due.into_iter().fold(flow, |flow, tag| flow.tag(tag))
    });
    let objective = match number % 3 {
        0 => Objective::LastFlow,
        1 => Objective::WeightedCompletion,
        _ => Objective::MeanCommitTime,
    };
    Job::builder(format!("j{number}")).objective(objective).flows(flows).build().ok()
}

/// What the test knows by itself.
#[derive(Default)]
struct Model {
    sessions: BTreeMap<u8, SessionId>,
    rates: BTreeMap<String, (u64, u64)>,
    jobs: BTreeMap<String, Job>,
}

fn apply(world: &mut World, model: &mut Model, step: &Step) {
    match step {
        Step::Come(host, rates) => {
            let id = world.host(*host, *rates);
            assert!(world.heard(id).welcome, "{:?}", world.heard(id));
            model.sessions.insert(*host, id);
            let usual = world.core.options.usual.as_bps();
            let bps = |mbps: u64| mbps * 1_000_000;
            let rates = rates.map_or((usual, usual), |(up, down)| (bps(up), bps(down)));
            model.rates.insert(format!("h{host}"), rates);
        }
        Step::Go(host) => {
            if let Some(id) = model.sessions.remove(host) {
                world.core.handle_closed(world.now, id, "gone");
            }
        }
        Step::Submit(host, number, flows) => {
            let (Some(id), Some(job)) = (model.sessions.get(host), job(*number, flows)) else {
                return;
            };
            world.submit(*id, &job);
            world.listen();
            let answer = world.heard(*id).jobs.pop().expect("every job is answered");
            if answer.refused.is_none() {
                model.jobs.insert(job.name().to_owned(), job);
            }
        }
        Step::Sent(host, job, flow, quarters) => {
            let (name, flow) = (format!("j{job}"), FlowId((*flow).into()));
            let size = model.jobs.get(&name).and_then(|job| job.flow(flow)).map(|f| f.size());
            if let (Some(id), Some(size)) = (model.sessions.get(host), size) {
                let bytes = size.get() / 4 * u64::from(*quarters) + size.get() % 4;
                let word = wire::Sent { job: name, flow: flow.0, bytes };
                world.say(*id, from_host::Word::Sent(word));
            }
        }
        Step::Withdraw(host, job) => {
            if let Some(id) = model.sessions.get(host) {
                let word = wire::Withdraw { job: format!("j{job}") };
                world.say(*id, from_host::Word::Withdraw(word));
            }
        }
        Step::Measured(from, to, mbps, told) => {
            if let Some(id) = model.sessions.get(from) {
                let bps = |mbps: u64| mbps * 1_000_000;
                let (to, told_bps) = (format!("h{to}"), told.map(bps));
                let word = wire::Measured { to, bps: bps(*mbps), told_bps };
                world.say(*id, from_host::Word::Measured(word));
            }
        }
        Step::Pass(ms) => world.pass(Span::from_ms(*ms)),
    }
    // Hosts that were replaced or whose lease has ended.
    let live = |id: &SessionId| world.core.sessions.get(*id).is_some();
    model.sessions.retain(|_, id| live(id));
    let over = |name: &String| !world.core.jobs.all.contains_key(name);
    model.jobs.retain(|name, _| !over(name));
}

/// Everything that must hold once a round has been planned.
fn check(world: &mut World, model: &Model) {
    // Past any interval, so that everything that came has been planned.
    world.pass(world.core.options.refresh + world.core.options.interval * 2);
    let plans = world.core.plans(world.now);
    let names: Vec<_> = plans.iter().map(|(name, _)| name.clone()).collect();
    let mut open = Vec::new();
    let mut up: BTreeMap<&str, u64> = BTreeMap::new();
    let mut down: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, job) in &model.jobs {
        let state = &world.core.jobs.all[name];
        for (flow, state) in job.flows().iter().zip(&state.flows) {
            if state.is_open() {
                open.push(FlowName::new(name.clone(), flow.id()));
                let rate = state.planned.as_ref().map_or(0, |planned| planned.rate.as_bps());
                *up.entry(flow.from().as_str()).or_default() += rate;
                *down.entry(flow.to().as_str()).or_default() += rate;
            }
        }
    }
    assert_eq!(names, open, "every open flow has exactly one plan");
    for (name, plan) in &plans {
        assert!(plan.reason.is_planned(), "{name}: {}", plan.reason);
        let text = plan.reason.to_string();
        let numbered = text.split(" link ").skip(1).any(|rest| rest.starts_with(char::is_numeric));
        assert!(!text.is_empty() && !numbered, "{name}: `{text}` has names");
    }
    let usual = world.core.options.usual.as_bps();
    let rates = |host: &str| model.rates.get(host).copied().unwrap_or((usual, usual));
    for (host, used) in up {
        assert!(used <= rates(host).0, "{host} sends {used} of {:?}", rates(host));
    }
    for (host, used) in down {
        assert!(used <= rates(host).1, "{host} receives {used} of {:?}", rates(host));
    }
    for row in world.core.why(world.now, "j0").explained {
        assert!(!row.reason.is_empty() && !row.inputs.is_empty(), "{row:?}");
    }
    // Whoever is attached knows exactly this.
    for (host, id) in &model.sessions {
        let mine = format!("h{host}");
        for (name, plan) in &plans {
            let flow = &model.jobs[&name.job].flow(name.flow).unwrap();
            if flow.from().as_str() == mine {
                let told = &world.heard[id].plans.get(name);
                let told = told.unwrap_or_else(|| panic!("{mine} was not told of {name}"));
                assert_eq!(told.rate_bps, plan.rate.as_bps(), "{name}");
                assert_eq!((told.order, told.class), (plan.order, plan.class.get().into()));
                assert_eq!(told.next_hop, flow.to().as_str());
            }
        }
    }
}

fn run(scheme: Scheme, between: BetweenJobs, steps: &[Step]) {
    let mut options = Options::new("ctl");
    options.flows = laxity_planner::Options::new(scheme).between(between);
    let mut world = World::new(options);
    let mut model = Model::default();
    for (at, step) in steps.iter().enumerate() {
        apply(&mut world, &mut model, step);
        if at % 4 == 3 {
            check(&mut world, &model);
        }
    }
    check(&mut world, &model);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_has_one_plan_within_the_links_with_a_reason(
        scheme in proptest::sample::select(&Scheme::ALL[..]),
        apart in proptest::sample::select(&[
            BetweenJobs::Merged,
            BetweenJobs::MaxMin,
            BetweenJobs::Weights,
            BetweenJobs::WorstSlowdown,
        ][..]),
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        run(scheme, apart, &steps);
    }
}
