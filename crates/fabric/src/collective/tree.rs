//! Sums go up a tree and come down again, in segments one behind the other.
//!
//! `all_reduce` does both, `reduce` only goes up, `broadcast` only comes down. The tree is given as
//! the position above each position, so that the planner can choose it.

use std::ops::Range;

use bytes::Bytes;
use laxity_protocol::ElementType;

use super::{Context, Facts, Finished, Incoming, Machine, Sending};
use crate::{
    element::{Accumulator, accumulator_of},
    options::{Operation, ReduceOp},
};

const UP: u16 = 0;
const DOWN: u16 = 1;

/// The machine.
#[derive(Debug)]
pub(crate) struct Tree {
    data: Bytes,
    parent: Option<usize>,
    /// By position.
    children: Vec<usize>,
    folds: Option<ReduceOp>,
    comes_down: bool,
    wide: ElementType,
    segments: Vec<Segment>,
    left: usize,
}

#[derive(Debug)]
struct Segment {
    elements: Range<usize>,
    /// What each child sent up.
    sums: Vec<Option<Bytes>>,
    /// Whether they were passed up.
    risen: bool,
    result: Option<Bytes>,
}

impl Tree {
    /// This rank's part in an operation.
    pub(crate) fn new(facts: &Facts, parents: &[Option<usize>], data: Bytes) -> Self {
        let children: Vec<_> =
            (0..parents.len()).filter(|at| parents[*at] == Some(facts.me)).collect();
        let folds = facts.operation.reduce_op();
        let each = (facts.options.segment / facts.element.size()).max(1);
        let count = facts.count.div_ceil(each).max(1);
        let segment = |at: usize| Segment {
            elements: at * each..((at + 1) * each).min(facts.count),
            sums: vec![None; if folds.is_some() { children.len() } else { 0 }],
            risen: false,
            result: None,
        };
        Self {
            data,
            parent: parents[facts.me],
            folds,
            comes_down: !matches!(facts.operation, Operation::Reduce(..)),
            wide: folds.map_or(facts.element, |op| accumulator_of(facts.element, op, false)),
            segments: (0..count).map(segment).collect(),
            left: count,
            children,
        }
    }

    fn own(&self, facts: &Facts, elements: &Range<usize>) -> Bytes {
        let size = facts.element.size();
        self.data.slice(elements.start * size..elements.end * size)
    }

    /// Passes a segment up when all children have sent theirs.
    fn rise(&mut self, cx: &mut Context<'_>, op: ReduceOp, at: usize) {
        if self.segments[at].sums.iter().any(Option::is_none) {
            return;
        }
        self.segments[at].risen = true;
        let elements = self.segments[at].elements.clone();
        let mut sum = Accumulator::identity(self.wide, op, elements.len());
        sum.fold(0, &self.own(cx.facts, &elements), cx.facts.element, op);
        for body in self.segments[at].sums.iter_mut().filter_map(Option::take) {
            sum.fold(0, &body, self.wide, op);
        }
        match self.parent {
            Some(parent) => {
                let body = sum.into_bytes(self.wide);
                let sending = Sending::exact(parent, UP, at as u32, body, self.wide);
                cx.effects.sends.push(sending);
                if !self.comes_down {
                    self.end(cx, at, None);
                }
            }
            None => {
                if op == ReduceOp::Mean {
                    sum.scale(0..elements.len(), 1, cx.facts.size() as u64);
                }
                self.fall(cx, at, sum.into_bytes(cx.facts.element));
            }
        }
    }

    /// A segment of the result is here; it goes down.
    fn fall(&mut self, cx: &mut Context<'_>, at: usize, body: Bytes) {
        if self.comes_down {
            for child in &self.children {
                cx.send(*child, DOWN, at as u32, body.clone());
            }
        }
        self.end(cx, at, Some(body));
    }

    fn end(&mut self, cx: &mut Context<'_>, at: usize, body: Option<Bytes>) {
        self.segments[at].result = body;
        self.left -= 1;
        if self.left == 0 {
            let parts = self.segments.iter_mut().filter_map(|segment| segment.result.take());
            cx.finish(Finished::exact(parts.collect()));
        }
    }
}

impl Machine for Tree {
    fn begin(&mut self, cx: &mut Context<'_>) {
        for at in 0..self.segments.len() {
            match self.folds {
                Some(op) => self.rise(cx, op, at),
                None if self.parent.is_none() => {
                    let body = self.own(cx.facts, &self.segments[at].elements);
                    self.fall(cx, at, body);
                }
                None => {}
            }
        }
    }

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        let at = parcel.part as usize;
        let count = self.segments.get(at).map_or(0, |segment| segment.elements.len());
        let child = self.children.iter().position(|child| *child == parcel.from);
        match (parcel.stage, self.folds, child) {
            (UP, Some(op), Some(child))
                if at < self.segments.len()
                    && !self.segments[at].risen
                    && parcel.body.len() == count * self.wide.size() =>
            {
                self.segments[at].sums[child] = Some(parcel.body);
                self.rise(cx, op, at);
            }
            (DOWN, _, _)
                if self.parent == Some(parcel.from)
                    && at < self.segments.len()
                    && self.segments[at].result.is_none()
                    && parcel.body.len() == count * cx.facts.element.size() =>
            {
                self.fall(cx, at, parcel.body);
            }
            _ => cx.fail_nonsense(parcel.from, "it sent a segment that does not fit the tree"),
        }
    }

    fn awaits(&self) -> Vec<usize> {
        let missing = |child: usize| {
            self.segments.iter().any(|segment| !segment.risen && segment.sums[child].is_none())
        };
        let mut found = Vec::new();
        if self.left > 0 && self.folds.is_some() {
            let waiting = (0..self.children.len()).filter(|child| missing(*child));
            found.extend(waiting.map(|child| self.children[child]));
        }
        if self.left > 0 && self.comes_down {
            found.extend(self.parent);
        }
        found
    }
}

/// Whether these parents make one tree over all positions.
pub(crate) fn is_tree(parents: &[Option<usize>]) -> bool {
    let roots = parents.iter().filter(|parent| parent.is_none()).count();
    let climbs = |start: usize| {
        let mut at = start;
        for _ in 0..parents.len() {
            match parents[at] {
                None => return true,
                Some(parent) if parent < parents.len() => at = parent,
                Some(_) => return false,
            }
        }
        false
    };
    roots == 1 && (0..parents.len()).all(climbs)
}

/// A binomial tree below `root`: ⌈log₂ n⌉ levels.
pub(crate) fn binomial(size: usize, root: usize) -> Vec<Option<usize>> {
    let place = |at: usize| (at + size - root) % size;
    let parent = |at: usize| match place(at) {
        0 => None,
        place => Some(((place & (place - 1)) + root) % size),
    };
    (0..size).map(parent).collect()
}

/// A chain below `root`: each passes on to the next, and sends everything only once.
pub(crate) fn chain(size: usize, root: usize) -> Vec<Option<usize>> {
    let parent = |at: usize| (at != root).then(|| (at + size - 1) % size);
    (0..size).map(parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trees_are_trees_and_others_are_not() {
        for size in 1..20 {
            for root in 0..size {
                assert!(is_tree(&binomial(size, root)));
                assert!(is_tree(&chain(size, root)));
            }
        }
        assert!(!is_tree(&[None, None]));
        assert!(!is_tree(&[Some(1), Some(0)]));
        assert!(!is_tree(&[None, Some(7)]));
        assert!(!is_tree(&[None, Some(2), Some(1)]), "a circle beside the root");
    }
}
