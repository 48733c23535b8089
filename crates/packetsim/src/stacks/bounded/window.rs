//! DCTCP's window (SIGCOMM 2010), in packets.

/// The published gain g.
const GAIN: f64 = 1.0 / 16.0;
/// What may leave before anything is known: seed paper 001, §3.1.
const INITIAL: f64 = 10.0;
/// The smallest window after a mark or a loss: that of plain DCTCP, with which the paper compares. With
/// one packet, a lost one would keep all others back, and only the timer would notice.
const LEAST: f64 = 2.0;

/// A window that shrinks by half the share of marked packets, once per flight.
#[derive(Clone, Debug)]
pub(super) struct Window {
    packets: f64,
    threshold: f64,
    /// Share of marked packets, smoothed.
    alpha: f64,
    acked: u32,
    marked: u32,
    /// The round ends when the departure of this number is acknowledged.
    round_ends: u64,
    /// What left before this departure says nothing about the window after the cut: no second cut
    /// before it is acknowledged (RFC 8257, §3.3: once per window of data).
    cut_until: u64,
}

/// A packet that arrived, as the window sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) marked: bool,
    /// The number of its departure.
    pub(super) number: u64,
    /// The number of the next departure.
    pub(super) next: u64,
    /// Packets on the way before it was acknowledged.
    pub(super) out: u32,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            packets: INITIAL,
            threshold: f64::INFINITY,
            alpha: 1.0,
            acked: 0,
            marked: 0,
            round_ends: 0,
            cut_until: 0,
        }
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets as u32
    }

    /// A packet arrived.
    pub(super) fn handle_ack(&mut self, arrival: Arrival) {
        let Arrival { marked, number, next, out } = arrival;
        self.acked += 1;
        self.marked += u32::from(marked);
        if number >= self.round_ends {
            let share = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += GAIN * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
            self.round_ends = next;
        }
        if marked {
            self.shrink(self.alpha / 2.0, number, next);
        } else {
            self.grow(f64::from(out));
        }
    }

    /// A window that is not used does not grow: the host's other flows keep it from being used, and
    /// what it grew to meanwhile would leave in one burst (RFC 7661 in spirit; as plain DCTCP here).
    fn grow(&mut self, out: f64) {
        if self.packets < self.threshold {
            if out >= self.packets / 2.0 {
                self.packets += 1.0;
            }
        } else if out + 1.0 >= self.packets {
            self.packets += 1.0 / self.packets;
        }
    }

    /// Three later packets arrived, the latest of this number, and this one did not.
    pub(super) fn handle_loss(&mut self, number: u64, next: u64) {
        self.shrink(0.5, number, next);
    }

    /// Nothing was heard for very long.
    pub(super) fn handle_silence(&mut self, next: u64) {
        self.threshold = (self.packets / 2.0).max(2.0);
        self.packets = 1.0;
        self.cut_until = next;
    }

    fn shrink(&mut self, by: f64, number: u64, next: u64) {
        if number >= self.cut_until {
            self.packets = (self.packets * (1.0 - by)).max(LEAST);
            self.threshold = self.packets;
            self.cut_until = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(window: &mut Window, marked: bool, number: u64, next: u64) {
        let out = window.packets();
        window.handle_ack(Arrival { marked, number, next, out });
    }

    #[test]
    fn doubles_first_then_adds_one_per_round() {
        let mut window = Window::new();
        for number in 0..10 {
            ack(&mut window, false, number, 10);
        }
        assert_eq!(window.packets(), 20);
        window.handle_loss(9, 20);
        assert_eq!(window.packets(), 10);
        window.handle_loss(19, 21);
        assert_eq!(window.packets(), 10, "once per flight");
        for number in 20..30 {
            ack(&mut window, false, number, 40);
        }
        assert!((10..=11).contains(&window.packets()), "{}", window.packets());
    }

    #[test]
    fn few_marks_cut_little() {
        let mut window = Window::new();
        let mut number = 0;
        for _ in 0..200 {
            for at in 0..20 {
                ack(&mut window, at == 0, number, number + 20);
                number += 1;
            }
        }
        assert!((window.alpha - 0.05).abs() < 0.03, "{}", window.alpha);
    }

    /// A flow of a training run: 20 packets out, the acknowledgements from number 5 on marked, the
    /// last four lost. The window was cut at 5 and, because a round ended at 10, at 11 again, below
    /// the four that were lost: nothing could leave that would have revealed them, and 10 ms of
    /// silence followed.
    #[test]
    fn one_flight_of_marks_cut_twice_and_hid_its_losses() {
        let mut window = Window::new();
        for number in 0..5 {
            ack(&mut window, false, number, 10 + 2 * number);
        }
        assert_eq!(window.packets(), 15);
        for number in 5..16 {
            ack(&mut window, true, number, 20);
        }
        assert!(window.packets() > 4 + 2, "room to reveal the four: {}", window.packets());
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut window = Window::new();
        for number in 0..100 {
            window.handle_ack(Arrival { marked: false, number, next: number + 2, out: 2 });
        }
        assert_eq!(window.packets(), 10);
    }
}
