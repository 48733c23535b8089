//! How far the heuristics are from the optimum on random small instances.

use laxity_interface::{Bytes, Objective, Rate, Span, Time};
use laxity_topology::{NodeId, Routes, Topology};

use super::*;
use crate::{
    AaloQueues, Demand, FlowKey, JobKey, JobView, Network, Options, Pace, Scheme,
    updates::{Update, aggregate},
};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % below
    }
}

/// Gaps over instances: mean and worst.
#[derive(Default)]
struct Gaps(Vec<f64>);

impl Gaps {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }
    fn report(&self, what: &str) -> f64 {
        let worst = self.0.iter().copied().fold(0.0, f64::max);
        println!(
            "{what:34} mean {:6.2} %   worst {:6.2} %   of {} instances",
            self.mean() * 100.0,
            worst * 100.0,
            self.0.len()
        );
        self.mean()
    }
}

/// `jobs` coflows of up to `flows` flows between 4 hosts behind a switch of 1 Gbit/s, of 1 to 100 MB.
fn shuffle(random: &mut Random, jobs: u32, flows: u64) -> (Network, Vec<Demand>) {
    shuffle_of(random, jobs, flows, |random| 1 + random.next(100))
}

/// The same with flows of as many megabytes as `size` says.
fn shuffle_of(
    random: &mut Random,
    jobs: u32,
    flows: u64,
    size: impl Fn(&mut Random) -> u64,
) -> (Network, Vec<Demand>) {
    let net = Topology::star(4, Rate::from_gbps(1), Span::ZERO).unwrap();
    let routes = Routes::new(&net);
    let mut demands = Vec::new();
    for job in 0..jobs {
        for _ in 0..1 + random.next(flows) {
            let from = net.hosts()[random.next(4) as usize];
            let to = net.hosts()[(from.index() + 1 + random.next(3) as usize) % 4];
            let path = routes.path(&net, from, to, 0).unwrap();
            let size = Bytes::new(size(random) * 1_000_000);
            let key = FlowKey(demands.len() as u64);
            demands.push(Demand::new(key, JobKey(job), path, size).between(from, to));
        }
    }
    (Network::of(&net), demands)
}

/// When each job ends, in seconds.
fn job_ends(demands: &[Demand], ends: &[Time], jobs: u32) -> Vec<f64> {
    let end = |job| {
        let own = demands.iter().zip(ends).filter(|(demand, _)| demand.job == JobKey(job));
        own.map(|(_, end)| end.since(Time::ZERO).as_secs_f64()).fold(0.0, f64::max)
    };
    (0..jobs).map(end).collect()
}

#[test]
fn coflow_orders_are_near_the_best_mean_completion() {
    let mut random = Random(1);
    let schemes = [Scheme::Varys, Scheme::Sincronia, Scheme::Aalo, Scheme::MaxMin, Scheme::Madd];
    let mut gaps: Vec<_> = schemes.iter().map(|_| Gaps::default()).collect();
    for _ in 0..300 {
        let jobs = 2 + random.next(3) as u32;
        let (network, demands) = shuffle(&mut random, jobs, 4);
        let least = best(&network, &demands, Goal::MeanCompletion).unwrap();
        for (scheme, gaps) in schemes.iter().zip(&mut gaps) {
            let views: Vec<_> = (0..jobs).map(|job| JobView::new(JobKey(job))).collect();
            let ends = run(&network, &demands, &views, &Options::new(*scheme)).unwrap();
            let ends = job_ends(&demands, &ends, jobs);
            let mean = ends.iter().sum::<f64>() / f64::from(jobs);
            assert!(mean >= least * (1.0 - 1e-6), "{scheme}: {mean} beats the optimum {least}");
            gaps.0.push(mean / least - 1.0);
        }
    }
    let means: Vec<_> = schemes.iter().zip(&gaps).map(|(s, g)| g.report(s.name())).collect();
    let [varys, sincronia, aalo, max_min, madd] = means[..] else { unreachable!() };
    // Those that know sizes and aim at the mean completion time.
    assert!(varys < 0.10 && sincronia < 0.10 && madd < 0.10, "{means:?}");
    // Aalo aims at it without knowing sizes, which costs; max-min aims at fairness between flows.
    assert!(aalo < max_min, "{means:?}");
}

