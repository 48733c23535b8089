//! Models that a worker passes on, part by part.
//!
//! A part goes on as soon as it is here: a chain of workers then has the model hardly later than its first one, where
//! whole models take as long again at each of them. Parts to one worker go one after the other. A worker to which a
//! part takes as long as three others take to come here is late: those behind it get the model past it.

use std::collections::{BTreeMap, VecDeque};

use super::{server::pass_on, tensor::Tensor, words::Model};
use crate::rank::Rank;

/// Who takes as long for a part as so many others need to come is late.
const LATE: usize = 3;

/// A part that is passed on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Part {
    pub(super) epoch: u32,
    pub(super) word: Model,
    pub(super) tensor: Tensor,
}

/// What is passed on to one worker.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Part>,
    /// The letter that is on its way.
    under_way: Option<u64>,
    /// Parts that have come since it left.
    since: usize,
    late: bool,
}

/// Parts of models on their way through a worker.
#[derive(Debug, Default)]
pub(super) struct Relay {
    queues: BTreeMap<Rank, Queue>,
}

impl Relay {
    /// A part has come that others wait for: `word.then` says who, in order.
    pub(super) fn pass(&mut self, epoch: u32, word: &Model, tensor: &Tensor) {
        if tensor.elements() as u64 == word.of {
            for (to, then) in pass_on(&word.then) {
                let word = Model { request: to.request, then, ..word.clone() };
                let part = Part { epoch, word, tensor: tensor.clone() };
                self.queues.entry(to.worker).or_default().waiting.push_back(part);
            }
            return;
        }
        let mut rest = &word.then[..];
        while let Some((next, behind)) = rest.split_first() {
            let queue = self.queues.entry(next.worker).or_default();
            queue.since += 1;
            let turns_late = queue.under_way.is_some() && queue.since > LATE && !queue.late;
            queue.late |= turns_late;
            let past = queue.late && !behind.is_empty();
            let then = if past { Vec::new() } else { behind.to_vec() };
            let word = Model { request: next.request, then, ..word.clone() };
            queue.waiting.push_back(Part { epoch, word, tensor: tensor.clone() });
            if turns_late {
                self.pass_by(next.worker);
            }
            if !past {
                return;
            }
            rest = behind;
        }
    }

    /// What waits for a worker goes to those behind it at once.
    fn pass_by(&mut self, late: Rank) {
        let Some(queue) = self.queues.get_mut(&late) else { return };
        let mut again = Vec::new();
        for part in queue.waiting.iter_mut().filter(|part| !part.word.then.is_empty()) {
            again.push(part.clone());
            part.word.then.clear();
        }
        for Part { epoch, word, tensor } in again {
            self.pass(epoch, &word, &tensor);
        }
    }

    /// The next part that may leave, and for whom. Its letter is told to [`left`](Self::left).
    pub(super) fn next(&mut self) -> Option<(Rank, Part)> {
        self.queues.iter_mut().find_map(|(to, queue)| {
            let part = queue.under_way.is_none().then(|| queue.waiting.pop_front())??;
            Some((*to, part))
        })
    }

    /// A part has left as this letter.
    pub(super) fn left(&mut self, to: Rank, sequence: u64) {
        let queue = self.queues.entry(to).or_default();
        (queue.under_way, queue.since) = (Some(sequence), 0);
    }

    /// A letter has reached its end, or will not; says whether it was one of these.
    pub(super) fn over(&mut self, to: Rank, sequence: u64) -> bool {
        let Some(queue) = self.queues.get_mut(&to) else { return false };
        if queue.under_way != Some(sequence) {
            return false;
        }
        queue.under_way = None;
        if queue.waiting.is_empty() {
            self.queues.remove(&to);
        }
        true
    }

    /// A worker is gone. The server answers those behind it again.
    pub(super) fn forget(&mut self, peer: Rank) {
        self.queues.remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{ids::Version, words::Asked};

    fn part(first: u64) -> (Model, Tensor) {
        let then = (2..5).map(|n| Asked { worker: Rank::new(n), request: 0 }).collect();
        let word = Model { request: 0, version: Version::default(), first, of: 100, then };
        (word, Tensor::new(&[0.0]))
    }

    /// What may leave now: to whom, which part, and how many get it from there.
    fn leaves(relay: &mut Relay, sequence: &mut u64) -> Vec<(u32, u64, usize)> {
        let mut found = Vec::new();
        while let Some((to, part)) = relay.next() {
            *sequence += 1;
            relay.left(to, *sequence);
            found.push((to.get(), part.word.first, part.word.then.len()));
        }
        found
    }

    #[test]
    fn parts_go_one_after_the_other() {
        let (mut relay, mut sequence) = (Relay::default(), 0);
        for first in 0..2 {
            let (word, tensor) = part(first);
            relay.pass(0, &word, &tensor);
        }
        assert_eq!(leaves(&mut relay, &mut sequence), [(2, 0, 2)]);
        assert!(!relay.over(Rank::new(3), 1));
        assert!(relay.over(Rank::new(2), 1));
        assert_eq!(leaves(&mut relay, &mut sequence), [(2, 1, 2)]);
        assert!(relay.over(Rank::new(2), 2));
        assert!(relay.queues.is_empty());
    }

    #[test]
    fn who_is_late_is_passed_by_and_gets_everything_all_the_same() {
        let (mut relay, mut sequence) = (Relay::default(), 0);
        let mut left = Vec::new();
        for first in 0..6 {
            let (word, tensor) = part(first);
            relay.pass(0, &word, &tensor);
            loop {
                let now = leaves(&mut relay, &mut sequence);
                left.extend_from_slice(&now);
                let Some(at) = now.iter().position(|(to, ..)| *to == 3) else { break };
                // It is fast.
                let its = sequence - (now.len() - 1 - at) as u64;
                assert!(relay.over(Rank::new(3), its));
            }
        }
        let to_three: Vec<_> = left.iter().filter(|(to, ..)| *to == 3).map(|one| one.1).collect();
        assert!(to_three.contains(&1) && to_three.contains(&5), "{left:?}");
        assert!(!to_three.contains(&0), "what had left is not sent twice: {left:?}");
        assert!(relay.over(Rank::new(2), 1));
        let mut late = Vec::new();
        loop {
            let next = leaves(&mut relay, &mut sequence);
            let Some(two) = next.iter().find(|(to, ..)| *to == 2) else { break };
            assert_eq!(two.2, 0, "nobody waits for it");
            late.push(two.1);
            assert!(relay.over(Rank::new(2), sequence));
        }
        assert_eq!(late, [1, 2, 3, 4, 5]);
    }
}
