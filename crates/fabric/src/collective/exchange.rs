//! Parts of equal length, each from one rank to one other: `gather`, `scatter`, `all_to_all`.

use std::ops::Range;

use bytes::Bytes;

use super::{Context, Facts, Finished, Incoming, Machine, Sending};
use crate::{
    loss::{Importance, Share, Thin, are_proper, total},
    options::{OnLoss, Operation},
};

/// The machine.
#[derive(Debug)]
pub(crate) struct Exchange {
    data: Bytes,
    /// Parts of the result, by the position they come from.
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    NotWanted,
    Waiting,
    Here(Bytes, Vec<Range<usize>>),
    LeftOut,
}

impl Exchange {
    /// This rank's part in an operation.
    pub(crate) fn new(facts: &Facts, data: Bytes) -> Self {
        let me = facts.group.rank(facts.me);
        let wanted = |position: usize| match facts.operation {
            Operation::Gather(root) => root == me,
            Operation::Scatter(root) => root == facts.group.rank(position),
            _ => true,
        };
        let part = |position| if wanted(position) { Part::Waiting } else { Part::NotWanted };
        Self { data, parts: (0..facts.size()).map(part).collect() }
    }

    /// Bytes of one part.
    fn part_bytes(&self, facts: &Facts) -> usize {
        let gives_all = match facts.operation {
            Operation::Gather(_) => false,
            Operation::Scatter(root) => root == facts.group.rank(facts.me),
            _ => true,
        };
        if gives_all { self.data.len() / facts.size() } else { self.data.len() }
    }

    /// How many parts have come.
    fn here(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Here(..))).count()
    }

    fn check(&self, cx: &mut Context<'_>) {
        if self.parts.iter().any(|part| matches!(part, Part::Waiting)) {
            return;
        }
        let wanted = self.parts.iter().filter(|part| !matches!(part, Part::NotWanted)).count();
        if let OnLoss::Continue { at_least } = cx.facts.options.on_loss
            && wanted == cx.facts.size()
            && self.here() < at_least
        {
            let gone = |(at, part)| matches!(part, &Part::LeftOut).then_some(at);
            let without = self.parts.iter().enumerate().filter_map(gone).collect();
            return cx.fail_too_few(self.here(), at_least, without, false);
        }
        let size = cx.facts.element.size();
        let length = self.part_bytes(cx.facts);
        let mut finished = Finished::default();
        let accounted = cx.facts.is_lossy() || cx.facts.options.on_loss != OnLoss::Fail;
        if accounted && wanted > 0 {
            finished.shares = vec![Share::default(); cx.facts.size()];
        }
        for (position, part) in self.parts.iter().enumerate() {
            let start = finished.parts.len() * (length / size);
            match part {
                Part::NotWanted => continue,
                Part::Here(bytes, missing) => {
                    finished.parts.push(bytes.clone());
                    finished.thin.extend(missing.iter().map(|range| Thin {
                        elements: range.start + start..range.end + start,
                        contributions: 0,
                    }));
                    if accounted {
                        let all = length / size;
                        finished.shares[position] =
                            Share::of((all - total(missing)) as u64, all as u64);
                    }
                }
                Part::LeftOut => {
                    finished.parts.push(Bytes::from(vec![0; length]));
                    finished.left_out.insert(position);
                    if accounted {
                        finished.shares[position] = Share::left_out((length / size) as u64);
                    }
                }
                Part::Waiting => unreachable!("nothing is waited for"),
            }
        }
        cx.finish(finished);
    }
}

impl Machine for Exchange {
    fn begin(&mut self, cx: &mut Context<'_>) {
        let facts = cx.facts;
        let me = facts.me;
        let length = self.part_bytes(facts);
        let min_delivery = match &facts.options.importance {
            Importance::Uniform(least) => *least,
            _ => laxity_interface::Fraction::ONE,
        };
        let root = match facts.operation {
            Operation::Gather(root) | Operation::Scatter(root) => facts.group.position(root),
            _ => None,
        };
        let body = |to: usize| match facts.operation {
            Operation::Gather(_) => self.data.clone(),
            _ => self.data.slice(to * length..(to + 1) * length),
        };
        for to in facts.others() {
            let gets = match facts.operation {
                Operation::Gather(_) => root == Some(to),
                Operation::Scatter(_) => root == Some(me),
                _ => true,
            };
            if gets {
                let sending = Sending::exact(to, 0, 0, body(to), facts.element);
                cx.effects.sends.push(Sending { min_delivery, ..sending });
            }
        }
        if let Part::Waiting = self.parts[me] {
            self.parts[me] = Part::Here(body(me), Vec::new());
        }
        if facts.options.on_loss != OnLoss::Fail {
            cx.wake(facts.started + facts.patience());
        }
        self.check(cx);
    }

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        let want = self.part_bytes(cx.facts);
        match self.parts[parcel.from] {
            Part::Waiting if parcel.body.len() == want => {
                // They are elements of the type that the sender says its parcel is of.
                if !are_proper(&parcel.missing, want / cx.facts.element.size()) {
                    return cx.fail_nonsense(parcel.from, "its part lacks what it does not have");
                }
                self.parts[parcel.from] = Part::Here(parcel.body, parcel.missing);
                self.check(cx);
            }
            Part::Waiting => {
                let bytes = parcel.body.len();
                let reason = format!("its part has {bytes} bytes, {want} were expected");
                cx.fail_nonsense(parcel.from, reason);
            }
            Part::NotWanted => cx.fail_nonsense(parcel.from, "it sent a part that nobody wants"),
            Part::Here(..) | Part::LeftOut => {}
        }
    }

    fn lost(&mut self, cx: &mut Context<'_>, position: usize, reason: &str) {
        if !matches!(self.parts[position], Part::Waiting) {
            return;
        }
        let is_root = matches!(cx.facts.operation, Operation::Scatter(_));
        if cx.facts.options.on_loss == OnLoss::Fail || is_root {
            cx.fail_lost(position, reason);
        } else {
            self.parts[position] = Part::LeftOut;
            self.check(cx);
        }
    }

    fn timeout(&mut self, cx: &mut Context<'_>) {
        let OnLoss::Continue { at_least } = cx.facts.options.on_loss else { return };
        if matches!(cx.facts.operation, Operation::Scatter(_)) {
            return;
        }
        if self.here() < at_least {
            return cx.wake(cx.now + cx.facts.beat());
        }
        let late = self.parts.iter_mut().filter(|part| matches!(part, Part::Waiting));
        late.for_each(|part| *part = Part::LeftOut);
        self.check(cx);
    }

    fn awaits(&self) -> Vec<usize> {
        let waiting =
            self.parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Waiting));
        waiting.map(|(position, _)| position).collect()
    }
}
