//! Parts go round: each rank passes a shard on to the next, adding its own numbers on the way.
//!
//! After n−1 rounds each rank holds its shard, folded; after n−1 more everybody holds everything.
//! Shards are cut into segments that follow one another, so that links and processors work at the
//! same time. Each shard is folded in the same order every time: from the owner's next position
//! round to the owner.

use std::ops::Range;

use bytes::Bytes;
use laxity_protocol::ElementType;

use super::{Context, Facts, Finished, Incoming, Machine, Sending};
use crate::{
    element::{Accumulator, accumulator_of},
    options::{Operation, ReduceOp},
};

/// The machine. Rounds of folding are stages 0 to n−2, rounds of sharing n−1 to 2n−3.
#[derive(Debug)]
pub(crate) struct Ring {
    data: Bytes,
    me: usize,
    size: usize,
    folds: Option<ReduceOp>,
    shares: bool,
    segment: usize,
    /// The result, by shard and segment.
    result: Vec<Vec<Option<Bytes>>>,
    left: usize,
    /// Segments of others' shards that have to go through this rank. Where shards are shared, the result
    /// cannot be here before they have.
    to_pass: usize,
    wide: ElementType,
}

impl Ring {
    /// This rank's part in an operation.
    pub(crate) fn new(facts: &Facts, data: Bytes) -> Self {
        let (me, size) = (facts.me, facts.size());
        let folds = facts.operation.reduce_op();
        let shares = !matches!(facts.operation, Operation::ReduceScatter(_));
        let wide = folds.map_or(facts.element, |op| accumulator_of(facts.element, op, false));
        let segment = (facts.options.segment / facts.element.size()).max(1);
        let (result, left, to_pass) = (Vec::new(), 0, 0);
        let mut ring = Self { data, me, size, folds, shares, segment, result, left, to_pass, wide };
        ring.result = (0..size).map(|at| vec![None; ring.segments(facts, at).len()]).collect();
        let wanted = |at: usize| shares || at == me;
        ring.left = (0..size).filter(|at| wanted(*at)).map(|at| ring.result[at].len()).sum();
        // All but the one that begins here.
        let passes = |at: usize| !wanted(at) && at != ring.before(1);
        ring.to_pass = (0..size).filter(|at| passes(*at)).map(|at| ring.result[at].len()).sum();
        ring
    }

    /// The elements of a shard in the result.
    fn elements(&self, facts: &Facts, shard: usize) -> Range<usize> {
        match self.folds {
            Some(_) => facts.shard(shard),
            None => shard * facts.count..(shard + 1) * facts.count,
        }
    }

    /// The segments of a shard; one, if it is empty.
    fn segments(&self, facts: &Facts, shard: usize) -> Vec<Range<usize>> {
        let elements = self.elements(facts, shard);
        let count = elements.len().div_ceil(self.segment).max(1);
        let cut = |at: usize| {
            let start = elements.start + at * self.segment;
            start..(start + self.segment).min(elements.end)
        };
        (0..count).map(cut).collect()
    }

    /// This rank's own numbers.
    fn own(&self, facts: &Facts, elements: &Range<usize>) -> Bytes {
        let size = facts.element.size();
        self.data.slice(elements.start * size..elements.end * size)
    }

    fn next(&self) -> usize {
        (self.me + 1) % self.size
    }

    fn before(&self, steps: usize) -> usize {
        (self.me + self.size - steps % self.size) % self.size
    }

    fn pass(&self, cx: &mut Context<'_>, stage: usize, segment: u32, body: Bytes, of: ElementType) {
        let sending = Sending::exact(self.next(), stage as u16, segment, body, of);
        cx.effects.sends.push(sending);
    }

    /// A segment of the result is here; it goes on unless the next one has it already.
    fn settle(&mut self, cx: &mut Context<'_>, shard: usize, segment: u32, body: Bytes) {
        let place = &mut self.result[shard][segment as usize];
        if place.replace(body.clone()).is_some() {
            return cx.fail_nonsense(self.before(1), "it sent the same segment twice");
        }
        self.left -= 1;
        if self.shares && self.next() != shard {
            // How many have passed it on so far.
            let gone = (self.me + self.size - shard) % self.size;
            self.pass(cx, self.size - 1 + gone, segment, body, cx.facts.element);
        }
        self.check(cx);
    }