/// The mean gaps of `aalo` with these queues.
fn gaps_of_aalo<const N: usize>(
    settings: [(&str, AaloQueues); N],
    size: impl Fn(&mut Random) -> u64 + Copy,
) -> [f64; N] {
    let mut random = Random(1);
    let mut gaps = [(); N].map(|()| Gaps::default());
    for _ in 0..300 {
        let jobs = 2 + random.next(3) as u32;
        let (network, demands) = shuffle_of(&mut random, jobs, 4, size);
        let least = best(&network, &demands, Goal::MeanCompletion).unwrap();
        let views: Vec<_> = (0..jobs).map(|job| JobView::new(JobKey(job))).collect();
        for ((_, aalo), gaps) in settings.iter().zip(&mut gaps) {
            let options = Options { aalo: *aalo, ..Options::new(Scheme::Aalo) };
            let ends = run(&network, &demands, &views, &options).unwrap();
            let ends = job_ends(&demands, &ends, jobs);
            gaps.0.push(ends.iter().sum::<f64>() / f64::from(jobs) / least - 1.0);
        }
    }
    let mut gaps = gaps.iter();
    settings.map(|(name, _)| gaps.next().expect("one for each").report(name))
}

const fn queues(first_mb: u64, factor: u32, count: u32) -> AaloQueues {
    AaloQueues { first: Bytes::new(first_mb * 1_000_000), factor, count }
}

/// Thresholds from far below to far above the sizes, which are spread evenly from 1 to 100 MB a flow.
#[test]
fn the_papers_queues_are_about_as_good_for_aalo_as_others() {
    let settings = [
        ("aalo, the paper's queues", AaloQueues::default()),
        ("aalo, one queue: first come", queues(1_000_000, 10, 1)),
        ("aalo, from 1 MB by 10", queues(1, 10, 10)),
        ("aalo, from 100 MB by 10", queues(100, 10, 10)),
        ("aalo, from 1 MB by 2", queues(1, 2, 20)),
        ("aalo, from 10 MB by 2", queues(10, 2, 20)),
        ("aalo, from 10 MB by 4", queues(10, 4, 20)),
    ];
    let means = gaps_of_aalo(settings, |random| 1 + random.next(100));
    let lowest = means.iter().copied().fold(f64::MAX, f64::min);
    assert!(means[0] < lowest + 0.05, "{means:?}");
}

/// Where sizes differ by orders of magnitude, what a coflow has sent says what it still has to send.
#[test]
fn aalo_is_better_than_first_come_where_sizes_differ_much() {
    let settings = [
        ("aalo, sizes by powers of two", AaloQueues::default()),
        ("the same, first come", queues(1_000_000, 10, 1)),
    ];
    let [paper, first_come] = gaps_of_aalo(settings, |random| 1 << random.next(10));
    assert!(paper < first_come, "{paper} {first_come}");
}

#[test]
fn one_coflow_ends_as_early_as_can_be() {
    let mut random = Random(2);
    for _ in 0..300 {
        let (network, demands) = shuffle(&mut random, 1, 8);
        let least = best(&network, &demands, Goal::MeanCompletion).unwrap();
        let ends = run(&network, &demands, &[], &Options::new(Scheme::Madd)).unwrap();
        let end = job_ends(&demands, &ends, 1)[0];
        assert!((end / least - 1.0).abs() < 1e-6, "{end} for {least}");
    }
}

#[test]
fn deadlines_are_near_the_least_lateness() {
    let mut random = Random(3);
    let goals = [
        (Goal::MaxLateness, Objective::MaxLateness, Pace::Least),
        (Goal::MaxLateness, Objective::MaxLateness, Pace::Full),
        // Not what the objective means, which counts flows: shown, not required.
        (Goal::SumLateness, Objective::SumLateness, Pace::Least),
    ];
    let mut gaps: Vec<_> = goals.iter().map(|_| Gaps::default()).collect();
    for _ in 0..300 {
        let jobs = 3 + random.next(2) as u32;
        let (network, mut demands) = shuffle(&mut random, jobs, 4);
        let due: Vec<_> = (0..jobs).map(|_| Span::from_ms(100 + random.next(1200))).collect();
        for demand in &mut demands {
            demand.deadline = Some(Time::ZERO + due[demand.job.0 as usize]);
        }
        // Lateness can be zero, so the gap is measured against when all could be over.
        let scale = best(&network, &demands, Goal::MeanCompletion).unwrap();
        for ((goal, objective, pace), gaps) in goals.iter().zip(&mut gaps) {
            let view = |job| JobView { objective: objective.clone(), ..JobView::new(JobKey(job)) };
            let views: Vec<_> = (0..jobs).map(view).collect();
            let least = best(&network, &demands, *goal).unwrap();
            let options = Options::new(Scheme::Deadline).pace(*pace);
            let ends = run(&network, &demands, &views, &options).unwrap();
            let late = demands
                .iter()
                .zip(&ends)
                .map(|(demand, end)| end.since(demand.deadline.unwrap()).as_secs_f64());
            let (value, least) = match goal {
                Goal::SumLateness => (late.sum::<f64>() / f64::from(jobs), least / f64::from(jobs)),
                _ => (late.fold(0.0, f64::max), least),
            };
            assert!(value >= least - 1e-6, "{goal:?}: {value} beats the optimum {least}");
            gaps.0.push((value - least) / scale);
        }
    }
    for ((goal, _, pace), gaps) in goals.iter().zip(&gaps) {
        let mean = gaps.report(&format!("deadline by job, {goal:?}, {pace:?}"));
        assert!(mean < 0.10 || *goal == Goal::SumLateness, "{goal:?}: {mean}");
    }
}

