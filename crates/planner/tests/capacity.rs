//! Whatever the scheme, the policy and the demands: no link carries more than it can, flows that
//! may not send do not, and nothing that could be used is left over.

use std::collections::BTreeSet;

use laxity_interface::{Bytes, Fraction, Objective, Rate, Span, Time};
use laxity_planner::{
    BetweenJobs, Demand, FlowKey, JobKey, JobView, Network, Options, Pace, Reason, Scheme, Weight,
    allocate,
};
use laxity_topology::{LinkId, NodeId};
use proptest::prelude::*;

type Tags = (Option<u32>, Option<u64>, f64, f64, Option<u64>);
type Raw = (BTreeSet<u32>, u64, u32, u64, u64, Tags, (u32, u32));

fn demands(links: u32) -> impl Strategy<Value = Vec<Demand>> {
    let path = prop::collection::btree_set(0..links, 1..=(links as usize).min(4));
    let tags = (
        prop::option::of(0..3u32),
        prop::option::of(0..20u64),
        0.01..8.0f64,
        prop_oneof![3 => Just(1.0), 1 => 0.0..1.0f64],
        prop::option::weighted(0.1, 1..2_000_000_000u64),
    );
    let flow =
        (path, 1..50_000_000u64, 0..4u32, 0..6u64, 0..1_000_000u64, tags, (0..3u32, 0..3u32));
    prop::collection::vec(flow, 1..25).prop_map(|flows| {
        let make = |(key, flow): (usize, Raw)| {
            let (path, size, job, release, sent, tags, (from, to)) = flow;
            let (priority, due, weight, delivery, limit) = tags;
            let released = Time::ZERO + Span::from_secs(release);
            Demand {
                from: NodeId(from),
                to: NodeId(to),
                sent: Bytes::new(sent.min(size - 1)),
                released,
                priority,
                weight: Weight::new(weight).unwrap(),
                deadline: due.map(|due| released + Span::from_secs(due)),
                min_delivery: Fraction::new(delivery).unwrap(),
                limit: limit.map(Rate::bps),
                ..Demand::new(
                    FlowKey(key as u64),
                    JobKey(job),
                    path.into_iter().map(LinkId).collect(),
                    Bytes::new(size),
                )
            }
        };
        flows.into_iter().enumerate().map(make).collect()
    })
}

fn jobs() -> impl Strategy<Value = Vec<JobView>> {
    prop::collection::vec((any::<bool>(), 0.01..8.0f64, any::<bool>()), 0..4).prop_map(|jobs| {
        let make = |(key, (takes_part, weight, sum)): (usize, _)| JobView {
            takes_part,
            weight: Weight::new(weight).unwrap(),
            objective: if sum { Objective::SumLateness } else { Objective::MaxLateness },
            ..JobView::new(JobKey(key as u32))
        };
        jobs.into_iter().enumerate().map(make).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_plan_is_over_capacity_or_wastes_bandwidth(
        capacity in prop::collection::vec(prop_oneof![1 => Just(0), 9 => 0..40_000_000_000u64], 6),
        demands in demands(6),
        jobs in jobs(),
        full: bool,
    ) {
        let rates: Vec<_> = capacity.iter().map(|bps| Rate::bps(*bps)).collect();
        let network = Network::of_rates(&rates);
        let now = Time::ZERO + Span::from_secs(4);
        for scheme in Scheme::ALL {
            for between in [
                BetweenJobs::Merged,
                BetweenJobs::MaxMin,
                BetweenJobs::Weights,
                BetweenJobs::WorstSlowdown,
            ] {
                let pace = if full { Pace::Full } else { Pace::Least };
                let options = Options::new(scheme).between(between).pace(pace);
                let plan = allocate(now, &network, &demands, &jobs, &options).unwrap();
                let mut left = capacity.clone();
                for (demand, decision) in demands.iter().zip(&plan.decisions) {
                    let rate = decision.rate.as_bps();
                    for link in demand.path.iter() {
                        let left = &mut left[link.index()];
                        prop_assert!(rate <= *left, "{scheme} {between:?}: link {link} is over");
                        *left -= rate;
                    }
                    prop_assert!(demand.limit.is_none_or(|limit| decision.rate <= limit));
                    prop_assert!(demand.released <= now || rate == 0);
                    prop_assert!(decision.spare <= decision.rate);
                    prop_assert!(!decision.reason.to_string().is_empty());
                    prop_assert_ne!(decision.reason, Reason::NotReleased { at: Time::MAX });
                }
                // Nobody who may send has room on all links, up to rounding of shares.
                for (demand, decision) in demands.iter().zip(&plan.decisions) {
                    let behind = matches!(
                        decision.reason,
                        Reason::Behind { .. } | Reason::BehindOwn { .. }
                    );
                    let at_limit = demand.limit.is_some_and(|limit| {
                        limit.as_bps() <= decision.rate.as_bps() + 100
                    });
                    if demand.released > now || behind || at_limit {
                        continue;
                    }
                    let room = demand.path.iter().map(|link| left[link.index()]).min();
                    prop_assert!(room <= Some(100), "{scheme} {between:?}: {room:?} wasted");
                }
            }
        }
    }
}
