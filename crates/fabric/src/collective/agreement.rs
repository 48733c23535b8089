//! How ranks agree on a result when some may be left out.
//!
//! A *view* is the set of positions that are left out; it only grows. In a view the lowest position
//! that is not left out coordinates. Ranks that have every shard tell it; when all of the view have,
//! it says so, and only then does anybody return a result.
//!
//! Whoever learns that a position is gone or too late enters a larger view and tells everybody which
//! shards it has; from then on it takes no shard from that position any more. The coordinator waits
//! for the word of all of the view. A shard whose owner is left out and that somebody has is passed
//! on; one that nobody has is folded again, by the coordinator, from contributions sent again.
//!
//! CORRECTNESS: a rank returns a result only if all of some view had every shard. Later views are
//! subsets, so all of them hold the same shards, and a shard that is held is never folded again.
//! Hence all ranks that return a result return the same, however many views there were. Ranks that
//! are left out but alive may still return it: they take orphaned shards only from coordinators of the
//! view that was committed, or of later ones, who had them.
//!
//! Two views that share no rank must not both be committed. So one is committed only if more than
//! half of the group is in it, or if everybody outside of it is known to be gone: a rank that is
//! merely late can be left out only by a majority. (If a carrier reports ranks as lost that are alive
//! but out of reach, both sides of such a cut can go on, unless `at_least` is more than half.)

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use laxity_interface::{Span, Time};

use super::{
    Context, Facts, Word,
    transpose::{AGAIN, Transpose},
};
use crate::{
    loss::Account,
    options::{OnLoss, Operation},
};

/// What a rank knows of the agreement.
#[derive(Debug)]
pub(super) struct Agreement {
    /// The view.
    pub(super) without: BTreeSet<usize>,
    /// Those that are known to be gone, or to have given up.
    pub(super) gone: BTreeSet<usize>,
    /// Those of them that left in order since the operation began: likely with its result.
    pub(super) departed: BTreeSet<usize>,
    /// With fewer the operation fails.
    at_least: usize,
    /// Who said in this view which shards it has.
    states: BTreeMap<usize, BTreeSet<usize>>,
    /// Who said in this view that it has everything.
    have: BTreeSet<usize>,
    /// Orphaned shards that came, or were sent, in this view.
    settled: BTreeSet<usize>,
    /// Orphaned shards that this rank was given although it is left out, and in which view.
    given: BTreeMap<usize, BTreeSet<usize>>,
    /// Shards that others were asked for in this view.
    asked: BTreeSet<usize>,
    /// Contributions that were sent again: to whom, for which shard.
    again: BTreeSet<(usize, usize)>,
    /// Views in which everybody had everything.
    committed: BTreeSet<BTreeSet<usize>>,
    /// Numbers this rank's words.
    said: u32,
    /// Contributions that come after this are left out.
    pub(super) collect_by: Time,
    /// Who has not done its part by then is left out.
    late_at: Time,
    patience: Span,
    /// How many patiences have passed in this view.
    strikes: u32,
    me: usize,
    size: usize,
}

impl Agreement {
    /// Nobody is left out yet.
    pub(super) fn new(facts: &Facts) -> Self {
        let OnLoss::Continue { at_least } = facts.options.on_loss else {
            unreachable!("only those that may go on agree")
        };
        let (patience, collect_by) = (facts.beat(), facts.started + facts.patience());
        Self {
            without: BTreeSet::new(),
            gone: BTreeSet::new(),
            departed: BTreeSet::new(),
            at_least,
            states: BTreeMap::new(),
            have: BTreeSet::new(),
            settled: BTreeSet::new(),
            given: BTreeMap::new(),
            asked: BTreeSet::new(),
            again: BTreeSet::new(),
            committed: BTreeSet::new(),
            said: 0,
            collect_by,
            late_at: collect_by + patience,
            patience,
            strikes: 0,
            me: facts.me,
            size: facts.size(),
        }
    }

    fn coordinator(&self) -> usize {
        self.members().next().unwrap_or(0)
    }

