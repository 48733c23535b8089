//! Packets on their way, and the decision that one is lost.

use std::collections::VecDeque;

use laxity_interface::{Span, Time};
use smallvec::SmallVec;

use super::Stamp;
use crate::{
    ids::JobId,
    slack::{Class, LaneKind},
};

/// Classes of the network.
const CLASSES: usize = Class::COUNT;
/// A packet is lost when this many later ones were acknowledged.
const REORDER_PACKETS: u64 = 3;

/// A lost packet is not remembered with more packets than this behind it: nor could those be forgotten.
const MOST: usize = 1 << 16;

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
    pub(crate) number: u64,
    pub(crate) at: Time,
    pub(crate) bytes: u32,
    /// Payload packets belong to a lane; control packets to none.
    pub(crate) lane: Option<LaneKind>,
    /// The queue that it asked for: those of a higher one overtake it.
    pub(crate) class: Class,
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
    /// Packets that are out, by class.
    out: [usize; CLASSES],
    /// The largest number that was acknowledged of each class and all that are served after it.
    largest_acked: [Option<u64>; CLASSES],
    /// The newest question in each class or one that is served after it, and when it left.
    asked: [Option<(u64, Time)>; CLASSES],
}

/// What is to be done about packets that were overtaken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outlook {
    /// When to look again.
    pub(crate) due: Option<Time>,
    /// Packets were overtaken only by some that may have been served first: a question behind them
    /// tells whether they are lost or late.
    pub(crate) doubt: bool,
}

impl Outlook {
    fn look_at(&mut self, at: Time) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

impl SentPackets {
    /// Number of the next packet.
    pub(crate) fn next_number(&self) -> u64 {
        self.base + self.queue.len() as u64
    }

    /// Packets that may still be answered.
    pub(crate) fn out(&self) -> usize {
        self.out.iter().sum()
    }

    /// The last class in the order of service that has packets out.
    pub(crate) fn last_class(&self) -> Class {
        let last = self.out.iter().rposition(|out| *out > 0);
        last.map_or(Class::EXACT, Class::at)
    }

    /// Notes a packet; `tracked` ones wait for an acknowledgement.
    pub(crate) fn push(&mut self, sent: Sent, tracked: bool) {
        self.out[sent.class.index()] += usize::from(tracked);
        if !tracked && self.queue.is_empty() {
            // Nothing is waiting: keep the queue empty for acknowledgement-only senders.
            self.base += 1;
            return;
        }
        let asks = |content: &Content| {
            matches!(content, Content::Control(Control::Probe(_) | Control::Ping))
        };
        if sent.contents.iter().any(asks) {
            let question = (self.next_number(), sent.at);
            self.asked[..=sent.class.index()].fill(Some(question));
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
        self.largest_acked[0] = self.largest_acked[0].max(Some(last));
        let end = last.saturating_add(1).saturating_sub(self.base).min(self.queue.len() as u64);
        for at in first.saturating_sub(self.base)..end {
            let (state, sent) = &mut self.queue[at as usize];
            let (before, class) = (std::mem::replace(state, State::Gone), sent.class.index());
            if before != State::Gone {
                for largest in &mut self.largest_acked[..=class] {
                    *largest = (*largest).max(Some(self.base + at));
                }
            }
            match before {
                State::Out => {
                    self.out[class] -= 1;
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

    /// Declares packets lost that three later ones overtook or that are older than `delay`. Who is
    /// served first overtakes without a loss: that alone makes a question necessary, and a loss only
    /// after `patience`.
    pub(crate) fn detect(
        &mut self,
        now: Time,
        delay: Span,
        patience: Span,
        mut lost: impl FnMut(&Sent),
    ) -> Outlook {
        let mut outlook = Outlook::default();
        let [Some(largest), ..] = self.largest_acked else { return outlook };
        let upto = largest.saturating_sub(self.base).min(self.queue.len() as u64) as usize;
        let mut all_settled = true;
        for at in self.scan..upto {
            let (state, sent) = &mut self.queue[at];
            if *state != State::Out {
                self.scan += usize::from(all_settled);
                continue;
            }
            let (number, class) = (self.base + at as u64, sent.class.index());
            let behind = self.largest_acked[class].filter(|behind| *behind > number);
            let overtaken = behind.is_some_and(|behind| behind - number >= REORDER_PACKETS);
            let limit = sent.at + if behind.is_some() { delay } else { patience };
            if overtaken || limit <= now {
                *state = State::Lost;
                self.out[class] -= 1;
                lost(sent);
                self.scan += usize::from(all_settled);
                continue;
            }
            all_settled = false;
            outlook.look_at(limit);
            if behind.is_none() {
                let question = self.asked[class].filter(|(question, _)| *question > number);
                let ask = question.map_or(sent.at + delay, |(_, at)| at + delay * 2);
                if ask <= now {
                    outlook.doubt = true;
                } else {
                    outlook.look_at(ask);
                }
            }
        }
        outlook
    }

    /// Forgets packets at the old end that are settled, and lost ones older than `memory` or with very
    /// many behind them.
    pub(crate) fn forget(&mut self, now: Time, memory: Span) {
        while let Some((state, sent)) = self.queue.front() {
            let done = match state {
                State::Gone => true,
                State::Lost => sent.at + memory <= now || self.queue.len() > MOST,
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
            number: 0,
            at: Time::ZERO + Span::from_us(us),
            bytes: 100,
            lane: None,
            class: Class::EXACT,
            stamp: Stamp::default(),
            contents: SmallVec::new(),
        }
    }

    fn in_class(us: u64, class: usize) -> Sent {
        Sent { class: Class::at(class), ..sent(us) }
    }

    fn lost_at(packets: &mut SentPackets, us: u64) -> (usize, Option<Time>) {
        let mut count = 0;
        let (now, delay) = (Time::ZERO + Span::from_us(us), Span::from_us(100));
        let outlook = packets.detect(now, delay, Span::from_ms(1), |_| count += 1);
        (count, outlook.due)
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
    fn who_is_served_first_overtakes_without_a_loss() {
        let mut packets = SentPackets::default();
        packets.push(in_class(0, 3), true);
        for i in 1..6 {
            packets.push(in_class(i, 2), true);
        }
        packets.ack_range(1, 5, |_, _| {});
        let look = |packets: &mut SentPackets, us| {
            let (now, delay) = (Time::ZERO + Span::from_us(us), Span::from_us(100));
            let mut lost = 0;
            let outlook = packets.detect(now, delay, Span::from_ms(1), |_| lost += 1);
            (lost, outlook.doubt)
        };
        assert_eq!(look(&mut packets, 50), (0, false));
        assert_eq!(look(&mut packets, 100), (0, true), "time to ask");
        let mut question = in_class(100, 3);
        question.contents.push(Content::Control(Control::Ping));
        assert_eq!(packets.last_class(), Class::at(3));
        packets.push(question, true);
        assert_eq!(look(&mut packets, 250), (0, false), "asked");
        assert_eq!(look(&mut packets, 300), (0, true), "asked in vain");
        packets.ack_range(6, 6, |_, _| {});
        assert_eq!(look(&mut packets, 310), (1, false), "the question came through, it did not");
        packets.push(in_class(400, 7), true);
        packets.push(in_class(401, 0), true);
        packets.ack_range(8, 8, |_, _| {});
        assert_eq!(look(&mut packets, 1400), (1, false), "patience has an end");
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
