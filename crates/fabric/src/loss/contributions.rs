//! Contributions to one shard, folded in the order of positions whenever they come.

use std::ops::Range;

use bytes::Bytes;
use laxity_protocol::ElementType;

use super::{
    Account, Importance, Layout, LossPolicy, MAP, Thin,
    hadamard::{rotate, unrotate},
    ranges::{are_proper, present, total},
};
use crate::{
    element::{Accumulator, accumulator_of},
    options::ReduceOp,
};

/// How contributions become a result.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Reduction {
    pub(crate) element: ElementType,
    pub(crate) op: ReduceOp,
    pub(crate) policy: LossPolicy,
    pub(crate) importance: Importance,
    /// The seed by which contributions were rotated.
    pub(crate) rotated: Option<u64>,
}

/// What one position contributed so far.
#[derive(Debug)]
enum Contribution {
    Waiting { layout: Option<Layout>, parts: Vec<Option<Part>> },
    Ready { layout: Layout, parts: Vec<Option<Part>> },
    Folded,
    Absent,
}

#[derive(Clone, Debug)]
struct Part {
    body: Bytes,
    missing: Vec<Range<usize>>,
}

/// Everything that is contributed to one shard, at the rank that folds it.
///
/// Floating-point sums depend on their order, so contributions are folded by position. Those that
/// come early wait for the ones before them; memory is bounded by the contributions of the shard.
#[derive(Debug)]
pub(crate) struct Contributions {
    reduction: Reduction,
    shard: Range<usize>,
    from: Vec<Contribution>,
    /// Positions before this are folded or absent.
    next: usize,
    sum: Accumulator,
    delivered: Vec<Option<u64>>,
    /// Elements that a contribution lacks, of all of them.
    gaps: Vec<Range<usize>>,
}

impl Contributions {
    /// Nothing yet, of `size` positions, for these elements of the tensor.
    pub(crate) fn new(reduction: Reduction, shard: Range<usize>, size: usize) -> Self {
        let lossy = reduction.importance.is_lossy();
        let kind = accumulator_of(reduction.element, reduction.op, lossy);
        let sum = Accumulator::identity(kind, reduction.op, shard.len());
        let layout = Layout::fixed(&reduction.importance, &shard);
        let waiting = || {
            let parts = layout.as_ref().map_or(0, |layout| layout.classes.len());
            Contribution::Waiting { layout: layout.clone(), parts: vec![None; parts] }
        };
        let from = (0..size).map(|_| waiting()).collect();
        let delivered = vec![None; size];
        Self { reduction, shard, from, next: 0, sum, delivered, gaps: Vec::new() }
    }

    /// Takes this rank's own numbers, all of them.
    pub(crate) fn take_own(&mut self, position: usize, numbers: Bytes) {
        let layout = Layout::uniform(self.shard.len(), laxity_interface::Fraction::ONE);
        let parts = vec![Some(Part { body: numbers, missing: Vec::new() })];
        self.from[position] = Contribution::Ready { layout, parts };
        self.advance();
    }

    /// Takes a parcel. An error says what is wrong with it.
    pub(crate) fn take(
        &mut self,
        position: usize,
        part: u32,
        body: Bytes,
        missing: Vec<Range<usize>>,
    ) -> Result<(), String> {
        let Contribution::Waiting { layout, parts } = &mut self.from[position] else {
            return Ok(()); // Left out, or told twice.
        };
        if part == MAP {
            let Importance::ByMagnitude { classes, above, block } = &self.reduction.importance
            else {
                return Err("it sent a map of classes, which nobody asked for".to_owned());
            };
            let count = self.shard.len();
            let read = Layout::from_map(&body, count, classes, *above, *block)
                .filter(|_| missing.is_empty())
                .ok_or("its map of classes makes no sense")?;
            *layout = Some(read);
        } else {
            let part = part as usize;
            let exist = match (layout.as_ref(), &self.reduction.importance) {
                (_, Importance::ByMagnitude { classes, .. }) => classes.len() + 1,
                (layout, _) => layout.map_or(0, |layout| layout.classes.len()),
            };
            if part >= exist {
                return Err(format!("it sent part {part}, which does not exist"));
            }
            if parts.len() <= part {
                parts.resize_with(part + 1, || None);
            }
            parts[part] = Some(Part { body, missing });
        }
        self.check_ready(position)
    }

    /// Notices that all parts of a contribution are here, and that they are what they should be.
    fn check_ready(&mut self, position: usize) -> Result<(), String> {
        let Contribution::Waiting { layout: Some(layout), parts } = &mut self.from[position] else {
            return Ok(());
        };
        let size = self.reduction.element.size();
        let mut complete = true;
        for (at, class) in layout.classes.iter().enumerate().filter(|(at, _)| layout.travels(*at)) {
            let Some(Some(part)) = parts.get(at) else {
                complete = false;
                continue;
            };
            let (bytes, want) = (part.body.len(), class.count() * size);
            if bytes != want {
                return Err(format!("part {at} has {bytes} bytes, {want} were expected"));
            }
            if !are_proper(&part.missing, class.count()) {
                return Err(format!("part {at} lacks ranges that it does not have"));
            }
            let got = (class.count() - total(&part.missing)) as u64;
            let promised = class.min_delivery.of(class.count() as u64);
            if got < promised {
                return Err(format!("{got} elements of part {at} came, {promised} were promised"));
            }
        }
        if complete {
            let (layout, parts) = (layout.clone(), std::mem::take(parts));
            self.from[position] = Contribution::Ready { layout, parts };
            self.advance();
        }
        Ok(())
    }

