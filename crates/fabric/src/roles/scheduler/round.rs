//! One round of planning: a pure function of what waits, what is on its way, and the network.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_planner::{
    Network, PlanError, Steps,
    updates::{Group, Update, UpdateReason, aggregate, drop_late, order},
};
use laxity_topology::{NodeId, Path, RouteError};

use super::{
    SchedulerOptions,
    view::{Left, Link, Part, View},
};
use crate::{
    rank::Rank,
    roles::{
        ids::{SumId, UpdateId},
        reason::Reason,
        words::{Action, Announce, Entry, Gather, Through},
    },
};

/// What is known of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ServerFacts {
    pub(super) commits: u64,
    pub(super) epoch: u32,
    pub(super) staleness: Option<u64>,
    pub(super) sync: bool,
}

/// A transfer that was planned and is not known to be over.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Booking {
    pub(super) update: UpdateId,
    pub(super) server: Rank,
    pub(super) at: Option<Rank>,
    pub(super) links: Vec<Link>,
    pub(super) used: Steps,
    pub(super) ends: Time,
}

/// An announcement that waits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Waiting {
    pub(super) announce: Announce,
}

/// What the round sees.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) now: Time,
    pub(super) view: &'a View,
    pub(super) servers: &'a BTreeMap<Rank, ServerFacts>,
    pub(super) booked: &'a [Booking],
    /// Hosts that could sum, the strongest first.
    pub(super) helpers: &'a [Rank],
    pub(super) options: &'a SchedulerOptions,
    pub(super) next_sum: u64,
}

/// What was decided.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) entries: Vec<Entry>,
    pub(super) gathers: Vec<(Rank, Gather)>,
    pub(super) booked: Vec<Booking>,
    pub(super) sums: u64,
}

/// Plans everything that waits, server by server, each in parts of bounded size; what one part uses is
/// gone for the next.
///
/// Where the planner has no answer (a path without any bandwidth), updates go straight to the server:
/// the view may be wrong, and training goes on.
pub(super) fn plan(question: &Question<'_>, waiting: &[Waiting]) -> Answer {
    let mut answer = Answer::default();
    let mut left = Left::new(question.view);
    let mut ahead: BTreeMap<Rank, u64> = BTreeMap::new();
    for booking in question.booked {
        left.take(&booking.links, &booking.used);
        // Updates that are on their way are committed before those that wait.
        *ahead.entry(booking.server).or_default() += u64::from(booking.at.is_none());
    }
    let mut by_server: BTreeMap<Rank, Vec<&Waiting>> = BTreeMap::new();
    for one in waiting {
        by_server.entry(one.announce.server).or_default().push(one);
    }
    let mut idle = question.helpers.to_vec();
    for (server, updates) in by_server {
        let facts = question.servers.get(&server).copied().unwrap_or_default();
        let mut place = ahead.get(&server).copied().unwrap_or(0);
        for part in updates.chunks(question.options.most_together.max(1)) {
            let version = facts.commits + place;
            let to = To { server, facts, version };
            match plan_part(question, to, part, &mut idle, &left, answer.sums) {
                Ok(found) => {
                    found.booked.iter().for_each(|one| left.take(&one.links, &one.used));
                    place +=
                        found.entries.iter().filter(|e| e.action != Action::Drop).count() as u64;
                    answer.entries.extend(found.entries);
                    answer.gathers.extend(found.gathers);
                    answer.booked.extend(found.booked);
                    answer.sums += found.sums;
                }
                Err(_) => {
                    place += part.len() as u64;
                    answer.entries.extend(part.iter().map(|one| without_plan(one)));
                }
            }
        }
    }
    answer
}

fn without_plan(waiting: &Waiting) -> Entry {
    let action = Action::Send { after: Span::ZERO, rate: None, place: 0, through: None };
    Entry { update: waiting.announce.update, action, reason: Reason::NoPlan }
}

/// Where some updates go.
#[derive(Clone, Copy)]
struct To {
    server: Rank,
    facts: ServerFacts,
    /// The server's when they begin to arrive.
    version: u64,
}

