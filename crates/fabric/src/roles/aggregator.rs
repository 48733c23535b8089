//! Who sums updates of others, so that one transfer brings several to the server.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_interface::{Fraction, Span, Time};

use super::{
    Role, earliest,
    ids::{RoleKind, SumId, UpdateId, Version},
    notice::Notice,
    post::{Letter, Post, Way},
    reason::Reason,
    tensor::{Adding, Gaps, Tensor},
    words::{Gather, MOST_MEMBERS, Member, Refused, Register, Sum, Update, Word},
};
use crate::{
    carrier::{Parcel, Slack},
    rank::Rank,
};

/// The most sums under way. Contributions to further ones are sent on by themselves.
const MOST_SUMS: usize = 64;
/// The most ended sums that are remembered.
const MOST_CLOSED: usize = 1024;

/// How an aggregator works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AggregatorOptions {
    /// Who plans; it is told that this rank can sum.
    pub scheduler: Option<Rank>,
    /// The longest a sum waits for its members, from its first word on.
    pub bound: Span,
    /// What a lost element becomes.
    pub gaps: Gaps,
    /// How often this process has been started.
    pub incarnation: u32,
}

impl Default for AggregatorOptions {
    fn default() -> Self {
        Self { scheduler: None, bound: Span::from_secs(5), gaps: Gaps::Zero, incarnation: 0 }
    }
}

#[derive(Debug)]
struct Gathering {
    server: Rank,
    /// Who is waited for; nothing while only contributions have come and not the scheduler's word.
    absent: Option<BTreeSet<UpdateId>>,
    members: Vec<Member>,
    adding: Option<Adding>,
    /// How much of the sum must arrive, so that no member loses more than it may.
    min_delivery: Fraction,
    epoch: u32,
    until: Time,
}

/// Who sums updates of others.
#[derive(Debug)]
pub struct Aggregator {
    me: Rank,
    options: AggregatorOptions,
    post: Post,
    notices: VecDeque<Notice>,
    sums: BTreeMap<SumId, Gathering>,
    closed: BTreeSet<SumId>,
}

impl Aggregator {
    /// An aggregator at this rank.
    pub fn new(me: Rank, options: AggregatorOptions) -> Self {
        let post = Post::new(me, RoleKind::Aggregator, options.incarnation);
        let mut made = Self {
            me,
            options,
            post,
            notices: VecDeque::new(),
            sums: BTreeMap::new(),
            closed: BTreeSet::new(),
        };
        made.register();
        made
    }

    fn register(&mut self) {
        if let Some(scheduler) = self.options.scheduler {
            let (role, version) = (RoleKind::Aggregator, Version::default());
            let word = Register { role, sync: false, staleness: None, version };
            let way = Way::to(scheduler, RoleKind::Scheduler, 0);
            self.post.send(way, &Word::Register(word), None);
        }
    }

    fn open(&mut self, now: Time, sum: SumId, server: Rank, epoch: u32) -> &mut Gathering {
        let until = now + self.options.bound;
        self.sums.entry(sum).or_insert(Gathering {
            server,
            absent: None,
            members: Vec::new(),
            adding: None,
            min_delivery: Fraction::ZERO,
            epoch,
            until,
        })
    }

    fn gather(&mut self, now: Time, word: Gather) {
        if self.closed.contains(&word.sum) || self.full(word.sum) {
            return;
        }
        let bound = word.bound.min(self.options.bound);
        let gathering = self.open(now, word.sum, word.server, 0);
        let here: BTreeSet<_> = gathering.members.iter().map(|member| member.update).collect();
        let absent = word.members.into_iter().filter(|one| !here.contains(one)).collect();
        gathering.absent = Some(absent);
        gathering.until = gathering.until.min(now + bound);
        self.close_if_complete(word.sum);
    }

    fn full(&self, sum: SumId) -> bool {
        self.sums.len() >= MOST_SUMS && !self.sums.contains_key(&sum)
    }

