//! DCTCP's window (Alizadeh et al., SIGCOMM 2010, §3; RFC 8257).

use super::DctcpConfig;
use crate::packet::PAYLOAD;

const SEGMENT: f64 = PAYLOAD as f64;

/// The window of one flow in bytes of payload, and the share of marks that rules it.
#[derive(Debug)]
pub(super) struct Window {
    bytes: f64,
    threshold: f64,
    alpha: f64,
    gain: f64,
    least: f64,
    /// Bytes acknowledged in this observation window, and of those with a mark.
    acked: u64,
    marked: u64,
    /// The observation window ends when this segment is acknowledged.
    observed_until: u32,
    /// No second cut before this segment is acknowledged.
    cut_until: u32,
}

impl Window {
    pub(super) fn new(config: &DctcpConfig) -> Self {
        Self {
            bytes: f64::from(config.initial_window) * SEGMENT,
            threshold: f64::INFINITY,
            // RFC 8257, §3.3: begins at 1, so that the first marks halve the window.
            alpha: 1.0,
            gain: config.gain,
            least: f64::from(config.min_window) * SEGMENT,
            acked: 0,
            marked: 0,
            observed_until: 0,
            cut_until: 0,
        }
    }

    /// Bytes that may be under way.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Moving average of the share of marked bytes.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Bytes were acknowledged. `una` is the first segment not acknowledged, `next` the first not
    /// sent, `flight` what was under way before; `grow` is false while losses are repaired.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        bytes: u64,
        echo: bool,
        (una, next): (u32, u32),
        flight: u64,
        grow: bool,
    ) {
        self.acked += bytes;
        if echo {
            self.marked += bytes;
        }
        if una >= self.observed_until && self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.alpha += self.gain * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
            self.observed_until = next;
        }
        if echo {
            if una >= self.cut_until {
                self.bytes = (self.bytes * (1.0 - self.alpha / 2.0)).max(self.least);
                self.threshold = self.bytes;
                self.cut_until = next;
            }
        } else if grow {
            self.grow(bytes as f64, flight as f64);
        }
    }

    /// A window that is not used does not grow (RFC 7661 in spirit; as Linux does).
    #[inline]
    fn grow(&mut self, bytes: f64, flight: f64) {
        if self.bytes < self.threshold {
            if flight >= self.bytes / 2.0 {
                self.bytes += bytes;
            }
        } else if flight + SEGMENT >= self.bytes {
            self.bytes += SEGMENT * bytes / self.bytes;
        }
    }

    /// A packet was lost and will be sent again.
    pub(super) fn on_loss(&mut self, next: u32) {
        self.bytes = (self.bytes / 2.0).max(self.least);
        self.threshold = self.bytes;
        self.cut_until = next;
    }

    /// The timeout ran out.
    pub(super) fn on_timeout(&mut self, next: u32) {
        self.threshold = (self.bytes / 2.0).max(2.0 * SEGMENT);
        self.bytes = SEGMENT;
        self.cut_until = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = PAYLOAD as u64;

    fn window() -> Window {
        Window::new(&DctcpConfig::strong())
    }

    #[test]
    fn slow_start_doubles_per_round_trip() {
        let mut window = window();
        for segment in 1..=10 {
            let flight = window.bytes();
            window.on_ack(MSS, false, (segment, 10 + 2 * segment), flight, true);
        }
        assert_eq!(window.bytes(), 20 * MSS);
    }

    #[test]
    fn alpha_is_the_average_of_the_papers_equation_1() {
        let mut window = window();
        // Every observation window is one segment here: una reaches next each time.
        let mut alpha = 1.0;
        for segment in 1..200u32 {
            let echo = segment % 4 == 0;
            window.on_ack(MSS, echo, (segment, segment), MSS, false);
            alpha = (1.0 - 1.0 / 16.0) * alpha + (1.0 / 16.0) * f64::from(u8::from(echo));
            assert!((window.alpha() - alpha).abs() < 1e-12);
        }
    }

    #[test]
    fn cuts_once_per_window_by_half_of_alpha() {
        let mut window = window();
        window.on_ack(MSS, true, (1, 20), 10 * MSS, true);
        // The first observation: all marked, alpha stays 1, half remains.
        assert_eq!(window.bytes(), 5 * MSS);
        for segment in 2..20 {
            window.on_ack(MSS, true, (segment, 30), 10 * MSS, true);
            assert_eq!(window.bytes(), 5 * MSS, "one cut per window");
        }
        window.on_ack(MSS, true, (20, 40), 10 * MSS, true);
        assert!(window.bytes() < 5 * MSS);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut window = window();
        for segment in 1..100 {
            window.on_ack(MSS, false, (segment, segment + 1), MSS, true);
        }
        assert_eq!(window.bytes(), 10 * MSS);
    }
}
