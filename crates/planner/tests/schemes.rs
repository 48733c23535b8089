//! What each scheme does on networks small enough for a pencil.

use laxity_interface::{Bytes, Fraction, Objective, Rate, Span, Time};
use laxity_planner::{
    BetweenJobs, Demand, FlowKey, JobKey, JobView, Network, Options, Pace, PlanError, Reason,
    Scheme, Weight, allocate, bottleneck_time, flexibility,
};
use laxity_topology::{LinkId, NodeId, Routes, Topology};

const MBIT: u64 = 125_000;

fn at(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

fn flow<const N: usize>(key: u64, job: u32, path: [u32; N], mbit: u64) -> Demand {
    Demand::new(FlowKey(key), JobKey(job), path.into(), Bytes::new(mbit * MBIT))
}

fn links(gbps: &[u64]) -> Network {
    Network::of_rates(&gbps.iter().map(|g| Rate::from_gbps(*g)).collect::<Vec<_>>())
}

fn plan(network: &Network, demands: &[Demand], scheme: Scheme) -> Vec<u64> {
    let plan = allocate(Time::ZERO, network, demands, &[], &Options::new(scheme)).unwrap();
    plan.rates().iter().map(|rate| rate.as_bps() / 1_000_000).collect()
}

/// Figure 1 of seed 000: with a coflow both flows arrive after 1 s, so 3 operations of 0.5 s end at
/// 2.5 s; with priorities the first arrives after 0.5 s, which hides the second: 2.0 s.
#[test]
fn figure_1_gives_the_rates_that_lead_to_two_and_a_half_and_two_seconds() {
    let network = links(&[1]);
    let both = [flow(1, 0, [0], 500).priority(0), flow(2, 0, [0], 500).priority(1)];
    assert_eq!(plan(&network, &both, Scheme::Madd), [500, 500]);
    let ends = Rate::from_mbps(500).time_for(Bytes::new(500 * MBIT));
    assert_eq!(ends + Span::from_ms(1500), Span::from_ms(2500));

    assert_eq!(plan(&network, &both, Scheme::Priority), [1000, 0]);
    let first = Rate::from_gbps(1).time_for(both[0].size);
    let second = first + Rate::from_gbps(1).time_for(both[1].size);
    // c1 needs f1; c2 needs f2 and c1; c3 needs c2: each 0.5 s.
    let c1 = first + Span::from_ms(500);
    let c2 = c1.max(second) + Span::from_ms(500);
    assert_eq!(c2 + Span::from_ms(500), Span::from_ms(2000));

    let due = [both[0].clone().deadline(at(1)), both[1].clone().deadline(at(1))];
    let options = Options::new(Scheme::Deadline).pace(Pace::Full);
    let plan = allocate(Time::ZERO, &network, &due, &[], &options).unwrap();
    assert_eq!(plan.rates(), [Rate::from_gbps(1), Rate::ZERO]);
}

#[test]
fn weights_divide_every_shared_link() {
    let network = links(&[10, 10]);
    let demands = [
        flow(1, 0, [0], 1).weight(Weight::new(3.0).unwrap()),
        flow(2, 0, [0, 1], 1),
        flow(3, 0, [1], 1).weight(Weight::new(0.5).unwrap()),
    ];
    assert_eq!(plan(&network, &demands, Scheme::Weighted), [7500, 2500, 7500]);
    assert_eq!(plan(&network, &demands, Scheme::MaxMin), [5000, 5000, 5000]);
}

#[test]
fn a_connection_sends_its_flows_in_the_best_order() {
    let network = links(&[10, 10, 10]);
    let (a, b, c) = (NodeId(1), NodeId(2), NodeId(3));
    let demands = [
        flow(1, 0, [0, 2], 9).priority(1).between(a, c),
        flow(2, 0, [0, 2], 9).priority(0).between(a, c),
        flow(3, 0, [1, 2], 5).between(b, c),
        flow(4, 0, [1, 2], 3).between(b, c),
    ];
    let options = Options::new(Scheme::ConnectionOrdered);
    let plan = allocate(Time::ZERO, &network, &demands, &[], &options).unwrap();
    let rates: Vec<_> = plan.rates().iter().map(|rate| rate.as_bps() / 1_000_000_000).collect();
    assert_eq!(rates, [0, 5, 0, 5]);
    assert_eq!(plan.decisions[0].reason, Reason::Behind { flow: FlowKey(2) });
}

#[test]
fn a_node_sends_its_flows_in_the_best_order_wherever_they_go() {
    // Node a sends over link 0 to b (link 2) and c (link 3), node d over link 1 to b.
    let network = links(&[10, 10, 10, 10]);
    let (a, b, c, d) = (NodeId(1), NodeId(2), NodeId(3), NodeId(4));
    let mut demands = vec![
        flow(1, 0, [0, 2], 9).priority(0).between(a, b),
        flow(2, 0, [0, 3], 9).priority(1).between(a, c),
        flow(3, 0, [1, 2], 9).priority(7).between(d, b),
    ];
    let options = Options::new(Scheme::NodeOrdered);
    let gbps = |demands: &[Demand]| {
        let plan = allocate(Time::ZERO, &network, demands, &[], &options).unwrap();
        let rates: Vec<_> = plan.rates().iter().map(|r| r.as_bps() / 1_000_000_000).collect();
        (rates, plan)
    };
    // Link 2 is shared with another node; that link 3 and half of link 0 idle, a does not know.
    let (rates, plan) = gbps(&demands);
    assert_eq!(rates, [5, 0, 5]);
    assert_eq!(plan.decisions[1].reason, Reason::BehindOwn { node: a, flow: FlowKey(1) });
    assert!(plan.decisions[1].to_string().contains("whatever other nodes do"));
    // A connection of its own would use link 3.
    let options = Options::new(Scheme::ConnectionOrdered);
    let plan = allocate(Time::ZERO, &network, &demands, &[], &options).unwrap();
    assert_eq!(plan.decisions[1].rate, Rate::from_gbps(5));
    // Flows with the same claim go side by side: one parameter for two workers.
    demands[1].priority = Some(0);
    assert_eq!(gbps(&demands).0, [5, 5, 5]);
}

/// Jobs 1 and 2 have equal work on link 0, so that the weight of the one that stays is scaled to
/// nothing; then link 1, on which it has no work, decides between jobs 3 and 4.
#[test]
fn a_coflow_without_weight_or_work_on_a_link_is_not_put_last_there() {
    let network = links(&[1, 1]);
    let demands =
        [flow(1, 1, [0], 1000), flow(2, 2, [0], 1000), flow(3, 3, [1], 900), flow(4, 4, [1], 600)];
    let options = Options::new(Scheme::Sincronia);
    let plan = allocate(Time::ZERO, &network, &demands, &[], &options).unwrap();
    let order: Vec<_> = plan.jobs.iter().map(|(job, _)| job.0).collect();
    // From the last place: of 1 and 2 on link 0; 3, the longer, on link 1; then what is left.
    assert_eq!(order[2], 3, "{order:?}");
    assert!(order[3] == 1 || order[3] == 2, "{order:?}");
    assert_eq!(plan.decisions[3].rate, Rate::from_gbps(1), "the shorter has link 1 first");
}

#[test]
fn flows_of_madd_end_together() {
    // A shuffle of 2 × 2 over a switch: links 0, 1 up, 2, 3 down.
    let network = links(&[1, 1, 1, 1]);
    let sizes = [(0, 2, 300), (0, 3, 123), (1, 2, 177), (1, 3, 41)];
    let demands: Vec<_> =
        (0..).zip(sizes).map(|(key, (up, down, mbit))| flow(key, 0, [up, down], mbit)).collect();
    let options = Options { spare: false, ..Options::new(Scheme::Madd) };
    let plan = allocate(Time::ZERO, &network, &demands, &[], &options).unwrap();
    let ends: Vec<_> =
        demands.iter().zip(plan.rates()).map(|(d, rate)| rate.time_for(d.size)).collect();
    let slowest = bottleneck_time(Time::ZERO, &network, &demands).unwrap();
    // Link 2 has 477 Mbit.
    assert_eq!(slowest, Span::from_ms(477));
    for end in &ends {
        // Rates are whole bits per second: at 41 Mbit/s that is 2.5e-8 of the time.
        let apart = (end.as_secs_f64() / slowest.as_secs_f64() - 1.0).abs();
        assert!(apart < 5e-8, "{ends:?}");
    }
    let whole = Options::new(Scheme::Madd);
    let spare = allocate(Time::ZERO, &network, &demands, &[], &whole).unwrap();
    assert!(spare.decisions.iter().any(|d| d.spare > Rate::ZERO), "links 1 and 3 have room");
}

#[test]
fn the_smallest_bottleneck_goes_first() {
    let network = links(&[1, 1]);
    // Job 1 needs 1 s on link 0; job 2 needs 0.3 s on link 0 and 0.6 s on link 1.
    let demands = [flow(1, 1, [0], 1000), flow(2, 2, [0], 300), flow(3, 2, [1], 600)];
    // MADD paces flow 2 to 500 Mbit/s; back-filling gives job 1 nothing before job 2 had its turn.
    let options = Options::new(Scheme::Varys);
    let plan = allocate(Time::ZERO, &network, &demands, &[], &options).unwrap();
    assert_eq!(plan.jobs[0].0, JobKey(2));
    assert_eq!(plan.decisions[2].rate, Rate::from_gbps(1));
    let link_0 = plan.decisions[0].rate.as_bps() + plan.decisions[1].rate.as_bps();
    assert_eq!(link_0, 1_000_000_000);
    assert!(plan.decisions[1].rate >= Rate::from_mbps(500));
}

#[test]
fn sincronia_orders_by_the_bottleneck_port() {
    // The example of the paper's motivation: a long coflow on one port must not delay short ones.
    let network = links(&[1, 1]);
    let demands =
        [flow(1, 1, [0], 900), flow(2, 1, [1], 900), flow(3, 2, [0], 100), flow(4, 3, [1], 100)];
    assert_eq!(plan(&network, &demands, Scheme::Sincronia), [0, 0, 1000, 1000]);
    // A weight above what the others have together turns the order round.
    let heavy = JobView { weight: Weight::new(100.0).unwrap(), ..JobView::new(JobKey(1)) };
    let options = Options::new(Scheme::Sincronia);
    let plan = allocate(Time::ZERO, &network, &demands, &[heavy], &options).unwrap();
    assert_eq!(plan.decisions[0].rate, Rate::from_gbps(1));
}

#[test]
fn aalo_sorts_by_what_was_sent_and_says_when_that_changes() {
    let network = links(&[1]);
    let mut old = flow(1, 1, [0], 8000);
    old.sent = Bytes::new(20_000_000);
    let demands = [old, flow(2, 2, [0], 8000).released(at(3))];
    let now = at(4);
    let plan = allocate(now, &network, &demands, &[], &Options::new(Scheme::Aalo)).unwrap();
    assert_eq!(plan.rates(), [Rate::ZERO, Rate::from_gbps(1)]);
    assert_eq!(
        plan.decisions[0].reason,
        Reason::InQueue { queue: 1, sent: Bytes::new(20_000_000) }
    );
    // 10 MB at 1 Gbit/s: then both are in queue 1.
    assert_eq!(plan.valid_until, Some(now + Span::from_ms(80)));
}

#[test]
fn priorities_are_strict_and_nothing_is_wasted() {
    let network = links(&[1, 1]);
    let demands = [
        flow(1, 0, [0], 9).priority(0),
        flow(2, 0, [0, 1], 9).priority(1),
        flow(3, 0, [1], 9).priority(2),
        flow(4, 0, [1], 9),
    ];
    let options = Options::new(Scheme::Priority);
    let plan = allocate(Time::ZERO, &network, &demands, &[], &options).unwrap();
    let rates: Vec<_> = plan.rates().iter().map(|rate| rate.as_bps()).collect();
    assert_eq!(rates, [1_000_000_000, 0, 1_000_000_000, 0]);
    assert_eq!(plan.decisions[1].reason, Reason::PriorityWaits { level: Some(1), link: LinkId(0) });
    let said = plan.decisions[1].reason.to_string();
    assert_eq!(said, "priority 1 waits: higher ones leave nothing on link 0");
}

#[test]
fn deadlines_take_the_least_and_leave_the_rest() {
    let network = links(&[1]);
    let due = flow(1, 0, [0], 400).deadline(at(1));
    let other = flow(2, 0, [0], 10_000);
    assert_eq!(plan(&network, &[due.clone(), other], Scheme::Deadline), [400, 600]);
    // Nobody else: the spare bandwidth goes to it.
    let alone = allocate(Time::ZERO, &network, &[due], &[], &Options::new(Scheme::Deadline));
    let decision = alone.unwrap().decisions[0];
    assert_eq!((decision.rate, decision.spare), (Rate::from_gbps(1), Rate::from_mbps(600)));
}

#[test]
fn loss_tolerance_makes_room() {
    let network = links(&[1]);
    let half = Fraction::new(0.5).unwrap();
    let demands = [
        flow(1, 0, [0], 800).deadline(at(1)).min_delivery(half),
        flow(2, 0, [0], 600).deadline(at(1)),
    ];
    // Whole, 1400 Mbit do not fit into a second; what must be delivered is 400 + 600.
    assert_eq!(plan(&network, &demands, Scheme::Combined), [400, 600]);
    let whole = allocate(Time::ZERO, &network, &demands, &[], &Options::new(Scheme::Deadline));
    let late = whole.unwrap().decisions.iter().any(|d| matches!(d.reason, Reason::Late { .. }));
    assert!(late);
    let mut enough = demands[0].clone();
    enough.sent = Bytes::new(400 * MBIT);
    let options = Options::new(Scheme::Combined);
    let plan = allocate(Time::ZERO, &network, &[enough], &[], &options).unwrap();
    assert_eq!(plan.decisions[0].reason, Reason::Enough);
    assert_eq!(plan.decisions[0].spare, Rate::from_gbps(1));
}

#[test]
fn jobs_share_by_policy() {
    let network = links(&[6]);
    // Job 1 has three flows, job 2 one.
    let demands = [
        flow(1, 1, [0], 6000),
        flow(2, 1, [0], 6000),
        flow(3, 1, [0], 6000),
        flow(4, 2, [0], 6000),
    ];
    let run = |between, jobs: &[JobView]| {
        let options = Options::new(Scheme::MaxMin).between(between);
        let plan = allocate(Time::ZERO, &network, &demands, jobs, &options).unwrap();
        plan.rates().iter().map(|rate| rate.as_bps() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(run(BetweenJobs::Merged, &[]), [1500; 4]);
    assert_eq!(run(BetweenJobs::MaxMin, &[]), [1000, 1000, 1000, 3000]);
    let heavy = JobView { weight: Weight::new(2.0).unwrap(), ..JobView::new(JobKey(2)) };
    assert_eq!(run(BetweenJobs::Weights, &[heavy]), [666, 666, 666, 4000]);
    // Alone job 1 takes 3 s and job 2 takes 1 s. Slowdown s for both: 18/3s + 6/s = 6 Gbit/s, so
    // s = 2: job 1 has 3 Gbit/s and job 2 has 3 Gbit/s.
    let rates = run(BetweenJobs::WorstSlowdown, &[]);
    // The bisection ends within a millionth.
    assert!(rates[3].abs_diff(3000) <= 1, "{rates:?}");
    assert!(rates[..3].iter().all(|rate| rate.abs_diff(1000) <= 1), "{rates:?}");
}

#[test]
fn outsiders_keep_their_minimum() {
    let network = links(&[10]);
    let demands = [flow(1, 1, [0], 100).priority(0), flow(2, 9, [0], 100), flow(3, 9, [0], 100)];
    let options =
        Options { outsiders: Fraction::new(0.2).unwrap(), ..Options::new(Scheme::Priority) };
    let jobs = [JobView::outsider(JobKey(9))];
    let plan = allocate(Time::ZERO, &network, &demands, &jobs, &options).unwrap();
    assert_eq!(plan.rates(), [8, 1, 1].map(Rate::from_gbps));
    let alone = allocate(Time::ZERO, &network, &demands[1..], &jobs, &options).unwrap();
    assert_eq!(alone.rates(), [5, 5].map(Rate::from_gbps));
}

#[test]
fn flexibility_is_that_of_the_paper() {
    // At t = 10 s, last deadline 40 s, best transfer time 15 s: 2.
    let demand = flow(1, 0, [0], 15_000).released(at(10)).deadline(at(40));
    assert_eq!(flexibility(at(10), &links(&[1]), &[demand]), Some(2.0));
}

#[test]
fn reservations_and_releases_end_a_plan() {
    let mut network = links(&[10]);
    network.reserve(LinkId(0), at(5), at(6), Rate::from_gbps(4));
    let demands = [flow(1, 0, [0], 100), flow(2, 0, [0], 100).released(at(3))];
    let options = Options::new(Scheme::MaxMin);
    let now = |secs| allocate(at(secs), &network, &demands, &[], &options).unwrap();
    assert_eq!(now(0).rates(), [10, 0].map(Rate::from_gbps));
    assert_eq!(now(0).valid_until, Some(at(3)));
    assert_eq!(now(3).valid_until, Some(at(5)));
    assert_eq!(now(5).rates(), [3, 3].map(Rate::from_gbps));
    assert_eq!(now(6).valid_until, None);
}

#[test]
fn limits_are_kept_and_said() {
    let network = links(&[10]);
    let mut slow = flow(1, 0, [0], 100);
    slow.limit = Some(Rate::from_gbps(1));
    let demands = [slow, flow(2, 0, [0], 100)];
    let options = Options::new(Scheme::MaxMin);
    let plan = allocate(Time::ZERO, &network, &demands, &[], &options).unwrap();
    assert_eq!(plan.rates(), [1, 9].map(Rate::from_gbps));
    assert_eq!(plan.decisions[0].reason, Reason::AtLimit { limit: Rate::from_gbps(1) });
}

#[test]
fn bad_demands_are_named() {
    let network = links(&[1, 1]);
    let said = |demands: &[Demand]| {
        let plan = allocate(Time::ZERO, &network, demands, &[], &Options::new(Scheme::MaxMin));
        plan.unwrap_err().to_string()
    };
    assert!(said(&[flow(7, 0, [0], 0)]).contains("flow 7 has size 0"));
    let late = flow(7, 0, [0], 1).released(at(2)).deadline(at(1));
    assert!(said(&[late]).contains("flow 7 is due at 1s, before its release at 2s"));
    assert!(said(&[flow(7, 0, [0, 5], 1)]).contains("flow 7 crosses link 5"));
    assert!(said(&[flow(7, 0, [], 1)]).contains("flow 7 has a route without links"));
    assert!(said(&[flow(7, 0, [0, 1, 0], 1)]).contains("crosses link 0 twice"));
    assert!(said(&[flow(7, 0, [0], 1), flow(7, 0, [0], 1)]).contains("two flows numbered 7"));
    assert_eq!(Weight::new(f64::NAN), None);
    assert_eq!(Weight::new(-1.0), None);
    assert_eq!(Weight::new(0.0), None);
    let twice = [JobView::new(JobKey(0)), JobView::new(JobKey(0))];
    let options = Options::new(Scheme::MaxMin);
    let error = allocate(Time::ZERO, &network, &[flow(1, 0, [0], 1)], &twice, &options);
    assert_eq!(error, Err(PlanError::DuplicateJob { job: JobKey(0) }));
    assert!("fastest".parse::<Scheme>().unwrap_err().to_string().contains("node-ordered"));
}

#[test]
fn routes_are_checked_against_the_network() {
    let net = Topology::star(3, Rate::from_gbps(1), Span::ZERO).unwrap();
    let view = Network::of(&net);
    // Link 0 leads from h0 to the switch, link 2 from h1 to the switch.
    let broken = flow(4, 0, [0, 2], 1);
    let options = Options::new(Scheme::MaxMin);
    let error = allocate(Time::ZERO, &view, &[broken], &[], &options).unwrap_err();
    assert!(error.to_string().contains("route of flow 4 breaks at link 2"), "{error}");

    use laxity_interface::{Flow, Job};
    let job = |to: &str| {
        let flow = Flow::builder("h0", to, Bytes::new(9)).priority(3).deadline(Span::from_secs(2));
        Job::builder("copy").flow(flow).build().unwrap()
    };
    let routes = Routes::new(&net);
    let demands = |to: &str| Demand::of_job(&job(to), JobKey(5), 7, at(1), &net, &routes);
    let error = demands("h9").unwrap_err().to_string();
    assert!(error.contains("job `copy`: there is no host `h9`"), "{error}");
    let made = demands("h2").unwrap();
    assert_eq!((made[0].key, made[0].job, made[0].path.len()), (FlowKey(7), JobKey(5), 2));
    assert_eq!((made[0].priority, made[0].deadline), (Some(3), Some(at(3))));
}

#[test]
fn lateness_follows_the_objective() {
    let network = links(&[1]);
    // 1 s of work due at 1 s, 3 s of work due at 0.9 s: one of them is late.
    let job = |objective| JobView { objective, ..JobView::new(JobKey(0)) };
    let ms = |ms| Time::ZERO + Span::from_ms(ms);
    let demands =
        [flow(1, 0, [0], 1000).deadline(ms(1000)), flow(2, 0, [0], 3000).deadline(ms(900))];
    let run = |objective| {
        let options = Options::new(Scheme::Deadline);
        allocate(Time::ZERO, &network, &demands, &[job(objective)], &options).unwrap().rates()
    };
    // Largest lateness: by deadline, 2.1 and 3 s late; the other order would be 0 and 3.1 s.
    assert_eq!(run(Objective::MaxLateness), [Rate::ZERO, Rate::from_gbps(1)]);
    // Sum: the short one first.
    assert_eq!(run(Objective::SumLateness), [Rate::from_gbps(1), Rate::ZERO]);
}
