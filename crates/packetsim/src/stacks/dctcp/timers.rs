//! The timers of all flows of one host.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::flow::FlowId;

/// Who a timer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Sender(FlowId),
    Receiver(FlowId),
}

/// Times and owners. A timer that moves later keeps its entry: whoever is called too early asks
/// again.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(u64, Owner)>>);

impl Timers {
    /// Makes sure that the owner is called at `deadline`; `armed` is when it is called next.
    #[inline]
    pub(super) fn arm(&mut self, owner: Owner, deadline: u64, armed: &mut u64) {
        if deadline < *armed {
            *armed = deadline;
            self.0.push(Reverse((deadline, owner)));
        }
    }

    /// When the next timer runs out.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((time, _))| *time)
    }

    /// A timer that has run out.
    pub(super) fn pop(&mut self, now: u64) -> Option<(u64, Owner)> {
        let Reverse((time, _)) = self.0.peek()?;
        if *time > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }

    /// Forgets timers at the front whose owner is gone.
    pub(super) fn prune(&mut self, gone: impl Fn(Owner) -> bool) {
        while let Some(Reverse((_, owner))) = self.0.peek()
            && gone(*owner)
        {
            self.0.pop();
        }
    }
}
