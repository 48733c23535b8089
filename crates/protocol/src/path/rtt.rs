//! Round-trip time, estimated as RFC 9002 §5 says.

use laxity_interface::{Span, Time};

/// How long a minimum stays the minimum: paths change.
const MIN_WINDOW: Span = Span::from_secs(10);

/// The estimate.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    smoothed: Span,
    variance: Span,
    latest: Span,
    min: Span,
    min_at: Time,
    sampled: bool,
}

impl Rtt {
    pub(crate) fn new(initial: Span) -> Self {
        Self {
            smoothed: initial,
            variance: initial / 2,
            latest: initial,
            min: initial,
            min_at: Time::ZERO,
            sampled: false,
        }
    }

    /// What the handshake suggests, until something is measured.
    pub(crate) fn guess(&mut self, rtt: Span) {
        // Who guesses too low asks too often.
        let rtt = rtt.max(Span::from_us(50));
        if !self.sampled {
            (self.smoothed, self.variance) = (rtt, rtt / 2);
            (self.latest, self.min) = (rtt, rtt);
        }
    }

    /// Takes a measurement of which the peer says that it sat on the answer for `ack_delay`.
    pub(crate) fn sample(&mut self, now: Time, rtt: Span, ack_delay: Span) {
        // A clock that did not move between two packets still means some time passed.
        let rtt = rtt.max(Span::from_ns(1));
        self.latest = rtt;
        if !self.sampled {
            self.sampled = true;
            (self.smoothed, self.variance) = (rtt, rtt / 2);
            (self.min, self.min_at) = (rtt, now);
            return;
        }
        if rtt <= self.min || now.since(self.min_at) > MIN_WINDOW {
            (self.min, self.min_at) = (rtt, now);
        }
        // The peer's claim may only be believed as far as it does not undercut the minimum.
        let adjusted = if rtt >= self.min + ack_delay { rtt - ack_delay } else { rtt };
        let difference = self.smoothed.max(adjusted) - self.smoothed.min(adjusted);
        self.variance = (self.variance * 3 + difference) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
    }

    pub(crate) fn smoothed(&self) -> Span {
        self.smoothed
    }

    pub(crate) fn latest(&self) -> Span {
        self.latest
    }

    pub(crate) fn min(&self) -> Span {
        self.min
    }

    /// After this long without an answer something is wrong.
    pub(crate) fn probe_timeout(&self, max_ack_delay: Span) -> Span {
        self.smoothed + (self.variance * 4).max(Span::from_us(100)) + max_ack_delay
    }

    /// A packet this much older than one that was acknowledged is lost (the design's 9/8 RTT).
    pub(crate) fn loss_delay(&self) -> Span {
        let base = self.smoothed.max(self.latest);
        (base + base / 8).max(Span::from_us(20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_replaces_the_guess() {
        let mut rtt = Rtt::new(Span::from_ms(100));
        rtt.sample(Time::ZERO, Span::from_ms(2), Span::ZERO);
        assert_eq!(rtt.smoothed(), Span::from_ms(2));
        assert_eq!(rtt.min(), Span::from_ms(2));
        assert_eq!(rtt.probe_timeout(Span::from_ms(1)), Span::from_ms(2 + 4 + 1));
        assert_eq!(rtt.loss_delay(), Span::from_us(2250));
    }

    #[test]
    fn ack_delay_is_taken_off_but_not_below_the_minimum() {
        let mut rtt = Rtt::new(Span::from_ms(100));
        rtt.sample(Time::ZERO, Span::from_ms(10), Span::ZERO);
        rtt.sample(Time::ZERO, Span::from_ms(18), Span::from_ms(8));
        assert_eq!(rtt.smoothed(), Span::from_ms(10));
        rtt.sample(Time::ZERO, Span::from_ms(10), Span::from_ms(8));
        assert_eq!(rtt.smoothed(), Span::from_ms(10), "claim ignored");
    }

    #[test]
    fn the_minimum_expires() {
        let mut rtt = Rtt::new(Span::from_ms(100));
        rtt.sample(Time::ZERO, Span::from_ms(1), Span::ZERO);
        let later = Time::ZERO + Span::from_secs(11);
        rtt.sample(later, Span::from_ms(5), Span::ZERO);
        assert_eq!(rtt.min(), Span::from_ms(5));
    }
}
