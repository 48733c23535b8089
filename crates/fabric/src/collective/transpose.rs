//! Shards with owners: contributions go straight to a shard's owner, who folds them and sends the
//! result to everybody.
//!
//! All-reduce by transpose, direct all-gather, and broadcast and barrier where ranks may be left
//! out. A loss touches one pair of ranks and one shard only, where in a ring it would take the sums
//! of all ranks before it along; and a shard has one owner who alone decides what it becomes. That is
//! why every all-reduce that may lose parts or ranks is done this way.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;

use super::{Context, Facts, Finished, Incoming, Machine, Word, agreement::Agreement};
use crate::{
    carrier::Lane,
    loss::{Account, Contributions, Share},
    options::{OnLoss, Operation},
};

/// Contributions to a shard's owner.
const CONTRIBUTE: u16 = 0;
/// A shard from its owner.
const SHARD: u16 = 1;
/// What went into it.
const ACCOUNT: u16 = 2;
/// Contributions to whoever takes an orphaned shard over: this plus the shard.
pub(super) const AGAIN: u16 = 16;

/// The machine.
#[derive(Debug)]
pub(crate) struct Transpose {
    pub(super) data: Bytes,
    pub(super) shards: Vec<Shard>,
    /// Shards that this rank folds.
    pub(super) folding: BTreeMap<usize, Contributions>,
    /// Where ranks may be left out.
    pub(super) agreement: Option<Agreement>,
    /// Whether shards come with accounts.
    accounts: bool,
}

/// A part of the result.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) owner: usize,
    /// Where it is in the result.
    pub(super) elements: Range<usize>,
    pub(super) bytes: Option<Bytes>,
    pub(super) account: Option<Account>,
}

impl Transpose {
    /// This rank's part in an operation.
    pub(crate) fn new(facts: &Facts, data: Bytes) -> Self {
        let shard = |owner, elements| Shard { owner, elements, bytes: None, account: None };
        let folds = facts.operation.reduce_op().is_some();
        let agreed = matches!(facts.options.on_loss, OnLoss::Continue { .. });
        let shards: Vec<_> = match facts.operation {
            Operation::Broadcast(root) => {
                let root = facts.group.position(root).expect("roots are checked");
                vec![shard(root, 0..facts.count)]
            }
            _ if folds => (0..facts.size()).map(|at| shard(at, facts.shard(at))).collect(),
            _ => {
                let count = facts.count;
                (0..facts.size()).map(|at| shard(at, at * count..(at + 1) * count)).collect()
            }
        };
        Self {
            data,
            shards,
            folding: BTreeMap::new(),
            agreement: agreed.then(|| Agreement::new(facts)),
            accounts: folds && (facts.is_lossy() || agreed),
        }
    }

    /// Whether a shard and its account are here.
    pub(super) fn holds(&self, shard: usize) -> bool {
        let shard = &self.shards[shard];
        shard.bytes.is_some() && (!self.accounts || shard.account.is_some())
    }

    /// Whether the whole result is here.
    pub(super) fn is_complete(&self) -> bool {
        (0..self.shards.len()).all(|shard| self.holds(shard))
    }

    /// Begins to fold a shard.
    pub(super) fn fold(&mut self, cx: &Context<'_>, shard: usize) {
        let elements = self.shards[shard].elements.clone();
        let reduction = cx.facts.reduction(elements.start);
        let mut all = Contributions::new(reduction, elements.clone(), cx.facts.size());
        all.take_own(cx.facts.me, cx.facts.contribution(&self.data, &elements));
        self.folding.insert(shard, all);
    }

