//! Who holds the model: commits updates in order, keeps the staleness bound, feeds the replica and
//! acknowledges when the policy allows.

mod answer;
mod awaited;
mod cast;
mod commit;
mod decided;
mod follow;
mod options;
mod passing;
mod round;
mod weights;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
};

use laxity_interface::Time;

pub use self::options::{AckAfter, Mode, Replication, ServerError, ServerOptions};
use self::{
    answer::Owed, awaited::Awaited, commit::Candidate, follow::Follower, passing::Passing,
    round::Round,
};
pub(super) use self::{decided::Decided, passing::pass_on, weights::Weights};
use super::{
    Role, earliest,
    ids::{RoleKind, Version},
    notice::Notice,
    post::{Letter, Post, Way},
    reason::Reason,
    rule::Rule,
    words::{Get, Member, Promoted, Refused, Register, Word},
};
use crate::{carrier::Parcel, rank::Rank};

/// Who holds the model.
pub struct Server {
    me: Rank,
    options: ServerOptions,
    rule: Box<dyn Rule>,
    post: Post,
    notices: VecDeque<Notice>,
    weights: Weights,
    decided: Decided,
    /// What has arrived and is not committed, in commit order.
    queue: VecDeque<Candidate>,
    round: Round,
    living: BTreeSet<Rank>,
    /// How many updates each worker has pushed, as far as it has said.
    clocks: BTreeMap<Rank, u64>,
    questions: Vec<(Rank, Get)>,
    /// Who is about to ask, and how long those who have asked wait for them.
    expected: BTreeSet<Rank>,
    gathers: Option<Time>,
    passing: Passing,
    awaited: Awaited,
    follower: Option<Follower>,
    owed: VecDeque<Owed>,
    next_beat: Option<Time>,
    /// The epoch of who took over, if anybody did.
    deposed: Option<u32>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("me", &self.me)
            .field("version", &self.weights.version)
            .field("queue", &self.queue.len())
            .field("follower", &self.follower)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server at this rank with this model.
    pub fn new(
        me: Rank,
        model: Vec<f32>,
        rule: impl Rule + 'static,
        options: ServerOptions,
    ) -> Result<Self, ServerError> {
        options.check(model.len())?;
        let weights = Weights::new(model, options.momentum);
        let mut made = Self::with(me, weights, Decided::default(), Box::new(rule), options);
        made.register();
        Ok(made)
    }

    fn with(
        me: Rank,
        weights: Weights,
        decided: Decided,
        rule: Box<dyn Rule>,
        options: ServerOptions,
    ) -> Self {
        Self {
            me,
            rule,
            post: Post::new(me, RoleKind::Model, options.incarnation),
            notices: VecDeque::new(),
            round: Round::new(weights.elements()),
            weights,
            decided,
            queue: VecDeque::new(),
            living: options.workers.iter().copied().collect(),
            clocks: BTreeMap::new(),
            questions: Vec::new(),
            expected: options.workers.iter().copied().collect(),
            gathers: None,
            passing: Passing::default(),
            awaited: Awaited::default(),
            follower: None,
            owed: VecDeque::new(),
            next_beat: None,
            deposed: None,
            options,
        }
    }

    /// A replica takes the place of `of`: a new epoch begins, and everybody is told.
    pub(super) fn take_over(
        me: Rank,
        of: Rank,
        mut weights: Weights,
        decided: Decided,
        rule: Box<dyn Rule>,
        options: ServerOptions,
        post: Post,
    ) -> Self {
        weights.begin_epoch();
        let version = weights.version;
        let mut made = Self { post, ..Self::with(me, weights, decided, rule, options) };
        let word = Word::Promoted(Promoted { of, version });
        let workers = made.options.workers.clone();
        for worker in workers {
            made.post.send(Way::to(worker, RoleKind::Worker, version.epoch), &word, None);
        }
        for other in made.options.others.clone() {
            made.post.send(Way::to(other, RoleKind::Aggregator, version.epoch), &word, None);
        }
        // Should the old one live after all, it stops.
        made.post.send(Way::to(of, RoleKind::Model, version.epoch), &word, None);
        if let Some(scheduler) = made.options.scheduler {
            made.post.send(Way::to(scheduler, RoleKind::Scheduler, version.epoch), &word, None);
        }
        made.register();
        made
    }

    /// Does not wait for these workers, until they are heard of.
    pub(super) fn without(&mut self, lost: &BTreeSet<Rank>) {
        self.living.retain(|worker| !lost.contains(worker));
    }

    /// The version now.
    pub fn version(&self) -> Version {
        self.weights.version
    }

    /// The model now.
    pub fn model(&self) -> &[f32] {
        self.weights.values()
    }

    /// How far the replica can be away now; nothing without a replica.
    pub fn apart(&self) -> Option<f64> {
        let follower = self.follower.as_ref()?;
        follower.confirmed().map(|_| follower.apart())
    }

    /// How many commits have not been acknowledged to their workers.
    pub fn unacknowledged(&self) -> usize {
        self.owed.len()
    }

    fn epoch(&self) -> u32 {
        self.weights.version.epoch
    }

    fn register(&mut self) {
        let Some(scheduler) = self.options.scheduler else { return };
        let word = Register {
            role: RoleKind::Model,
            sync: matches!(self.options.mode, Mode::Sync { .. }),
            staleness: self.options.mode.staleness(),
            version: self.weights.version,
        };
        let way = Way::to(scheduler, RoleKind::Scheduler, self.epoch());
        self.post.send(way, &Word::Register(word), None);
    }

    /// Tells a worker that its update does not count.
    fn refuse(&mut self, members: &[Member], reason: Reason) {
        for member in members {
            let update = member.update;
            let way = Way::to(update.worker, RoleKind::Worker, self.epoch());
            self.post.send(way, &Word::Refused(Refused { update, reason }), None);
            self.notices.push_back(Notice::Refused { update, reason });
        }
        self.report(&[], members, Some(reason));
    }

