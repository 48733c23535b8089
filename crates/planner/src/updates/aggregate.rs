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

    /// When the last update is committed.
    pub fn last(&self) -> Option<Time> {
        self.commits.iter().max().copied()
    }
}

/// Splits updates into a first group that goes straight to the server and groups that are summed on
/// the way, for the least mean commit time; with `last`, for the earliest end of the last one, as a
/// synchronous server wants it. `hosts` are idle and may sum; `route` gives paths between nodes.
///
/// A group grows only while its sum is ready before the groups before it have reached the server:
/// then summing costs nothing, since the server's link is busy anyway. All sizes of the first group
/// and all numbers of hosts are tried; of equal results the one with fewer hosts is kept, and of
/// those the one with the larger first group.
pub fn aggregate(
    now: Time,
    network: &Network,
    updates: &[Update],
    server: NodeId,
    hosts: &[NodeId],
    last: bool,
    route: impl Fn(NodeId, NodeId) -> Result<Path, RouteError>,
) -> Result<Aggregation, PlanError> {
    let order: Vec<_> =
        order(now, network, updates, 0)?.updates.iter().map(|one| one.update).collect();
    let question = Question { now, updates, server, last, route };
    let mut trial = Trial { left: network.clone(), before: Vec::new() };
    // Everything direct, one after the other; first groups are what is left when the last are undone.
    let mut way = Way::new(now, updates.len());
    let mut marks = Vec::with_capacity(order.len());
    for at in &order {
        let so_far = (trial.before.len(), way.free, way.spent);
        marks.push(so_far);
        let stuck = || PlanError::Stuck { update: *at, after: updates[*at].available.max(now) };
        way.direct(&question, &mut trial, *at).ok_or_else(stuck)?;
    }
    let mut best = Best::default();
    if !order.is_empty() {
        let group = Group { at: None, updates: order.clone(), ready: way.free, ends: way.free };
        best.offer(&question, &way, (0, 0), || vec![group]);
    }
    for first in (1..order.len()).rev() {
        let (mark, free, spent) = marks[first];
        trial.undo(mark);
        if best.is_beyond(&question, spent) {
            continue; // Commits only become later.
        }
        let mut way = Way { free, spent, ..way.clone() };
        let direct = Group { at: None, updates: order[..first].to_vec(), ready: free, ends: free };
        let mut groups = vec![direct];
        let mut rest = &order[first..];
        for (count, host) in (1..).zip(hosts) {
            if let Some(group) = sum(&question, &mut trial, &mut way, *host, rest)? {
                rest = &rest[group.updates.len()..];
                groups.push(group);
            }
            // What is left goes straight to the server; with one more host it may not.
            let mark = trial.before.len();
            let mut end = way.clone();
            let fits = rest.iter().all(|at| {
                // A split in which an update never arrives is none.
                let arrives = end.direct(&question, &mut trial, *at).is_some();
                arrives && !best.is_beyond(&question, end.spent)
            });
            trial.undo(mark);
            if fits {
                best.offer(&question, &end, (count, order.len() - first), || {
                    let mut groups = groups.clone();
                    if let Some(ends) = rest.iter().map(|at| end.commits[*at]).max() {
                        let ready = ends.max(now);
                        groups.push(Group { at: None, updates: rest.to_vec(), ready, ends: ready });
                    }
                    groups
                });
            }
        }
    }
    let none = || Aggregation { groups: Vec::new(), commits: Vec::new(), reasons: Vec::new() };
    Ok(best.found.map_or_else(none, |(_, found)| found))
}

/// What is asked.
struct Question<'a, R> {
    now: Time,
    updates: &'a [Update],
    server: NodeId,
    last: bool,
    route: R,
}

/// How updates go, as far as that is tried.
#[derive(Clone)]
struct Way {
    commits: Vec<Time>,
    reasons: Vec<UpdateReason>,
    /// When the groups so far have reached the server.
    free: Time,
    /// The times until commits so far, added up, in picoseconds.
    spent: u128,
}

impl Way {
    fn new(now: Time, updates: usize) -> Self {
        let reasons = vec![UpdateReason::Direct { ends: now }; updates];
        Self { commits: vec![now; updates], reasons, free: now, spent: 0 }
    }