    /// Leaves a position out, unless its contribution is here already.
    pub(crate) fn leave_out(&mut self, position: usize) {
        if let Contribution::Waiting { .. } = self.from[position] {
            self.from[position] = Contribution::Absent;
            self.advance();
        }
    }

    /// Positions whose contributions are not here.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        let waiting = |one: &Contribution| matches!(one, Contribution::Waiting { .. });
        self.from.iter().enumerate().filter(move |(_, one)| waiting(one)).map(|(at, _)| at)
    }

    /// Whether every contribution is here or left out.
    pub(crate) fn is_complete(&self) -> bool {
        self.next == self.from.len()
    }

    /// How many contributions are here.
    pub(crate) fn here(&self) -> usize {
        let here =
            |one: &&Contribution| matches!(one, Contribution::Ready { .. } | Contribution::Folded);
        self.from.iter().filter(here).count()
    }

    /// Positions that are left out.
    pub(crate) fn absent(&self) -> Vec<usize> {
        let absent = |(at, one)| matches!(one, &Contribution::Absent).then_some(at);
        self.from.iter().enumerate().filter_map(absent).collect()
    }

    /// Folds what can be folded without breaking the order.
    fn advance(&mut self) {
        while let Some(one) = self.from.get_mut(self.next) {
            match one {
                Contribution::Waiting { .. } => break,
                Contribution::Absent => {}
                Contribution::Folded => unreachable!("what is folded lies before `next`"),
                Contribution::Ready { .. } => {
                    let ready = std::mem::replace(one, Contribution::Folded);
                    let Contribution::Ready { layout, parts } = ready else { unreachable!() };
                    self.delivered[self.next] = Some(self.fold(&layout, &parts));
                }
            }
            self.next += 1;
        }
    }

    /// Folds one contribution; returns how many of its elements there were.
    fn fold(&mut self, layout: &Layout, parts: &[Option<Part>]) -> u64 {
        let (element, op) = (self.reduction.element, self.reduction.op);
        let size = element.size();
        let mut folded = 0;
        for (class, part) in layout.classes.iter().zip(parts) {
            let Some(Part { body, missing }) = part else { continue };
            let mut at = 0;
            for range in &class.ranges {
                for found in present(at..at + range.len(), missing) {
                    let bytes = &body[found.start * size..found.end * size];
                    self.sum.fold(range.start + found.start - at, bytes, element, op);
                    folded += found.len() as u64;
                }
                at += range.len();
            }
            self.gaps.extend(class.to_shard(missing));
        }
        folded
    }

    /// The result and what went into it. `last` has the numbers that the stream had here last time,
    /// with the factor that makes one contribution's mean of them.
    ///
    /// # Panics
    /// If a contribution is still waited for.
    pub(crate) fn finish(mut self, last: Option<(Bytes, f64)>) -> (Bytes, Account) {
        assert!(self.is_complete(), "contributions are waited for");
        let took_part = self.delivered.iter().flatten().count() as u64;
        let runs = runs(&self.gaps, took_part, self.shard.len());
        let Reduction { element, op, policy, rotated, .. } = self.reduction;
        if op.is_linear() {
            // What was folded is rotated, so what is added to it must be.
            let last = match (last, rotated) {
                (Some((numbers, factor)), Some(seed)) => {
                    Some((rotate(&numbers, element, seed), factor))
                }
                (last, _) => last,
            };
            for (range, here) in &runs {
                self.settle(range.clone(), *here, took_part, policy, last.as_ref());
            }
        }
        if let (Some(seed), Some(floats)) = (rotated, self.sum.as_floats()) {
            unrotate(floats, seed);
        }
        let thin = runs
            .into_iter()
            .filter(|(_, here)| *here < took_part)
            .map(|(elements, here)| Thin { elements, contributions: here as u32 })
            .collect();
        (self.sum.into_bytes(element), Account { delivered: self.delivered, thin })
    }

    /// Makes sums or means of a range in which `here` of `all` contributions were folded.
    fn settle(
        &mut self,
        range: Range<usize>,
        here: u64,
        all: u64,
        policy: LossPolicy,
        last: Option<&(Bytes, f64)>,
    ) {
        let mean = self.reduction.op == ReduceOp::Mean;
        let mut counted = all;
        match (policy, last) {
            (LossPolicy::Stale { .. }, Some((numbers, factor))) => {
                let (element, size) = (self.reduction.element, self.reduction.element.size());
                let numbers = &numbers[range.start * size..range.end * size];
                if here < all {
                    let factor = factor * (all - here) as f64;
                    self.sum.add_scaled(range.start, numbers, element, factor);
                }
            }
            (LossPolicy::Stale { .. } | LossPolicy::MeanOfReceived, _) => counted = here,
            (LossPolicy::Zero | LossPolicy::Feedback { .. }, _) => {}
        }
        if counted == 0 {
            return; // Nobody delivered it: it stays zero.
        }
        self.sum.scale(range, if mean { 1 } else { all }, counted);
    }
}

