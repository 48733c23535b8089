//! One flow on its way out.

use laxity_interface::{Span, Time};

use crate::stacks::common::{Departure, Outgoing};

/// Round trips without a sign of life after which what is out counts as lost. With eight-packet queues
/// nothing else than a lost header, pull or link takes so long.
pub(super) const RTO_ROUND_TRIPS: u64 = 16;

#[derive(Debug)]
pub(super) struct Sender {
    outgoing: Outgoing,
    /// Packets that may leave now.
    allowed: u32,
    /// The highest pull seen.
    pulled: u64,
    timeout: Span,
    pub(super) timer: Option<Time>,
    /// Stands among those that may send.
    pub(super) queued: bool,
}

impl Sender {
    pub(super) fn new(outgoing: Outgoing, window: u32, timeout: Span) -> Self {
        Self {
            allowed: outgoing.packets().map_or(window, |packets| window.min(packets)),
            outgoing,
            pulled: 0,
            timeout,
            timer: None,
            queued: false,
        }
    }

    pub(super) fn can_send(&self) -> bool {
        self.allowed > 0 && self.outgoing.has_next()
    }

    /// Notes what is ready now.
    pub(super) fn advance(&mut self, now: Time) {
        self.outgoing.advance(now);
    }

    /// When the next message is ready, if it waits for that.
    pub(super) fn wake(&self) -> Option<Time> {
        self.outgoing.wake()
    }

    pub(super) fn payload(&self, packet: u32) -> u32 {
        self.outgoing.payload(packet)
    }

    pub(super) fn part(&self, packet: u32) -> (u32, u32) {
        self.outgoing.part(packet)
    }

    pub(super) fn take(&mut self, now: Time) -> Option<Departure> {
        if self.allowed == 0 {
            return None;
        }
        let departure = self.outgoing.take(now)?;
        self.allowed -= 1;
        self.timer = Some(now + self.timeout);
        Some(departure)
    }

    pub(super) fn handle_ack(&mut self, packet: u32, now: Time) {
        self.outgoing.acknowledge(packet);
        self.timer = Some(now + self.timeout);
    }

    pub(super) fn handle_nack(&mut self, packet: u32, now: Time) {
        self.outgoing.book().lose(packet);
        self.timer = Some(now + self.timeout);
    }

    /// A pull says how many there were in all; so many packets may leave as are new to us.
    pub(super) fn handle_pull(&mut self, number: u64) {
        let new = number.saturating_sub(self.pulled);
        self.pulled = self.pulled.max(number);
        self.allowed += new as u32;
    }

    /// Silence: one packet goes out again to set things in motion.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.outgoing.book().lose_all();
        self.allowed = self.allowed.max(1);
        self.timer = Some(now + self.timeout);
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;

    use super::*;
    use crate::{
        flow::{Flow, HostId, Messages, Ready},
        stacks::approx::Approx,
    };

    #[test]
    fn a_window_at_once_then_a_packet_per_pull_and_losses_first() {
        let flow = Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages: Messages::Equal { count: 20, bytes: 1460 },
            ready: Ready::AtOnce,
            min_delivery: Fraction::ONE,
        };
        let outgoing = Outgoing::new(&flow, Approx::Whole, Time::ZERO);
        let mut sender = Sender::new(outgoing, 8, Span::from_us(160));
        let take = |sender: &mut Sender| sender.take(Time::ZERO).map(|d| (d.packet, d.again));
        for packet in 0..8 {
            assert_eq!(take(&mut sender), Some((packet, false)));
        }
        assert_eq!(take(&mut sender), None);
        sender.handle_nack(5, Time::ZERO);
        assert_eq!(take(&mut sender), None, "a NACK alone is no permission");
        sender.handle_pull(2);
        assert_eq!(take(&mut sender), Some((5, true)));
        assert_eq!(take(&mut sender), Some((8, false)));
        sender.handle_pull(1);
        assert_eq!(take(&mut sender), None, "an old pull that came late");
    }
}