    /// Finishes shards to which nothing more is waited for.
    pub(super) fn decide(&mut self, cx: &mut Context<'_>) {
        let ready = |(shard, all): (&usize, &Contributions)| all.is_complete().then_some(*shard);
        while let Some(shard) = self.folding.iter().find_map(ready) {
            let all = self.folding.remove(&shard).expect("it was just found");
            if let OnLoss::Continue { at_least } = cx.facts.options.on_loss
                && all.here() < at_least
            {
                let gone = self.agreement.as_ref().map(|it| &it.gone);
                let late = |at: &usize| gone.is_none_or(|gone| !gone.contains(at));
                let late = all.absent().iter().any(late);
                self.resign_as_too_few(cx);
                return cx.fail_too_few(all.here(), at_least, all.absent(), late);
            }
            let elements = self.shards[shard].elements.clone();
            let facts = cx.facts;
            let (stream, policy) = (facts.options.stream, facts.options.policy);
            let last = cx.memory.last(stream, facts.at, facts.element, &elements, policy);
            let (bytes, account) = all.finish(last);
            self.shards[shard].bytes = Some(bytes);
            // Without accounts of the other shards it would say little, and not the same on all ranks.
            self.shards[shard].account = self.accounts.then_some(account);
            if self.shards[shard].owner == cx.facts.me {
                self.publish(cx, shard);
            }
        }
        self.check(cx);
        if self.agreement.is_some() {
            self.settle(cx);
        }
    }

    /// Sends a shard that this rank owns to everybody.
    fn publish(&self, cx: &mut Context<'_>, shard: usize) {
        let Shard { bytes: Some(bytes), account, .. } = &self.shards[shard] else {
            unreachable!("only what is decided is published")
        };
        let account = account.as_ref().map(|account| Bytes::from(account.encode()));
        for to in cx.facts.others() {
            cx.send(to, SHARD, shard as u32, bytes.clone());
            if let Some(account) = &account {
                cx.send_bytes(to, ACCOUNT, shard as u32, account.clone());
            }
        }
    }

    /// Goes on when the result is complete.
    pub(super) fn check(&mut self, cx: &mut Context<'_>) {
        if cx.is_done() || !self.is_complete() {
            return;
        }
        if self.agreement.is_some() {
            self.have(cx);
        } else {
            self.finish(cx);
        }
    }

    /// Ends with the result.
    pub(super) fn finish(&self, cx: &mut Context<'_>) {
        let mut finished = Finished::default();
        for shard in &self.shards {
            finished.parts.extend(shard.bytes.clone());
            match &shard.account {
                Some(account) if cx.facts.operation.reduce_op().is_some() => {
                    finished.account(account, shard.elements.start, shard.elements.len());
                }
                // Where nothing is folded, only a part that is gone with its owner has an account.
                Some(_) => finished.gone(shard.owner, shard.elements.clone()),
                None => {}
            }
        }
        if cx.facts.operation == Operation::AllGather && self.agreement.is_some() {
            let share = |shard: &Shard| match (&shard.account, shard.elements.len() as u64) {
                (Some(_), all) => Share::left_out(all),
                (None, all) => Share::of(all, all),
            };
            finished.shares = self.shards.iter().map(share).collect();
        }
        cx.finish(finished);
    }

    /// A contribution that cannot be used: without it, or not at all.
    fn refuse(&mut self, cx: &mut Context<'_>, from: usize, shard: usize, reason: &str) {
        if self.agreement.is_none() {
            return cx.fail_nonsense(from, reason);
        }
        if let Some(all) = self.folding.get_mut(&shard) {
            all.leave_out(from);
        }
        self.decide(cx);
    }

    /// A shard or its account, from its owner.
    fn take_shard(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        let at = parcel.part as usize;
        let from_owner = self.shards.get(at).is_some_and(|shard| shard.owner == parcel.from);
        let left_out = self.agreement.as_ref().is_some_and(|it| it.without.contains(&parcel.from));
        if !from_owner {
            return cx.fail_nonsense(parcel.from, "it sent a shard that is not its own");
        }
        if left_out {
            return; // Too late: others may have decided it otherwise.
        }
        let (size, count) = (cx.facts.size(), self.shards[at].elements.len());
        if parcel.stage == ACCOUNT {
            let Some(account) = Account::decode(&parcel.body, size, count) else {
                return cx.fail_nonsense(parcel.from, "the account of its shard makes no sense");
            };
            self.shards[at].account = Some(account);
        } else {
            let (bytes, want) = (parcel.body.len(), count * cx.facts.element.size());
            if bytes != want || !parcel.missing.is_empty() {
                let reason = format!("its shard has {bytes} bytes, {want} were expected");
                return cx.fail_nonsense(parcel.from, reason);
            }
            self.shards[at].bytes = Some(parcel.body);
        }
        self.check(cx);
    }
}

