//! Summing updates at idle hosts while the server's link is busy.

use laxity_interface::{Bytes, Span, Time};
use laxity_topology::{LinkId, NodeId, Path, RouteError};

use super::{Update, UpdateReason, order, order::mean};
use crate::{error::PlanError, network::Network, steps::Steps};

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

    /// The times from `now` until all commits, added up, in picoseconds.
    fn sum(&self, now: Time) -> u128 {
        self.commits.iter().map(|ends| u128::from(ends.since(now).as_ps())).sum()
    }

    /// When the last update is committed.
    pub fn last(&self) -> Option<Time> {
        self.commits.iter().max().copied()
    }
}

/// What is asked.
struct Question<'a, R> {
    now: Time,
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
    let question = Question { now, updates, server, route, order };
    let mut trial = Trial { left: network.clone(), before: Vec::new() };
    let mut best: Option<((Time, Span), Aggregation)> = None;
    for count in 0..=hosts.len() {
        for first in (1..=updates.len()).rev() {
            if (first == updates.len()) != (count == 0) {
                continue; // Without sums all are direct, and the other way round.
            }
            // The best so far is an end to patience: commits only become later.
            let least = best.as_ref().filter(|_| !last).map(|(_, found)| found.sum(now));
            let found = split(&question, &mut trial, first, &hosts[..count], least)?;
            trial.undo(0);
            let Some(found) = found else { continue };
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

/// One split: `first` updates direct, the others summed at these hosts as far as they fit. Nothing, if the
/// sum of the times until commits is more than `least`.
fn split<R: Fn(NodeId, NodeId) -> Result<Path, RouteError>>(
    question: &Question<'_, R>,
    trial: &mut Trial,
    first: usize,
    hosts: &[NodeId],
    least: Option<u128>,
) -> Result<Option<Aggregation>, PlanError> {
    let Question { now, updates, server, route, order } = question;
    let mut commits = vec![*now; updates.len()];
    let mut reasons = vec![UpdateReason::Direct { ends: *now }; updates.len()];
    let mut groups = Vec::new();
    let mut spent = 0;
    let mut direct = |trial: &mut Trial, members: &[usize]| {
        let mut ends = *now;
        for at in members {
            let update = &updates[*at];
            let from = update.available.max(*now);
            let end = trial
                .transfer(&update.path, from, update.size, Time::MAX)
                .ok_or(PlanError::Stuck { update: *at, after: from })?;
            (commits[*at], reasons[*at]) = (end, UpdateReason::Direct { ends: end });
            ends = ends.max(end);
            spent += u128::from(end.since(*now).as_ps());
            if least.is_some_and(|least| spent > least) {
                return Ok(None);
            }
        }
        Ok::<_, PlanError>(Some(ends))
    };
    let Some(mut free) = direct(trial, &order[..first])? else { return Ok(None) };
    groups.push(Group { at: None, updates: order[..first].to_vec(), ready: free, ends: free });

    let mut rest = order[first..].to_vec();
    let mut sums = Vec::new();
    for host in hosts {
        let (mut members, mut ready, mut size) = (Vec::new(), *now, Bytes::ZERO);
        let mark = trial.before.len();
        for at in &rest {
            let update = &updates[*at];
            let from = update.available.max(*now);
            let end = if update.worker == *host {
                Some(from).filter(|end| *end <= free) // It has its own update already.
            } else {
                trial.transfer(&route(update.worker, *host)?, from, update.size, free)
            };
            let Some(end) = end else { break };
            (ready, size) = (ready.max(end), size.max(update.size));
            members.push(*at);
        }
        // One alone is not a sum.
        if members.len() < 2 {
            trial.undo(mark);
            continue;
        }
        let path = route(*host, *server)?;
        let Some(ends) = trial.transfer(&path, ready, size, Time::MAX) else {
            trial.undo(mark);
            continue;
        };
        rest.drain(..members.len());
        for at in &members {
            sums.push((*at, ends, UpdateReason::Summed { at: *host, ready, free }));
        }
        free = free.max(ends);
        groups.push(Group { at: Some(*host), updates: members, ready, ends });
    }
    if !rest.is_empty() {
        let Some(ends) = direct(trial, &rest)? else { return Ok(None) };
        groups.push(Group { at: None, updates: rest, ready: ends, ends });
    }
    for (at, ends, reason) in sums {
        (commits[at], reasons[at]) = (ends, reason);
    }
    Ok(Some(Aggregation { groups, commits, reasons }))
}

/// A network in which transfers are tried: what they take can be given back.
struct Trial {
    left: Network,
    /// Links as they were before each reservation, oldest first.
    before: Vec<(LinkId, Steps)>,
}

impl Trial {
    /// Sends over all that a path has left; says when it has arrived, and takes the bandwidth away.
    /// Takes nothing where it would arrive later than `latest`.
    fn transfer(&mut self, path: &Path, from: Time, size: Bytes, latest: Time) -> Option<Time> {
        let ends = self.left.t_end(path, from, size).filter(|ends| *ends <= latest)?;
        let used = self.left.residual(path).used(from, ends);
        self.before.extend(path.iter().map(|link| (*link, self.left.link(*link).clone())));
        self.left.reserve_path(path, &used);
        Some(ends)
    }

    /// Gives back what was taken since there were so many reservations.
    fn undo(&mut self, mark: usize) {
        for (link, steps) in self.before.drain(mark..).rev() {
            self.left.set(link, steps);
        }
    }
}
