//! Recursive halving and doubling: pairs exchange half of the data, then a quarter, … and back.
//!
//! With n ranks that are no power of two, the first 2·(n − p) positions, p the largest power of two
//! in n, first fold in pairs; the odd ones of them take part for both, and hand the result back
//! (Thakur, Rabenseifner and Gropp, 2005, §4.3).

use std::ops::Range;

use bytes::Bytes;
use laxity_protocol::ElementType;

use super::{Context, Facts, Finished, Incoming, Machine, Sending};
use crate::{
    element::{Accumulator, accumulator_of},
    options::ReduceOp,
};

/// A rank that takes part for another gets its data at this stage and gives the result at the next.
const HAND_IN: u16 = 1000;
const HAND_BACK: u16 = 1001;

/// The machine. Halving rounds are stages 0 to log₂ p − 1, doubling rounds follow.
#[derive(Debug)]
pub(crate) struct HalvingDoubling {
    data: Bytes,
    me: usize,
    size: usize,
    power: usize,
    op: ReduceOp,
    wide: ElementType,
    /// What is folded so far, in the wide type, of the shards in `part`.
    sum: Option<Bytes>,
    part: Range<usize>,
    /// Shards of the result that are here.
    shards: Vec<Option<Bytes>>,
    stage: u16,
    early: std::collections::BTreeMap<u16, Bytes>,
    done: bool,
}

impl HalvingDoubling {
    /// This rank's part in an all-reduce.
    pub(crate) fn new(facts: &Facts, data: Bytes) -> Self {
        let size = facts.size();
        let op = facts.operation.reduce_op().expect("an all-reduce folds");
        let power = 1 << size.ilog2();
        Self {
            data,
            me: facts.me,
            size,
            power,
            op,
            wide: accumulator_of(facts.element, op, false),
            sum: None,
            part: 0..power,
            shards: vec![None; power],
            stage: HAND_IN,
            early: std::collections::BTreeMap::new(),
            done: false,
        }
    }

    fn extra(&self) -> usize {
        self.size - self.power
    }

    /// Whether another rank takes part for this one.
    fn is_passive(&self) -> bool {
        self.me < 2 * self.extra() && self.me.is_multiple_of(2)
    }

    /// This rank's place among those that take part.
    fn place(&self) -> usize {
        if self.me < 2 * self.extra() { self.me / 2 } else { self.me - self.extra() }
    }

    fn position(&self, place: usize) -> usize {
        if place < self.extra() { 2 * place + 1 } else { place + self.extra() }
    }

    fn rounds(&self) -> u16 {
        self.power.ilog2() as u16
    }

    /// The partner in a round; halving goes from far to near, doubling back.
    fn partner(&self, stage: u16) -> usize {
        let bit = if stage < self.rounds() {
            self.power >> (stage + 1)
        } else {
            1 << (stage - self.rounds())
        };
        self.position(self.place() ^ bit)
    }

    /// Whom the next parcel comes from.
    fn expects(&self) -> Option<usize> {
        match self.stage {
            _ if self.done => None,
            HAND_IN => Some(self.me - 1),
            HAND_BACK => Some(self.me + 1),
            stage => Some(self.partner(stage)),
        }
    }

    /// Elements of these shards.
    fn elements(&self, facts: &Facts, shards: &Range<usize>) -> Range<usize> {
        let edge = |at: usize| super::shard(facts.count, self.power, at);
        match shards.is_empty() {
            true => 0..0,
            false => edge(shards.start).start..edge(shards.end - 1).end,
        }
    }

    /// The half that this rank keeps, and the one that it gives away.
    fn halves(&self, stage: u16) -> (Range<usize>, Range<usize>) {
        let middle = self.part.start + self.part.len() / 2;
        let (low, high) = (self.part.start..middle, middle..self.part.end);
        if self.place() & (self.power >> (stage + 1)) == 0 { (low, high) } else { (high, low) }
    }

    /// Numbers of equal count, folded in this order.
    fn accumulate(&self, bodies: &[(&Bytes, ElementType)]) -> Accumulator {
        let count = bodies.first().map_or(0, |(body, element)| body.len() / element.size());
        let mut sum = Accumulator::identity(self.wide, self.op, count);
        bodies.iter().for_each(|(body, element)| sum.fold(0, body, *element, self.op));
        sum
    }