    fn contribution(&mut self, now: Time, word: Update, epoch: u32, tensor: &Tensor) {
        let Some(sum) = word.sum else { return };
        let member = Member {
            update: word.update,
            version: word.version,
            norm: word.norm,
            lost: tensor.lost() as u64,
        };
        let still = still_needed(word.min_delivery, tensor);
        let alone = self.closed.contains(&sum) || self.full(sum);
        let complete = self.sums.get(&sum).is_some_and(|one| one.members.len() >= MOST_MEMBERS);
        if alone || complete {
            // Too late for its sum, not for the server.
            let mut adding = Adding::new(tensor.elements());
            adding.add(tensor, 1);
            self.send_on(sum, word.server, epoch, vec![member], adding, still);
            return;
        }
        let me = self.me;
        let gathering = self.open(now, sum, word.server, epoch);
        if gathering.members.iter().any(|one| one.update == word.update) {
            return;
        }
        let adding = gathering.adding.get_or_insert_with(|| Adding::new(tensor.elements()));
        if adding.elements() != tensor.elements() {
            let reason = Reason::Shape {
                worker: word.update.worker,
                sent: tensor.elements() as u64,
                server: me,
                held: adding.elements() as u64,
            };
            if let Some(absent) = &mut gathering.absent {
                absent.remove(&word.update);
            }
            let refused = Refused { update: word.update, reason };
            let way = Way::to(word.update.worker, RoleKind::Worker, epoch);
            self.post.send(way, &Word::Refused(refused), None);
            self.notices.push_back(Notice::Refused { update: word.update, reason });
            return self.close_if_complete(sum);
        }
        adding.add(tensor, 1);
        gathering.members.push(member);
        gathering.min_delivery = gathering.min_delivery.max(still);
        gathering.epoch = gathering.epoch.max(epoch);
        if let Some(absent) = &mut gathering.absent {
            absent.remove(&word.update);
        }
        self.close_if_complete(sum);
    }

    fn close_if_complete(&mut self, sum: SumId) {
        let complete = |one: &Gathering| one.absent.as_ref().is_some_and(BTreeSet::is_empty);
        if self.sums.get(&sum).is_some_and(complete) {
            self.close(sum);
        }
    }

    fn close(&mut self, sum: SumId) {
        let Some(gathering) = self.sums.remove(&sum) else { return };
        self.closed.insert(sum);
        if self.closed.len() > MOST_CLOSED {
            self.closed.pop_first();
        }
        let Gathering { server, absent, members, adding, min_delivery, epoch, .. } = gathering;
        let (updates, absent) = (members.len(), absent.map_or(0, |absent| absent.len()));
        self.notices.push_back(Notice::Summed { updates, absent });
        if let Some(adding) = adding.filter(|_| !members.is_empty()) {
            self.send_on(sum, server, epoch, members, adding, min_delivery);
        }
    }

    fn send_on(
        &mut self,
        sum: SumId,
        server: Rank,
        epoch: u32,
        members: Vec<Member>,
        adding: Adding,
        min_delivery: Fraction,
    ) {
        let tensor = Tensor::new(&adding.finish(self.options.gaps, false));
        let slack = Slack::at_least(min_delivery);
        let way = Way { slack, ..Way::to(server, RoleKind::Model, epoch) };
        self.post.send(way, &Word::Sum(Sum { sum, members }), Some(&tensor));
    }
}

impl Role for Aggregator {
    fn kind(&self) -> RoleKind {
        RoleKind::Aggregator
    }

    fn handle_letter(&mut self, now: Time, letter: Letter) {
        let Letter { from, epoch, word, tensor, .. } = letter;
        match (word, tensor) {
            (Word::Gather(word), _) if self.options.scheduler == Some(from) => {
                self.gather(now, word);
            }
            (Word::Update(word), Some(tensor)) if word.update.worker == from => {
                self.contribution(now, word, epoch, &tensor);
            }
            // Workers send what was on its way to the old server again, straight to the new one.
            (Word::Promoted(word), _) => {
                self.sums.retain(|_, one| one.server != word.of);
                let version = word.version;
                self.notices.push_back(Notice::Moved { from: word.of, to: from, version });
            }
            // Says who is there, so that a scheduler that was started again knows.
            (Word::Beat(_), _) if self.options.scheduler == Some(from) => self.register(),
            (other, _) => self.notices.push_back(Notice::Refusal {
                from,
                what: format!("{from} said {other:?} to {}, which is an aggregator", self.me),
            }),
        }
    }

