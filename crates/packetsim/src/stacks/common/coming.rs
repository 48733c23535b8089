//! A byte stream that is cut into packets as its messages become ready.

use laxity_interface::Time;

use crate::{flow::Flow, packet::PAYLOAD, stacks::approx::Approx};

/// Messages that come one by one. What is ready leaves at once, as with TCP_NODELAY: a packet takes all
/// that is ready when it is sent and fits, so messages share packets where the line is slower than the
/// application.
#[derive(Clone, Debug)]
pub(crate) struct Coming {
    /// When each message is ready, and one past its last byte.
    messages: Vec<(Time, u64)>,
    /// Messages that are ready.
    ready: usize,
    /// Packets that were cut: first byte, and bytes.
    parts: Vec<(u32, u32)>,
}

impl Coming {
    /// What is sent of a flow; `None` if all of it is ready from the start, or nothing is sent.
    pub(crate) fn new(flow: &Flow, approx: Approx, started: Time) -> Option<Self> {
        if !flow.ready.is_gradual() {
            return None;
        }
        let mut end = 0;
        let messages: Vec<_> = approx
            .sent(flow)
            .into_iter()
            .map(|message| {
                end += u64::from(flow.messages.size(message));
                (started + flow.ready.after(message), end)
            })
            .collect();
        let mut coming = Self { messages, ready: 0, parts: Vec::new() };
        coming.advance(started);
        (!coming.messages.is_empty()).then_some(coming)
    }

    /// Notes what is ready now.
    pub(crate) fn advance(&mut self, now: Time) {
        while self.messages.get(self.ready).is_some_and(|(at, _)| *at <= now) {
            self.ready += 1;
        }
    }

    /// Bytes that are ready.
    fn reach(&self) -> u64 {
        self.ready.checked_sub(1).map_or(0, |last| self.messages[last].1)
    }

    /// Bytes that are in packets.
    fn used(&self) -> u64 {
        self.parts.last().map_or(0, |(first, bytes)| u64::from(*first) + u64::from(*bytes))
    }

    /// Whether another packet can be cut.
    pub(crate) fn has_more(&self) -> bool {
        self.used() < self.reach()
    }

    /// Whether everything is in packets.
    pub(crate) fn is_over(&self) -> bool {
        self.ready == self.messages.len() && !self.has_more()
    }

    /// When to look again: at the next message, if none of those that are ready waits.
    pub(crate) fn wake(&self) -> Option<Time> {
        let next = self.messages.get(self.ready).filter(|_| !self.has_more());
        next.map(|(at, _)| *at)
    }

    /// Cuts the next packet.
    ///
    /// # Panics
    /// If there is nothing to cut.
    pub(crate) fn cut(&mut self) -> (u32, u32) {
        assert!(self.has_more(), "nothing is ready");
        let first = self.used();
        let bytes = (self.reach() - first).min(u64::from(PAYLOAD));
        // CORRECTNESS: flows whose messages come one by one have at most 4 GiB.
        let part = (first as u32, bytes as u32);
        self.parts.push(part);
        part
    }

    /// Packets so far, with the next if one can be cut.
    pub(crate) fn packets(&self) -> u32 {
        self.parts.len() as u32 + u32::from(self.has_more())
    }

    /// The bytes of a packet that was cut: the first, and how many.
    pub(crate) fn part(&self, packet: u32) -> (u32, u32) {
        self.parts[packet as usize]
    }

    /// Bytes of payload of a packet that was cut.
    pub(crate) fn payload(&self, packet: u32) -> u32 {
        self.part(packet).1
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::{Fraction, Span};

    use super::*;
    use crate::flow::{HostId, Messages, Ready};

    #[test]
    fn a_packet_takes_what_is_ready_and_fits() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let flow = Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages: Messages::Sizes([100, 200, 2000, 50].into()),
            ready: Ready::Each([0, 2, 2, 9].map(Span::from_us).into()),
            min_delivery: Fraction::ONE,
        };
        let mut coming = Coming::new(&flow, Approx::Whole, us(10)).unwrap();
        assert_eq!((coming.wake(), coming.packets()), (None, 1));
        assert_eq!(coming.cut(), (0, 100));
        assert_eq!((coming.has_more(), coming.wake()), (false, Some(us(12))));
        coming.advance(us(12));
        assert_eq!((coming.cut(), coming.cut()), ((100, 1460), (1560, 740)));
        assert_eq!((coming.wake(), coming.packets()), (Some(us(19)), 3));
        assert!(!coming.is_over());
        coming.advance(us(30));
        assert_eq!(coming.cut(), (2300, 50));
        assert!(coming.is_over() && coming.wake().is_none());
        // A sample is ready when its own messages are.
        let half = Flow { min_delivery: Fraction::new(0.5).unwrap(), ..flow };
        let mut coming = Coming::new(&half, Approx::SampleSend, us(0)).unwrap();
        assert_eq!(coming.wake(), Some(us(2)));
        coming.advance(us(2));
        assert_eq!((coming.cut(), coming.wake()), ((0, 200), Some(us(9))));
    }
}