    /// Does what this rank does at its stage before anything comes.
    fn step(&mut self, cx: &mut Context<'_>) {
        let facts = cx.facts;
        if self.stage < self.rounds() {
            let (_, give) = self.halves(self.stage);
            let (all, give) = (self.elements(facts, &self.part), self.elements(facts, &give));
            let sum = self.sum.as_ref().expect("folding began");
            let size = self.wide.size();
            let body = sum.slice((give.start - all.start) * size..(give.end - all.start) * size);
            let to = self.partner(self.stage);
            let sending = Sending::exact(to, self.stage, 0, body, self.wide);
            cx.effects.sends.push(sending);
            return;
        }
        if let Some(wide) = self.sum.take() {
            let mut sum = self.accumulate(&[(&wide, self.wide)]);
            if self.op == ReduceOp::Mean {
                sum.scale(0..sum.count(), 1, self.size as u64);
            }
            let place = self.place();
            self.shards[place] = Some(sum.into_bytes(facts.element));
        }
        if self.stage < 2 * self.rounds() {
            let body = joined(&self.shards[self.part.clone()]);
            let (to, stage) = (self.partner(self.stage), self.stage);
            cx.send(to, stage, 0, body);
            return;
        }
        let parts: Vec<_> = self.shards.iter_mut().filter_map(Option::take).collect();
        if self.me < 2 * self.extra() {
            let parts: Vec<_> = parts.iter().cloned().map(Some).collect();
            cx.send(self.me - 1, HAND_BACK, 0, joined(&parts));
        }
        self.done = true;
        cx.finish(Finished::exact(parts));
    }

    fn take(&mut self, cx: &mut Context<'_>, body: Bytes) -> Result<(), String> {
        let facts = cx.facts;
        let check = |elements: usize, size: usize| {
            let (bytes, want) = (body.len(), elements * size);
            if bytes == want { Ok(()) } else { Err(format!("it sent {bytes} bytes, not {want}")) }
        };
        match self.stage {
            HAND_IN => {
                check(facts.count, facts.element.size())?;
                let both = [(&body, facts.element), (&self.data, facts.element)];
                self.sum = Some(self.accumulate(&both).into_bytes(self.wide));
                self.stage = 0;
            }
            HAND_BACK => {
                check(facts.count, facts.element.size())?;
                self.done = true;
                cx.finish(Finished::exact(vec![body]));
                return Ok(());
            }
            stage if stage < self.rounds() => {
                let (keep, _) = self.halves(stage);
                let (all, kept) = (self.elements(facts, &self.part), self.elements(facts, &keep));
                check(kept.len(), self.wide.size())?;
                let whole = self.sum.take().expect("folding began");
                let size = self.wide.size();
                let mine =
                    whole.slice((kept.start - all.start) * size..(kept.end - all.start) * size);
                // By position, so that a sum does not depend on who adds.
                let first = self.me < self.partner(stage);
                let (one, two) = if first { (&mine, &body) } else { (&body, &mine) };
                let both = [(one, self.wide), (two, self.wide)];
                self.sum = Some(self.accumulate(&both).into_bytes(self.wide));
                self.part = keep;
                self.stage += 1;
            }
            _ => {
                let length = self.part.len();
                let theirs = match (self.part.start / length).is_multiple_of(2) {
                    true => self.part.end..self.part.end + length,
                    false => self.part.start - length..self.part.start,
                };
                let all = self.elements(facts, &theirs);
                let size = facts.element.size();
                check(all.len(), size)?;
                for shard in theirs.clone() {
                    let one = self.elements(facts, &(shard..shard + 1));
                    let bytes = (one.start - all.start) * size..(one.end - all.start) * size;
                    self.shards[shard] = Some(body.slice(bytes));
                }
                self.part = self.part.start.min(theirs.start)..self.part.end.max(theirs.end);
                self.stage += 1;
            }
        }
        self.step(cx);
        Ok(())
    }
}

/// Shards one after the other.
fn joined(shards: &[Option<Bytes>]) -> Bytes {
    if let [Some(one)] = shards {
        return one.clone();
    }
    let mut all = Vec::with_capacity(shards.iter().flatten().map(Bytes::len).sum());
    shards.iter().flatten().for_each(|shard| all.extend_from_slice(shard));
    Bytes::from(all)
}

impl Machine for HalvingDoubling {
    fn begin(&mut self, cx: &mut Context<'_>) {
        if self.is_passive() {
            self.stage = HAND_BACK;
            cx.send(self.me + 1, HAND_IN, 0, self.data.clone());
            return;
        }
        if self.me >= 2 * self.extra() {
            let own = self.accumulate(&[(&self.data, cx.facts.element)]);
            self.sum = Some(own.into_bytes(self.wide));
            self.stage = 0;
            self.step(cx);
        }
    }

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        let from = parcel.from;
        self.early.insert(parcel.stage, parcel.body);
        while let Some(body) = self.early.remove(&self.stage) {
            if self.done {
                break;
            }
            if let Err(reason) = self.take(cx, body) {
                return cx.fail_nonsense(from, reason);
            }
        }
    }

    fn awaits(&self) -> Vec<usize> {
        // Partners of later rounds too: that a rank is lost is told once, and not again in its round.
        let rounds = match self.stage {
            _ if self.done => 0..0,
            HAND_IN => 0..2 * self.rounds(),
            HAND_BACK => 0..0,
            stage => stage..2 * self.rounds(),
        };
        let later = rounds.filter(|stage| !self.early.contains_key(stage));
        self.expects().into_iter().chain(later.map(|stage| self.partner(stage))).collect()
    }

    fn suspects(&self) -> Vec<usize> {
        self.expects().into_iter().collect()
    }
}
