//! Which packet numbers arrived: the replay window, and what acknowledgements are made of.

use laxity_interface::{Ecn, Time};
use smallvec::SmallVec;

use crate::wire::Ack;

/// Ranges kept; older ones are forgotten and their gaps closed for good.
const MAX_RANGES: usize = 64;

/// Received packet numbers.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Inclusive ranges, ascending, with gaps between them.
    ranges: Vec<(u64, u64)>,
    /// Below this everything counts as seen.
    floor: u64,
    newest_at: Time,
    ect0: u64,
    ce: u64,
}

impl Received {
    /// Whether the number came before, or is too old to tell.
    pub(crate) fn is_replay(&self, number: u64) -> bool {
        if number >= self.expected() {
            return false; // Nearly all packets: no need to search.
        }
        let at = self.ranges.partition_point(|&(_, last)| last < number);
        number < self.floor || self.ranges.get(at).is_some_and(|&(first, _)| first <= number)
    }

    /// The number a packet would have if nothing were lost or reordered.
    pub(crate) fn expected(&self) -> u64 {
        self.ranges.last().map_or(self.floor, |&(_, last)| last + 1)
    }

    /// Notes a packet that was opened and understood. Returns whether it left a gap or filled one.
    pub(crate) fn insert(&mut self, now: Time, number: u64, ecn: Ecn) -> bool {
        match ecn {
            Ecn::Ect0 => self.ect0 += 1,
            Ecn::Ce => self.ce += 1,
            Ecn::NotEct | Ecn::Ect1 => {}
        }
        let in_order = number == self.expected();
        if number >= self.expected() {
            self.newest_at = now;
        }
        if in_order && let Some(range) = self.ranges.last_mut() {
            range.1 = number;
            return false;
        }
        self.insert_anywhere(number);
        if self.ranges.len() > MAX_RANGES {
            let (_, last) = self.ranges.remove(0);
            self.floor = last + 1;
        }
        !in_order
    }

    fn insert_anywhere(&mut self, number: u64) {
        let at = self.ranges.partition_point(|&(_, last)| last < number);
        let touches_below = at > 0 && self.ranges[at - 1].1 + 1 == number;
        let touches_above = self.ranges.get(at).is_some_and(|range| number + 1 == range.0);
        match (touches_below, touches_above) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = number,
            (false, true) => self.ranges[at].0 = number,
            (false, false) if self.ranges.get(at).is_some_and(|range| range.0 <= number) => {}
            (false, false) => self.ranges.insert(at, (number, number)),
        }
    }

    /// An acknowledgement of everything known, at most `max_ranges` of it, newest first.
    pub(crate) fn ack(&self, now: Time, max_ranges: usize) -> Option<Ack> {
        if self.ranges.is_empty() {
            return None;
        }
        let ranges: SmallVec<_> = self.ranges.iter().rev().copied().take(max_ranges).collect();
        let delay_us = now.since(self.newest_at).as_us();
        Some(Ack { ranges, delay_us, ect0: self.ect0, ce: self.ce, ..Ack::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(received: &mut Received, numbers: &[u64]) {
        for &number in numbers {
            received.insert(Time::ZERO, number, Ecn::Ect0);
        }
    }

    #[test]
    fn ranges_merge() {
        let mut received = Received::default();
        feed(&mut received, &[0, 1, 2, 5, 6, 4, 9, 3]);
        let ack = received.ack(Time::ZERO, 64).unwrap();
        assert_eq!(ack.ranges.as_slice(), [(9, 9), (0, 6)]);
        assert_eq!(ack.ect0, 8);
        for seen in [0, 3, 6, 9] {
            assert!(received.is_replay(seen));
        }
        for unseen in [7, 8, 10] {
            assert!(!received.is_replay(unseen));
        }
    }

    #[test]
    fn memory_stays_bounded_and_old_numbers_stay_closed() {
        let mut received = Received::default();
        for number in 0..10_000 {
            received.insert(Time::ZERO, number * 2, Ecn::NotEct);
        }
        assert_eq!(received.ranges.len(), MAX_RANGES);
        assert!(received.is_replay(1), "a gap that was forgotten counts as seen");
        assert!(!received.is_replay(19_997));
    }

    #[test]
    fn gaps_are_reported_when_they_appear_and_when_they_close() {
        let mut received = Received::default();
        assert!(!received.insert(Time::ZERO, 0, Ecn::NotEct));
        assert!(received.insert(Time::ZERO, 2, Ecn::NotEct));
        assert!(received.insert(Time::ZERO, 1, Ecn::NotEct));
        assert!(!received.insert(Time::ZERO, 3, Ecn::NotEct));
    }
}