    /// This rank is left out, and somebody gives it a shard. True if that one coordinates the view, which may
    /// be one that this rank has left behind, and nothing was given in a later one.
    fn is_given(&mut self, shard: usize, from: usize, without: BTreeSet<usize>) -> bool {
        let coordinator = (0..self.size).find(|position| !without.contains(position));
        let later = self.given.get(&shard).is_some_and(|view| without.is_subset(view));
        let takes = without.contains(&self.me) && coordinator == Some(from) && !later;
        if takes {
            self.given.insert(shard, without);
        }
        takes
    }

    fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.size).filter(|position| !self.without.contains(position))
    }

    /// Whether so few are left that there can be no result. Where ranks left in order there may be one, and
    /// whoever stayed may have it: that is asked first.
    fn is_too_few(&self, left: usize) -> bool {
        let may_know = left > 1 && left + self.departed.len() >= self.at_least;
        left < self.at_least && !may_know
    }
}

impl Transpose {
    fn view(&mut self) -> &mut Agreement {
        self.agreement.as_mut().expect("only called where ranks may be left out")
    }

    fn say(&mut self, cx: &mut Context<'_>, to: usize, word: &Word) {
        let view = self.view();
        view.said += 1;
        let number = view.said;
        cx.say(to, number, word);
    }

    /// A position is gone.
    pub(super) fn leave_out_gone(&mut self, cx: &mut Context<'_>, position: usize) {
        self.view().gone.insert(position);
        self.leave_out(cx, [position].into());
    }

    /// These are late, or out of reach: they are left out if enough others are here.
    pub(super) fn leave_out_late(&mut self, cx: &mut Context<'_>, who: BTreeSet<usize>) {
        let view = self.view();
        let left = view.members().filter(|member| !who.contains(member)).count();
        if left * 2 > view.size {
            self.leave_out(cx, who);
        }
    }

    /// Enters the view in which these are left out as well.
    pub(super) fn leave_out(&mut self, cx: &mut Context<'_>, who: BTreeSet<usize>) {
        let me = cx.facts.me;
        let now = cx.now;
        let view = self.view();
        let before = view.without.len();
        view.without.extend(&who);
        if cx.is_done() {
            return;
        }
        if view.without.len() == before {
            return self.check(cx); // It may now be known to be gone.
        }
        view.states.clear();
        view.have.clear();
        view.settled.clear();
        view.asked.clear();
        view.strikes = 0;
        // Contributions have their time, whoever else is gone, and owners as much again.
        view.late_at = now.max(view.collect_by) + view.patience;
        let without = view.without.clone();
        let left = cx.facts.size() - without.len();
        if view.is_too_few(left) {
            return self.fail_too_few(cx);
        }
        let all: Vec<_> = (0..self.shards.len()).collect();
        let holds: BTreeSet<_> = all.into_iter().filter(|shard| self.holds(*shard)).collect();
        let word = Word::State { without: without.clone(), holds: holds.clone() };
        for to in cx.facts.others() {
            self.say(cx, to, &word);
        }
        self.view().states.insert(me, holds);
        for folding in self.folding.values_mut() {
            without.iter().for_each(|position| folding.leave_out(*position));
        }
        let view = self.view();
        cx.wake(if now < view.collect_by { view.collect_by } else { view.late_at });
        self.decide(cx);
    }

    /// Ends the operation because too few are left in the view.
    fn fail_too_few(&mut self, cx: &mut Context<'_>) {
        self.resign_as_too_few(cx);
        let view = self.view();
        let (left, at_least) = (view.members().count(), view.at_least);
        let late = !view.without.is_subset(&view.gone);
        let without = view.without.iter().copied().collect();
        cx.fail_too_few(left, at_least, without, late);
    }

    /// Tells the others to go on without this rank, which has too few: they may know of enough, or wait for it.
    /// Who is late here may be in time there, so only those are named that are known to be gone.
    pub(super) fn resign_as_too_few(&mut self, cx: &mut Context<'_>) {
        let Some(view) = &self.agreement else { return };
        let mut without = view.gone.clone();
        without.insert(cx.facts.me);
        let word = Word::State { without, holds: BTreeSet::new() };
        for to in cx.facts.others() {
            self.say(cx, to, &word);
        }
    }