impl Machine for Transpose {
    fn begin(&mut self, cx: &mut Context<'_>) {
        let me = cx.facts.me;
        let folds = cx.facts.operation.reduce_op().is_some();
        if folds {
            for to in cx.facts.others() {
                cx.contribute(to, CONTRIBUTE, &self.data, self.shards[to].elements.clone());
            }
            self.fold(cx, me);
        } else if let Some(own) = self.shards.iter().position(|shard| shard.owner == me) {
            self.shards[own].bytes = Some(self.data.clone());
            self.publish(cx, own);
        }
        if let Some(agreement) = &self.agreement {
            cx.wake(agreement.collect_by);
        }
        self.decide(cx);
    }

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        match (parcel.lane, parcel.stage) {
            (Lane::Repair, stage) if self.agreement.is_some() => {
                let size = cx.facts.size();
                match Word::decode(stage, &parcel.body, size) {
                    Some(word) => self.hear(cx, parcel.from, word),
                    None => cx.fail_nonsense(parcel.from, "a word of the agreement makes no sense"),
                }
            }
            (Lane::Collective, SHARD | ACCOUNT) => self.take_shard(cx, parcel),
            (Lane::Collective, stage) if stage == CONTRIBUTE || stage >= AGAIN => {
                let shard =
                    if stage == CONTRIBUTE { cx.facts.me } else { (stage - AGAIN) as usize };
                let Some(all) = self.folding.get_mut(&shard) else { return };
                match all.take(parcel.from, parcel.part, parcel.body, parcel.missing) {
                    Ok(()) => self.decide(cx),
                    Err(reason) => self.refuse(cx, parcel.from, shard, &reason),
                }
            }
            _ => cx.fail_nonsense(parcel.from, "it sent a step that does not exist"),
        }
    }

    fn failed(&mut self, cx: &mut Context<'_>, from: usize, stage: u16, reason: &str) {
        match &self.agreement {
            None => self.lost(cx, from, reason),
            Some(_) if stage == CONTRIBUTE => self.refuse(cx, from, cx.facts.me, reason),
            Some(_) => self.leave_out_late(cx, [from].into()),
        }
    }

    fn lost(&mut self, cx: &mut Context<'_>, position: usize, reason: &str) {
        if self.agreement.is_some() {
            self.leave_out_gone(cx, position);
        } else if self.awaits().contains(&position) {
            cx.fail_lost(position, reason);
        }
    }

    fn left(&mut self, cx: &mut Context<'_>, position: usize, reason: &str) {
        if let Some(agreement) = &mut self.agreement {
            agreement.departed.insert(position);
        }
        self.lost(cx, position, reason);
    }

    fn timeout(&mut self, cx: &mut Context<'_>) {
        self.hurry(cx);
    }

    fn leave(&mut self, cx: &mut Context<'_>) {
        let me = cx.facts.me;
        if self.agreement.as_ref().is_some_and(|view| view.without.contains(&me)) {
            cx.fail_left_out();
        } else {
            self.resign(cx);
        }
    }

    fn awaits(&self) -> Vec<usize> {
        self.blockers()
    }

    fn suspects(&self) -> Vec<usize> {
        // Owners whose shards are missing may wait for the same contributions as this rank.
        let silent: Vec<_> = self.folding.values().flat_map(|all| all.waiting()).collect();
        if silent.is_empty() { self.blockers() } else { silent }
    }
}
