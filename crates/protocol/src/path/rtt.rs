//! Round-trip times: how long the other side takes to answer, and how long the path takes.
//!
//! The answer is what timers wait for (RFC 9002 §5). It includes what busy hosts add: a packet waits
//! until its process runs, and so does the acknowledgement. Kernels note when packets arrive, so both
//! hosts know what they added, and what remains is the path: links and queues.

use laxity_interface::{Span, Time};

/// How long a minimum stays the minimum: paths change.
const MIN_WINDOW: Span = Span::from_secs(10);
/// At most this part of an answer is believed to be the other host's doing, 15 of 16.
const BELIEVED: u64 = 16;

/// The estimate.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    smoothed: Span,
    variance: Span,
    sampled: bool,
    /// The newest answer.
    latest: Span,
    /// What the hosts add to the path, smoothed.
    hosts: Span,
    /// The path alone: newest, shortest, and when that was.
    path: Span,
    min: Span,
    min_at: Time,
    path_sampled: bool,
}

impl Rtt {
    pub(crate) fn new(initial: Span) -> Self {
        Self {
            smoothed: initial,
            variance: initial / 2,
            sampled: false,
            latest: initial,
            hosts: Span::ZERO,
            path: initial,
            min: initial,
            min_at: Time::ZERO,
            path_sampled: false,
        }
    }

    /// What the handshake suggests, until something is measured.
    pub(crate) fn guess(&mut self, rtt: Span) {
        // Who guesses too low asks too often.
        let rtt = rtt.max(Span::from_us(5));
        if !self.sampled {
            (self.smoothed, self.variance) = (rtt, rtt / 2);
            (self.latest, self.path, self.min) = (rtt, rtt, rtt);
        }
    }

    /// From sending a packet to the arrival of its acknowledgement at this host it took `rtt`, of
    /// which the other host had it for `held`.
    pub(crate) fn sample_path(&mut self, now: Time, rtt: Span, held: Span) {
        // A clock that did not move between two packets still means some time passed.
        self.path = (rtt.max(held) - held).max(rtt / BELIEVED).max(Span::from_ns(1));
        if !self.path_sampled || self.path <= self.min || now.since(self.min_at) > MIN_WINDOW {
            (self.min, self.min_at, self.path_sampled) = (self.path, now, true);
        }
    }

    /// From sending a packet to looking at its acknowledgement it took `rtt`, of which the other host
    /// says that it sat on the answer for `ack_delay`.
    pub(crate) fn sample(&mut self, rtt: Span, ack_delay: Span) {
        let rtt = rtt.max(Span::from_ns(1));
        self.latest = rtt;
        self.hosts = (self.hosts * 7 + (rtt.max(self.path) - self.path)) / 8;
        if !self.sampled {
            self.sampled = true;
            (self.smoothed, self.variance) = (rtt, rtt / 2);
            return;
        }
        // The peer's claim may only be believed as far as it does not undercut the minimum.
        let adjusted = if rtt >= self.min + ack_delay { rtt - ack_delay } else { rtt };
        let difference = self.smoothed.max(adjusted) - self.smoothed.min(adjusted);
        self.variance = (self.variance * 3 + difference) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
    }

    /// What the hosts add to the path's round trip until an acknowledgement is looked at.
    pub(crate) fn hosts(&self) -> Span {
        self.hosts
    }

    /// The newest round trip of the path.
    pub(crate) fn path(&self) -> Span {
        self.path
    }

    /// The usual time to an answer.
    pub(crate) fn smoothed(&self) -> Span {
        self.smoothed
    }

    /// The shortest round trip of the path.
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

    const MS: fn(u64) -> Span = Span::from_ms;

    #[test]
    fn first_sample_replaces_the_guess() {
        let mut rtt = Rtt::new(MS(100));
        rtt.sample_path(Time::ZERO, MS(2), Span::ZERO);
        rtt.sample(MS(2), Span::ZERO);
        assert_eq!(rtt.smoothed(), MS(2));
        assert_eq!(rtt.min(), MS(2));
        assert_eq!(rtt.probe_timeout(MS(1)), MS(2 + 4 + 1));
        assert_eq!(rtt.loss_delay(), Span::from_us(2250));
    }

    #[test]
    fn ack_delay_is_taken_off_but_not_below_the_minimum() {
        let mut rtt = Rtt::new(MS(100));
        rtt.sample_path(Time::ZERO, MS(10), Span::ZERO);
        rtt.sample(MS(10), Span::ZERO);
        rtt.sample(MS(18), MS(8));
        assert_eq!(rtt.smoothed(), MS(10));
        rtt.sample(MS(10), MS(8));
        assert_eq!(rtt.smoothed(), MS(10), "claim ignored");
    }

    #[test]
    fn busy_hosts_are_not_part_of_the_path() {
        let mut rtt = Rtt::new(MS(100));
        rtt.sample_path(Time::ZERO, MS(9), MS(7));
        rtt.sample(MS(12), MS(2));
        assert_eq!((rtt.path(), rtt.min(), rtt.smoothed()), (MS(2), MS(2), MS(12)));
        assert_eq!(rtt.hosts(), MS(10) / 8);
        rtt.sample_path(Time::ZERO, MS(4), Span::ZERO);
        assert_eq!((rtt.path(), rtt.min()), (MS(4), MS(2)));
        rtt.sample_path(Time::ZERO, MS(16), MS(99));
        assert_eq!(rtt.path(), MS(1), "nobody has a packet for longer than it was away");
    }

    #[test]
    fn the_minimum_expires() {
        let mut rtt = Rtt::new(MS(100));
        rtt.sample_path(Time::ZERO, MS(1), Span::ZERO);
        let later = Time::ZERO + Span::from_secs(11);
        rtt.sample_path(later, MS(5), Span::ZERO);
        assert_eq!(rtt.min(), MS(5));
    }
}
