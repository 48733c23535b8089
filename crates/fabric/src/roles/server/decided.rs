//! Which updates have been committed, so that none counts twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    rank::Rank,
    roles::{
        ids::UpdateId,
        words::{DecidedOf, MOST_DECIDED},
    },
};

#[derive(Clone, Debug, Default)]
struct Of {
    /// All below are decided: a worker has far fewer undecided ones than are remembered above.
    floor: u64,
    above: BTreeSet<u64>,
}

/// The committed updates of every worker, of each a bounded number.
#[derive(Clone, Debug, Default)]
pub(in crate::roles) struct Decided {
    workers: BTreeMap<Rank, Of>,
}

impl Decided {
    pub(in crate::roles) fn contains(&self, update: UpdateId) -> bool {
        self.workers
            .get(&update.worker)
            .is_some_and(|of| update.number < of.floor || of.above.contains(&update.number))
    }

    pub(in crate::roles) fn insert(&mut self, update: UpdateId) {
        let of = self.workers.entry(update.worker).or_default();
        if update.number >= of.floor {
            of.above.insert(update.number);
        }
        while of.above.len() > MOST_DECIDED {
            if let Some(lowest) = of.above.pop_first() {
                of.floor = lowest + 1;
            }
        }
    }

    pub(in crate::roles) fn list(&self) -> Vec<DecidedOf> {
        let of = |(worker, of): (&Rank, &Of)| DecidedOf {
            worker: *worker,
            floor: of.floor,
            above: of.above.iter().copied().collect(),
        };
        self.workers.iter().map(of).collect()
    }

    pub(in crate::roles) fn from_list(list: Vec<DecidedOf>) -> Self {
        let workers = list.into_iter().map(|one| {
            (one.worker, Of { floor: one.floor, above: one.above.into_iter().collect() })
        });
        Self { workers: workers.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_counts_as_decided() {
        let mut decided = Decided::default();
        let update = |number| UpdateId { worker: Rank::new(3), number };
        for number in 1..=2 * MOST_DECIDED as u64 {
            assert!(!decided.contains(update(number)));
            decided.insert(update(number));
        }
        assert!((1..=2 * MOST_DECIDED as u64).all(|number| decided.contains(update(number))));
        assert!(!decided.contains(UpdateId { worker: Rank::new(4), number: 1 }));
        let again = Decided::from_list(decided.list());
        assert!(again.contains(update(5)) && !again.contains(update(5000)));
    }
}
