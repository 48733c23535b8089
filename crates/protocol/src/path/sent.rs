//! Packets on their way, and the decision that one is lost.

use std::collections::VecDeque;

use laxity_interface::{Span, Time};
use smallvec::SmallVec;

use super::Stamp;
use crate::{ids::JobId, slack::LaneKind};

/// A packet is lost when this many later ones were acknowledged.
const REORDER_PACKETS: u64 = 3;

/// Something a packet carried that has to be remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// Payload: which job, which of its pieces.
    Piece(JobId, u32),
    /// A control frame that must arrive in the end.
    Control(Control),
}

/// Control frames that are repeated until acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Control {
    Open(JobId),
    Window(JobId),
    Probe(JobId),
    /// The final status of a received job: which space, where it starts.
    Final(JobId, u16, u64),
    /// A status that asks for more.
    Status(JobId),
    Hold(JobId),
    Go(JobId),
    ResetSent(JobId),
    ResetReceived(JobId),
    Ping,
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    pub(crate) bytes: u32,
    /// Payload packets belong to a lane; control packets to none.
    pub(crate) lane: Option<LaneKind>,
    pub(crate) stamp: Stamp,
    pub(crate) contents: SmallVec<[Content; 1]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// On its way.
    Out,
    /// Thought lost, but an acknowledgement may still prove otherwise.
    Lost,
    /// Done with (acknowledged, or never asked for an answer).
    Gone,
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It arrived.
    Acked,
    /// It was thought lost and arrived after all.
    LateAcked,
}

/// All packets of a connection that are not settled, in order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct SentPackets {
    base: u64,
    queue: VecDeque<(State, Sent)>,
    /// No packet below `base + scan` is out.
    scan: usize,
    out: usize,
    largest_acked: Option<u64>,
}

impl SentPackets {
    /// Number of the next packet.
    pub(crate) fn next_number(&self) -> u64 {
        self.base + self.queue.len() as u64
    }

    /// Packets that may still be answered.
    pub(crate) fn out(&self) -> usize {
        self.out
    }

    /// Notes a packet; `tracked` ones wait for an acknowledgement.
    pub(crate) fn push(&mut self, sent: Sent, tracked: bool) {
        self.out += usize::from(tracked);
        if !tracked && self.queue.is_empty() {
            // Nothing is waiting: keep the queue empty for acknowledgement-only senders.
            self.base += 1;
            return;
        }
        self.queue.push_back((if tracked { State::Out } else { State::Gone }, sent));
    }

    /// Settles the packets `first..=last`, oldest first.
    pub(crate) fn ack_range(
        &mut self,
        first: u64,
        last: u64,
        mut settled: impl FnMut(Verdict, &Sent),
    ) {
        if self.largest_acked.is_none_or(|largest| largest < last) {
            self.largest_acked = Some(last);
        }
        let end = last.saturating_add(1).saturating_sub(self.base).min(self.queue.len() as u64);
        for at in first.saturating_sub(self.base)..end {
            let (state, sent) = &mut self.queue[at as usize];
            match std::mem::replace(state, State::Gone) {
                State::Out => {
                    self.out -= 1;
                    settled(Verdict::Acked, sent);
                }
                State::Lost => settled(Verdict::LateAcked, sent),
                State::Gone => {}
            }
        }
    }

    /// The largest number that can be acknowledged without lying.
    pub(crate) fn is_plausible(&self, number: u64) -> bool {
        number < self.next_number()
    }

    /// Declares packets lost that three later ones overtook or that are older than `delay`, and
    /// returns when the next one will be due.
    pub(crate) fn detect(
        &mut self,
        now: Time,
        delay: Span,
        mut lost: impl FnMut(&Sent),
    ) -> Option<Time> {
        let largest = self.largest_acked?;
        let mut due = None;
        let upto = largest.saturating_sub(self.base).min(self.queue.len() as u64) as usize;
        let mut all_settled = true;
        for at in self.scan..upto {
            let (state, sent) = &mut self.queue[at];
            if *state != State::Out {
                self.scan += usize::from(all_settled);
                continue;
            }
            let overtaken = largest - (self.base + at as u64) >= REORDER_PACKETS;
            if overtaken || sent.at + delay <= now {
                *state = State::Lost;
                self.out -= 1;
                lost(sent);
                self.scan += usize::from(all_settled);
            } else {
                all_settled = false;
                let at = sent.at + delay;
                due = Some(due.map_or(at, |d: Time| d.min(at)));
            }
        }
        due
    }

    /// Forgets packets at the old end that are settled, and lost ones older than `memory`.
    pub(crate) fn forget(&mut self, now: Time, memory: Span) {
        while let Some((state, sent)) = self.queue.front() {
            let done = match state {
                State::Gone => true,
                State::Lost => sent.at + memory <= now,
                State::Out => false,
            };
            if !done {
                break;
            }
            self.queue.pop_front();
            self.base += 1;
            self.scan = self.scan.saturating_sub(1);
        }
    }

    /// When the oldest packet left that is still out.
    pub(crate) fn oldest_out(&self) -> Option<Time> {
        let rest = self.queue.iter().skip(self.scan);
        rest.into_iter().find(|(state, _)| *state == State::Out).map(|(_, sent)| sent.at)
    }

    /// When the newest packet left that is still out.
    pub(crate) fn newest_out(&self) -> Option<Time> {
        self.queue.iter().rev().find(|(state, _)| *state == State::Out).map(|(_, sent)| sent.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(us: u64) -> Sent {
        Sent {
            at: Time::ZERO + Span::from_us(us),
            bytes: 100,
            lane: None,
            stamp: Stamp::default(),
            contents: SmallVec::new(),
        }
    }

    fn lost_at(packets: &mut SentPackets, us: u64) -> (usize, Option<Time>) {
        let mut count = 0;
        let due =
            packets.detect(Time::ZERO + Span::from_us(us), Span::from_us(100), |_| count += 1);
        (count, due)
    }

    #[test]
    fn three_later_packets_or_time_make_a_loss() {
        let mut packets = SentPackets::default();
        for i in 0..6 {
            packets.push(sent(i), true);
        }
        let mut acked = 0;
        packets.ack_range(4, 4, |verdict, _| acked += usize::from(verdict == Verdict::Acked));
        assert_eq!(acked, 1);
        assert_eq!(lost_at(&mut packets, 10), (2, Some(Time::ZERO + Span::from_us(102))));
        assert_eq!(lost_at(&mut packets, 102), (1, Some(Time::ZERO + Span::from_us(103))));
        assert_eq!(lost_at(&mut packets, 103).0, 1);
        assert_eq!(packets.out(), 1, "number 5 was not overtaken");
        packets.ack_range(0, 0, |verdict, _| assert_eq!(verdict, Verdict::LateAcked));
        packets.forget(Time::ZERO + Span::from_secs(1), Span::from_ms(1));
        assert_eq!(packets.next_number(), 6);
        assert_eq!(packets.newest_out(), Some(Time::ZERO + Span::from_us(5)));
    }

    #[test]
    fn a_sender_of_acknowledgements_keeps_nothing() {
        let mut packets = SentPackets::default();
        for i in 0..1000 {
            packets.push(sent(i), false);
        }
        assert_eq!(packets.next_number(), 1000);
        assert_eq!(packets.queue.len(), 0);
        packets.push(sent(2000), true);
        packets.ack_range(1000, 1000, |_, _| {});
        packets.forget(Time::MAX, Span::ZERO);
        assert_eq!((packets.queue.len(), packets.out()), (0, 0));
    }
}
