//! Round trips, and how long to wait for an answer.

use laxity_interface::Span;

/// Smoothed round-trip time and its variance (RFC 6298), and the waits that follow.
#[derive(Debug)]
pub(crate) struct Rtt {
    smoothed: u64,
    variance: u64,
    /// Timeouts in a row.
    backoff: u32,
}

/// The timeout doubles at most so many times.
const MOST_BACKOFF: u32 = 10;

impl Rtt {
    pub(crate) const fn new() -> Self {
        Self { smoothed: 0, variance: 0, backoff: 0 }
    }

    #[inline]
    pub(crate) fn sample(&mut self, rtt: Span) {
        let rtt = rtt.as_ps();
        if self.smoothed == 0 {
            (self.smoothed, self.variance) = (rtt, rtt / 2);
            return;
        }
        self.variance = (3 * self.variance + self.smoothed.abs_diff(rtt)) / 4;
        self.smoothed = (7 * self.smoothed + rtt) / 8;
    }

    /// How much later than a packet another one has to be sent so that its answer says that the
    /// first is lost.
    #[inline]
    pub(crate) fn reordering(&self) -> u64 {
        self.smoothed / 4
    }

    pub(crate) fn on_progress(&mut self) {
        self.backoff = 0;
    }

    pub(crate) fn on_timeout(&mut self) {
        self.backoff = (self.backoff + 1).min(MOST_BACKOFF);
    }

    /// The wait before the timeout of last resort.
    pub(crate) fn timeout(&self, least: Span, base: Span) -> Span {
        let known = match self.smoothed {
            0 => base * 2,
            smoothed => Span::from_ps(smoothed + 4 * self.variance),
        };
        known.max(least) * (1 << self.backoff)
    }

    /// The wait before a probe: two round trips (RFC 8985, §7.2), but never less than two in an
    /// empty network, and more while round trips vary as they do when many begin at once.
    #[inline]
    pub(crate) fn probe(&self, base: Span, ack_delay: Span) -> Span {
        let known = match self.smoothed {
            0 => base * 4,
            smoothed => Span::from_ps(smoothed + smoothed.max(4 * self.variance)),
        };
        known.max(base * 2) + ack_delay
    }
}
