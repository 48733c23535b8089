//! One flow at its receiver.

use laxity_interface::Time;

use super::{ack::Ack, landing::Landing};

/// One flow that is received.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Everything before this segment has arrived.
    next: u32,
    segments: u32,
    /// What arrived beyond, as ranges with gaps between them.
    ahead: Vec<(u32, u32)>,
    /// Messages, where some of them are enough.
    pub(super) landing: Option<Box<Landing>>,
    /// Packets that are not acknowledged yet; when and what the first of them was.
    pub(super) unanswered: u32,
    pub(super) stamp: Time,
    pub(super) marked: bool,
    pub(super) last: u32,
    /// When an acknowledgement that waits for company leaves.
    pub(super) due: u64,
}

impl Receiver {
    pub(super) fn new(segments: u32, landing: Option<Box<Landing>>) -> Self {
        Self {
            next: 0,
            segments,
            ahead: Vec::new(),
            landing,
            unanswered: 0,
            stamp: Time::ZERO,
            marked: false,
            last: 0,
            due: u64::MAX,
        }
    }

    /// Whether everything has arrived.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        self.next == self.segments
    }

    /// Whether something is missing before what has arrived.
    pub(super) fn has_gaps(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// A segment arrived; whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, segment: u32) -> bool {
        if segment == self.next {
            self.next += 1;
            if let Some((start, end)) = self.ahead.first().copied()
                && start == self.next
            {
                self.next = end;
                self.ahead.remove(0);
            }
            return true;
        }
        if segment < self.next {
            return false;
        }
        let at = self.ahead.partition_point(|(start, _)| *start <= segment);
        if at > 0 && segment < self.ahead[at - 1].1 {
            return false;
        }
        let left = at > 0 && self.ahead[at - 1].1 == segment;
        let right = self.ahead.get(at).is_some_and(|(start, _)| *start == segment + 1);
        match (left, right) {
            (true, true) => {
                self.ahead[at - 1].1 = self.ahead[at].1;
                self.ahead.remove(at);
            }
            (true, false) => self.ahead[at - 1].1 = segment + 1,
            (false, true) => self.ahead[at].0 = segment,
            (false, false) => self.ahead.insert(at, (segment, segment + 1)),
        }
        true
    }

    /// What an acknowledgement says that this segment causes.
    #[inline]
    pub(super) fn ack(&self, cause: u32) -> Ack {
        let (mut before, mut behind) = (0, 0);
        if cause >= self.next {
            let at = self.ahead.partition_point(|(start, _)| *start <= cause);
            let (start, end) = self.ahead[at - 1];
            let short = |length: u32| u16::try_from(length).unwrap_or(u16::MAX);
            (before, behind) = (short(cause - start), short(end - 1 - cause));
        }
        Ack { next: self.next, cause, before, behind }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Ranges against a set of segments.
        #[test]
        fn remembers_exactly_what_arrived(arrivals in prop::collection::vec(0u32..60, 1..200)) {
            let (mut receiver, mut model) = (Receiver::new(60, None), BTreeSet::new());
            for segment in arrivals {
                prop_assert_eq!(receiver.insert(segment), model.insert(segment));
                let next = (0..=60).find(|next| !model.contains(next)).unwrap_or(60);
                let ack = receiver.ack(segment);
                prop_assert_eq!(ack.next, next);
                if segment >= next {
                    let before = (0..segment).rev().take_while(|own| model.contains(own)).count();
                    let behind = (segment + 1..60).take_while(|own| model.contains(own)).count();
                    prop_assert_eq!((ack.before as usize, ack.behind as usize), (before, behind));
                }
                prop_assert_eq!(receiver.has_gaps(), model.iter().any(|own| *own > next));
            }
            prop_assert_eq!(receiver.is_whole(), model.len() == 60);
        }
    }
}
