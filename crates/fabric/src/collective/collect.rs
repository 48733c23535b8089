//! Everybody sends its contribution to whoever folds it, who keeps the result: `reduce_scatter` and
//! `reduce`, without intermediate stops.

use bytes::Bytes;

use super::{Context, Facts, Finished, Incoming, Machine};
use crate::{
    loss::Contributions,
    options::{OnLoss, Operation},
};

/// The machine.
#[derive(Debug)]
pub(crate) struct Collect {
    data: Bytes,
    folding: Option<Contributions>,
}

impl Collect {
    /// This rank's part in an operation.
    pub(crate) fn new(_: &Facts, data: Bytes) -> Self {
        Self { data, folding: None }
    }

    /// Ends if every contribution is here or left out.
    fn check(&mut self, cx: &mut Context<'_>) {
        let Some(all) = self.folding.take_if(|all| all.is_complete()) else { return };
        let facts = cx.facts;
        if let OnLoss::Continue { at_least } = facts.options.on_loss
            && all.here() < at_least
        {
            return cx.fail_too_few(all.here(), at_least, all.absent(), false);
        }
        let elements = mine(facts);
        let (stream, policy) = (facts.options.stream, facts.options.policy);
        let last = cx.memory.last(stream, facts.at, facts.element, &elements, policy);
        let count = elements.len();
        let (bytes, account) = all.finish(last);
        let mut finished = Finished::exact(vec![bytes]);
        if facts.is_lossy() || facts.options.on_loss != OnLoss::Fail {
            finished.account(&account, 0, count);
        }
        cx.finish(finished);
    }

    fn leave_out(&mut self, cx: &mut Context<'_>, position: usize) {
        if let Some(all) = &mut self.folding {
            all.leave_out(position);
        }
        self.check(cx);
    }
}

/// The elements that this rank folds.
fn mine(facts: &Facts) -> std::ops::Range<usize> {
    match facts.operation {
        Operation::Reduce(_, root) if facts.group.rank(facts.me) == root => 0..facts.count,
        Operation::Reduce(..) => 0..0,
        _ => facts.shard(facts.me),
    }
}

impl Machine for Collect {
    fn begin(&mut self, cx: &mut Context<'_>) {
        let facts = cx.facts;
        let root = match facts.operation {
            Operation::Reduce(_, root) => facts.group.position(root),
            _ => None,
        };
        match root {
            Some(root) if root != facts.me => {
                cx.contribute(root, 0, &self.data, 0..facts.count);
                return cx.finish(Finished::default());
            }
            Some(_) => {}
            None => {
                for to in facts.others() {
                    cx.contribute(to, 0, &self.data, facts.shard(to));
                }
            }
        }
        let elements = mine(facts);
        let reduction = facts.reduction(elements.start);
        let mut all = Contributions::new(reduction, elements.clone(), facts.size());
        all.take_own(facts.me, facts.contribution(&self.data, &elements));
        self.folding = Some(all);
        if facts.options.on_loss != OnLoss::Fail {
            cx.wake(facts.started + facts.patience());
        }
        self.check(cx);
    }

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        let Some(all) = &mut self.folding else {
            return cx
                .fail_nonsense(parcel.from, "it sent a contribution to a rank that folds none");
        };
        match all.take(parcel.from, parcel.part, parcel.body, parcel.missing) {
            Ok(()) => self.check(cx),
            Err(reason) if cx.facts.options.on_loss == OnLoss::Fail => {
                cx.fail_nonsense(parcel.from, reason);
            }
            Err(_) => self.leave_out(cx, parcel.from),
        }
    }

    fn lost(&mut self, cx: &mut Context<'_>, position: usize, reason: &str) {
        if cx.facts.options.on_loss != OnLoss::Fail {
            self.leave_out(cx, position);
        } else if self.awaits().contains(&position) {
            cx.fail_lost(position, reason);
        }
    }

    fn timeout(&mut self, cx: &mut Context<'_>) {
        let OnLoss::Continue { at_least } = cx.facts.options.on_loss else { return };
        let Some(all) = self.folding.as_mut() else { return };
        if all.here() < at_least {
            return cx.wake(cx.now + cx.facts.beat());
        }
        let late: Vec<_> = all.waiting().collect();
        late.into_iter().for_each(|position| all.leave_out(position));
        self.check(cx);
    }

    fn awaits(&self) -> Vec<usize> {
        self.folding.iter().flat_map(|all| all.waiting()).collect()
    }
}