/// Plans some updates for one server.
fn plan_part(
    question: &Question<'_>,
    To { server, facts, version }: To,
    waiting: &[&Waiting],
    idle: &mut Vec<Rank>,
    left: &Left<'_>,
    sums: u64,
) -> Result<Answer, PlanError> {
    let mut answer = Answer::default();
    let (now, options) = (question.now, question.options);
    let mut part = left.part();
    let helpers: Vec<_> = idle
        .iter()
        .copied()
        .filter(|host| options.aggregate && *host != server && waiting.len() > 1)
        .take(options.most_helpers)
        .collect();
    let updates: Vec<_> = waiting
        .iter()
        .map(|one| {
            let worker = one.announce.update.worker;
            for helper in helpers.iter().filter(|helper| **helper != worker) {
                part.add(worker, *helper);
            }
            Update {
                worker: NodeId(worker.get()),
                path: part.add(worker, server),
                size: Bytes::new(one.announce.bytes.max(1)),
                norm: one.announce.norm,
                version: one.announce.version.commits,
                available: now,
            }
        })
        .collect();
    for helper in &helpers {
        part.add(*helper, server);
    }
    let network = part.network();
    let (kept, dropped) = match facts.staleness.filter(|_| !facts.sync) {
        Some(bound) => {
            let patience = options.patience;
            let found = drop_late(now, &network, &updates, version, Some(bound), patience)?;
            (found.kept.updates, found.dropped)
        }
        None => (order(now, &network, &updates, version)?.updates, Vec::new()),
    };
    for (at, reason) in dropped {
        let reason = Reason::of(reason, now);
        let entry = Entry { update: waiting[at].announce.update, action: Action::Drop, reason };
        answer.entries.push(entry);
    }
    let kept: Vec<_> = kept.iter().map(|one| one.update).collect();
    let (groups, reasons) = if helpers.is_empty() || kept.len() < 2 {
        (vec![Group { at: None, updates: kept.clone(), ready: now, ends: now }], Vec::new())
    } else {
        let some: Vec<_> = kept.iter().map(|at| updates[*at].clone()).collect();
        let hosts: Vec<_> = helpers.iter().map(|helper| NodeId(helper.get())).collect();
        let route = |from: NodeId, to: NodeId| -> Result<Path, RouteError> {
            Ok(part.path(Rank::new(from.0), Rank::new(to.0)))
        };
        let server = NodeId(server.get());
        let found = aggregate(now, &network, &some, server, &hosts, facts.sync, route)?;
        let mut groups = found.groups;
        for group in &mut groups {
            group.updates.iter_mut().for_each(|at| *at = kept[*at]);
        }
        (groups, kept.iter().copied().zip(found.reasons).collect())
    };
    let mut booker = Booker { question, server, part: &part, network, made: Vec::new(), place: 0 };
    for group in &groups {
        match group.at {
            None => {
                for at in &group.updates {
                    let entry = booker.direct(waiting[*at].announce, &updates[*at])?;
                    answer.entries.push(entry);
                }
            }
            Some(host) => {
                let host = Rank::new(host.0);
                idle.retain(|one| *one != host);
                let sum = SumId(question.next_sum + sums + answer.sums);
                answer.sums += 1;
                let members: Vec<_> = group
                    .updates
                    .iter()
                    .map(|at| (waiting[*at].announce, &updates[*at], reason_of(&reasons, *at)))
                    .collect();
                let (entries, gather) = booker.summed(host, sum, group, &members)?;
                answer.entries.extend(entries);
                answer.gathers.push((host, gather));
            }
        }
    }
    answer.booked = booker.made;
    Ok(answer)
}

fn reason_of(reasons: &[(usize, UpdateReason)], at: usize) -> Option<UpdateReason> {
    reasons.iter().find(|(place, _)| *place == at).map(|(_, reason)| *reason)
}

/// Goes through a plan once more, transfer by transfer, to know when each starts and what it uses.
struct Booker<'a> {
    question: &'a Question<'a>,
    server: Rank,
    part: &'a Part<'a>,
    network: Network,
    made: Vec<Booking>,
    place: u32,
}

