//! What a machine knows of its operation, and what it wants done.

use std::{collections::BTreeSet, ops::Range};

use bytes::Bytes;
use laxity_interface::{Fraction, Span, Time};
use laxity_protocol::ElementType;

use super::{Context, Word, shard};
use crate::{
    carrier::Lane,
    loss::{Account, Importance, Layout, MAP, Reduction, Share, Thin, rotate},
    options::{Operation, Options, ReduceOp},
    outcome::OpError,
    rank::Group,
};

/// What does not change while an operation runs.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) group: Group,
    /// This rank's position.
    pub(crate) me: usize,
    pub(crate) operation: Operation,
    pub(crate) element: ElementType,
    /// Elements that this rank gave.
    pub(crate) count: usize,
    pub(crate) options: Options,
    pub(crate) sequence: u64,
    /// Which operation of its stream this is.
    pub(crate) at: u64,
    pub(crate) started: Time,
    /// From the start.
    pub(crate) deadline: Option<Span>,
}

/// What a machine wants done.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) sends: Vec<Sending>,
    pub(crate) wake: Option<Time>,
    pub(crate) done: Option<Result<Finished, OpError>>,
    /// What to answer to ranks that still ask after this one has finished.
    pub(crate) last_word: Option<Bytes>,
}

/// A parcel that a machine wants sent.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    pub(crate) to: usize,
    pub(crate) lane: Lane,
    pub(crate) stage: u16,
    pub(crate) part: u32,
    pub(crate) body: Bytes,
    pub(crate) element: ElementType,
    pub(crate) min_delivery: Fraction,
    /// Where the elements lie in the tensor, if the sender wants back what is lost.
    pub(crate) places: Option<Vec<Range<usize>>>,
}

impl Sending {
    /// Everything must arrive.
    pub(crate) fn exact(
        to: usize,
        stage: u16,
        part: u32,
        body: Bytes,
        element: ElementType,
    ) -> Self {
        let (lane, min_delivery) = (Lane::Collective, Fraction::ONE);
        Self { to, lane, stage, part, body, element, min_delivery, places: None }
    }

    /// A word of the agreement after a loss.
    pub(crate) fn word(to: usize, part: u32, word: &Word) -> Self {
        let body = Bytes::from(word.encode());
        Self { lane: Lane::Repair, ..Self::exact(to, word.stage(), part, body, ElementType::U8) }
    }
}

/// How an operation ended well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finished {
    pub(crate) parts: Vec<Bytes>,
    /// What arrived of each contribution, by position. Empty if nothing could be lost.
    pub(crate) shares: Vec<Share>,
    pub(crate) left_out: BTreeSet<usize>,
    pub(crate) thin: Vec<Thin>,
}

impl Finished {
    /// A result of these parts, exact.
    pub(crate) fn exact(parts: Vec<Bytes>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Adds a part that nobody has.
    pub(crate) fn gone(&mut self, owner: usize, elements: Range<usize>) {
        self.left_out.insert(owner);
        if !elements.is_empty() {
            self.thin.push(Thin { elements, contributions: 0 });
        }
    }

    /// Adds what its owner says of a shard that starts at `start` in the result.
    pub(crate) fn account(&mut self, account: &Account, start: usize, count: usize) {
        let count = count as u64;
        self.shares.resize(account.delivered.len(), Share::default());
        for (position, delivered) in account.delivered.iter().enumerate() {
            let share = match delivered {
                Some(delivered) => Share::of(*delivered, count),
                None => {
                    self.left_out.insert(position);
                    Share::left_out(count)
                }
            };
            self.shares[position] = self.shares[position].and(&share);
        }
        self.thin.extend(account.thin.iter().map(|thin| Thin {
            elements: thin.elements.start + start..thin.elements.end + start,
            contributions: thin.contributions,
        }));
    }
}

impl Facts {
    /// How many members the group has.
    pub(crate) fn size(&self) -> usize {
        self.group.size()
    }