    /// A word of another rank.
    pub(super) fn hear(&mut self, cx: &mut Context<'_>, from: usize, word: Word) {
        let theirs = word.without().clone();
        if let Word::Commit { .. } = word {
            self.view().committed.insert(theirs.clone());
        }
        let resigns = matches!(word, Word::State { .. }) && theirs.contains(&from);
        if resigns {
            self.view().gone.insert(from); // It has given up.
            // Those without whom it did come first: if they are too many here as well, they are to blame.
            let before = theirs.iter().copied().filter(|at| *at != from).collect::<BTreeSet<_>>();
            if !before.is_subset(&self.view().without) {
                self.leave_out(cx, before);
            }
        }
        // That it has given up may be all that was missing in this very view.
        if resigns || !theirs.is_subset(&self.view().without) {
            self.leave_out(cx, theirs.clone());
        }
        if cx.is_done() {
            return;
        }
        self.heed_commit(cx);
        let me = cx.facts.me;
        let left_out = self.view().without.contains(&me);
        let given = left_out && matches!(word, Word::Settle { .. });
        if cx.is_done() || (theirs != self.view().without && !given) {
            return; // Of a view that is no more: whoever said it will hear of this one.
        }
        let coordinator = self.view().coordinator();
        match word {
            Word::State { holds, .. } => {
                self.view().states.insert(from, holds);
                self.settle(cx);
            }
            Word::Have { .. } => {
                self.view().have.insert(from);
                self.check(cx);
            }
            Word::Commit { .. } => {}
            Word::Ask { shard, .. } if from == coordinator => {
                if let Some(word) = self.settlement(shard) {
                    self.say(cx, from, &word);
                }
            }
            Word::Redo { .. } if cx.facts.operation.reduce_op().is_none() => {
                cx.fail_nonsense(from, "it asked for a contribution where nothing is folded");
            }
            Word::Redo { shard, .. } if from == coordinator && shard < self.shards.len() => {
                if self.view().again.insert((from, shard)) {
                    let elements = self.shards[shard].elements.clone();
                    cx.contribute(from, AGAIN + shard as u16, &self.data, elements);
                }
            }
            Word::Settle { shard, account, value, .. } if left_out => {
                if shard < self.shards.len() && self.view().is_given(shard, from, theirs) {
                    self.take_settled(cx, from, shard, &account, value);
                }
            }
            Word::Settle { shard, account, value, .. }
                if (from == coordinator || me == coordinator) && shard < self.shards.len() =>
            {
                self.take_settled(cx, from, shard, &account, value);
            }
            Word::Ask { .. } | Word::Redo { .. } | Word::Settle { .. } => {}
        }
    }

    /// An orphaned shard came.
    fn take_settled(
        &mut self,
        cx: &mut Context<'_>,
        from: usize,
        shard: usize,
        account: &[u8],
        value: Vec<u8>,
    ) {
        let count = self.shards[shard].elements.len();
        let account = match account.is_empty() {
            true => Some(None),
            false => Account::decode(account, cx.facts.size(), count).map(Some),
        };
        let (Some(account), true) = (account, value.len() == count * cx.facts.element.size())
        else {
            return cx.fail_nonsense(from, "an orphaned shard that it passed on makes no sense");
        };
        let left_out = self.view().without.contains(&cx.facts.me);
        if left_out || !self.holds(shard) {
            self.shards[shard].bytes = Some(Bytes::from(value));
            self.shards[shard].account = account;
        }
        if self.view().coordinator() == cx.facts.me {
            self.settle(cx);
        } else {
            self.view().settled.insert(shard);
        }
        self.heed_commit(cx);
        self.check(cx);
    }

    /// A shard as it is passed on.
    fn settlement(&mut self, shard: usize) -> Option<Word> {
        let without = self.view().without.clone();
        let held = self.shards.get(shard)?;
        let value = held.bytes.as_ref()?.to_vec();
        let account = held.account.as_ref().map(Account::encode).unwrap_or_default();
        Some(Word::Settle { without, shard, account, value })
    }