/// The sum is over flows, so each flow is a job of its own: two senders, two receivers.
#[test]
fn the_sum_of_lateness_is_near_the_least() {
    let mut random = Random(7);
    let mut gaps = Gaps::default();
    let network = Network::of_rates(&[Rate::from_gbps(1); 4]);
    for _ in 0..200 {
        let jobs = 3 + random.next(3) as u32;
        let flow = |job| {
            let path = [random.next(2) as u32, 2 + random.next(2) as u32].into();
            let size = Bytes::new((1 + random.next(100)) * 1_000_000);
            let due = Time::ZERO + Span::from_ms(100 + random.next(1200));
            Demand::new(FlowKey(u64::from(job)), JobKey(job), path, size).deadline(due)
        };
        let demands: Vec<_> = (0..jobs).map(flow).collect();
        let view = |job| JobView { objective: Objective::SumLateness, ..JobView::new(JobKey(job)) };
        let views: Vec<_> = (0..jobs).map(view).collect();
        let ends = run(&network, &demands, &views, &Options::new(Scheme::Deadline)).unwrap();
        let late = demands.iter().zip(&ends);
        let late = late.map(|(d, end)| end.since(d.deadline.unwrap()).as_secs_f64());
        let (value, least) =
            (late.sum::<f64>(), best(&network, &demands, Goal::SumLateness).unwrap());
        assert!(value >= least - 1e-6, "{value} beats the optimum {least}");
        // The same scale: the sum of the ends of the best schedule for them.
        let scale = best(&network, &demands, Goal::MeanCompletion).unwrap() * f64::from(jobs);
        gaps.0.push((value - least) / scale);
    }
    assert!(gaps.report("deadline, SumLateness") < 0.10);
}

/// On a single link, earliest deadline first meets every set that can be met: those whose work by
/// each deadline fits before it.
#[test]
fn every_feasible_set_of_deadlines_on_one_link_is_met() {
    let mut random = Random(4);
    let network = Network::of_rates(&[Rate::from_gbps(1)]);
    let (mut feasible, mut tried) = (0, 0);
    while feasible < 500 {
        tried += 1;
        assert!(tried < 100_000);
        let count = 1 + random.next(6);
        let flow = |key| {
            let size = Bytes::new((1 + random.next(100)) * 1_000_000);
            let due = Time::ZERO + Span::from_ms(1 + random.next(2500));
            Demand::new(FlowKey(key), JobKey(0), [0].into(), size).deadline(due)
        };
        let mut demands: Vec<_> = (0..count).map(flow).collect();
        demands.sort_by_key(|demand| demand.deadline);
        let mut work = Span::ZERO;
        let fits = demands.iter().all(|demand| {
            work += Rate::from_gbps(1).time_for(demand.size);
            Time::ZERO + work <= demand.deadline.unwrap()
        });
        if !fits {
            continue;
        }
        feasible += 1;
        for pace in [Pace::Least, Pace::Full] {
            for spare in [true, false] {
                let options = Options { spare, ..Options::new(Scheme::Deadline).pace(pace) };
                let ends = run(&network, &demands, &[], &options).unwrap();
                for (demand, end) in demands.iter().zip(ends) {
                    // Sizes are looked at in whole bytes: 8 ns each, a few times.
                    let late = end.since(demand.deadline.unwrap());
                    assert!(late < Span::from_ns(100), "{late} late, {pace:?}: {demands:?}");
                }
            }
        }
    }
}

