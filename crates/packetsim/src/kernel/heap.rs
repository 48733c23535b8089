//! A heap with four children per node.

use super::event::Event;

/// Events by time, class and sequence. Four children per node halve the depth of a binary heap, and
/// the children of one node share a cache line.
#[derive(Debug, Default)]
pub(super) struct Heap {
    events: Vec<Event>,
}

const CHILDREN: usize = 4;

impl Heap {
    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
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
    pub(super) fn peek(&self) -> Option<Event> {
        self.events.first().copied()
    }

    /// Takes the next event away.
    #[inline]
    pub(super) fn pop(&mut self) {
        if let Some(last) = self.events.pop()
            && !self.events.is_empty()
        {
            self.sink(last);
        }
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