    /// As coordinator: sees to shards whose owner is left out, once all of the view have spoken.
    pub(super) fn settle(&mut self, cx: &mut Context<'_>) {
        let (me, members) = (cx.facts.me, self.view().members().collect::<Vec<_>>());
        let view = self.view();
        let all_spoke = members.iter().all(|member| view.states.contains_key(member));
        if cx.is_done() || members.first() != Some(&me) || !all_spoke {
            return;
        }
        let without = view.without.clone();
        for shard in 0..self.shards.len() {
            let owner = self.shards[shard].owner;
            if !without.contains(&owner) || self.view().settled.contains(&shard) {
                continue;
            }
            if let Some(word) = self.settlement(shard).filter(|_| self.holds(shard)) {
                self.view().settled.insert(shard);
                for to in cx.facts.others() {
                    // Whoever is left out may have folded it otherwise.
                    let has = self.view().states.get(&to).is_some_and(|has| has.contains(&shard));
                    if !has || without.contains(&to) {
                        self.say(cx, to, &word);
                    }
                }
                continue;
            }
            let holder = members.iter().copied().find(|member| {
                self.agreement.as_ref().is_some_and(|it| it.states[member].contains(&shard))
            });
            let folds = cx.facts.operation.reduce_op().is_some();
            match (holder, cx.facts.operation) {
                (Some(holder), _) => {
                    if self.view().asked.insert(shard) {
                        let word = Word::Ask { without: without.clone(), shard };
                        self.say(cx, holder, &word);
                    }
                }
                (None, _) if folds => self.redo(cx, shard, &members),
                (None, Operation::Broadcast(_)) => {
                    return cx.fail_lost(owner, "the root was lost before any rank had its data");
                }
                (None, _) => {
                    let bytes = self.shards[shard].elements.len() * cx.facts.element.size();
                    let delivered = vec![None; cx.facts.size()];
                    self.shards[shard].bytes = Some(Bytes::from(vec![0; bytes]));
                    self.shards[shard].account = Some(Account { delivered, thin: Vec::new() });
                    return self.settle(cx);
                }
            }
        }
        self.check(cx);
    }

    /// As coordinator that is about to commit: all of the view may have said that they have everything before all
    /// have said what it is, so that no orphaned shard was passed on. Those who are left out want them yet.
    fn give_to_left_out(&mut self, cx: &mut Context<'_>) {
        let view = self.view();
        let (without, settled) = (view.without.clone(), view.settled.clone());
        for shard in 0..self.shards.len() {
            if !without.contains(&self.shards[shard].owner) || settled.contains(&shard) {
                continue;
            }
            if let Some(word) = self.settlement(shard) {
                without.iter().for_each(|to| self.say(cx, *to, &word));
            }
        }
    }

    /// As coordinator: folds a shard that nobody has, from contributions sent again.
    fn redo(&mut self, cx: &mut Context<'_>, shard: usize, members: &[usize]) {
        if !self.folding.contains_key(&shard) {
            self.fold(cx, shard);
        }
        let without = self.view().without.clone();
        for to in members.iter().copied().filter(|to| *to != cx.facts.me) {
            self.say(cx, to, &Word::Redo { without: without.clone(), shard });
        }
        let folding = self.folding.get_mut(&shard).expect("it is being folded");
        without.iter().for_each(|position| folding.leave_out(*position));
        if folding.is_complete() {
            self.decide(cx);
        }
    }

    /// This rank has everything.
    pub(super) fn have(&mut self, cx: &mut Context<'_>) {
        let me = cx.facts.me;
        self.heed_commit(cx);
        if cx.is_done() || self.view().without.contains(&me) {
            return;
        }
        let members = self.view().members().collect::<Vec<_>>();
        let view = self.view();
        let without = view.without.clone();
        let coordinator = view.coordinator();
        let first_time = view.have.insert(me);
        if coordinator != me {
            if first_time {
                self.say(cx, coordinator, &Word::Have { without });
            }
            return;
        }
        let sure = members.len() * 2 > view.size || view.without.is_subset(&view.gone);
        if sure && members.iter().all(|member| view.have.contains(member)) {
            if members.len() < view.at_least {
                // Those who left in order did not leave a result behind.
                return self.fail_too_few(cx);
            }
            self.give_to_left_out(cx);
            let word = Word::Commit { without };
            for to in cx.facts.others() {
                self.say(cx, to, &word);
            }
            cx.effects.last_word = Some(Bytes::from(word.encode()));
            self.finish(cx);
        }
    }

