//! Packets in.

use laxity_interface::{Ecn, Time};

use super::{Connection, Shared};
use crate::{
    receive::Sink,
    wire::{Cursor, DataHeader, Frame, expand_packet_number},
};

/// Whether a packet may be acknowledged, and whether it asks for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// Everything in it was dealt with.
    Yes,
    /// Something in it has no place yet: as if it had been lost.
    No,
}

impl Connection {
    /// Takes a data packet that is addressed to this connection.
    pub(crate) fn handle_packet<S: Sink>(
        &mut self,
        now: Time,
        ecn: Ecn,
        packet: &mut [u8],
        shared: &mut Shared,
        sink: &mut S,
    ) {
        let Some(open) = self.open.as_mut() else {
            shared.stats.dropped_unknown += 1;
            return;
        };
        let packet_bytes = packet.len() as u64;
        let Ok(header) = DataHeader::decode(packet) else {
            shared.stats.dropped_malformed += 1;
            return;
        };
        let number = expand_packet_number(header.number, self.received.expected());
        let Some(frames) = open.opener.open(number, packet) else {
            shared.stats.dropped_unauthentic += 1;
            return;
        };
        // Only after authentication: a stranger must not be able to burn numbers.
        if self.received.is_replay(number) {
            shared.stats.dropped_replayed += 1;
            // The peer may be repeating itself because our answer got lost.
            self.ack.now |= self.ack.waiting > 0;
            return;
        }
        self.last_heard = now;
        shared.intake.note(self.arrived, packet_bytes);
        if !open.confirmed {
            open.confirmed = true;
            self.confirm(now, shared);
        }
        let mut cursor = Cursor::new(frames);
        let (mut taken, mut asks, mut urgent) = (Taken::Yes, false, false);
        while !cursor.is_empty() {
            let Ok(frame) = Frame::get(&mut cursor) else {
                shared.stats.dropped_malformed += 1;
                return;
            };
            asks |= !matches!(frame, Frame::Ack(_) | Frame::Padding);
            // Questions; everything else can wait until an answer rides along with something.
            urgent |= matches!(frame, Frame::Ping | Frame::Probe { .. });
            if self.handle_frame(now, frame, shared, sink) == Taken::No {
                taken = Taken::No;
            }
        }
        self.count_gap(number);
        if taken == Taken::No {
            shared.stats.dropped_unplaced += 1;
            return;
        }
        let gap = self.received.insert(self.arrived, number, ecn);
        if asks {
            self.ask_for_ack(now, urgent || gap, shared);
        }
    }

    /// Keeps an estimate of the loss towards here for the receiver's reports.
    fn count_gap(&mut self, number: u64) {
        let expected = self.received.expected();
        if number >= expected {
            self.gaps.0 += number - expected;
            self.gaps.1 += number - expected + 1;
        } else {
            // It was late, not lost.
            self.gaps.0 = self.gaps.0.saturating_sub(1);
        }
    }

    fn ask_for_ack(&mut self, now: Time, urgent: bool, shared: &Shared) {
        self.ack.waiting += 1;
        let delay = self.ack_delay(shared);
        if self.ack.due.is_none() {
            self.ack.due = Some(now + delay);
        }
        // At least every 32 packets; reordering and questions are answered at once, the former
        // because the sender decides on losses by it.
        if urgent || self.ack.waiting >= 32 {
            self.ack.now = true;
        }
    }
}
