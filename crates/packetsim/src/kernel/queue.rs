//! The events to come.

use super::{
    event::{Class, Event, SEQUENCE_END},
    heap::Heap,
    wheel::{Wheel, slot_of},
};

/// Events by time, class and sequence. Nearly all events lie less than 2 µs ahead. They wait in a
/// [`Wheel`] without an order until their nanosecond has come; only then they are sorted, a few at a
/// time. What lies farther ahead, timers above all, waits in a heap.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Events of the slot `slot` that were known when it began, the last first.
    batch: Vec<Event>,
    slot: u64,
    /// Events up to the end of that slot that came after.
    late: Heap,
    near: Wheel,
    far: Heap,
    sequence: u64,
}

impl Queue {
    #[inline]
    fn event(&mut self, time: u64, class: Class, target: u32) -> Event {
        let sequence = self.sequence;
        // CORRECTNESS: a sequence that comes twice would leave two events without an order.
        assert!(sequence < SEQUENCE_END, "more events than sequence numbers");
        self.sequence += 1;
        Event::new(time, class, sequence, target)
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, time: u64, class: Class, target: u32) {
        let event = self.event(time, class, target);
        let slot = slot_of(time);
        if slot <= self.slot {
            self.late.push(event);
        } else if Wheel::reaches(self.slot, slot) {
            self.near.push(event);
        } else {
            self.far.push(event);
        }
    }

    /// The next event, if it is of this slot.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Event> {
        match (self.batch.last(), self.late.peek()) {
            (Some(event), None) => Some(*event),
            (Some(event), Some(late)) => Some(late.min(*event)),
            (None, late) => late,
        }
    }

    /// Whether nothing is left to happen.
    pub(crate) fn is_empty(&self) -> bool {
        self.peek().is_none() && self.near.next(self.slot).is_none() && self.far.peek().is_none()
    }

    /// What is left of the events of this slot that were known when it began, the last first.
    #[inline]
    pub(crate) fn batch(&self) -> &[Event] {
        &self.batch
    }

    /// Goes to the next slot that has events; nothing is left of this one.
    pub(crate) fn advance(&mut self) {
        debug_assert!(self.peek().is_none(), "events are left behind");
        // What is far lies behind all that is near.
        let next = self.near.next(self.slot).or_else(|| Some(slot_of(self.far.peek()?.time)));
        let Some(slot) = next else { return };
        self.slot = slot;
        self.near.drain(slot, |event| self.batch.push(event));
        while let Some(event) = self.far.peek()
            && Wheel::reaches(slot, slot_of(event.time))
        {
            self.far.pop();
            match slot_of(event.time) == slot {
                true => self.batch.push(event),
                false => self.near.push(event),
            }
        }
        self.batch.sort_unstable_by_key(|event| std::cmp::Reverse(event.order()));
    }

    /// Takes away the event that [`peek`](Self::peek) has shown.
    #[inline]
    pub(crate) fn pop(&mut self) {
        match (self.batch.last(), self.late.peek()) {
            (Some(event), Some(late)) if late < *event => self.late.pop(),
            (None, _) => self.late.pop(),
            _ => {
                self.batch.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, collections::BinaryHeap};

    use proptest::prelude::*;

    use super::*;

    fn next(queue: &mut Queue) -> Option<Event> {
        if queue.peek().is_none() {
            queue.advance();
        }
        assert_eq!(queue.peek().is_none(), queue.is_empty());
        queue.peek()
    }

    proptest! {
        /// Against the standard heap, with many equal times, times of all distances, and times
        /// before what was looked at last, as after a run that stopped early.
        #[test]
        fn comes_out_in_the_order_of_a_binary_heap(
            steps in prop::collection::vec(
                (0u8..4, 0u64..50, prop::sample::select(vec![0, 6, 10, 15, 17, 24]), 0u8..3, 0u32..1000),
                1..400,
            ),
            back in 0u64..3000,
        ) {
            let (mut queue, mut model) = (Queue::default(), BinaryHeap::<Reverse<Event>>::new());
            for (step, ahead, scale, class, target) in steps {
                let soonest = model.peek().map_or(0, |least| least.0.time);
                let time = soonest.saturating_sub(back) + (ahead << scale);
                let class = [Class::Free, Class::Arrive, Class::Timer][usize::from(class)];
                let event = Event::new(time, class, queue.sequence, target);
                match step {
                    0 | 1 => {
                        queue.push(time, class, target);
                        model.push(Reverse(event));
                    }
                    2 => {
                        queue.pop();
                        model.pop();
                    }
                    _ if model.is_empty() => {}
                    _ => {
                        queue.pop();
                        queue.push(time, class, target);
                        model.pop();
                        model.push(Reverse(event));
                    }
                }
                prop_assert_eq!(next(&mut queue), model.peek().map(|least| least.0));
            }
            while let Some(Reverse(least)) = model.pop() {
                prop_assert_eq!(next(&mut queue), Some(least));
                queue.pop();
            }
            prop_assert_eq!(next(&mut queue), None);
        }
    }

    #[test]
    fn time_then_class_then_the_order_of_asking() {
        let mut queue = Queue::default();
        queue.push(7, Class::Arrive, 1);
        queue.push(7, Class::Arrive, 0);
        queue.push(7, Class::Free, 9);
        queue.push(6, Class::Sample, 3);
        let mut targets = Vec::new();
        while let Some(event) = next(&mut queue) {
            targets.push((event.time, event.class(), event.target()));
            queue.pop();
        }
        let expected = [
            (6, Class::Sample, 3),
            (7, Class::Free, 9),
            (7, Class::Arrive, 1),
            (7, Class::Arrive, 0),
        ];
        assert_eq!(targets, expected);
    }

    #[test]
    #[should_panic(expected = "more events than sequence numbers")]
    fn events_without_an_order_are_refused() {
        let mut queue = Queue { sequence: SEQUENCE_END, ..Queue::default() };
        queue.push(0, Class::Free, 0);
    }
}
