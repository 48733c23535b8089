//! One flow on its way out.

use laxity_interface::{Span, Time};

use crate::{
    flow::FlowId,
    stacks::common::{Departure, Outgoing},
};

/// Timeouts in a row after which a flow only probes (§4.3).
const PATIENCE: u32 = 5;

#[derive(Debug)]
pub(super) struct Sender {
    outgoing: Outgoing,
    window: f64,
    threshold: f64,
    /// The window never grows above this.
    most: f64,
    timeout: Span,
    pub(super) timer: Option<Time>,
    /// Timeouts in a row.
    silent: u32,
    probing: bool,
    /// Where it stands among those that may send.
    pub(super) place: Option<(u32, FlowId)>,
}

impl Sender {
    /// Starts at line rate: `window` packets fill the path.
    pub(super) fn new(outgoing: Outgoing, window: u32, timeout: Span) -> Self {
        Self {
            outgoing,
            window: f64::from(window),
            threshold: f64::INFINITY,
            most: f64::from(2 * window - 1),
            timeout,
            timer: None,
            silent: 0,
            probing: false,
            place: None,
        }
    }

    /// Packets left until enough is there; at least one.
    pub(super) fn remaining(&self) -> u32 {
        self.outgoing.remaining()
    }

    /// Notes what is ready now.
    pub(super) fn advance(&mut self, now: Time) {
        self.outgoing.advance(now);
    }

    /// When the next message is ready, if it waits for that.
    pub(super) fn wake(&self) -> Option<Time> {
        self.outgoing.wake()
    }

    pub(super) fn can_send(&self) -> bool {
        let room = f64::from(self.outgoing.out()) < self.window.floor();
        !self.probing && room && self.outgoing.has_next()
    }

    pub(super) fn payload(&self, packet: u32) -> u32 {
        self.outgoing.payload(packet)
    }

    pub(super) fn part(&self, packet: u32) -> (u32, u32) {
        self.outgoing.part(packet)
    }

    pub(super) fn take(&mut self, now: Time) -> Option<Departure> {
        let departure = self.outgoing.take(now)?;
        if self.timer.is_none() {
            self.timer = Some(now + self.timeout);
        }
        Some(departure)
    }

    pub(super) fn handle_ack(&mut self, sequence: u64, now: Time) {
        self.silent = 0;
        self.probing = false;
        if let Ok(packet) = u32::try_from(sequence)
            && self.outgoing.acknowledge(packet)
        {
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
            self.window = self.window.min(self.most);
        }
        self.timer = (self.outgoing.out() > 0).then(|| now + self.timeout);
    }

    /// True if a probe has to be sent.
    pub(super) fn handle_timeout(&mut self, now: Time) -> bool {
        self.silent += 1;
        if self.outgoing.book().lose_all() > 0 {
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = 1.0;
        }
        self.probing = self.silent >= PATIENCE;
        self.timer = self.probing.then(|| now + self.timeout);
        self.probing
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

    fn sender(packets: u32, min: f64) -> Sender {
        let flow = Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages: Messages::Equal { count: packets, bytes: 1460 },
            ready: Ready::AtOnce,
            min_delivery: Fraction::new(min).unwrap(),
        };
        Sender::new(Outgoing::new(&flow, Approx::EarlySend, Time::ZERO), 12, Span::from_us(45))
    }

    fn send_all(sender: &mut Sender, now: Time) -> u32 {
        let mut sent = 0;
        while sender.can_send() {
            sender.take(now).unwrap();
            sent += 1;
        }
        sent
    }

    #[test]
    fn starts_at_line_rate_and_falls_to_one_packet_after_a_timeout() {
        let mut sender = sender(100, 1.0);
        assert_eq!(send_all(&mut sender, Time::ZERO), 12);
        let due = sender.timer.unwrap();
        assert_eq!(due, Time::ZERO + Span::from_us(45));
        assert!(!sender.handle_timeout(due));
        assert_eq!(send_all(&mut sender, due), 1, "slow start");
        sender.handle_ack(0, due);
        assert_eq!(send_all(&mut sender, due), 2);
        for packet in 1..12 {
            sender.handle_ack(packet, due);
        }
        assert!(sender.window < 8.0, "congestion avoidance above half the old window");
    }

    #[test]
    fn probes_after_five_timeouts_and_comes_back() {
        let (mut sender, mut now) = (sender(100, 1.0), Time::ZERO);
        for round in 1..=5 {
            send_all(&mut sender, now);
            now = sender.timer.unwrap();
            assert_eq!(sender.handle_timeout(now), round == 5);
        }
        assert!(!sender.can_send());
        sender.handle_ack(u64::MAX, now);
        assert!(sender.can_send());
    }

    #[test]
    fn what_remains_counts_up_to_what_is_enough() {
        let mut sender = sender(10, 0.3);
        assert_eq!(sender.remaining(), 3);
        send_all(&mut sender, Time::ZERO);
        sender.handle_ack(0, Time::ZERO);
        assert_eq!(sender.remaining(), 2);
    }
}