    fn commit(&mut self, now: Time, at: usize, ends: Time, reason: UpdateReason) {
        (self.commits[at], self.reasons[at]) = (ends, reason);
        self.spent += u128::from(ends.since(now).as_ps());
    }

    /// Sends one straight to the server; nothing, if it never arrives.
    fn direct<R>(
        &mut self,
        question: &Question<'_, R>,
        trial: &mut Trial,
        at: usize,
    ) -> Option<()> {
        let (now, update) = (question.now, &question.updates[at]);
        let from = update.available.max(now);
        let ends = trial.transfer(&update.path, from, update.size, Time::MAX)?;
        self.commit(now, at, ends, UpdateReason::Direct { ends });
        self.free = self.free.max(ends);
        Some(())
    }
}

/// Sums the first of `rest` at a host, as many as are there before the groups so far have reached the
/// server. Nothing, if that is not worth it: one alone is not a sum.
fn sum<R: Fn(NodeId, NodeId) -> Result<Path, RouteError>>(
    question: &Question<'_, R>,
    trial: &mut Trial,
    way: &mut Way,
    host: NodeId,
    rest: &[usize],
) -> Result<Option<Group>, PlanError> {
    let (now, free) = (question.now, way.free);
    let (mut members, mut ready, mut size) = (Vec::new(), now, Bytes::ZERO);
    let mark = trial.before.len();
    for at in rest {
        let update = &question.updates[*at];
        let from = update.available.max(now);
        let end = if update.worker == host {
            Some(from).filter(|end| *end <= free) // It has its own update already.
        } else {
            let path = (question.route)(update.worker, host)?;
            trial.transfer(&path, from, update.size, free)
        };
        let Some(end) = end else { break };
        (ready, size) = (ready.max(end), size.max(update.size));
        members.push(*at);
    }
    if members.len() < 2 {
        trial.undo(mark);
        return Ok(None);
    }
    let path = (question.route)(host, question.server)?;
    let Some(ends) = trial.transfer(&path, ready, size, Time::MAX) else {
        trial.undo(mark);
        return Ok(None);
    };
    for at in &members {
        way.commit(now, *at, ends, UpdateReason::Summed { at: host, ready, free });
    }
    way.free = free.max(ends);
    Ok(Some(Group { at: Some(host), updates: members, ready, ends }))
}

/// By what splits are compared: when the last is committed (if that counts), the mean, and then the number
/// of hosts and how many are not in the first group.
type Key = (Time, Span, (usize, usize));

/// The best split so far.
#[derive(Default)]
struct Best {
    found: Option<(Key, Aggregation)>,
}

impl Best {
    /// Whether a split that has spent so much cannot be the best any more.
    fn is_beyond<R>(&self, question: &Question<'_, R>, spent: u128) -> bool {
        // Means are whole picoseconds: only a larger one is worse.
        let mean = spent / question.updates.len().max(1) as u128;
        let best = self.found.as_ref().filter(|_| !question.last);
        best.is_some_and(|((_, least, _), _)| mean > u128::from(least.as_ps()))
    }

    fn offer<R>(
        &mut self,
        question: &Question<'_, R>,
        way: &Way,
        place: (usize, usize),
        groups: impl FnOnce() -> Vec<Group>,
    ) {
        let now = question.now;
        let last = way.commits.iter().max().copied().filter(|_| question.last);
        let mean = mean(way.commits.iter().map(|ends| ends.since(now)));
        let key = (last.unwrap_or(Time::ZERO), mean, place);
        if self.found.as_ref().is_none_or(|(least, _)| key < *least) {
            let (commits, reasons) = (way.commits.clone(), way.reasons.clone());
            self.found = Some((key, Aggregation { groups: groups(), commits, reasons }));
        }
    }
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
        let used = self.left.used(path, from, ends);
        for link in path.iter() {
            let less = self.left.link(*link).less(&used);
            self.before.push((*link, self.left.replace(*link, less)));
        }
        Some(ends)
    }

    /// Gives back what was taken since there were so many reservations.
    fn undo(&mut self, mark: usize) {
        for (link, steps) in self.before.drain(mark..).rev() {
            self.left.set(link, steps);
        }
    }
}
