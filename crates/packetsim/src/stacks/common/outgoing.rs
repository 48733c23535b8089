//! The packets of a flow at its sender.

use laxity_interface::Time;

use super::{Book, Coming, Cut, Departure};
use crate::{flow::Flow, packet::PAYLOAD, stacks::approx::Approx};

/// What there is to send of a flow, and what became of it. Packets are known from the start, or cut as
/// messages become ready.
#[derive(Debug)]
pub(crate) struct Outgoing {
    cut: Cut,
    book: Book,
    coming: Option<Coming>,
    /// Bytes known to have arrived, where messages come one by one.
    home_bytes: u64,
}

impl Outgoing {
    pub(crate) fn new(flow: &Flow, approx: Approx, started: Time) -> Self {
        let cut = Cut::new(flow, approx);
        let coming = Coming::new(flow, approx, started);
        let packets = coming.as_ref().map_or_else(|| cut.packets(), Coming::packets);
        Self { book: Book::new(packets), cut, coming, home_bytes: 0 }
    }

    /// Notes what is ready now.
    pub(crate) fn advance(&mut self, now: Time) {
        if let Some(coming) = &mut self.coming {
            coming.advance(now);
            self.book.grow(coming.packets(), !coming.is_over());
        }
    }

    /// When to look again, because a message becomes ready that nothing waits before.
    pub(crate) fn wake(&self) -> Option<Time> {
        self.coming.as_ref().and_then(Coming::wake)
    }

    /// Whether messages come one by one.
    pub(crate) fn is_gradual(&self) -> bool {
        self.coming.is_some()
    }

    /// Whether messages will come that are not ready yet.
    pub(crate) fn expects_more(&self) -> bool {
        self.coming.as_ref().is_some_and(|coming| !coming.is_over() && !coming.has_more())
    }

    /// Packets in all, where that is known.
    pub(crate) fn packets(&self) -> Option<u32> {
        self.coming.is_none().then(|| self.cut.packets())
    }

    /// Packets that are left until enough is there; at least one. Where packets are cut as messages
    /// become ready it is as many as the bytes would fill.
    pub(crate) fn remaining(&self) -> u32 {
        let (home, goal, all) = match self.coming {
            None => {
                (u64::from(self.book.home()), self.cut.goal().into(), self.cut.packets().into())
            }
            Some(_) => (self.home_bytes, self.cut.goal_bytes(), self.cut.bytes()),
        };
        let unit = if self.coming.is_some() { u64::from(PAYLOAD) } else { 1 };
        let left = if home < goal { goal - home } else { (all - home).max(1) };
        left.div_ceil(unit) as u32
    }

    /// The next packet; see [`Book::take`].
    pub(crate) fn take(&mut self, now: Time) -> Option<Departure> {
        self.advance(now);
        let departure = self.book.take()?;
        if let Some(coming) = &mut self.coming
            && !departure.again
        {
            coming.cut();
            self.book.grow(coming.packets(), !coming.is_over());
        }
        Some(departure)
    }

    /// Bytes of payload in a packet that was taken.
    pub(crate) fn payload(&self, packet: u32) -> u32 {
        self.coming
            .as_ref()
            .map_or_else(|| self.cut.payload(packet), |coming| coming.payload(packet))
    }

    /// What a packet says of its bytes.
    pub(crate) fn part(&self, packet: u32) -> (u32, u32) {
        self.coming.as_ref().map_or((0, 0), |coming| coming.part(packet))
    }

    /// A packet is home; false if that was known.
    pub(crate) fn acknowledge(&mut self, packet: u32) -> bool {
        let new = self.book.acknowledge(packet);
        if let Some(coming) = self.coming.as_ref().filter(|_| new) {
            self.home_bytes += u64::from(coming.payload(packet));
        }
        new
    }

    /// The books, for everything else.
    pub(crate) fn book(&mut self) -> &mut Book {
        &mut self.book
    }

    /// Whether something can be sent, as far as was looked.
    pub(crate) fn has_next(&self) -> bool {
        self.book.has_next()
    }

    /// Packets on the way.
    pub(crate) fn out(&self) -> u32 {
        self.book.out()
    }
}
