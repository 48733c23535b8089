//! Updates that are awaited: their models have left, and they have not come.
//!
//! If N updates are between the leaving of their models and their commits, the mean delay is N − 1 commits,
//! however long each takes (Little's law). A few at once keep the server's link busy in both directions; more make
//! nothing faster, they wait for the link and grow old. A question that waits does not grow old: whoever is answered
//! later gets a newer model.

use std::collections::VecDeque;

use laxity_interface::{Span, Time};

use crate::{rank::Rank, roles::ids::Version};

/// An update that takes so many times as long as usual is not awaited any more: perhaps it was dropped on the way, or
/// whoever asked for the model only wanted to look at it.
const PATIENCE: u64 = 8;
/// It is awaited for at least so long.
const LEAST: Span = Span::from_secs(1);

/// A model that has left for an update.
#[derive(Debug)]
struct Given {
    worker: Rank,
    version: Version,
    at: Time,
}

/// Updates that are awaited, in the order in which their models left.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    given: VecDeque<Given>,
    /// From a model's leaving to its update's coming; the latest count most.
    usual: Span,
}

impl Awaited {
    /// A model leaves for a worker.
    pub(super) fn left(&mut self, now: Time, worker: Rank, version: Version) {
        self.given.push_back(Given { worker, version, at: now });
    }

    /// An update has come. Those of the same worker from older models do not come after it.
    pub(super) fn came(&mut self, now: Time, worker: Rank, version: Version) {
        let mut since = None;
        self.given.retain(|one| {
            let settled = one.worker == worker && one.version <= version;
            if settled {
                since = Some(one.at);
            }
            !settled
        });
        if let Some(since) = since {
            let took = now.since(since);
            self.usual = if self.usual.is_zero() { took } else { (self.usual * 7 + took) / 8 };
        }
    }

    /// Nothing comes from this worker any more.
    pub(super) fn gone(&mut self, worker: Rank) {
        self.given.retain(|one| one.worker != worker);
    }

    /// How many models may leave, if at most so many updates are to be awaited.
    pub(super) fn room(&mut self, now: Time, most: usize) -> usize {
        while self.expires().is_some_and(|at| at <= now) {
            self.given.pop_front();
        }
        most.saturating_sub(self.given.len())
    }

    /// When the oldest is not awaited any more.
    pub(super) fn expires(&self) -> Option<Time> {
        let oldest = self.given.front()?;
        Some(oldest.at + LEAST.max(self.usual * PATIENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(commits: u64) -> Version {
        Version { commits, ..Version::default() }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn an_update_makes_room_for_a_model() {
        let mut awaited = Awaited::default();
        let [one, other] = [1, 2].map(Rank::new);
        awaited.left(ms(0), one, version(0));
        awaited.left(ms(1), other, version(0));
        assert_eq!(awaited.room(ms(2), 2), 0);
        awaited.came(ms(5), one, version(0));
        assert_eq!(awaited.room(ms(5), 2), 1);
        // The update from version 1 was dropped on the way: that from version 2 says so.
        awaited.left(ms(6), one, version(1));
        awaited.left(ms(7), one, version(2));
        assert_eq!(awaited.room(ms(8), 3), 0);
        awaited.came(ms(9), one, version(2));
        assert_eq!(awaited.room(ms(9), 3), 2);
        awaited.gone(other);
        assert_eq!(awaited.room(ms(9), 3), 3);
        assert_eq!(awaited.expires(), None);
    }

    #[test]
    fn nobody_is_awaited_for_ever() {
        let mut awaited = Awaited::default();
        let worker = Rank::new(1);
        awaited.left(ms(0), worker, version(0));
        assert_eq!(awaited.room(ms(999), 1), 0);
        assert_eq!(awaited.room(ms(1000), 1), 1);
        // Updates that take half a second are awaited for four.
        awaited.left(ms(1000), worker, version(0));
        awaited.came(ms(1500), worker, version(0));
        awaited.left(ms(2000), worker, version(1));
        assert_eq!(awaited.expires(), Some(ms(6000)));
        assert_eq!(awaited.room(ms(5999), 1), 0);
        assert_eq!(awaited.room(ms(6000), 1), 1);
    }
}
