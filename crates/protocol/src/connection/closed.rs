//! Which received jobs are over: a frame of one of them is late, not early.

use crate::ids::JobId;

/// Job numbers that are over, as ranges. Numbers are given in order, so an honest peer leaves few
/// gaps: one per job under way.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// Inclusive, ascending, with gaps between them.
    ranges: Vec<(u64, u64)>,
}

impl Closed {
    pub(super) fn contains(&self, job: JobId) -> bool {
        let at = self.ranges.partition_point(|&(_, last)| last < job.0);
        self.ranges.get(at).is_some_and(|range| range.0 <= job.0)
    }

    /// Adds a job. Beyond `most` ranges the oldest gap is closed for good: memory is bounded, and a
    /// peer that leaps over numbers only harms itself.
    pub(super) fn insert(&mut self, job: JobId, most: usize) {
        let number = job.0;
        let at = self.ranges.partition_point(|&(_, last)| last < number);
        if self.ranges.get(at).is_some_and(|range| range.0 <= number) {
            return;
        }
        let below = at > 0 && self.ranges[at - 1].1 + 1 == number;
        let above = self.ranges.get(at).is_some_and(|range| range.0 == number + 1);
        match (below, above) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = number,
            (false, true) => self.ranges[at].0 = number,
            (false, false) => self.ranges.insert(at, (number, number)),
        }
        if self.ranges.len() > most.max(1) {
            self.ranges[1].0 = self.ranges[0].0;
            self.ranges.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_stay_few() {
        let mut closed = Closed::default();
        for number in [3, 1, 2, 9, 7] {
            closed.insert(JobId(number), 3);
        }
        assert_eq!(closed.ranges, [(1, 3), (7, 7), (9, 9)]);
        assert!(closed.contains(JobId(2)) && !closed.contains(JobId(8)));
        closed.insert(JobId(2), 3);
        closed.insert(JobId(20), 3);
        assert_eq!(closed.ranges, [(1, 7), (9, 9), (20, 20)], "the oldest gap is closed");
        assert!(closed.contains(JobId(5)));
    }
}
