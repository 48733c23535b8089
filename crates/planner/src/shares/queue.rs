//! Links by the level at which they are full, lowest first.
//!
//! While filling, the level of a link only rises, and it rises many times before the link is full. So
//! a link waits in a drawer of levels that differ by less than one part in 256, and only when all
//! lower drawers are empty is its level looked at exactly. A heap of all links would sort them each
//! time: this took as long as everything else together.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Drawers for each doubling of the level, as a power of two.
const FINE: u32 = 8;
const DRAWERS: usize = ((64 - FINE as usize) + 1) << FINE;
/// No link.
const NONE: u32 = u32::MAX;

/// The drawer of a level: higher levels are never in lower ones.
fn drawer(level: u64) -> usize {
    let top = level.checked_ilog2().unwrap_or(0);
    match top.checked_sub(FINE) {
        None => level as usize,
        Some(shift) => ((shift as usize + 1) << FINE) | ((level >> shift) as usize - (1 << FINE)),
    }
}

/// Links that wait to be full.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    /// The first link in each drawer.
    first: Vec<u32>,
    /// The link that lies under each one.
    next: Vec<u32>,
    /// The lowest drawer that may have something.
    at: usize,
    /// How many links lie in drawers.
    waiting: usize,
    /// The links of the open drawer, with levels that were exact when they were put here.
    near: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Queue {
    /// Makes room for this many links; the queue is empty.
    pub(super) fn reset(&mut self, links: usize) {
        debug_assert!(self.waiting == 0 && self.near.is_empty(), "the last filling ended");
        self.first.resize(DRAWERS, NONE);
        self.next.resize(links, NONE);
        self.at = DRAWERS;
    }

    /// Puts a link in; `level` is what it has now.
    pub(super) fn put(&mut self, link: u32, level: u64) {
        let drawer = drawer(level);
        self.next[link as usize] = std::mem::replace(&mut self.first[drawer], link);
        self.at = self.at.min(drawer);
        self.waiting += 1;
    }

    /// Takes out all links that are full at the lowest level there is, and says it. `level` is what a
    /// link has now; nothing for one that nothing waits for any more.
    pub(super) fn take(
        &mut self,
        full: &mut Vec<u32>,
        level: impl Fn(u32) -> Option<u64>,
    ) -> Option<u64> {
        full.clear();
        let mut lowest = None;
        loop {
            while let Some(Reverse((then, link))) = self.near.peek().copied() {
                if lowest.is_some_and(|lowest| then > lowest) {
                    return lowest;
                }
                self.near.pop();
                match level(link) {
                    None => {}
                    Some(now) if now == then => {
                        lowest = Some(now);
                        full.push(link);
                    }
                    Some(now) if drawer(now) < self.at => self.near.push(Reverse((now, link))),
                    Some(now) => self.put(link, now),
                }
            }
            if lowest.is_some() || self.waiting == 0 {
                return lowest;
            }
            self.open(&level);
        }
    }

    /// Empties the lowest drawer: into `near`, or into higher ones.
    fn open(&mut self, level: impl Fn(u32) -> Option<u64>) {
        let from = self.at;
        let from =
            from + self.first[from..].iter().position(|link| *link != NONE).expect("waiting");
        self.at = from + 1;
        let mut link = std::mem::replace(&mut self.first[from], NONE);
        while link != NONE {
            let below = self.next[link as usize];
            self.waiting -= 1;
            match level(link) {
                None => {}
                Some(now) if drawer(now) <= from => self.near.push(Reverse((now, link))),
                Some(now) => self.put(link, now),
            }
            link = below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawers_rise_with_levels() {
        let mut levels: Vec<u64> = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).collect();
        levels.extend([u64::MAX, u64::MAX - 1, 255, 256, 257, 511, 512, 513]);
        levels.extend((0..5000).map(|i: u64| i.pow(5)));
        levels.sort_unstable();
        for pair in levels.windows(2) {
            assert!(drawer(pair[0]) <= drawer(pair[1]), "{pair:?}");
        }
        assert_eq!(drawer(u64::MAX), DRAWERS - 1);
    }

    #[test]
    fn levels_that_rose_meanwhile_come_later() {
        let mut queue = Queue::default();
        queue.reset(4);
        let mut levels = [Some(1000), Some(1001), Some(7), Some(u64::MAX - 1)];
        for (link, level) in levels.iter().enumerate() {
            queue.put(link as u32, level.unwrap());
        }
        let mut full = Vec::new();
        assert_eq!(queue.take(&mut full, |link| levels[link as usize]), Some(7));
        assert_eq!(full, [2]);
        // 0 rises within its drawer to where 1 is, and 3 has nothing left to wait for it.
        (levels[0], levels[3]) = (Some(1001), None);
        assert_eq!(queue.take(&mut full, |link| levels[link as usize]), Some(1001));
        full.sort_unstable();
        assert_eq!(full, [0, 1]);
        assert_eq!(queue.take(&mut full, |link| levels[link as usize]), None);
    }
}
