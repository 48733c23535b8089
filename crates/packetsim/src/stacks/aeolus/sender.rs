//! One flow on its way out.

use laxity_interface::{Span, Time};

use crate::stacks::common::{Departure, Outgoing};

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
    outgoing: Outgoing,
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
    /// It said that it needs no credits although messages will come, and may ask for some again then.
    may_ask: Option<Time>,
}

impl Sender {
    pub(super) fn new(outgoing: Outgoing, burst: u32, timeout: Span, now: Time) -> Self {
        Self {
            burst: outgoing.packets().map_or(burst, |packets| burst.min(packets)),
            outgoing,
            burst_sent: 0,
            settled: false,
            probe_sent: false,
            doubtful: 0,
            timeout,
            timer: Some(now + timeout),
            queued: false,
            may_ask: None,
        }
    }

    pub(super) fn payload(&self, packet: u32) -> u32 {
        self.outgoing.payload(packet)
    }

    pub(super) fn part(&self, packet: u32) -> (u32, u32) {
        self.outgoing.part(packet)
    }

    /// Whether what may leave without credits has left: all that may, all there is, or all that was ready
    /// when the first credit came.
    fn burst_is_over(&self) -> bool {
        let nothing = !self.outgoing.has_next() && !self.outgoing.expects_more();
        self.burst_sent == self.burst || (self.outgoing.is_gradual() && nothing)
    }

    /// Whether something may leave without a credit.
    pub(super) fn bursts(&self) -> bool {
        match self.outgoing.is_gradual() {
            true => !self.probe_sent && (self.outgoing.has_next() || self.burst_is_over()),
            false => self.burst_sent < self.burst || !self.probe_sent,
        }
    }

    /// A credit came: the round trip without credits is over.
    pub(super) fn handle_credit(&mut self) {
        if self.outgoing.is_gradual() && !self.probe_sent {
            self.burst = self.burst_sent;
        }
    }

    /// Notes what is ready now. True if it has to ask for credits, because it said that it needs none.
    pub(super) fn advance(&mut self, now: Time) -> bool {
        self.outgoing.advance(now);
        let asks = self.may_ask.is_some_and(|at| at <= now) && self.outgoing.has_next();
        if asks {
            self.may_ask = None;
            self.touch(now);
        }
        asks
    }

    /// When to look again because of messages that become ready: while packets may leave without credits,
    /// and where credits have to be asked for.
    pub(super) fn wake(&self) -> Option<Time> {
        match self.may_ask {
            Some(at) if self.outgoing.has_next() => Some(at),
            Some(at) => self.outgoing.wake().map(|ready| ready.max(at)),
            None if self.probe_sent => None,
            None => self.outgoing.wake(),
        }
    }

    /// Whether it should say that it needs no more credits for now: it got one, has nothing to send and
    /// has not said so. What the burst lost is known by then.
    pub(super) fn wants_stop(&self) -> bool {
        let idle = self.outgoing.expects_more() && !self.outgoing.has_next();
        idle && self.settled && self.may_ask.is_none()
    }

    /// It says so: for two round trips it uses the credits that still come, then it may ask again
    /// (as in the authors' simulator of ExpressPass). Until it has something to send, silence is right.
    pub(super) fn stop(&mut self, now: Time, base_rtt: Span) {
        self.may_ask = Some(now + base_rtt * 2);
        self.touch(now);
    }

    /// The next packet of the burst. `None`: the probe is due.
    pub(super) fn take_burst(&mut self, now: Time) -> Option<Departure> {
        if self.burst_is_over() {
            return None;
        }
        self.burst_sent += 1;
        self.outgoing.take(now)
    }

    /// What to do with a credit: what is known to be lost, then what was never sent, then what left
    /// unscheduled and was not heard of (Aeolus, SIGCOMM 2020, §3.4).
    pub(super) fn spend(&mut self, now: Time) -> Spend {
        // The burst goes its own way first.
        if self.bursts() {
            return Spend::Waste;
        }
        if let Some(departure) = self.outgoing.take(now) {
            let last = !self.outgoing.has_next() && self.settled;
            return Spend::Packet { departure, last };
        }
        while !self.settled && self.doubtful < self.burst {
            self.doubtful += 1;
            if self.outgoing.book().lose(self.doubtful - 1)
                && let Some(departure) = self.outgoing.take(now)
            {
                return Spend::Packet { departure, last: false };
            }
        }
        Spend::Waste
    }

    /// A packet that left unscheduled has arrived.
    pub(super) fn handle_ack(&mut self, packet: u32, now: Time) {
        self.outgoing.acknowledge(packet);
        self.touch(now);
    }

    /// The probe was answered: what is not acknowledged of the burst is lost. True if nothing is left
    /// to send.
    pub(super) fn handle_probe_answer(&mut self, now: Time) -> bool {
        if !std::mem::replace(&mut self.settled, true) {
            // What was sent a second time is on its way with a credit and will arrive.
            for packet in self.doubtful..self.burst {
                self.outgoing.book().lose(packet);
            }
        }
        self.touch(now);
        !self.outgoing.has_next() && !self.outgoing.expects_more()
    }

    /// Something useful happened.
    pub(super) fn touch(&mut self, now: Time) {
        // Who said that it needs no credits and has nothing to send expects no answer.
        let idle = self.outgoing.expects_more() && !self.outgoing.has_next();
        self.timer = (!idle || self.may_ask.is_none()).then(|| now + self.timeout);
    }

    /// Nothing was heard for long: all that is out counts as lost.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.outgoing.book().lose_all();
        self.settled = true;
        self.may_ask = None;
        (self.burst_sent, self.probe_sent) = (self.burst, true);
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

    fn sender(packets: u32) -> Sender {
        let flow = Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages: Messages::Equal { count: packets, bytes: 1460 },
            ready: Ready::AtOnce,
            min_delivery: Fraction::ONE,
        };
        let outgoing = Outgoing::new(&flow, Approx::Whole, Time::ZERO);
        let mut sender = Sender::new(outgoing, 4, Span::from_us(300), Time::ZERO);
        for packet in 0..4.min(packets) {
            assert_eq!(sender.take_burst(Time::ZERO).unwrap().packet, packet);
        }
        assert!(sender.take_burst(Time::ZERO).is_none(), "now the probe");
        sender.probe_sent = true;
        sender
    }

    fn spend(sender: &mut Sender) -> Option<(u32, bool)> {
        match sender.spend(Time::ZERO) {
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
