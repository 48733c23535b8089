//! When the next burst may leave.

use laxity_interface::{Bytes, Rate, Span, Time};

/// A pacer: bytes leave in bursts at a given rate, without catching up after a long stall.
///
/// Timers are dear (tens of microseconds on a virtual machine) and tiny switch queues are short, so a
/// burst follows the rate: an eighth of a round trip's worth, at least what the rate needs between two
/// timers, between one packet and one GSO batch. A host that is late each time (two busy processes on
/// one core) sends larger bursts instead of waking up for nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    /// The next burst leaves at this time.
    next: Time,
    /// The next burst waits for that time and for nothing else.
    waiting: bool,
    /// How late this host is when something waits for its time, smoothed.
    lateness: Span,
    /// The rate that the wait for `next` follows from.
    rate: Rate,
}

/// A host that is late by less than this makes up for it: it has other things to do than to watch the
/// clock, and a rate that is never reached would not be measured either.
const CATCH_UP: Span = Span::from_ms(1);

/// Bursts are at least this long in time: one timer per burst must not bind the rate.
const QUANTUM: Span = Span::from_us(20);
/// Packets that may leave at once when nothing is on the way.
const IDLE_BURST: u64 = 4;
/// The largest burst, one UDP GSO batch.
const MAX_BURST: u64 = 64_000;

/// A host that is so late sleeps between bursts. Each wake-up then costs it more than a few packets
/// (arming a timer takes about 23 µs on a virtual machine), so it sends a few at a time.
const SLEEPY: Span = Span::from_us(20);
const SLEEPY_BURST: u64 = 8;

impl Pacer {
    /// When the next burst may leave.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// How many bytes may leave now. A lane with nothing on the way may start with a few packets at
    /// once, so that small jobs need no timer at all.
    pub(crate) fn burst(&self, rate: Rate, rtt: Span, packet: u64, idle: bool) -> u64 {
        let by_rtt = rate.bytes_in(rtt / 8).get();
        let by_timer = rate.bytes_in((self.lateness * 2).min(rtt / 2).max(QUANTUM)).get();
        // Eight packets are enough for a timer-driven sender at moderate rates; more only where the
        // timer quantum itself asks for it.
        let least = match () {
            () if self.lateness >= SLEEPY => SLEEPY_BURST * packet,
            () if idle => IDLE_BURST * packet,
            () => packet,
        };
        by_rtt.min(8 * packet).max(by_timer).max(least).min(MAX_BURST.max(packet))
    }

    /// The rate may have changed. Who has become faster need not wait any longer for what it sent when it
    /// was slow: eight packets at 1 Mbit/s are a wait of 90 ms, and the next acknowledgement may tell that
    /// the path has a thousand times as much.
    pub(crate) fn follow(&mut self, now: Time, rate: Rate) {
        if rate > self.rate && self.next > now {
            let part = self.rate.as_bps() as f64 / rate.as_bps() as f64;
            self.next = now + self.next.since(now).mul_f64(part);
            self.rate = rate;
        }
    }

    /// Whether more could leave if it were time: only then lateness is the host's.
    pub(crate) fn wait(&mut self, waiting: bool) {
        self.waiting = waiting;
    }

    /// Bytes that should have left before `now` and may be made up for with the next burst.
    pub(crate) fn owed(&self, now: Time, rate: Rate, rtt: Span) -> u64 {
        if !self.waiting {
            return 0;
        }
        rate.bytes_in(now.since(self.next).min(limit(rtt))).get()
    }

    /// Notes that `bytes` left. `jitter` in [0,1) spreads flows that would otherwise march in step and
    /// let one of them capture a tiny queue. True if the host was so late that the rate is not kept.
    pub(crate) fn sent(
        &mut self,
        now: Time,
        rate: Rate,
        bytes: u64,
        rtt: Span,
        jitter: f64,
    ) -> bool {
        let span = rate.time_for(Bytes::new(bytes));
        let spread = span.mul_f64(0.9 + 0.2 * jitter);
        // Being late by less than one burst is always made up for, otherwise timers would eat the
        // rate; long stalls are not: that would be a burst of its own.
        let most = if self.waiting { span.max(limit(rtt)) } else { span };
        let late = now.since(self.next);
        if self.waiting {
            self.lateness = (self.lateness * 7 + late.min(CATCH_UP)) / 8;
        }
        self.next = now - late.min(most) + spread;
        self.rate = rate;
        self.waiting && late > most
    }
}