    fn handle_lost(&mut self, _now: Time, peer: Rank) {
        self.post.forget(peer);
        // Nobody could take the sum; its workers send again to who takes over.
        self.sums.retain(|_, one| one.server != peer);
        for one in self.sums.values_mut() {
            if let Some(absent) = &mut one.absent {
                absent.retain(|update| update.worker != peer);
            }
        }
        for sum in self.sums.keys().copied().collect::<Vec<_>>() {
            self.close_if_complete(sum);
        }
    }

    fn handle_undelivered(&mut self, _now: Time, _to: Rank, _sequence: u64) {
        // The members' workers notice by themselves, after the bound of their entry.
    }

    fn handle_timeout(&mut self, now: Time) {
        let due: Vec<_> =
            self.sums.iter().filter(|(_, one)| one.until <= now).map(|(sum, _)| *sum).collect();
        for sum in due {
            self.close(sum);
        }
    }

    fn poll_parcel(&mut self, now: Time) -> Option<Parcel> {
        self.post.poll(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        let due = self.sums.values().map(|one| Some(one.until));
        earliest(due.chain([self.post.next_time()]))
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }
}

/// How much of an update must arrive from here on: what it has lost on its way here it cannot lose again.
fn still_needed(least: Fraction, tensor: &Tensor) -> Fraction {
    let all = tensor.elements() as u64;
    let needed = least.of(all).saturating_add(tensor.lost() as u64).min(all);
    match all {
        0 => Fraction::ONE,
        _ => Fraction::new(needed as f64 / all as f64).expect("a part of all elements"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(worker: u32, least: f64, lost: usize) -> Letter {
        let word = Update {
            update: UpdateId { worker: Rank::new(worker), number: 1 },
            version: Version::default(),
            norm: 1.0,
            min_delivery: Fraction::new(least).unwrap(),
            server: Rank::new(0),
            sum: Some(SumId(7)),
        };
        let missing = std::iter::once(0..lost).filter(|gap| !gap.is_empty()).collect();
        Letter {
            from: Rank::new(worker),
            from_role: RoleKind::Worker,
            to_role: RoleKind::Aggregator,
            epoch: 0,
            word: Word::Update(word),
            tensor: Some(Tensor::arrived(Tensor::new(&[1.0; 1000]).bytes().clone(), missing)),
        }
    }

    /// The least part of what leaves for the server, when these have come: `(minimum, lost)` of each.
    fn needed(updates: &[(f64, usize)]) -> f64 {
        let mut aggregator = Aggregator::new(Rank::new(9), AggregatorOptions::default());
        for (worker, (least, lost)) in (1..).zip(updates) {
            aggregator.handle_letter(Time::ZERO, update(worker, *least, *lost));
        }
        let late = Time::ZERO + Span::from_secs(60);
        aggregator.handle_timeout(late);
        let parcels = std::iter::from_fn(|| aggregator.poll_parcel(late));
        let tensor = parcels.last().expect("a sum leaves");
        tensor.slack.min_delivery.get()
    }

    #[test]
    fn what_was_lost_on_the_way_here_is_not_lost_again() {
        assert_eq!(needed(&[(0.9, 0)]), 0.9);
        assert_eq!(needed(&[(0.9, 60)]), 0.96);
        assert_eq!(needed(&[(0.9, 100)]), 1.0);
        assert_eq!(needed(&[(0.9, 60), (0.95, 0), (0.5, 450)]), 0.96);
        assert_eq!(needed(&[(0.0, 1000)]), 1.0);
        assert_eq!(needed(&[(0.0, 0)]), 0.0);
    }
}