/// When a transfer uses what.
struct Moves {
    starts: Time,
    ends: Time,
    rate: Option<Rate>,
}

impl Booker<'_> {
    fn book(
        &mut self,
        update: UpdateId,
        at: Option<Rank>,
        path: &Path,
        from: Time,
        size: Bytes,
    ) -> Result<Moves, PlanError> {
        let stuck = PlanError::Stuck { update: self.made.len(), after: from };
        let ends = self.network.t_end(path, from, size).ok_or_else(|| stuck.clone())?;
        // Where nothing is left now: the first byte has arrived then; it left when there was bandwidth.
        let starts = match self.network.rate(path, from) {
            Rate::ZERO => self.network.t_end(path, from, Bytes::new(1)).ok_or(stuck)?,
            _ => from,
        };
        let at_start = self.network.rate(path, starts);
        let used = self.network.take(path, from, ends);
        let links = self.part.links(path);
        let alone = links.iter().filter_map(|link| self.question.view.rate(*link, starts)).min();
        // Where others use part of a link at the same time, it is told how fast it may go.
        let rate = Some(at_start).filter(|rate| Some(*rate) < alone);
        self.made.push(Booking { update, server: self.server, at, links, used, ends });
        Ok(Moves { starts, ends, rate: rate.filter(|rate| *rate > Rate::ZERO) })
    }

    fn next_place(&mut self) -> u32 {
        self.place += 1;
        self.place - 1
    }

    fn direct(&mut self, announce: Announce, update: &Update) -> Result<Entry, PlanError> {
        let now = self.question.now;
        let moves = self.book(announce.update, None, &update.path, now, update.size)?;
        let action = Action::Send {
            after: moves.starts.since(now),
            rate: moves.rate,
            place: self.next_place(),
            through: None,
        };
        let reason = Reason::Direct { ends: moves.ends.since(now) };
        Ok(Entry { update: announce.update, action, reason })
    }

    fn summed(
        &mut self,
        host: Rank,
        sum: SumId,
        group: &Group,
        members: &[(Announce, &Update, Option<UpdateReason>)],
    ) -> Result<(Vec<Entry>, Gather), PlanError> {
        let (now, grace) = (self.question.now, self.question.options.grace);
        let place = self.next_place();
        let mut starts = Vec::with_capacity(members.len());
        let mut size = Bytes::ZERO;
        for (announce, update, _) in members {
            size = size.max(update.size);
            let moves = if announce.update.worker == host {
                Moves { starts: now, ends: now, rate: None }
            } else {
                let path = self.part.path(announce.update.worker, host);
                self.book(announce.update, Some(host), &path, now, update.size)?
            };
            starts.push(moves);
        }
        let ready = starts.iter().map(|moves| moves.ends).max().unwrap_or(now).max(group.ready);
        let path = self.part.path(host, self.server);
        let first = members[0].0.update;
        let last = self.book(first, None, &path, ready, size)?;
        // All of them are committed with the sum.
        for (announce, ..) in &members[1..] {
            let (used, links) = (Steps::constant(Rate::ZERO), Vec::new());
            let (update, server, ends) = (announce.update, self.server, last.ends);
            self.made.push(Booking { update, server, at: None, links, used, ends });
        }
        let entries = members.iter().zip(starts).map(|((announce, _, reason), moves)| {
            // Later than the aggregator gives up: its sum is on the way by then.
            let give_up = last.ends.since(moves.starts) + grace * 2;
            let through = Some(Through { aggregator: host, sum, give_up });
            let after = moves.starts.since(now);
            let reason = reason
                .map_or(Reason::Direct { ends: Span::ZERO }, |reason| Reason::of(reason, now));
            let action = Action::Send { after, rate: moves.rate, place, through };
            Entry { update: announce.update, action, reason }
        });
        let gather = Gather {
            sum,
            server: self.server,
            members: members.iter().map(|(announce, ..)| announce.update).collect(),
            bound: ready.since(now) + grace,
        };
        Ok((entries.collect(), gather))
    }
}