/// With releases that nobody knows in advance, full speed is what meets them.
#[test]
fn releases_are_met_at_full_speed() {
    let mut random = Random(5);
    let network = Network::of_rates(&[Rate::from_gbps(1)]);
    let options = Options::new(Scheme::Deadline).pace(Pace::Full);
    let mut feasible = 0;
    for _ in 0..2000 {
        let count = 2 + random.next(5);
        let flow = |key| {
            let size = Bytes::new((1 + random.next(60)) * 1_000_000);
            let release = Time::ZERO + Span::from_ms(random.next(1000));
            let due = release + Span::from_ms(1 + random.next(1500));
            Demand::new(FlowKey(key), JobKey(0), [0].into(), size).released(release).deadline(due)
        };
        let demands: Vec<_> = (0..count).map(flow).collect();
        // Feasible on one link: between any release and any deadline, what has to happen fits.
        let fits = demands.iter().all(|first| {
            demands.iter().all(|last| {
                let (from, until) = (first.released, last.deadline.unwrap());
                let inside =
                    |d: &&Demand| d.released >= from && d.deadline.is_some_and(|due| due <= until);
                let work: Bytes = demands.iter().filter(inside).map(|d| d.size).sum();
                Rate::from_gbps(1).time_for(work) <= until.since(from)
            })
        });
        if !fits {
            continue;
        }
        feasible += 1;
        let ends = run(&network, &demands, &[], &options).unwrap();
        for (demand, end) in demands.iter().zip(ends) {
            assert!(end.since(demand.deadline.unwrap()) < Span::from_ns(100), "{demands:?}");
        }
    }
    assert!(feasible > 100, "only {feasible} instances");
}

#[test]
fn aggregation_is_near_the_best_order_and_forwarding() {
    let mut random = Random(6);
    let mut gaps = Gaps::default();
    for _ in 0..200 {
        let count = 3 + random.next(2) as u32;
        let net = Topology::star(count + 2, Rate::from_mbps(80), Span::ZERO).unwrap();
        let routes = Routes::new(&net);
        let route = |from: NodeId, to: NodeId| routes.path(&net, from, to, 0);
        let available: Vec<_> = (0..count).map(|_| random.next(3) as u32).collect();
        let (server, host) = (net.hosts()[0], net.hosts()[count as usize + 1]);
        let updates: Vec<_> = (1..)
            .zip(&available)
            .map(|(worker, slot)| Update {
                worker: net.hosts()[worker],
                path: route(net.hosts()[worker], server).unwrap(),
                size: Bytes::new(10_000_000),
                norm: 1.0,
                version: 0,
                available: Time::ZERO + Span::from_secs(u64::from(*slot)),
            })
            .collect();
        let view = Network::of(&net);
        let found = aggregate(Time::ZERO, &view, &updates, server, &[host], false, route).unwrap();
        let sum: f64 = found.commits.iter().map(|end| end.since(Time::ZERO).as_secs_f64()).sum();
        let least = best_forwarding(&Slots { available, hosts: 1 }).unwrap();
        assert!(sum >= least - 1e-6, "{sum} beats the optimum {least}");
        gaps.0.push(sum / least - 1.0);
    }
    assert!(gaps.report("aggregate, mean commit") < 0.10);
}

/// Two solvers that share no code find the same optima.
#[cfg(feature = "highs")]
#[test]
fn highs_and_microlp_agree() {
    use super::{Solver, best_by, best_forwarding_by};
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * (1.0 + a.abs()),
        (a, b) => a == b,
    };
    let mut random = Random(5);
    for _ in 0..100 {
        let jobs = 2 + random.next(3) as u32;
        let (network, mut demands) = shuffle(&mut random, jobs, 4);
        for demand in &mut demands {
            demand.deadline = Some(Time::ZERO + Span::from_ms(1 + random.next(3000)));
        }
        for goal in [Goal::MeanCompletion, Goal::MaxLateness, Goal::SumLateness] {
            let [own, other] =
                [Solver::Microlp, Solver::Highs].map(|by| best_by(by, &network, &demands, goal));
            assert!(own.is_some() && near(own, other), "{goal:?}: {own:?} and {other:?}");
        }
    }
    for _ in 0..20 {
        let available = (0..3 + random.next(2)).map(|_| random.next(4) as u32).collect();
        let slots = Slots { available, hosts: 1 };
        let [own, other] =
            [Solver::Microlp, Solver::Highs].map(|by| best_forwarding_by(by, &slots));
        assert!(own.is_some() && near(own, other), "{slots:?}: {own:?} and {other:?}");
    }
}
