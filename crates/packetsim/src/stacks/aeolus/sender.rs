//! One flow on its way out.

use laxity_interface::{Span, Time};

use crate::stacks::common::{Book, Cut, Departure};

/// What a credit is spent on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spend {
    /// A packet; `last` if nothing is left to send after it.
    Packet {
        /// Which.
        departure: Departure,
        /// The sender needs no more credits, as far as it knows.
        last: bool,
    },
    /// Nothing: the credit is wasted.
    Waste,
}

#[derive(Debug)]
pub(super) struct Sender {
    cut: Cut,
    book: Book,
    /// Packets that may leave without credits.
    burst: u32,
    /// Packets of the burst that left.
    burst_sent: u32,
    /// The probe behind the burst was answered: the burst's fate is known.
    settled: bool,
    pub(super) probe_sent: bool,
    /// Where to look for the next packet of the burst to send a second time.
    doubtful: u32,
    timeout: Span,
    pub(super) timer: Option<Time>,
    pub(super) queued: bool,
}

impl Sender {
    pub(super) fn new(cut: Cut, burst: u32, timeout: Span, now: Time) -> Self {
        Self {
            book: Book::new(cut.packets()),
            burst: burst.min(cut.packets()),
            cut,
            burst_sent: 0,
            settled: false,
            probe_sent: false,
            doubtful: 0,
            timeout,
            timer: Some(now + timeout),
            queued: false,
        }
    }

    pub(super) fn payload(&self, packet: u32) -> u32 {
        self.cut.payload(packet)
    }

    /// Whether something may leave without a credit.
    pub(super) fn bursts(&self) -> bool {
        self.burst_sent < self.burst || !self.probe_sent
    }

    /// The next packet of the burst. `None`: the probe is due.
    pub(super) fn take_burst(&mut self) -> Option<Departure> {
        if self.burst_sent == self.burst {
            return None;
        }
        self.burst_sent += 1;
        self.book.take()
    }

    /// What to do with a credit: what is known to be lost, then what was never sent, then what left
    /// unscheduled and was not heard of (Aeolus, SIGCOMM 2020, §3.4).
    pub(super) fn spend(&mut self) -> Spend {
        // The burst goes its own way first.
        if self.bursts() {
            return Spend::Waste;
        }
        if let Some(departure) = self.book.take() {
            let last = !self.book.has_next() && self.settled;
            return Spend::Packet { departure, last };
        }
        while !self.settled && self.doubtful < self.burst {
            self.doubtful += 1;
            if self.book.lose(self.doubtful - 1)
                && let Some(departure) = self.book.take()
            {
                return Spend::Packet { departure, last: false };
            }
        }
        Spend::Waste
    }

    /// A packet that left unscheduled has arrived.
    pub(super) fn handle_ack(&mut self, packet: u32, now: Time) {
        self.book.acknowledge(packet);
        self.timer = Some(now + self.timeout);
    }

    /// The probe was answered: what is not acknowledged of the burst is lost. True if nothing is left
    /// to send.
    pub(super) fn handle_probe_answer(&mut self, now: Time) -> bool {
        if !std::mem::replace(&mut self.settled, true) {
            // What was sent a second time is on its way with a credit and will arrive.
            for packet in self.doubtful..self.burst {
                self.book.lose(packet);
            }
        }
        self.timer = Some(now + self.timeout);
        !self.book.has_next()
    }

    /// Something useful happened.
    pub(super) fn touch(&mut self, now: Time) {
        self.timer = Some(now + self.timeout);
    }

    /// Nothing was heard for long: all that is out counts as lost.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.book.lose_all();
        self.settled = true;
        (self.burst_sent, self.probe_sent) = (self.burst, true);
        self.timer = Some(now + self.timeout);
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;

    use super::*;
    use crate::{
        flow::{Flow, HostId, Messages},
        stacks::approx::Approx,
    };

    fn sender(packets: u32) -> Sender {
        let flow = Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages: Messages::Equal { count: packets, bytes: 1460 },
            min_delivery: Fraction::ONE,
        };
        let cut = Cut::new(&flow, Approx::Whole);
        let mut sender = Sender::new(cut, 4, Span::from_us(300), Time::ZERO);
        for packet in 0..4.min(packets) {
            assert_eq!(sender.take_burst().unwrap().packet, packet);
        }
        assert!(sender.take_burst().is_none(), "now the probe");
        sender.probe_sent = true;
        sender
    }

    fn spend(sender: &mut Sender) -> Option<(u32, bool)> {
        match sender.spend() {
            Spend::Packet { departure, last } => Some((departure.packet, last)),
            Spend::Waste => None,
        }
    }

    #[test]
    fn losses_of_the_burst_come_first_once_they_are_known() {
        let mut sender = sender(7);
        assert_eq!(spend(&mut sender), Some((4, false)));
        sender.handle_ack(0, Time::ZERO);
        sender.handle_ack(2, Time::ZERO);
        assert!(!sender.handle_probe_answer(Time::ZERO));
        assert_eq!(spend(&mut sender), Some((1, false)));
        assert_eq!(spend(&mut sender), Some((3, false)));
        assert_eq!(spend(&mut sender), Some((5, false)));
        assert_eq!(spend(&mut sender), Some((6, true)));
        assert_eq!(spend(&mut sender), None);
    }

    #[test]
    fn spare_credits_repeat_what_was_not_heard_of() {
        let mut sender = sender(5);
        assert_eq!(spend(&mut sender), Some((4, false)));
        sender.handle_ack(0, Time::ZERO);
        assert_eq!(spend(&mut sender), Some((1, false)));
        assert!(!sender.handle_probe_answer(Time::ZERO), "2 and 3 are lost");
        assert_eq!(spend(&mut sender), Some((2, false)));
        assert_eq!(spend(&mut sender), Some((3, true)));
    }
}
