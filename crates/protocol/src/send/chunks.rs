//! Chunks of a tensor: one packet each, any order, placed by index.

use std::collections::VecDeque;

use laxity_interface::GroupId;

use super::pool::{Body, PieceState};
use crate::{
    slack::{Budget, LaneKind},
    wire::Runs,
};

/// The order in which chunks leave for the first time.
///
/// A job that ends as soon as it has enough would always lose its end if chunks left in order; a
/// stride that is coprime with their number spreads what stays behind evenly.
#[derive(Clone, Copy, Debug)]
struct Walk {
    count: u32,
    stride: u32,
    next: u32,
}

impl Walk {
    fn new(count: u32, spread: bool, start: u32) -> Self {
        let golden = ((f64::from(count) * 0.618_033_988_75) as u32).max(1);
        let coprime = (golden..).find(|stride| gcd(*stride, count) == 1).unwrap_or(1);
        let stride = if spread && count > 2 { coprime } else { 1 };
        Self { count, stride, next: if spread && count > 0 { start % count } else { 0 } }
    }

    fn step(&mut self) -> u32 {
        let now = self.next;
        self.next =
            ((u64::from(self.next) + u64::from(self.stride)) % u64::from(self.count)) as u32;
        now
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// All chunks of one tensor.
#[derive(Debug)]
pub(crate) struct ChunkPool {
    element: u64,
    elements: u64,
    per_chunk: u64,
    states: Vec<PieceState>,
    /// Group of each chunk, unless all belong to the first.
    groups: Vec<u8>,
    ids: Vec<GroupId>,
    lanes: Vec<LaneKind>,
    /// Chunks never sent, per lane: how many, and how the search for the next goes on.
    fresh: [(u32, Walk); 2],
    lost: Vec<VecDeque<u32>>,
    out: Vec<u64>,
    repeats: u64,
}

impl ChunkPool {
    /// Cuts a tensor. `groups` has one entry per chunk, or none if all belong to group 0.
    pub(crate) fn new(
        (element, elements, per_chunk): (u64, u64, u64),
        groups: Vec<u8>,
        ids: Vec<GroupId>,
        lanes: Vec<LaneKind>,
        (spread, start): (bool, u32),
    ) -> Self {
        let count = elements.div_ceil(per_chunk) as u32;
        let in_lane = |lane| match groups.is_empty() {
            true => {
                if lanes[0] == lane {
                    count
                } else {
                    0
                }
            }
            false => groups.iter().filter(|g| lanes[usize::from(**g)] == lane).count() as u32,
        };
        let walk = Walk::new(count, spread, start);
        Self {
            fresh: LaneKind::ALL.map(|lane| (in_lane(lane), walk)),
            states: vec![PieceState::Fresh; count as usize],
            lost: vec![VecDeque::new(); ids.len()],
            out: vec![0; ids.len()],
            element,
            elements,
            per_chunk,
            groups,
            ids,
            lanes,
            repeats: 0,
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.states.len() as u32
    }

    fn group(&self, chunk: u32) -> usize {
        self.groups.get(chunk as usize).map_or(0, |group| usize::from(*group))
    }

    pub(crate) fn take(
        &mut self,
        lane: LaneKind,
        expected: &[u64],
        budgets: &mut [Budget],
    ) -> Option<u32> {
        for group in 0..self.ids.len() {
            if self.lanes[group] != lane || budgets[group].needed(expected[group]) == 0 {
                continue;
            }
            while let Some(chunk) = self.lost[group].pop_front() {
                // Entries go stale when a late acknowledgement or a status settles the chunk.
                if self.states[chunk as usize] == PieceState::Lost {
                    budgets[group].damaged -= 1;
                    self.repeats += 1;
                    self.set_out(chunk, group);
                    return Some(chunk);
                }
            }
        }
        self.take_fresh(lane)
    }

    /// The last chunk, if it was never sent and has at most `room` bytes; and its lane.
    pub(crate) fn take_last(&mut self, room: usize) -> Option<(u32, LaneKind)> {
        let last = self.count().checked_sub(1)?;
        if self.states[last as usize] != PieceState::Fresh || self.body(last).bytes > room {
            return None;
        }
        let group = self.group(last);
        let lane = self.lanes[group];
        self.fresh[lane as usize].0 -= 1;
        self.set_out(last, group);
        Some((last, lane))
    }

    fn take_fresh(&mut self, lane: LaneKind) -> Option<u32> {
        let at = lane as usize;
        if self.fresh[at].0 == 0 {
            return None;
        }
        loop {
            let chunk = self.fresh[at].1.step();
            let group = self.group(chunk);
            if self.states[chunk as usize] == PieceState::Fresh && self.lanes[group] == lane {
                self.fresh[at].0 -= 1;
                self.set_out(chunk, group);
                return Some(chunk);
            }
        }
    }

    fn set_out(&mut self, chunk: u32, group: usize) {
        self.states[chunk as usize] = PieceState::Out;
        self.out[group] += 1;
    }

    pub(crate) fn has(&self, lane: LaneKind, expected: &[u64], budgets: &[Budget]) -> bool {
        self.has_fresh(lane)
            || (0..self.ids.len()).any(|group| {
                self.lanes[group] == lane && budgets[group].needed(expected[group]) > 0
            })
    }

    pub(crate) fn has_fresh(&self, lane: LaneKind) -> bool {
        self.fresh[lane as usize].0 > 0
    }

    pub(crate) fn acked(&mut self, chunk: u32, budgets: &mut [Budget]) {
        let group = self.group(chunk);
        match std::mem::replace(&mut self.states[chunk as usize], PieceState::Acked) {
            PieceState::Acked => return,
            PieceState::Out => self.out[group] -= 1,
            PieceState::Lost => budgets[group].damaged -= 1,
            // Given back, and then it had arrived after all.
            PieceState::Fresh => self.fresh[self.lanes[group] as usize].0 -= 1,
        }
        budgets[group].acked += 1;
    }

    pub(crate) fn lost(&mut self, chunk: u32, budgets: &mut [Budget]) {
        if self.states[chunk as usize] == PieceState::Out {
            let group = self.group(chunk);
            self.states[chunk as usize] = PieceState::Lost;
            self.out[group] -= 1;
            self.lost[group].push_back(chunk);
            budgets[group].damaged += 1;
        }
    }

    pub(crate) fn give_back(&mut self, chunk: u32) {
        if self.states[chunk as usize] == PieceState::Out {
            let group = self.group(chunk);
            self.states[chunk as usize] = PieceState::Fresh;
            self.out[group] -= 1;
            self.fresh[self.lanes[group] as usize].0 += 1;
        }
    }

    pub(crate) fn status(&mut self, space: u16, runs: &Runs, budgets: &mut [Budget]) {
        let to = runs.to.min(self.states.len() as u64) as u32;
        if space != 0 || runs.from >= u64::from(to) {
            return;
        }
        let mut position = runs.from as u32;
        let ends = [(u64::from(to), u64::from(to))];
        for &(start, end) in runs.missing.iter().chain(&ends) {
            let [start, end] = [start, end].map(|at| at.min(u64::from(to)) as u32);
            for chunk in position..start {
                // Never believe in the arrival of what was not sent.
                if self.states[chunk as usize] != PieceState::Fresh {
                    self.acked(chunk, budgets);
                }
            }
            for chunk in start..end {
                self.lost(chunk, budgets);
            }
            position = end;
        }
    }

    pub(crate) fn body(&self, chunk: u32) -> Body {
        let first = u64::from(chunk) * self.per_chunk;
        let length = self.per_chunk.min(self.elements - first) * self.element;
        let group = self.group(chunk);
        Body {
            group,
            group_id: self.ids[group],
            index: first,
            message: 0,
            length,
            offset: first * self.element,
            bytes: length as usize,
        }
    }

    pub(crate) fn repeats(&self) -> u64 {
        self.repeats
    }

    pub(crate) fn out(&self, group: usize) -> u64 {
        self.out[group]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: [LaneKind; 1] = [LaneKind::Slack];
    const CALM: &[u64] = &[0];

    fn pool(elements: u64, spread: bool) -> (ChunkPool, Vec<Budget>) {
        let ids = vec![GroupId(0)];
        let pool = ChunkPool::new((4, elements, 10), Vec::new(), ids, LANES.to_vec(), (spread, 3));
        let total = u64::from(pool.count());
        let required = total - total / 5;
        (pool, vec![Budget { total, required, ..Budget::default() }])
    }

    #[test]
    fn every_chunk_leaves_once_in_either_order() {
        for spread in [false, true] {
            let (mut pool, mut budgets) = pool(995, spread);
            let mut order = Vec::new();
            while let Some(chunk) = pool.take(LaneKind::Slack, CALM, &mut budgets) {
                order.push(chunk);
            }
            assert_eq!(order.is_sorted(), !spread);
            order.sort_unstable();
            assert_eq!(order, (0..100).collect::<Vec<_>>());
            assert_eq!(pool.body(99).bytes, 20, "the last chunk is short");
            assert_eq!(pool.body(7).offset, 280);
        }
    }

    #[test]
    fn losses_within_the_budget_are_spent_and_the_rest_sent_again() {
        let (mut pool, mut budgets) = pool(100, false);
        while pool.take(LaneKind::Slack, CALM, &mut budgets).is_some() {}
        for chunk in [1, 4] {
            pool.lost(chunk, &mut budgets);
        }
        assert_eq!(pool.take(LaneKind::Slack, CALM, &mut budgets), None, "two of ten are free");
        pool.lost(7, &mut budgets);
        assert_eq!(pool.take(LaneKind::Slack, CALM, &mut budgets), Some(1));
        assert_eq!(pool.take(LaneKind::Slack, CALM, &mut budgets), None);
        pool.acked(4, &mut budgets);
        assert_eq!(budgets[0].damaged, 1, "a late acknowledgement gives budget back");
    }

    #[test]
    fn status_settles_everything_it_speaks_of() {
        let (mut pool, mut budgets) = pool(100, false);
        for _ in 0..8 {
            pool.take(LaneKind::Slack, CALM, &mut budgets);
        }
        let runs = Runs { from: 0, to: 10, missing: vec![(2, 4), (6, 10)] };
        pool.status(0, &runs, &mut budgets);
        assert_eq!((budgets[0].acked, budgets[0].damaged), (4, 4));
        assert_eq!(pool.out(0), 0);
        assert!(pool.has_fresh(LaneKind::Slack), "8 and 9 were never sent");
    }
}
