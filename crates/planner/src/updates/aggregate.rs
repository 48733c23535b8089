//! Summing updates at idle hosts while the server's link is busy.

use laxity_interface::{Bytes, Span, Time};
use laxity_topology::{NodeId, Path, RouteError};

use super::{Update, UpdateReason, order, order::mean};
use crate::{error::PlanError, network::Network};

/// Updates that reach the server together.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Where they are summed; nothing for those that go straight to the server.
    pub at: Option<NodeId>,
    /// Their places among the updates that were given, in order.
    pub updates: Vec<usize>,
    /// When the sum is ready to leave; for a direct group, when its last update arrives.
    pub ready: Time,
    /// When the last of it reaches the server.
    pub ends: Time,
}

/// Who goes straight to the server, who is summed where.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregation {
    /// The direct group first, then sums in the order in which they arrive, then what was left
    /// over and goes straight to the server after them.
    pub groups: Vec<Group>,
    /// When each update is committed, in the order in which they were given.
    pub commits: Vec<Time>,
    /// Why each goes its way, in the same order.
    pub reasons: Vec<UpdateReason>,
}

impl Aggregation {
    /// The mean time from `now` until a commit.
    pub fn mean_commit(&self, now: Time) -> Span {
        mean(self.commits.iter().map(|ends| ends.since(now)))
    }

    /// When the last update is committed.
    pub fn last(&self) -> Option<Time> {
        self.commits.iter().max().copied()
    }
}

/// What is asked.
struct Question<'a, R> {
    now: Time,
    network: &'a Network,
    updates: &'a [Update],
    server: NodeId,
    route: R,
    /// Updates in the order in which they would be sent.
    order: Vec<usize>,
}

/// Splits updates into a first group that goes straight to the server and groups that are summed on
/// the way, for the least mean commit time; with `last`, for the earliest end of the last one, as a
/// synchronous server wants it. `hosts` are idle and may sum; `route` gives paths between nodes.
///
/// A group grows only while its sum is ready before the groups before it have reached the server:
/// then summing costs nothing, since the server's link is busy anyway. All sizes of the first group
/// and all numbers of hosts are tried; of equal results the one with fewer hosts is kept.
pub fn aggregate(
    now: Time,
    network: &Network,
    updates: &[Update],
    server: NodeId,
    hosts: &[NodeId],
    last: bool,
    route: impl Fn(NodeId, NodeId) -> Result<Path, RouteError>,
) -> Result<Aggregation, PlanError> {
    let order = order(now, network, updates, 0)?.updates.iter().map(|one| one.update).collect();
    let question = Question { now, network, updates, server, route, order };
    let mut best: Option<((Time, Span), Aggregation)> = None;
    for count in 0..=hosts.len() {
        for first in (1..=updates.len()).rev() {
            if (first == updates.len()) != (count == 0) {
                continue; // Without sums all are direct, and the other way round.
            }
            let found = split(&question, first, &hosts[..count])?;
            let key = (found.last().unwrap_or(now), found.mean_commit(now));
            let key = if last { key } else { (Time::ZERO, key.1) };
            if best.as_ref().is_none_or(|(least, _)| key < *least) {
                best = Some((key, found));
            }
        }
    }
    let none = || Aggregation { groups: Vec::new(), commits: Vec::new(), reasons: Vec::new() };
    Ok(best.map_or_else(none, |(_, found)| found))
}

/// One split: `first` updates direct, the others summed at these hosts as far as they fit.
fn split<R: Fn(NodeId, NodeId) -> Result<Path, RouteError>>(
    question: &Question<'_, R>,
    first: usize,
    hosts: &[NodeId],
) -> Result<Aggregation, PlanError> {
    let Question { now, network, updates, server, route, order } = question;
    let mut left = (*network).clone();
    let mut commits = vec![*now; updates.len()];
    let mut reasons = vec![UpdateReason::Direct { ends: *now }; updates.len()];
    let mut groups = Vec::new();
    let mut direct = |left: &mut Network, members: &[usize]| {
        let mut ends = *now;
        for at in members {
            let update = &updates[*at];
            let from = update.available.max(*now);
            let end = transfer(left, &update.path, from, update.size)
                .ok_or(PlanError::Stuck { update: *at, after: from })?;
            (commits[*at], reasons[*at]) = (end, UpdateReason::Direct { ends: end });
            ends = ends.max(end);
        }
        Ok::<_, PlanError>(ends)
    };
    let mut free = direct(&mut left, &order[..first])?;
    groups.push(Group { at: None, updates: order[..first].to_vec(), ready: free, ends: free });

    let mut rest = order[first..].to_vec();
    let mut sums = Vec::new();
    for host in hosts {
        let (mut members, mut ready, mut size) = (Vec::new(), *now, Bytes::ZERO);
        let mut network = left.clone();
        for at in &rest {
            let update = &updates[*at];
            let from = update.available.max(*now);
            let end = if update.worker == *host {
                Some(from) // It has its own update already.
            } else {
                let path = route(update.worker, *host)?;
                let mut tried = network.clone();
                let end = transfer(&mut tried, &path, from, update.size);
                network = if end.is_some_and(|end| end <= free) { tried } else { network };
                end
            };
            let Some(end) = end.filter(|end| *end <= free) else { break };
            (ready, size) = (ready.max(end), size.max(update.size));
            members.push(*at);
        }
        // One alone is not a sum.
        if members.len() < 2 {
            continue;
        }
        let path = route(*host, *server)?;
        let Some(ends) = transfer(&mut network, &path, ready, size) else { continue };
        left = network;
        rest.drain(..members.len());
        for at in &members {
            sums.push((*at, ends, UpdateReason::Summed { at: *host, ready, free }));
        }
        free = free.max(ends);
        groups.push(Group { at: Some(*host), updates: members, ready, ends });
    }
    if !rest.is_empty() {
        let ends = direct(&mut left, &rest)?;
        groups.push(Group { at: None, updates: rest, ready: ends, ends });
    }
    for (at, ends, reason) in sums {
        (commits[at], reasons[at]) = (ends, reason);
    }
    Ok(Aggregation { groups, commits, reasons })
}

/// Sends over all that a path has left; says when it has arrived, and takes the bandwidth away.
fn transfer(left: &mut Network, path: &Path, from: Time, size: Bytes) -> Option<Time> {
    let residual = left.residual(path);
    let ends = residual.t_end(from, size)?;
    left.reserve_path(path, &residual.used(from, ends));
    Some(ends)
}
