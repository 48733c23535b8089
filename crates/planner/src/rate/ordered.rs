//! Senders that order their own flows and know of no others: the TCP baseline of seed 000.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Time};

use super::{fair, round::Round};
use crate::{demand::Demand, reason::Reason};

/// `node-ordered`: a node sends its first flow, and beside it only those with the same claim, such as
/// one parameter for several workers. What nodes send shares the links max-min.
pub(super) fn node_ordered(round: &mut Round<'_>, flows: &[usize]) {
    let behind = |ahead: &Demand| Reason::BehindOwn { node: ahead.from, flow: ahead.key };
    in_order(round, flows, |demand| demand.from, behind);
}

/// `connection-ordered`: one connection between each two nodes, each sends its first flow;
/// connections share max-min.
pub(super) fn connection_ordered(round: &mut Round<'_>, flows: &[usize]) {
    let behind = |ahead: &Demand| Reason::Behind { flow: ahead.key };
    in_order(round, flows, |demand| (demand.from, demand.to), behind);
}

/// What makes a flow go first: priority, then deadline, then size. Less is sooner.
fn claim(demand: &Demand) -> (u32, Time, Bytes) {
    (demand.priority.unwrap_or(u32::MAX), demand.deadline.unwrap_or(Time::MAX), demand.size)
}

/// Each sender's first flows share max-min; the others wait behind the first of them.
fn in_order<Sender: Ord>(
    round: &mut Round<'_>,
    flows: &[usize],
    sender: impl Fn(&Demand) -> Sender,
    behind: impl Fn(&Demand) -> Reason,
) {
    let demands = round.demands;
    let mut first: BTreeMap<Sender, usize> = BTreeMap::new();
    for at in flows {
        let best = first.entry(sender(&demands[*at])).or_insert(*at);
        if claim(&demands[*at]) < claim(&demands[*best]) {
            *best = *at;
        }
    }
    let mut sending = Vec::new();
    for at in flows {
        let ahead = &demands[first[&sender(&demands[*at])]];
        if claim(&demands[*at]) == claim(ahead) {
            sending.push(*at);
        } else {
            round.reasons[*at] = behind(ahead);
        }
    }
    fair::max_min(round, &sending);
}