    /// Ends if everybody has everything and so has this rank.
    fn heed_commit(&mut self, cx: &mut Context<'_>) {
        if cx.is_done() || !self.is_complete() {
            return;
        }
        let me = cx.facts.me;
        let orphans: Vec<_> = self.shards.iter().map(|shard| shard.owner).collect();
        let view = self.view();
        let ended = view.committed.iter().find(|without| {
            // Who is left out has not told anybody what it has: it must have been given every
            // orphaned shard in that very view, or in a later one, which had the same.
            let same = |shard| match view.given.get(&shard) {
                Some(later) => without.is_subset(later),
                None => !without.contains(&orphans[shard]),
            };
            !without.contains(&me) || (0..orphans.len()).all(same)
        });
        if let Some(without) = ended {
            let word = Word::Commit { without: without.clone() };
            cx.effects.last_word = Some(Bytes::from(word.encode()));
            self.finish(cx);
        }
    }

    /// Time passes: contributions that are late are left out, and then ranks that are.
    pub(super) fn hurry(&mut self, cx: &mut Context<'_>) {
        let Some(view) = &self.agreement else { return };
        let (at_least, collect_by, late_at) = (view.at_least, view.collect_by, view.late_at);
        if cx.now >= collect_by {
            let own = self.folding.get_mut(&cx.facts.me);
            if let Some(all) = own.filter(|all| all.here() >= at_least) {
                let late: Vec<_> = all.waiting().collect();
                late.into_iter().for_each(|position| all.leave_out(position));
                self.decide(cx);
            }
        }
        if cx.is_done() {
            return;
        }
        let view = self.view();
        if cx.now >= late_at {
            view.strikes += 1;
            view.late_at = cx.now + view.patience;
            cx.wake(view.late_at);
            let left_out = view.without.contains(&cx.facts.me);
            let late = self.late();
            if !left_out && !late.is_empty() {
                self.leave_out_late(cx, late);
            }
        } else {
            cx.wake(if cx.now < collect_by { collect_by } else { late_at });
        }
    }

    /// Tells the others to go on without this rank.
    pub(super) fn resign(&mut self, cx: &mut Context<'_>) {
        let Some(view) = &self.agreement else { return };
        let mut without = view.without.clone();
        without.insert(cx.facts.me);
        let word = Word::State { without, holds: BTreeSet::new() };
        for to in cx.facts.others() {
            self.say(cx, to, &word);
        }
    }

    /// Who is to be left out after so many patiences in this view. Whoever owes a shard goes first;
    /// whoever may itself wait for such a one has more time, and the coordinator, which waits for
    /// everybody, has most.
    fn late(&mut self) -> BTreeSet<usize> {
        let (owners, others) = self.owing();
        let view = self.view();
        let coordinates = view.coordinator() == view.me;
        match view.strikes {
            0 | 1 => owners,
            2 if coordinates => owners.union(&others).copied().collect(),
            2 => owners,
            _ => owners.union(&others).copied().collect(),
        }
    }

    /// Owners of shards that this rank lacks; and others that it waits for.
    fn owing(&self) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut owners, mut others) = (BTreeSet::new(), BTreeSet::new());
        for (at, shard) in self.shards.iter().enumerate() {
            if self.holds(at) || self.folding.contains_key(&at) {
                continue;
            }
            match &self.agreement {
                Some(view) if view.without.contains(&shard.owner) => {
                    others.insert(view.coordinator());
                }
                _ => _ = owners.insert(shard.owner),
            }
        }
        others.extend(self.folding.values().flat_map(|all| all.waiting()));
        if let Some(view) = &self.agreement {
            let complete = self.is_complete();
            if view.coordinator() != view.me {
                others.extend(complete.then(|| view.coordinator()));
            } else {
                let unheard =
                    |at: &usize| !view.states.contains_key(at) && !view.without.is_empty();
                let silent = |at: &usize| unheard(at) || (complete && !view.have.contains(at));
                others.extend(view.members().filter(silent));
            }
            others.remove(&view.me);
        }
        (owners, others)
    }

    /// Who keeps this rank from finishing.
    pub(super) fn blockers(&self) -> Vec<usize> {
        let (owners, others) = self.owing();
        owners.union(&others).copied().collect()
    }
}
