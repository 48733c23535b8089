//! The queues of a port: limits, marks, strict priority.

use std::collections::VecDeque;

use laxity_interface::Bytes;

use crate::{
    config::{Limit, QueueLayout},
    counters::QueueCounters,
    frame::Frame,
};

#[derive(Debug)]
pub(crate) struct Queues {
    layout: QueueLayout,
    queues: Vec<Queue>,
    /// What waits in queues that share the port's buffer.
    shared: Bytes,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Frame>,
    counters: QueueCounters,
}

impl Queues {
    pub(crate) fn new(layout: QueueLayout) -> Self {
        let queues = layout.queues.iter().map(|_| Queue::default()).collect();
        Self { layout, queues, shared: Bytes::ZERO }
    }

    pub(crate) fn counters(&self) -> Vec<QueueCounters> {
        self.queues.iter().map(|queue| queue.counters).collect()
    }

    /// Lets a frame wait; gives it back if there is no room.
    pub(crate) fn push(&mut self, mut frame: Frame) -> Result<(), Frame> {
        let (at, size) = (self.layout.queue_of(frame.dscp()), frame.size());
        let (config, queue) = (self.layout.queues[at], &mut self.queues[at]);
        let counters = &mut queue.counters;
        counters.offered.add(size);
        let mut behind = counters.backlog;
        behind.add(size);
        let above = |limit| match limit {
            Limit::Bytes(bytes) => behind.bytes > bytes,
            Limit::Packets(packets) => behind.packets > u64::from(packets),
            Limit::Shared => self.layout.shared.is_some_and(|all| self.shared + size > all),
        };
        if above(config.limit) {
            counters.full.add(size);
            return Err(frame);
        }
        if config.ecn.is_some_and(above) && frame.mark() {
            counters.marked.add(size);
        }
        counters.backlog = behind;
        counters.max_packets = counters.max_packets.max(behind.packets);
        counters.max_bytes = counters.max_bytes.max(behind.bytes);
        if config.limit == Limit::Shared {
            self.shared += size;
        }
        queue.frames.push_back(frame);
        Ok(())
    }

    /// Takes out the oldest frame of the first queue that has one.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let (frame, at) = self.take()?;
        self.queues[at].counters.sent.add(frame.size());
        Some(frame)
    }

    /// Counts a frame that is sent without ever waiting.
    pub(crate) fn pass(&mut self, frame: &Frame) {
        let counters = &mut self.queues[self.layout.queue_of(frame.dscp())].counters;
        counters.offered.add(frame.size());
        counters.sent.add(frame.size());
    }

    /// Counts a frame that came while the link was down.
    pub(crate) fn refuse(&mut self, frame: &Frame) {
        let counters = &mut self.queues[self.layout.queue_of(frame.dscp())].counters;
        counters.offered.add(frame.size());
        counters.down.add(frame.size());
    }

    /// Takes out a frame because the link went down.
    pub(crate) fn discard(&mut self) -> Option<Frame> {
        let (frame, at) = self.take()?;
        self.queues[at].counters.down.add(frame.size());
        Some(frame)
    }

    fn take(&mut self) -> Option<(Frame, usize)> {
        let (at, queue) =
            self.queues.iter_mut().enumerate().find(|(_, queue)| !queue.frames.is_empty())?;
        let frame = queue.frames.pop_front()?;
        queue.counters.backlog.remove(frame.size());
        if self.layout.queues[at].limit == Limit::Shared {
            self.shared -= frame.size();
        }
        Some((frame, at))
    }
}