    /// Somebody knows a newer server than this one.
    fn step_down(&mut self, epoch: u32) {
        if self.deposed.is_none() {
            self.deposed = Some(epoch);
            self.notices.push_back(Notice::Deposed { epoch });
            self.queue.clear();
            self.questions.clear();
            // CORRECTNESS: the replica refuses what an old epoch sends, so what is owed was not
            // replicated and must not be acknowledged.
            self.owed.clear();
            self.follower = None;
        }
    }
}

impl Role for Server {
    fn kind(&self) -> RoleKind {
        RoleKind::Model
    }

    fn handle_letter(&mut self, now: Time, letter: Letter) {
        let Letter { from, epoch, word, tensor, .. } = letter;
        if epoch > self.epoch() {
            self.step_down(epoch);
        }
        if self.options.workers.contains(&from) {
            self.living.insert(from);
        }
        match (word, tensor) {
            (Word::Update(word), Some(tensor)) => {
                if word.update.worker != from {
                    let what = format!(
                        "{from} sent {}, which only {} may send to {}",
                        word.update, word.update.worker, self.me
                    );
                    return self.notices.push_back(Notice::Refusal { from, what });
                }
                let super::words::Update { update, version, norm, .. } = word;
                let member = Member { update, version, norm, lost: tensor.lost() as u64 };
                self.arrived(now, vec![member], tensor);
            }
            (Word::Sum(mut word), Some(tensor)) if !word.members.is_empty() => {
                // What the sum lost is lost of each update in it, beside what was lost before.
                let (all, lost) = (tensor.elements() as u64, tensor.lost() as u64);
                for member in &mut word.members {
                    member.lost = member.lost.saturating_add(lost).min(all);
                }
                self.arrived(now, word.members, tensor);
            }
            (Word::Get(get), _) => self.asked(now, from, get),
            (Word::Clock(clock), _) => {
                match clock {
                    Some(clock) => self.clocked(from, clock),
                    None => {
                        self.living.remove(&from);
                        self.awaited.gone(from);
                    }
                }
                self.go_on(now);
            }
            (Word::Join, _) => self.joined(now, from),
            (Word::Stored(version), _) => self.stored(now, from, version),
            (Word::Beat(_), _) if self.options.scheduler == Some(from) => self.register(),
            (Word::Hosts(hosts), _) if self.options.scheduler == Some(from) => {
                hosts.iter().for_each(|one| self.passing.strength(one.host, one.rate));
            }
            (Word::Promoted(word), _) => self.step_down(word.version.epoch),
            (other, _) => self.notices.push_back(Notice::Refusal {
                from,
                what: format!("{from} said {other:?} to {}, which is a server", self.me),
            }),
        }
    }

    fn handle_lost(&mut self, now: Time, peer: Rank) {
        self.post.forget(peer);
        self.living.remove(&peer);
        self.clocks.remove(&peer);
        self.awaited.gone(peer);
        self.questions.retain(|(worker, _)| *worker != peer);
        let again = self.passing.lost(peer);
        self.questions.extend(again);
        if self.follower.as_ref().is_some_and(|follower| follower.rank == peer) {
            self.follower = None;
            self.notices.push_back(Notice::Replica { replica: peer, there: false });
        }
        self.go_on(now);
    }

    fn handle_undelivered(&mut self, now: Time, to: Rank, sequence: u64) {
        let again = self.passing.failed(sequence);
        self.questions.extend(again);
        self.answered(now, sequence);
        // A replica that misses a step cannot follow any more; it joins again.
        if self.follower.as_ref().is_some_and(|follower| follower.rank == to) {
            self.handle_lost(now, to);
        }
    }

    fn handle_delivered(&mut self, now: Time, _to: Rank, sequence: u64) {
        self.answered(now, sequence);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.next_beat.is_some_and(|beat| beat <= now) {
            self.beat(now);
        }
        self.go_on(now);
    }

    fn poll_parcel(&mut self, now: Time) -> Option<Parcel> {
        self.post.poll(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        let awaited = self.awaited.expires().filter(|_| !self.questions.is_empty());
        earliest([self.next_beat, self.round.ends, self.gathers, awaited, self.post.next_time()])
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{
        Add,
        ids::{SumId, UpdateId},
        tensor::Tensor,
        words::Sum,
    };

    #[test]
    fn what_a_sum_lost_is_lost_of_each_update_in_it() {
        let [me, one, other, aggregator] = [0, 1, 2, 3].map(Rank::new);
        let options = ServerOptions::new([one, other]);
        let mut server = Server::new(me, vec![0.0; 10], Add, options).unwrap();
        let member = |worker, lost| Member {
            update: UpdateId { worker, number: 1 },
            version: Version::default(),
            norm: 1.0,
            lost,
        };
        let bytes = Tensor::new(&[0.5; 10]).bytes().clone();
        let tensor = Tensor::arrived(bytes, std::iter::once(2..5).collect());
        let members = vec![member(one, 4), member(other, 9)];
        let letter = Letter {
            from: aggregator,
            from_role: RoleKind::Aggregator,
            to_role: RoleKind::Model,
            epoch: 0,
            word: Word::Sum(Sum { sum: SumId(0), members }),
            tensor: Some(tensor),
        };
        server.handle_letter(Time::ZERO, letter);
        let Some(Notice::Commit(commit)) = server.poll_notice() else { panic!("no commit") };
        let lost: Vec<_> = commit.members.iter().map(|member| member.lost).collect();
        // 4 before and 3 now; no more than there are.
        assert_eq!(lost, [7, 10]);
    }
}
