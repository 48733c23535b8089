//! How fast packets of all peers arrive here, together.
//!
//! A receiver is the only one that sees what all who send to it get. It says so in acknowledgements, so
//! that each of them knows what an equal part would be, whatever it has itself.

use std::collections::VecDeque;

use laxity_interface::{Rate, Span, Time};

/// A measurement takes at least so long, and at least so many packets: hosts and switches hand packets
/// over in bunches, and a shorter look would measure those.
const SHORTEST: Span = Span::from_ms(2);
const FEWEST: u64 = 64;
/// After a pause this long a measurement begins anew: nobody had anything to send.
const PAUSE: Span = Span::from_ms(10);
/// The best of so many measurements counts: what was possible a moment ago still is.
const MEMORY: usize = 8;

/// Measures it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intake {
    began: Option<Time>,
    newest: Time,
    packets: u64,
    bytes: u64,
    /// Bytes per millisecond.
    measured: VecDeque<u64>,
}

impl Intake {
    /// A packet has arrived.
    pub(crate) fn note(&mut self, arrived: Time, bytes: u64) {
        let Some(began) = self.began.filter(|_| arrived.since(self.newest) < PAUSE) else {
            // The first packet only starts the clock.
            (self.began, self.packets, self.bytes) = (Some(arrived), 0, 0);
            self.newest = arrived;
            return;
        };
        self.newest = self.newest.max(arrived);
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + bytes);
        let span = arrived.since(began);
        if self.packets < FEWEST || span < SHORTEST {
            return;
        }
        if self.measured.len() == MEMORY {
            self.measured.pop_front();
        }
        self.measured.push_back((self.bytes as f64 / span.as_secs_f64() / 1e3) as u64);
        (self.began, self.packets, self.bytes) = (Some(arrived), 0, 0);
    }

    /// Bytes per millisecond; 0 if that is not known.
    pub(crate) fn bytes_per_ms(&self) -> u64 {
        self.measured.iter().copied().max().unwrap_or(0)
    }
}

/// The rate that an acknowledgement's number means.
pub(crate) fn intake_rate(bytes_per_ms: u64) -> Option<Rate> {
    (bytes_per_ms > 0).then(|| Rate::bps(bytes_per_ms.saturating_mul(8_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(intake: &mut Intake, from: Time, gap_us: u64, packets: u64) -> Time {
        (0..packets).fold(from, |at, _| {
            intake.note(at, 1250);
            at + Span::from_us(gap_us)
        })
    }

    #[test]
    fn measures_what_all_senders_get() {
        let mut intake = Intake::default();
        assert_eq!(intake_rate(intake.bytes_per_ms()), None);
        let now = feed(&mut intake, Time::ZERO, 10, 1000);
        assert_eq!(intake_rate(intake.bytes_per_ms()), Some(Rate::from_gbps(1)));
        // Slower for a moment: it could still be as much.
        let now = feed(&mut intake, now, 20, 300);
        assert_eq!(intake.bytes_per_ms(), 125_000);
        feed(&mut intake, now, 20, 1000);
        assert_eq!(intake.bytes_per_ms(), 62_500, "for long: it could not");
    }

    #[test]
    fn a_pause_is_nobodys_rate() {
        let mut intake = Intake::default();
        let mut now = Time::ZERO;
        for _ in 0..20 {
            // 30 packets in 0.3 ms, then nothing.
            now = feed(&mut intake, now, 10, 30) + Span::from_ms(50);
        }
        assert_eq!(intake.bytes_per_ms(), 0);
    }
}