/// What may be made up for at most: half of what a queue that fits the path can hold.
fn limit(rtt: Span) -> Span {
    (rtt / 2).min(CATCH_UP)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBIT: Rate = Rate::from_gbps(1);
    const RTT: Span = Span::from_us(500);

    #[test]
    fn keeps_the_rate_in_the_mean() {
        let mut pacer = Pacer::default();
        let (mut now, mut sent) = (Time::ZERO + Span::from_ms(1), 0u64);
        let end = now + Span::from_ms(100);
        let mut turn = 0;
        while now < end {
            let burst = pacer.burst(GBIT, RTT, 1400, false);
            pacer.sent(now, GBIT, burst, RTT, f64::from(turn % 10) / 10.0 + 0.05);
            sent += burst;
            turn += 1;
            // The timer is late by up to 10 µs.
            now = pacer.next() + Span::from_us(u64::from(turn as u32 % 11));
        }
        let rate = sent as f64 * 8.0 / 0.1;
        assert!((rate / 1e9 - 1.0).abs() < 0.03, "{rate}");
    }

    #[test]
    fn never_catches_up_after_a_stall() {
        let mut pacer = Pacer::default();
        let start = Time::ZERO + Span::from_ms(1);
        pacer.sent(start, GBIT, 12_500, RTT, 0.5);
        let late = start + Span::from_secs(1);
        pacer.sent(late, GBIT, 12_500, RTT, 0.5);
        assert!(pacer.next() <= late + Span::from_us(100));
        pacer.sent(late, GBIT, 12_500, RTT, 0.5);
        assert!(pacer.next() > late + Span::from_us(50), "one burst made up for, not ten thousand");
    }

    #[test]
    fn a_host_that_is_a_little_late_keeps_the_rate() {
        let mut pacer = Pacer::default();
        let start = Time::ZERO + Span::from_ms(1);
        pacer.sent(start, GBIT, 6_250, RTT, 0.5);
        let late = pacer.next() + Span::from_us(100);
        assert_eq!(pacer.owed(late, GBIT, RTT), 0, "nothing waited for its time");
        pacer.wait(true);
        assert_eq!(pacer.owed(late, GBIT, RTT), 12_500);
        assert!(!pacer.sent(late, GBIT, 6_250 + 12_500, RTT, 0.5));
        assert_eq!(pacer.next(), late + Span::from_us(50));
        let later = pacer.next() + Span::from_ms(1);
        assert_eq!(pacer.owed(later, GBIT, RTT), 31_250, "half of the round trip");
        assert!(pacer.sent(later, GBIT, 6_250 + 31_250, RTT, 0.5), "and says so");
    }

    #[test]
    fn a_host_that_is_always_late_sends_larger_bursts() {
        let mut pacer = Pacer::default();
        let mut now = Time::ZERO + Span::from_ms(1);
        for _ in 0..50 {
            pacer.wait(true);
            pacer.sent(now, GBIT, 6_250, RTT, 0.5);
            now = pacer.next() + Span::from_us(60);
        }
        let burst = pacer.burst(GBIT, RTT, 1400, false);
        assert!((13_000..=15_625).contains(&burst), "{burst}: 120 µs of it");
        let slow = pacer.burst(Rate::from_mbps(10), RTT, 1400, false);
        assert_eq!(slow, 8 * 1400, "not worth waking up for less");
    }

    #[test]
    fn a_wait_ends_earlier_when_the_rate_rises() {
        let mut pacer = Pacer::default();
        let start = Time::ZERO;
        pacer.sent(start, Rate::from_mbps(1), 8 * 1250, RTT, 0.5);
        assert_eq!(pacer.next(), start + Span::from_ms(80));
        let now = start + Span::from_ms(16);
        pacer.follow(now, Rate::from_mbps(1));
        assert_eq!(pacer.next(), start + Span::from_ms(80));
        pacer.follow(now, Rate::from_mbps(64));
        assert_eq!(pacer.next(), now + Span::from_ms(1), "what was left, 64 times as fast");
        pacer.follow(now, Rate::from_mbps(2));
        assert_eq!(pacer.next(), now + Span::from_ms(1), "slower: from the next burst on");
    }

    #[test]
    fn bursts_follow_the_rate() {
        let burst = |mbps, rtt_us| {
            Pacer::default().burst(Rate::from_mbps(mbps), Span::from_us(rtt_us), 1400, false) / 1400
        };
        assert_eq!(burst(1, 500), 1);
        assert_eq!(burst(1000, 500), 5);
        assert_eq!(burst(1000, 5000), 8);
        assert_eq!(burst(40_000, 50), 45);
        assert_eq!(
            Pacer::default().burst(Rate::from_mbps(1), Span::from_us(500), 1400, true),
            4 * 1400
        );
    }
}
