//! The events to come: a heap with four children per node.

use super::event::{Class, Event, SEQUENCE_END};

/// Events by time, class and sequence. Four children per node halve the depth of a binary heap, and
/// the children of one node share a cache line.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    events: Vec<Event>,
    sequence: u64,
}

const CHILDREN: usize = 4;

impl Heap {
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
        let mut at = self.events.len();
        self.events.push(event);
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            let above = self.events[parent];
            if above.order() < event.order() {
                break;
            }
            self.events[at] = above;
            at = parent;
        }
        self.events[at] = event;
    }

    /// The next event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Event> {
        self.events.first().copied()
    }

    /// Takes the next event away.
    #[inline]
    pub(crate) fn pop(&mut self) {
        if let Some(last) = self.events.pop()
            && !self.events.is_empty()
        {
            self.sink(last);
        }
    }

    /// Takes the next event away and adds another: cheaper than both in turn.
    #[inline]
    pub(crate) fn replace(&mut self, time: u64, class: Class, target: u32) {
        let event = self.event(time, class, target);
        self.sink(event);
    }

    /// Puts an event into the root and moves it down to its place.
    #[inline]
    fn sink(&mut self, event: Event) {
        let events = &mut self.events[..];
        let order = event.order();
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            let (least, least_order);
            if let Some(&[a, b, c, d]) = events.get(first..first + CHILDREN) {
                // Two pairs, then the winners: shorter chains than one after the other.
                let [a, b, c, d] = [a.order(), b.order(), c.order(), d.order()];
                let (left, left_order) = if b < a { (1, b) } else { (0, a) };
                let (right, right_order) = if d < c { (3, d) } else { (2, c) };
                (least, least_order) = match right_order < left_order {
                    true => (first + right, right_order),
                    false => (first + left, left_order),
                };
            } else {
                let rest = events.iter().enumerate().skip(first);
                let rest = rest.map(|(child, event)| (child, event.order()));
                let Some(found) = rest.min_by_key(|(_, order)| *order) else { break };
                (least, least_order) = found;
            }
            if order < least_order {
                break;
            }
            events[at] = events[least];
            at = least;
        }
        events[at] = event;
    }
}

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, collections::BinaryHeap};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the standard heap, with many equal times.
        #[test]
        fn comes_out_in_the_order_of_a_binary_heap(
            steps in prop::collection::vec((0u8..4, 0u64..50, 0u8..3, 0u32..1000), 1..400),
        ) {
            let (mut heap, mut model) = (Heap::default(), BinaryHeap::new());
            for (step, time, class, target) in steps {
                let class = [Class::Free, Class::Arrive, Class::Timer][usize::from(class)];
                let event = Event::new(time, class, heap.sequence, target);
                match step {
                    0 | 1 => {
                        heap.push(time, class, target);
                        model.push(Reverse(event));
                    }
                    2 => {
                        heap.pop();
                        model.pop();
                    }
                    _ if model.is_empty() => {}
                    _ => {
                        heap.replace(time, class, target);
                        model.pop();
                        model.push(Reverse(event));
                    }
                }
                prop_assert_eq!(heap.peek(), model.peek().map(|least| least.0));
            }
            while let Some(Reverse(least)) = model.pop() {
                prop_assert_eq!(heap.peek(), Some(least));
                heap.pop();
            }
            prop_assert_eq!(heap.peek(), None);
        }
    }

    #[test]
    fn time_then_class_then_the_order_of_asking() {
        let mut heap = Heap::default();
        heap.push(7, Class::Arrive, 1);
        heap.push(7, Class::Arrive, 0);
        heap.push(7, Class::Free, 9);
        heap.push(6, Class::Sample, 3);
        let mut targets = Vec::new();
        while let Some(event) = heap.peek() {
            targets.push((event.time, event.class(), event.target()));
            heap.pop();
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
        let mut heap = Heap { sequence: SEQUENCE_END, ..Heap::default() };
        heap.push(0, Class::Free, 0);
    }
}
