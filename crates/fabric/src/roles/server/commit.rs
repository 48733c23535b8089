//! From arrival to commit.

use std::ops::Range;

use laxity_interface::Time;

use super::{Mode, Round, Server};
use crate::roles::ids::RoleKind;
use crate::roles::{
    ids::Version,
    notice::{Commit, Notice},
    post::Way,
    reason::Reason,
    rule::Facts,
    tensor::{Tensor, norm},
    words::{Committed, MOST_MEMBERS, Member, Progress, Refused, Step, Word},
};

/// An update, a sum or a round that can be committed.
#[derive(Debug)]
pub(super) struct Candidate {
    members: Vec<Member>,
    /// As it arrived, or what is added once the rule has seen it.
    values: Vec<f32>,
    missing: Vec<Range<usize>>,
    /// The norm of what is added, once the rule has seen it.
    ready: Option<f64>,
}

impl Server {
    /// An update or a sum has come.
    pub(super) fn arrived(&mut self, now: Time, members: Vec<Member>, tensor: Tensor) {
        for member in &members {
            self.awaited.came(now, member.update.worker, member.version);
        }
        if let Some(epoch) = self.deposed {
            return self.refuse(&members, Reason::Deposed { epoch });
        }
        if tensor.elements() != self.weights.elements() {
            for member in &members {
                let reason = Reason::Shape {
                    worker: member.update.worker,
                    sent: tensor.elements() as u64,
                    server: self.me,
                    held: self.weights.elements() as u64,
                };
                self.refuse(&[*member], reason);
            }
            return;
        }
        if self.seen_before(&members) {
            return;
        }
        if let Mode::Sync { .. } = self.options.mode {
            self.contribute(members, &tensor);
        } else {
            let values = tensor.filled(self.options.gaps);
            let missing = tensor.missing().to_vec();
            self.queue.push_back(Candidate { members, values, missing, ready: None });
        }
        self.go_on(now);
    }

    /// Whether a member is here already. A sum cannot be taken apart: its other members are asked for
    /// again, so that none counts twice and none is lost.
    fn seen_before(&mut self, members: &[Member]) -> bool {
        let here = |member: &Member| {
            let queued = self.queue.iter().flat_map(|one| &one.members);
            self.round.contains(member.update)
                || queued.into_iter().any(|one| one.update == member.update)
        };
        let committed = |member: &Member| self.decided.contains(member.update);
        let seen: Vec<_> = members.iter().map(|m| (*m, here(m), committed(m))).collect();
        if !seen.iter().any(|(_, here, committed)| *here || *committed) {
            return false;
        }
        for (member, here, committed) in seen {
            if committed && !self.is_owed(member.update) {
                let (update, version) = (member.update, self.weights.version);
                let way = Way::to(update.worker, RoleKind::Worker, version.epoch);
                let word = Committed { update, version, delay: 0 };
                self.post.send(way, &Word::Committed(word), None);
            } else if !committed && !here {
                self.refuse(&[member], Reason::Overlap);
            }
        }
        true
    }

    /// Synchronous mode: takes contributions to the present version.
    fn contribute(&mut self, members: Vec<Member>, tensor: &Tensor) {
        let now = self.weights.version;
        let closed = !self.queue.is_empty();
        let late = |member: &&Member| closed || self.weights.delay(member.version) > 0;
        match members.iter().find(late).map(|member| member.version) {
            Some(version) => self.refuse(&members, Reason::RoundOver { version, now }),
            None => self.round.add(members, tensor),
        }
    }

    /// Does everything that can be done now.
    pub(super) fn go_on(&mut self, now: Time) {
        loop {
            if let Mode::Sync { enough } = self.options.mode
                && self.queue.is_empty()
                && self.round.is_over(now, &self.living, enough)
            {
                let next = Round::new(self.weights.elements());
                let round = std::mem::replace(&mut self.round, next);
                let (values, members, missing) = round.finish(self.options.gaps);
                self.queue.push_back(Candidate { members, values, missing, ready: None });
            }
            if !self.commit_next() {
                break;
            }
        }
        self.feed(now);
        self.acknowledge();
        self.answer(now);
    }

    /// Commits or drops the first in the queue; says whether it did.
    fn commit_next(&mut self) -> bool {
        let Some(first) = self.queue.front_mut() else { return false };
        let delay = first.members.iter().map(|one| self.weights.delay(one.version)).max();
        let delay = delay.unwrap_or(0);
        if let Some(bound) = self.options.mode.staleness().filter(|bound| delay > *bound) {
            self.drop_first(Reason::TooStale { delay, bound });
            return true;
        }
        let norm = *first.ready.get_or_insert_with(|| {
            let commits = self.weights.version.commits;
            let facts = Facts { commits, delay, members: &first.members };
            self.rule.step(&mut first.values, &facts);
            norm(&first.values)
        });
        if !norm.is_finite() {
            self.drop_first(Reason::NotFinite);
            return true;
        }
        let most = self.options.replication.apart;
        if self.follower.as_ref().is_some_and(|follower| !follower.allows(norm, most)) {
            return false;
        }
        if let Some(first) = self.queue.pop_front() {
            self.commit(first, norm, delay);
        }
        true
    }

    fn drop_first(&mut self, reason: Reason) {
        if let Some(first) = self.queue.pop_front() {
            self.refuse(&first.members, reason);
        }
    }

    fn commit(&mut self, candidate: Candidate, norm: f64, delay: u64) {
        let Candidate { members, values, missing, .. } = candidate;
        let count = match self.options.mode {
            Mode::Sync { .. } => 1,
            _ => members.len() as u64,
        };
        let before = self.weights.version;
        let version = Version { commits: before.commits + count, ..before };
        let updates: Vec<_> = members.iter().map(|member| member.update).collect();
        let acks = members.iter().map(|member| Committed {
            update: member.update,
            version,
            delay: self.weights.delay(member.version),
        });
        self.owed.push_back(super::Owed { version, acks: acks.collect() });
        if let Some(follower) = &mut self.follower {
            let step = Step { before, version, members: updates.clone() };
            follower.committed(step, norm, || Tensor::new(&values));
        }
        self.expected.extend(updates.iter().map(|update| update.worker));
        self.weights.apply(values.into_iter(), version);
        for update in &updates {
            self.decided.insert(*update);
        }
        self.report(&members, &[], None);
        let apart = self.apart();
        let commit = Commit { version, members, delay, missing, apart };
        self.notices.push_back(Notice::Commit(commit));
    }

    /// Tells the scheduler what has become of updates.
    pub(super) fn report(
        &mut self,
        committed: &[Member],
        refused: &[Member],
        reason: Option<Reason>,
    ) {
        let Some(scheduler) = self.options.scheduler else { return };
        let version = self.weights.version;
        let committed: Vec<_> = committed.iter().map(|member| member.update).collect();
        let refused: Vec<_> = refused
            .iter()
            .filter_map(|member| reason.map(|reason| Refused { update: member.update, reason }))
            .collect();
        for at in (0..committed.len().max(refused.len())).step_by(MOST_MEMBERS) {
            let some = |len: usize| at.min(len)..(at + MOST_MEMBERS).min(len);
            let word = Progress {
                version,
                committed: committed[some(committed.len())].to_vec(),
                refused: refused[some(refused.len())].to_vec(),
            };
            let way = Way::to(scheduler, RoleKind::Scheduler, version.epoch);
            self.post.send(way, &Word::Progress(word), None);
        }
    }
}