    /// Ends if nothing is left to get or to pass on. Parcels overtake one another, so that a rank can have
    /// its own shard before it has added its numbers to others'.
    fn check(&mut self, cx: &mut Context<'_>) {
        if self.left == 0 && self.to_pass == 0 {
            let parts = self.result.iter_mut().flatten().filter_map(Option::take).collect();
            cx.finish(Finished::exact(parts));
        }
    }

    /// Adds this rank's numbers to a segment that is on its way to its owner.
    fn fold(&mut self, cx: &mut Context<'_>, op: ReduceOp, round: usize, parcel: &Incoming) {
        let shard = self.before(round + 2);
        let segments = self.segments(cx.facts, shard);
        let Some(elements) = segments.get(parcel.part as usize) else {
            return cx.fail_nonsense(parcel.from, "it sent a segment that does not exist");
        };
        let element = cx.facts.element;
        // The first one sends its numbers as they are; sums travel in the wide type.
        let of = if round == 0 { element } else { self.wide };
        if parcel.body.len() != elements.len() * of.size() {
            return cx.fail_nonsense(parcel.from, "it sent a segment of another length");
        }
        let mut sum = Accumulator::identity(self.wide, op, elements.len());
        sum.fold(0, &parcel.body, of, op);
        sum.fold(0, &self.own(cx.facts, elements), element, op);
        if shard != self.me {
            let body = sum.into_bytes(self.wide);
            self.pass(cx, round + 1, parcel.part, body, self.wide);
            if !self.shares {
                self.to_pass = self.to_pass.saturating_sub(1);
                self.check(cx);
            }
            return;
        }
        if op == ReduceOp::Mean {
            sum.scale(0..elements.len(), 1, self.size as u64);
        }
        self.settle(cx, shard, parcel.part, sum.into_bytes(element));
    }
}

impl Machine for Ring {
    fn begin(&mut self, cx: &mut Context<'_>) {
        let facts = cx.facts;
        let first = if self.folds.is_some() { self.before(1) } else { self.me };
        let segments = self.segments(facts, first);
        for (segment, elements) in segments.iter().enumerate() {
            let segment = segment as u32;
            match self.folds {
                Some(_) if self.size > 1 => {
                    self.pass(cx, 0, segment, self.own(facts, elements), facts.element);
                }
                Some(_) => self.settle(cx, first, segment, self.own(facts, elements)),
                None => {
                    let start = self.me * facts.count;
                    let own = elements.start - start..elements.end - start;
                    self.settle(cx, first, segment, self.own(facts, &own));
                }
            }
        }
    }

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        let stage = usize::from(parcel.stage);
        if parcel.from != self.before(1) || stage + 2 > 2 * self.size {
            return cx.fail_nonsense(parcel.from, "it sent a round that does not exist");
        }
        match self.folds {
            Some(op) if stage + 1 < self.size => self.fold(cx, op, stage, &parcel),
            _ if stage + 1 >= self.size && self.shares => {
                let shard = self.before(stage + 2 - self.size);
                let segments = self.segments(cx.facts, shard);
                let want = segments.get(parcel.part as usize).map(ExactSizeIterator::len);
                if want.map(|count| count * cx.facts.element.size()) != Some(parcel.body.len()) {
                    return cx.fail_nonsense(parcel.from, "it sent a segment of another length");
                }
                self.settle(cx, shard, parcel.part, parcel.body);
            }
            _ => cx.fail_nonsense(parcel.from, "it sent a round that does not exist"),
        }
    }

    fn awaits(&self) -> Vec<usize> {
        if self.left + self.to_pass > 0 && self.size > 1 {
            vec![self.before(1)]
        } else {
            Vec::new()
        }
    }
}
