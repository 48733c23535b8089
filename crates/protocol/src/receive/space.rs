//! One numbering of messages: which arrived.

use fixedbitset::FixedBitSet;

use crate::wire::Runs;

/// Which of the numbers `0..total` are there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    seen: FixedBitSet,
    /// All below this are there.
    contiguous: u64,
}

impl Space {
    pub(crate) fn new(total: u64) -> Self {
        Self { seen: FixedBitSet::with_capacity(total as usize), ..Self::default() }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.seen.contains(number as usize)
    }

    /// Bits kept.
    pub(crate) fn bits(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Bits to be added before `number` can be noted.
    pub(crate) fn growth(&self, number: u64) -> u64 {
        if number < self.bits() { 0 } else { (number + 1).max(self.bits() * 2) - self.bits() }
    }

    /// One past the largest number that is there.
    pub(crate) fn end(&self) -> u64 {
        self.seen.maximum().map_or(0, |at| at as u64 + 1)
    }

    /// Notes an arrival; grows for open windows. False if it was there.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let at = number as usize;
        // Doubling keeps a window that grows message by message from copying each time.
        self.seen.grow(self.seen.len() + self.growth(number) as usize);
        !self.seen.put(at)
    }

    /// The next number of the unbroken run from 0, once each.
    pub(crate) fn next_in_order(&mut self) -> Option<u64> {
        let next = self.contiguous;
        self.contains(next).then(|| {
            self.contiguous += 1;
            next
        })
    }

    /// What is missing of `from..total`.
    pub(crate) fn missing(&self, from: u64, total: u64) -> Runs {
        let mut missing: Vec<(u64, u64)> = Vec::new();
        let known = (self.seen.len() as u64).min(total);
        let holes = self.seen.zeroes().map(|n| n as u64).skip_while(|n| *n < from);
        let holes = holes.take_while(|n| *n < known);
        for hole in holes {
            match missing.last_mut() {
                Some(last) if last.1 == hole => last.1 += 1,
                _ => missing.push((hole, hole + 1)),
            }
        }
        if total > known.max(from) {
            match missing.last_mut() {
                Some(last) if last.1 == known => last.1 = total,
                _ => missing.push((known.max(from), total)),
            }
        }
        Runs { from, to: total, missing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_runs_and_order() {
        let mut space = Space::new(10);
        for number in [0, 1, 3, 7] {
            assert!(space.insert(number));
        }
        assert!(!space.insert(3));
        assert_eq!(space.missing(0, 10).missing, [(2, 3), (4, 7), (8, 10)]);
        assert_eq!(space.missing(5, 10).missing, [(5, 7), (8, 10)]);
        assert_eq!(space.next_in_order(), Some(0));
        assert_eq!(space.next_in_order(), Some(1));
        assert_eq!(space.next_in_order(), None);
    }

    #[test]
    fn a_window_grows() {
        let mut space = Space::new(2);
        assert!(space.insert(900));
        assert!(space.contains(900) && !space.contains(5000));
        assert_eq!(space.missing(900, 1100).missing, [(901, 1100)]);
        assert_eq!(Space::new(0).missing(0, 3).missing, [(0, 3)]);
    }
}
