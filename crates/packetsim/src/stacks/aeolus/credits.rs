//! Credits of one flow at its receiver: how fast they leave (ExpressPass, SIGCOMM 2017, §3.2).

use laxity_interface::{Span, Time};

/// First rate and first step, as parts of the whole.
const FIRST_RATE: f64 = 0.5;
const FIRST_STEP: f64 = 0.5;
/// Bounds of the step w.
const STEP: (f64, f64) = (0.01, 0.5);
/// Part of the unused rate that may be lost: the target is lower the faster the flow is, which makes
/// flows fair (as in the authors' simulator).
const TARGET_LOSS: f64 = 0.125;

/// The feedback control, and when the next credit leaves.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    /// Part of the whole link's credits.
    rate: f64,
    step: f64,
    may_grow: bool,
    rtt: Option<Span>,
    updated: Time,
    /// Credits of this period whose fate is known, and those of them that were lost.
    known: u64,
    lost: u64,
    /// The next credit to send, and the one that should be used next.
    pub(super) next: u64,
    expected: u64,
    /// Whether the sender wants any.
    pub(super) wanted: bool,
}

impl Credits {
    pub(super) fn new(now: Time) -> Self {
        Self {
            rate: FIRST_RATE,
            step: FIRST_STEP,
            may_grow: false,
            rtt: None,
            updated: now,
            known: 0,
            lost: 0,
            next: 0,
            expected: 0,
            wanted: true,
        }
    }

    /// The sender asks again after it said that it needs none: the rate starts anew, as in the authors'
    /// simulator.
    pub(super) fn restart(&mut self, now: Time) {
        let fresh = Self::new(now);
        (self.rate, self.step, self.may_grow) = (fresh.rate, fresh.step, fresh.may_grow);
        (self.updated, self.known, self.lost) = (now, 0, 0);
        self.expected = self.next;
    }

    /// A packet came that used the credit of this number, which left at `sent`.
    pub(super) fn handle_use(&mut self, number: u64, sent: Time, now: Time) {
        if number >= self.expected {
            self.lost += number - self.expected;
            self.known += number - self.expected + 1;
            self.expected = number + 1;
        }
        let sample = now.since(sent);
        self.rtt = Some(self.rtt.map_or(sample, |rtt| (rtt * 4 + sample) / 5));
    }

    /// The pause until the next credit, where the whole link has one per `packet_time`.
    pub(super) fn pause(&mut self, now: Time, packet_time: Span, jitter: f64) -> Span {
        self.update(now, packet_time);
        packet_time.mul_f64((0.95 + 0.1 * jitter) / self.rate)
    }

    fn update(&mut self, now: Time, packet_time: Span) {
        let Some(rtt) = self.rtt else { return };
        if self.known == 0 || now.since(self.updated) < rtt {
            return;
        }
        let loss = self.lost as f64 / self.known as f64;
        let target = (1.0 - self.rate) * TARGET_LOSS;
        if loss > target {
            let period = now.since(self.updated).as_secs_f64();
            let used = (self.known - self.lost) as f64 * packet_time.as_secs_f64() / period;
            self.rate = self.rate.min(used * (1.0 + target));
            self.step = (self.step / 2.0).max(STEP.0);
            self.may_grow = false;
        } else {
            if self.may_grow {
                self.step = (self.step + 0.05).min(STEP.1);
            }
            self.may_grow = true;
            self.rate = (1.0 - self.step) * self.rate + self.step;
        }
        // At least one per round trip.
        let least = packet_time.as_secs_f64() / rtt.as_secs_f64().max(1e-12);
        self.rate = self.rate.clamp(least.min(1.0), 1.0);
        (self.known, self.lost, self.updated) = (0, 0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Span = Span::from_ns(300);

    /// Plays rounds in which every `one_in`-th credit is lost.
    fn play(credits: &mut Credits, rounds: u64, one_in: u64) -> f64 {
        let rtt = Span::from_us(10);
        let mut now = credits.updated;
        for _ in 0..rounds {
            let first = credits.expected;
            for number in first..first + 20 {
                if one_in == 0 || !number.is_multiple_of(one_in) {
                    credits.handle_use(number, now, now + rtt);
                }
            }
            now += rtt + Span::from_ns(1);
            credits.pause(now, PACKET, 0.5);
        }
        credits.rate
    }

    #[test]
    fn speeds_up_to_the_whole_link_without_loss_and_slows_down_with_it() {
        let mut credits = Credits::new(Time::ZERO);
        assert!(play(&mut credits, 20, 0) > 0.99);
        assert!(play(&mut credits, 1, 2) < 0.5, "half of the credits were lost");
    }

    #[test]
    fn never_below_a_credit_per_round_trip() {
        let mut credits = Credits::new(Time::ZERO);
        credits.rtt = Some(Span::from_us(10));
        for round in 1..10u64 {
            credits.handle_use(round * 1000, Time::ZERO, Time::ZERO + Span::from_us(10));
            credits.pause(Time::ZERO + Span::from_us(100) * round, PACKET, 0.5);
        }
        assert!((credits.rate - 0.03).abs() < 1e-9, "{}", credits.rate);
    }
}
