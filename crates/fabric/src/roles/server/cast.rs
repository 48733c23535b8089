//! A model that leaves in parts, each of which reaches everybody along a chain of workers.

use crate::{
    rank::Rank,
    roles::{ids::Version, tensor::Tensor, words::Asked},
};

/// A model on its way in parts.
#[derive(Debug)]
pub(super) struct Cast {
    pub(super) version: Version,
    pub(super) everybody: Vec<Rank>,
    tensor: Tensor,
    parts: usize,
    next: usize,
}

impl Cast {
    pub(super) fn new(version: Version, tensor: Tensor, parts: usize, to: &[Asked]) -> Self {
        let parts = parts.clamp(1, tensor.elements().max(1));
        let everybody = to.iter().map(|one| one.worker).collect();
        Self { version, everybody, tensor, parts, next: 0 }
    }

    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// How many elements the model has.
    pub(super) fn elements(&self) -> u64 {
        self.tensor.elements() as u64
    }

    /// The next part, and where it begins.
    pub(super) fn next(&mut self) -> Option<(u64, Tensor)> {
        let at = |part: usize| self.tensor.elements() * part / self.parts;
        let range = at(self.next)..at(self.next + 1);
        let part = (self.next < self.parts).then(|| self.tensor.part(range.clone()))?;
        self.next += 1;
        Some((range.start as u64, part))
    }
}

/// Chains through the same workers that begin with different ones, as many as there are transfers. Whichever first
/// worker is ready gets the next part, so that a slow one gets few.
pub(super) fn chains(order: &[Asked], transfers: usize) -> Vec<Vec<Asked>> {
    let heads = transfers.min(order.len());
    let begins_with = |head: usize| {
        let (heads, rest) = order.split_at(heads);
        let others = heads.iter().enumerate().filter(move |(at, _)| *at != head);
        let others = others.map(|(_, one)| *one);
        std::iter::once(heads[head]).chain(others).chain(rest.iter().copied()).collect()
    };
    (0..heads).map(begins_with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_model() {
        let values: Vec<f32> = (0..10u8).map(f32::from).collect();
        let mut cast = Cast::new(Version::default(), Tensor::new(&values), 4, &[]);
        let mut all = Vec::new();
        while let Some((first, part)) = cast.next() {
            assert_eq!(first, all.len() as u64);
            all.extend(part.values());
        }
        assert_eq!(all, values);
    }

    #[test]
    fn every_chain_reaches_everybody() {
        let order = [5, 3, 9, 7].map(|n| Asked { worker: Rank::new(n), request: 0 });
        let found = chains(&order, 2);
        let ranks = |chain: &Vec<Asked>| chain.iter().map(|one| one.worker.get()).collect();
        let found: Vec<Vec<_>> = found.iter().map(ranks).collect();
        assert_eq!(found, [[5, 3, 9, 7], [3, 5, 9, 7]]);
    }
}