    /// Everybody else.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (me, size) = (self.me, self.size());
        // Beginning with the next, so that not all send to the same one first.
        (1..size).map(move |step| (me + step) % size)
    }

    /// The elements of a shard.
    pub(crate) fn shard(&self, position: usize) -> Range<usize> {
        shard(self.count, self.size(), position)
    }

    /// Whether parts of contributions may be lost.
    pub(crate) fn is_lossy(&self) -> bool {
        self.options.importance.is_lossy()
    }

    /// How contributions are folded.
    ///
    /// # Panics
    /// If the operation folds nothing.
    pub(crate) fn reduction(&self, start: usize) -> Reduction {
        Reduction {
            element: self.element,
            op: self.operation.reduce_op().expect("an operation that folds"),
            policy: self.options.policy,
            importance: self.options.importance.clone(),
            rotated: self.rotation(start),
        }
    }

    /// Whether contributions are sums of what is given to the result, and not the largest, say.
    fn is_linear(&self) -> bool {
        self.operation.reduce_op().is_some_and(ReduceOp::is_linear)
    }

    /// The seed of the rotation of the shard that starts at this element.
    pub(crate) fn rotation(&self, start: usize) -> Option<u64> {
        let group = u64::from(self.group.id().get());
        let seed = self.sequence ^ (group << 40) ^ ((start as u64) << 20);
        // The largest of rotated numbers is not the largest number rotated.
        (self.options.hadamard && self.is_linear()).then_some(seed)
    }

    /// This rank's numbers for a shard, rotated if they travel so.
    pub(crate) fn contribution(&self, data: &Bytes, elements: &Range<usize>) -> Bytes {
        let size = self.element.size();
        let numbers = data.slice(elements.start * size..elements.end * size);
        match self.rotation(elements.start) {
            Some(seed) => rotate(&numbers, self.element, seed),
            None => numbers,
        }
    }

    /// When late contributions are no longer waited for: the deadline; and if ranks may be left out
    /// but there is none, a sixth of the limit, so that there is time to agree.
    pub(crate) fn patience(&self) -> Span {
        self.deadline.unwrap_or(self.options.limit / 6).min(self.options.limit / 6)
    }

    /// How long after that it is looked again: as long, but with a deadline of nothing time must pass.
    pub(crate) fn beat(&self) -> Span {
        self.patience().max(Span::from_us(100))
    }
}

impl Context<'_> {
    /// Sends a contribution to a shard's owner, cut by importance.
    pub(crate) fn contribute(
        &mut self,
        to: usize,
        stage: u16,
        data: &Bytes,
        elements: Range<usize>,
    ) {
        let facts = self.facts;
        let (element, size) = (facts.element, facts.element.size());
        let numbers = facts.contribution(data, &elements);
        let layout = match &facts.options.importance {
            Importance::ByMagnitude { classes, above, block } => {
                let (layout, map) =
                    Layout::by_magnitude(&numbers, element, classes, *above, *block);
                let map = Sending::exact(to, stage, MAP, map, ElementType::U8);
                self.effects.sends.push(map);
                layout
            }
            fixed => Layout::fixed(fixed, &elements).expect("only magnitudes depend on numbers"),
        };
        for (part, class) in layout.classes.iter().enumerate() {
            if !layout.travels(part) {
                continue;
            }
            let places = class
                .ranges
                .iter()
                .map(|range| range.start + elements.start..range.end + elements.start);
            let body = class.body(&numbers, size);
            self.effects.sends.push(Sending {
                min_delivery: class.min_delivery,
                // What is lost of a rotated block is no number of the tensor; and what is lost of a
                // maximum is nothing that could be added to the next sum.
                places: (facts.is_linear() && !facts.options.hadamard).then(|| places.collect()),
                ..Sending::exact(to, stage, part as u32, body, element)
            });
        }
    }
}