/// Cuts `0..count` where the number of contributions changes: `all` less the gaps there.
fn runs(gaps: &[Range<usize>], all: u64, count: usize) -> Vec<(Range<usize>, u64)> {
    let mut edges: Vec<(usize, i64)> = Vec::with_capacity(gaps.len() * 2);
    edges.extend(gaps.iter().flat_map(|gap| [(gap.start, -1), (gap.end, 1)]));
    edges.sort_unstable();
    let (mut runs, mut at, mut here): (Vec<(Range<usize>, u64)>, _, _) =
        (Vec::new(), 0, all as i64);
    for (edge, change) in edges.into_iter().chain([(count, 0)]) {
        if edge > at {
            match runs.last_mut() {
                Some((last, contributions)) if *contributions == here as u64 => last.end = edge,
                _ => runs.push((at..edge, here as u64)),
            }
            at = edge;
        }
        here += change;
    }
    runs
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;

    use super::*;
    use crate::element::into_bytes;

    fn reduction(op: ReduceOp, policy: LossPolicy) -> Reduction {
        let importance = Importance::Uniform(Fraction::new(0.5).unwrap());
        Reduction { element: ElementType::F32, op, policy, importance, rotated: None }
    }

    /// Four elements: the first from all three, the second and third from two, the last from one.
    fn three(op: ReduceOp, policy: LossPolicy, last: Option<(Bytes, f64)>) -> (Vec<f32>, Account) {
        let mut all = Contributions::new(reduction(op, policy), 0..4, 3);
        let numbers = |body: [f32; 4]| into_bytes(body.to_vec());
        all.take(2, 0, numbers([4.0, 4.0, 4.0, 0.0]), vec![3..4]).unwrap();
        all.take_own(0, numbers([1.0; 4]));
        assert!(!all.is_complete());
        assert_eq!(all.waiting().collect::<Vec<_>>(), [1]);
        all.take(1, 0, numbers([2.0, 0.0, 0.0, 0.0]), vec![1..3, 3..4]).expect_err("too little");
        all.take(1, 0, numbers([2.0, 0.0, 2.0, 0.0]), vec![1..2, 3..4]).unwrap();
        let (bytes, account) = all.finish(last);
        (bytemuck::pod_collect_to_vec(&bytes), account)
    }

    #[test]
    fn each_policy_makes_of_a_lost_part_what_it_says() {
        let (mean, zero) = (LossPolicy::MeanOfReceived, LossPolicy::Zero);
        assert_eq!(three(ReduceOp::Sum, zero, None).0, [7.0, 5.0, 7.0, 1.0]);
        assert_eq!(three(ReduceOp::Sum, mean, None).0, [7.0, 7.5, 7.0, 3.0]);
        assert_eq!(three(ReduceOp::Mean, zero, None).0, [7.0 / 3.0, 5.0 / 3.0, 7.0 / 3.0, 1. / 3.]);
        assert_eq!(three(ReduceOp::Mean, mean, None).0, [7.0 / 3.0, 2.5, 7.0 / 3.0, 1.0]);
        assert_eq!(three(ReduceOp::Max, mean, None).0, [4.0, 4.0, 4.0, 1.0]);
        assert_eq!(three(ReduceOp::Product, mean, None).0, [8.0, 4.0, 8.0, 1.0]);
        let stale = LossPolicy::Stale { max_age: 1, decay: 1.0 };
        let last = Some((into_bytes(vec![10.0f32; 4]), 1.0));
        assert_eq!(three(ReduceOp::Sum, stale, last).0, [7.0, 15.0, 7.0, 21.0]);
        assert_eq!(three(ReduceOp::Sum, stale, None).0, [7.0, 7.5, 7.0, 3.0]);
    }

    #[test]
    fn the_account_says_what_came() {
        let account = three(ReduceOp::Sum, LossPolicy::Zero, None).1;
        assert_eq!(account.delivered, [Some(4), Some(2), Some(3)]);
        let thin = |elements, contributions| Thin { elements, contributions };
        assert_eq!(account.thin, [thin(1..2, 2), thin(3..4, 1)]);
    }

    #[test]
    fn who_is_left_out_does_not_count() {
        let rule = reduction(ReduceOp::Mean, LossPolicy::Zero);
        let mut all = Contributions::new(rule, 0..1, 3);
        all.take_own(1, into_bytes(vec![6.0f32]));
        all.leave_out(0);
        all.take(2, 0, into_bytes(vec![2.0f32]), vec![]).unwrap();
        let (bytes, account) = all.finish(None);
        assert_eq!(bytemuck::pod_read_unaligned::<f32>(&bytes), 4.0);
        assert_eq!(account.delivered, [None, Some(1), Some(1)]);
    }
}
