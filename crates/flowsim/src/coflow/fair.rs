//! Per-flow fairness. All flows between two ports have the same rate, so they are one entry with a
//! weight, and how far each got is one number: what every flow of the entry has received so far.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use laxity_interface::Time;
use laxity_planner::{FairShares, Slot, Weight};
use laxity_topology::LinkId;

use super::{BYTE, Completion, Fabric, Run, links, trace::Trace};

/// All flows between two ports.
#[derive(Debug)]
struct Bundle {
    ends: (u32, u32),
    slot: Option<Slot>,
    /// What each flow has received since the start, in 10⁻¹² of a bit.
    received: u128,
    /// Of each flow.
    rate: u64,
    /// When flows are done: by what they will have received, and whose they are.
    goals: BinaryHeap<Reverse<(u128, usize)>>,
    changed: bool,
}

pub(super) fn run(trace: &Trace, fabric: &Fabric, mut progress: impl FnMut(usize)) -> Run {
    let mut shares = FairShares::new(&vec![fabric.port; 2 * trace.ports as usize]);
    let mut bundles: Vec<Bundle> = Vec::new();
    let mut by_ends: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let mut open: Vec<_> = trace.coflows.iter().map(|coflow| coflow.pieces.len()).collect();
    let mut ends = vec![Time::ZERO; trace.coflows.len()];
    let (mut now, mut next_arrival, mut done, mut plans) = (Time::ZERO, 0, 0, 0);
    let mut live: Vec<usize> = Vec::new();
    while done < trace.coflows.len() {
        while next_arrival < trace.coflows.len() && trace.coflows[next_arrival].arrives <= now {
            for piece in &trace.coflows[next_arrival].pieces {
                let ends = (piece.from, piece.to);
                let at = *by_ends.entry(ends).or_insert_with(|| {
                    bundles.push(Bundle {
                        ends,
                        slot: None,
                        received: 0,
                        rate: 0,
                        goals: BinaryHeap::new(),
                        changed: false,
                    });
                    bundles.len() - 1
                });
                let bundle = &mut bundles[at];
                if bundle.goals.is_empty() {
                    live.push(at);
                }
                let goal = bundle.received + u128::from(piece.size.get()) * BYTE;
                bundle.goals.push(Reverse((goal, next_arrival)));
                bundle.changed = true;
            }
            next_arrival += 1;
        }
        plan(trace, &mut shares, &mut bundles, &mut live);
        plans += 1;

        // Until the next arrival, or until a flow has ended and the tick is over.
        let first = live.iter().map(|at| time_left(&bundles[*at])).min();
        let by_flow = first.map(|ps| now.as_ps().saturating_add(ps));
        let by_flow = by_flow.map(|at| Time::from_ps(at).max(now + fabric.tick));
        let arrival = trace.coflows.get(next_arrival).map(|coflow| coflow.arrives);
        let Some(until) = by_flow.into_iter().chain(arrival).min() else { break };
        let ps = u128::from(until.since(now).as_ps());
        let before = done;
        for at in &live {
            let bundle = &mut bundles[*at];
            let start = bundle.received;
            bundle.received += u128::from(bundle.rate) * ps;
            while let Some(Reverse((goal, coflow))) = bundle.goals.peek().copied()
                && goal <= bundle.received
            {
                bundle.goals.pop();
                bundle.changed = true;
                let took = (goal - start).div_ceil(u128::from(bundle.rate.max(1)));
                let end = Time::from_ps(now.as_ps() + took as u64);
                ends[coflow] = ends[coflow].max(end);
                open[coflow] -= 1;
                done += usize::from(open[coflow] == 0);
            }
        }
        if done != before {
            progress(done);
        }
        now = until;
    }
    let coflows = trace.coflows.iter().zip(ends).enumerate();
    let completions = coflows.map(|(coflow, (described, end))| Completion {
        coflow,
        arrived: described.arrives,
        end,
    });
    Run { completions: completions.collect(), plans }
}

/// Picoseconds until the first flow of a bundle is done.
fn time_left(bundle: &Bundle) -> u64 {
    let Some(Reverse((goal, _))) = bundle.goals.peek() else { return u64::MAX };
    let left = (goal - bundle.received).checked_div(u128::from(bundle.rate));
    left.map_or(u64::MAX, |ps| u64::try_from(ps + 1).unwrap_or(u64::MAX))
}

/// Tells the planner which bundles have changed and takes over the rates.
fn plan(trace: &Trace, shares: &mut FairShares, bundles: &mut [Bundle], live: &mut Vec<usize>) {
    for at in live.iter() {
        let bundle = &mut bundles[*at];
        if !std::mem::take(&mut bundle.changed) {
            continue;
        }
        if let Some(slot) = bundle.slot.take() {
            shares.remove(slot);
        }
        if !bundle.goals.is_empty() {
            let path = links(trace.ports, bundle.ends.0, bundle.ends.1).map(LinkId);
            let weight = Weight::ONE.times(bundle.goals.len() as u32);
            bundle.slot = Some(shares.add(&path, weight));
        }
    }
    live.retain(|at| !bundles[*at].goals.is_empty());
    shares.settle();
    for at in live.iter() {
        let bundle = &mut bundles[*at];
        let slot = bundle.slot.expect("live bundles have a slot");
        bundle.rate = shares.rate(slot).as_bps() / bundle.goals.len() as u64;
    }
}
