//! DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257) as a lane's controller.

use laxity_interface::{Rate, Span, Time};

use super::{AckSample, Controller, Epoch, Reason, Start, per_rtt};

/// The published gain g.
const GAIN: f64 = 1.0 / 16.0;

/// A window that shrinks by half the share of marked packets, once per round trip.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    packet: f64,
    window: f64,
    threshold: f64,
    share: f64,
    rtt: Span,
    round_acked: u64,
    round_marked: u64,
    /// The window was cut in this round trip.
    cut: bool,
    reason: Reason,
}

impl Dctcp {
    /// Starts with the initial window, in slow start.
    pub fn new(start: &Start) -> Self {
        Self {
            packet: start.packet as f64,
            window: (start.initial_packets * start.packet) as f64,
            threshold: f64::INFINITY,
            share: 1.0,
            rtt: start.rtt,
            round_acked: 0,
            round_marked: 0,
            cut: false,
            reason: Reason::Start,
        }
    }

    fn shrink(&mut self, by: f64, reason: Reason) {
        if !self.cut {
            self.window = (self.window * (1.0 - by)).max(2.0 * self.packet);
            self.threshold = self.window;
            (self.cut, self.reason) = (true, reason);
        }
    }
}

impl Controller for Dctcp {
    fn on_ack(&mut self, _: Time, ack: &AckSample) {
        self.rtt = ack.smoothed_rtt;
        self.round_acked += ack.packets;
        self.round_marked += ack.marked;
        if ack.marked > 0 {
            self.shrink(self.share / 2.0, Reason::Marks { share: self.share });
        } else if !ack.app_limited && !self.cut {
            let bytes = ack.bytes as f64;
            self.window += if self.window < self.threshold {
                bytes
            } else {
                self.packet * bytes / self.window
            };
            self.reason = Reason::Window;
        }
    }

    fn on_loss(&mut self, _: Time, _: u64, _: u64) {
        self.shrink(0.5, Reason::Loss);
    }

    fn on_epoch(&mut self, _: Time, epoch: &Epoch) {
        if self.round_acked > 0 {
            let marked = self.round_marked as f64 / self.round_acked as f64;
            self.share += GAIN * (marked.min(1.0) - self.share);
        } else if epoch.silent {
            self.threshold = (self.window / 2.0).max(2.0 * self.packet);
            (self.window, self.reason) = (2.0 * self.packet, Reason::Minimum);
        }
        (self.round_acked, self.round_marked, self.cut) = (0, 0, false);
    }

    fn rate(&self) -> Rate {
        // A little faster than the window per round trip, so that the window binds and not the pacer.
        per_rtt((self.window * 1.25) as u64, self.rtt)
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn reason(&self) -> Reason {
        self.reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start {
            line_rate: None,
            packet: 1000,
            rtt: Span::from_ms(1),
            initial_packets: 10,
            slack_start: None,
        }
    }

    fn ack(packets: u64, marked: u64) -> AckSample {
        let rtt = Span::from_ms(1);
        AckSample {
            bytes: packets * 1000,
            packets,
            marked,
            smoothed_rtt: rtt,
            min_rtt: rtt,
            latest_rtt: rtt,
            host_delay: Span::ZERO,
            delivery: None,
            app_limited: false,
            delivered_at_send: 0,
            delivered: 0,
            in_flight: 0,
        }
    }

    fn round(dctcp: &mut Dctcp) {
        let epoch = Epoch {
            acked: 1,
            lost: 0,
            marked: 0,
            silent: false,
            target_loss_rate: 0.0,
            promised_loss_rate: 0.0,
            smoothed_rtt: Span::from_ms(1),
            packet: 1000,
        };
        dctcp.on_epoch(Time::ZERO, &epoch);
    }

    #[test]
    fn slow_start_doubles_and_additive_increase_adds_one() {
        let mut dctcp = Dctcp::new(&start());
        dctcp.on_ack(Time::ZERO, &ack(10, 0));
        assert_eq!(dctcp.window(), 20_000);
        dctcp.on_loss(Time::ZERO, 1000, 1);
        assert_eq!(dctcp.window(), 10_000);
        dctcp.on_loss(Time::ZERO, 1000, 1);
        assert_eq!(dctcp.window(), 10_000, "once per round trip");
        round(&mut dctcp);
        for _ in 0..10 {
            dctcp.on_ack(Time::ZERO, &ack(1, 0));
        }
        assert!((10_900..=11_000).contains(&dctcp.window()), "{}", dctcp.window());
    }

    #[test]
    fn few_marks_cut_little() {
        let mut dctcp = Dctcp::new(&start());
        for _ in 0..200 {
            dctcp.on_ack(Time::ZERO, &ack(19, 0));
            dctcp.on_ack(Time::ZERO, &ack(1, 1));
            round(&mut dctcp);
        }
        assert!((dctcp.share - 0.05).abs() < 0.005, "{}", dctcp.share);
        let before = dctcp.window() as f64;
        dctcp.on_ack(Time::ZERO, &ack(1, 1));
        assert!((dctcp.window() as f64 / before - 0.975).abs() < 0.005);
    }
}
